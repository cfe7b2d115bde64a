//! Programs that are started, with all that they start.

use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};

use rustix::process::{Pid, Signal, kill_process_group};

/// Programs that know the user's browser, and what they are told before the file.
pub const OPENERS: [(&str, &[&str]); 3] = [
    (if cfg!(target_os = "macos") { "open" } else { "xdg-open" }, &[]),
    ("wslview", &[]),
    ("x-www-browser", &[]),
];

/// A program and all that it has started.
pub struct Group(Pid);

impl Group {
    /// Starts a program in a group of its own.
    pub fn spawn(command: &mut Command) -> io::Result<(Child, Self)> {
        let child = command.process_group(0).spawn()?;
        let group = Self(Pid::from_child(&child));
        Ok((child, group))
    }

    /// Ends all of it.
    pub fn end(&self) {
        let _ = kill_process_group(self.0, Signal::KILL);
    }
}

/// What runs a line as a person would type it.
pub fn shell(line: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", line]);
    command
}

/// As a shell says it: 128 and the signal's number if a signal ended it.
pub fn code_of(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}
