//! By `/proc`.

use std::path::{Path, PathBuf};

use crate::process::files;

/// When a process was started, in the kernel's clock ticks since boot. Field 22 of
/// `/proc/PID/stat`; the second field is a name in parentheses that may hold anything.
pub fn start_time(pid: u32) -> Option<u64> {
    field(pid, 19)
}

/// Field 4 of `/proc/PID/stat`.
pub fn parent_of(pid: u32) -> Option<u32> {
    field(pid, 1)
}

fn field<T: std::str::FromStr>(pid: u32, behind_name: usize) -> Option<T> {
    let stat = files::small(Path::new(&format!("/proc/{pid}/stat")))?;
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_ascii_whitespace().nth(behind_name)?.parse().ok()
}

pub fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

pub fn all() -> Vec<u32> {
    let entries = files::entries(Path::new("/proc")).unwrap_or_default().into_iter();
    entries.filter_map(|process| process.file_name()?.to_str()?.parse().ok()).collect()
}

/// What a process was given, as `NAME=value`; nothing where we may not look.
pub fn environment(pid: u32) -> Vec<Vec<u8>> {
    let all = files::head(Path::new(&format!("/proc/{pid}/environ")), 1 << 20).unwrap_or_default();
    all.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect()
}

#[cfg(test)]
pub fn name_of(pid: u32) -> Option<String> {
    files::small(Path::new(&format!("/proc/{pid}/comm")))
}

/// Whether a program of this name runs with its working directory in one of these. Where nobody can
/// know, none does.
pub fn run_in(name: &str, dirs: &[&Path]) -> bool {
    let is_there = |process: PathBuf| {
        files::small(&process.join("comm")).is_some_and(|comm| comm == name)
            && std::fs::read_link(process.join("cwd"))
                .is_ok_and(|cwd| dirs.iter().any(|dir| cwd.starts_with(dir)))
    };
    files::entries(Path::new("/proc")).unwrap_or_default().into_iter().any(is_there)
}
