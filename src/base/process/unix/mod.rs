//! What Linux and macOS do in their own way.

pub mod disk;
pub mod programs;
pub mod streams;
pub mod terminal;

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGPIPE, SIGTERM, SIGTSTP, SIGWINCH};

pub use std::os::unix::process::parent_id;
pub use streams::standard_streams;

/// Where the user's own directory is named, and the one for what is thrown away.
pub const HOME: [&str; 1] = ["HOME"];
pub const TEMP_DIR: [&str; 1] = ["TMPDIR"];
pub const USUAL_TEMP_DIR: &str = "/tmp";
/// What may stand behind the name of a program.
pub const PROGRAM_ENDS: [&str; 1] = [""];

/// Signals that end a program, that say that it goes on, and that are of no interest: a reader that
/// went away shows as an error of the write.
pub const ENDING: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];
pub const RESUMING: [i32; 1] = [SIGCONT];
pub const IGNORED: [i32; 1] = [SIGPIPE];
/// Signals that only end a wait: the terminal has another size.
pub const WAKING: [i32; 1] = [SIGWINCH];

/// Stops this process, as Ctrl-Z does where the terminal sees to it.
pub fn stop_here() {
    let _ = signal_hook::low_level::raise(SIGTSTP);
}

/// Whether a file can be started.
pub fn is_program(file: &Path) -> bool {
    file.is_file() && rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok()
}

/// Whether a process runs: a signal that is not sent tells.
pub fn exists(pid: u32) -> bool {
    named(pid).is_some_and(|pid| match test_kill_process(pid) {
        Ok(()) => true,
        Err(error) => error == rustix::io::Errno::PERM,
    })
}

pub fn kill(pid: u32) {
    if let Some(pid) = named(pid) {
        let _ = kill_process(pid, Signal::KILL);
    }
}

/// What is in a directory. Not by std's `read_dir`: that one panics where closing the directory
/// fails, and an error of the disk would end a hook.
pub fn entries(path: &Path) -> std::io::Result<Vec<PathBuf>> {
    let dir = rustix::fs::Dir::read_from(std::fs::File::open(path)?)?;
    let mut found = Vec::new();
    for entry in dir {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            found.push(path.join(std::ffi::OsStr::from_bytes(name)));
        }
    }
    Ok(found)
}

fn named(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw)
}
