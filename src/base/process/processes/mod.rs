//! Which programs run, when they were started, and what they were given.

#[cfg_attr(target_os = "linux", path = "linux.rs")]
#[cfg_attr(not(target_os = "linux"), path = "elsewhere.rs")]
mod table;

pub use table::{host_name, run_in, start_time};

use crate::process::system;

const MOST_ANCESTORS: usize = 64;

/// Whether a process runs.
pub fn exists(pid: u32) -> bool {
    system::exists(pid)
}

/// The processes of ours that have this in their environment.
pub fn with_environment(name: &str, value: &str) -> Vec<u32> {
    let wanted = format!("{name}={value}").into_bytes();
    table::all().into_iter().filter(|pid| table::environment(*pid).contains(&wanted)).collect()
}

/// Whether a process, or one that it comes from, has a variable in its environment.
pub fn is_below_variable(mut pid: u32, name: &str) -> bool {
    let beginning = format!("{name}=").into_bytes();
    for _ in 0..MOST_ANCESTORS {
        if table::environment(pid).iter().any(|entry| entry.starts_with(&beginning)) {
            return true;
        }
        match table::parent_of(pid) {
            Some(parent) if parent > 1 => pid = parent,
            _ => return false,
        }
    }
    false
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test may ask who it is")]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn an_environment_is_found_whole() {
        let pid = std::process::id();
        let own = table::environment(pid).into_iter().next().unwrap_or_default();
        let own = String::from_utf8(own).unwrap();
        if let Some((name, value)) = own.split_once('=') {
            assert!(with_environment(name, value).contains(&pid));
            assert!(!with_environment(name, &format!("{value}x")).contains(&pid));
            assert!(is_below_variable(pid, name));
        }
        assert!(!is_below_variable(pid, "NO_SUCH_VARIABLE_ANYWHERE"));
    }

    #[test]
    fn only_who_runs_there_is_seen() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let own = table::name_of(std::process::id()).unwrap_or_default();
        assert!(own.is_empty() || run_in(&own, &[here]));
        assert!(!run_in(&own, &[Path::new("/nowhere")]));
        assert!(!run_in("no such program", &[here]));
    }

    #[test]
    fn a_start_time_stays() {
        let own = start_time(std::process::id());
        assert!(own.is_some());
        assert_eq!(start_time(std::process::id()), own);
        assert!(exists(std::process::id()) && !exists(999_999_999));
    }
}
