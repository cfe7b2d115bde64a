//! Which programs run, where the system says so (`/proc`).

use std::path::Path;

use crate::facts::files;

/// Whether a program of this name runs with its working directory in one of these. Where nobody can
/// know, none does.
pub fn run_in(name: &str, dirs: &[&Path]) -> bool {
    let Ok(entries) = std::fs::read_dir("/proc") else { return false };
    let entries = entries.flatten().map(|entry| entry.path());
    entries.into_iter().any(|process| {
        files::small(&process.join("comm")).is_some_and(|comm| comm == name)
            && std::fs::read_link(process.join("cwd"))
                .is_ok_and(|cwd| dirs.iter().any(|dir| cwd.starts_with(dir)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_runs_there_is_seen() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let own = files::small(Path::new("/proc/self/comm")).unwrap_or_default();
        assert!(own.is_empty() || run_in(&own, &[here]));
        assert!(!run_in(&own, &[Path::new("/nowhere")]));
        assert!(!run_in("no such program", &[here]));
    }
}
