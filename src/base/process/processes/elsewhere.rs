//! By what macOS (`libproc`, `sysctl`) and Windows tell; `sysinfo` asks them. Commands look at all
//! processes, hooks at one.

use std::path::Path;

use sysinfo::{Pid, Process, ProcessRefreshKind, ProcessesToUpdate, System, UpdateKind};

/// When a process was started, in seconds since 1970.
pub fn start_time(pid: u32) -> Option<u64> {
    of(pid, ProcessRefreshKind::nothing(), Process::start_time).filter(|seconds| *seconds > 0)
}

pub fn parent_of(pid: u32) -> Option<u32> {
    of(pid, ProcessRefreshKind::nothing(), |process| process.parent().map(Pid::as_u32)).flatten()
}

pub fn host_name() -> String {
    System::host_name().unwrap_or_default()
}

pub fn all() -> Vec<u32> {
    let mut system = System::new();
    let nothing = ProcessRefreshKind::nothing();
    system.refresh_processes_specifics(ProcessesToUpdate::All, true, nothing);
    system.processes().keys().map(|pid| pid.as_u32()).collect()
}

/// What a process was given, as `NAME=value`; nothing where we may not look.
pub fn environment(pid: u32) -> Vec<Vec<u8>> {
    let wanted = ProcessRefreshKind::nothing().with_environ(UpdateKind::Always);
    let given = |process: &Process| {
        process.environ().iter().map(|entry| entry.as_encoded_bytes().to_vec()).collect()
    };
    of(pid, wanted, given).unwrap_or_default()
}

#[cfg(test)]
pub fn name_of(pid: u32) -> Option<String> {
    of(pid, ProcessRefreshKind::nothing(), |process| stem(process).to_owned())
}

/// Whether a program of this name runs with its working directory in one of these. Where nobody can
/// know, none does.
pub fn run_in(name: &str, dirs: &[&Path]) -> bool {
    let mut system = System::new();
    let wanted = ProcessRefreshKind::nothing().with_cwd(UpdateKind::Always);
    system.refresh_processes_specifics(ProcessesToUpdate::All, true, wanted);
    system.processes().values().any(|process| {
        let is_in = |cwd: &Path| dirs.iter().any(|dir| cwd.starts_with(dir));
        stem(process) == name && process.cwd().is_some_and(is_in)
    })
}

/// A program's name without what Windows puts behind it.
fn stem(process: &Process) -> &str {
    let name = process.name().to_str().unwrap_or_default();
    name.strip_suffix(".exe").unwrap_or(name)
}

/// What is known of one process; `None` if there is none.
fn of<T>(pid: u32, wanted: ProcessRefreshKind, read: impl FnOnce(&Process) -> T) -> Option<T> {
    let pid = Pid::from_u32(pid);
    let mut system = System::new();
    system.refresh_processes_specifics(ProcessesToUpdate::Some(&[pid]), true, wanted);
    system.process(pid).map(read)
}
