//! Which programs run, where the system says so (`/proc`).

use std::path::Path;

use crate::process::files;

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

/// The processes of ours that have this in their environment.
pub fn with_environment(name: &str, value: &str) -> Vec<i32> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let wanted = format!("{name}={value}");
    let has = |process: &Path| {
        let environment = files::head(&process.join("environ"), 1 << 20);
        environment
            .is_some_and(|all| all.split(|byte| *byte == 0).any(|one| one == wanted.as_bytes()))
    };
    let entries = entries.flatten().map(|entry| entry.path()).filter(|process| has(process));
    entries.filter_map(|process| process.file_name()?.to_str()?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test may ask who it is")]
    fn an_environment_is_found_whole() {
        let own = files::head(Path::new("/proc/self/environ"), 1 << 20).unwrap_or_default();
        let first = own.split(|byte| *byte == 0).next().unwrap_or_default().to_vec();
        let first = String::from_utf8(first).unwrap();
        if let Some((name, value)) = first.split_once('=') {
            let pid = i32::try_from(std::process::id()).unwrap();
            assert!(with_environment(name, value).contains(&pid));
            assert!(!with_environment(name, &format!("{value}x")).contains(&pid));
        }
    }

    #[test]
    fn only_who_runs_there_is_seen() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let own = files::small(Path::new("/proc/self/comm")).unwrap_or_default();
        assert!(own.is_empty() || run_in(&own, &[here]));
        assert!(!run_in(&own, &[Path::new("/nowhere")]));
        assert!(!run_in("no such program", &[here]));
    }
}
