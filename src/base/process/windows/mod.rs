//! What Windows does in its own way.

pub mod disk;
pub mod programs;
pub mod streams;
pub mod terminal;

use std::path::{Path, PathBuf};

use signal_hook::consts::{SIGINT, SIGTERM};
use sysinfo::{Pid, ProcessRefreshKind, ProcessesToUpdate, System};

pub use streams::standard_streams;

/// Where the user's own directory is named, and the one for what is thrown away.
pub const HOME: [&str; 2] = ["USERPROFILE", "HOME"];
pub const TEMP_DIR: [&str; 2] = ["TMP", "TEMP"];
pub const USUAL_TEMP_DIR: &str = "C:\\Windows\\Temp";
/// What may stand behind the name of a program.
pub const PROGRAM_ENDS: [&str; 4] = ["", ".exe", ".cmd", ".bat"];

/// Signals that end a program; there are none that say that it goes on.
pub const ENDING: [i32; 2] = [SIGINT, SIGTERM];
pub const RESUMING: [i32; 0] = [];
pub const IGNORED: [i32; 0] = [];
pub const WAKING: [i32; 0] = [];

/// Programs cannot be stopped here.
pub fn stop_here() {}

/// Whether a file can be started.
pub fn is_program(file: &Path) -> bool {
    let ends = file.extension().map(|end| end.to_string_lossy().to_lowercase());
    let starts = ends.is_some_and(|end| matches!(end.as_str(), "exe" | "com" | "cmd" | "bat"));
    starts && file.is_file()
}

/// Whether a process runs.
pub fn exists(pid: u32) -> bool {
    look_at(pid).process(Pid::from_u32(pid)).is_some()
}

pub fn kill(pid: u32) {
    if let Some(process) = look_at(pid).process(Pid::from_u32(pid)) {
        process.kill();
    }
}

/// Who started us; 0 if nobody can tell.
pub fn parent_id() -> u32 {
    let own = std::process::id();
    let parent = look_at(own).process(Pid::from_u32(own)).and_then(|own| own.parent());
    parent.map_or(0, Pid::as_u32)
}

fn look_at(pid: u32) -> System {
    let mut system = System::new();
    let (one, nothing) = ([Pid::from_u32(pid)], ProcessRefreshKind::nothing());
    system.refresh_processes_specifics(ProcessesToUpdate::Some(&one), true, nothing);
    system
}

/// What is in a directory.
pub fn entries(path: &Path) -> std::io::Result<Vec<PathBuf>> {
    std::fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect()
}
