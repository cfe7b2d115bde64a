//! Whether the client behind a session still runs.

use std::path::Path;

use rustix::process::Pid;
use serde::{Deserialize, Serialize};

use crate::core::text::Extra;
use crate::process::files;

const MOST_ANCESTORS: usize = 64;

/// The client process behind a session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Client {
    #[cfg_attr(test, schemars(extend("maximum" = u32::MAX)))]
    pub pid: u32,
    /// The process's start time in the kernel's own ticks: a pid alone is used again.
    pub started: Option<u64>,
    pub host: String,
    #[serde(flatten)]
    pub extra: Extra,
}

impl Client {
    /// Whether it is that process, whatever else is noted about it.
    pub fn is(&self, other: &Self) -> bool {
        (self.pid, self.started, &self.host) == (other.pid, other.started, &other.host)
    }
}

/// When a process was started, in the kernel's clock ticks since boot. Field 22 of
/// `/proc/PID/stat`; the second field is a name in parentheses that may hold anything.
pub fn start_time(pid: u32) -> Option<u64> {
    let stat = files::small(Path::new(&format!("/proc/{pid}/stat")))?;
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_ascii_whitespace().nth(19)?.parse().ok()
}

pub fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Whether a process, or one that it comes from, was given the mark that Claude Code gives to all
/// that it starts.
pub fn is_marked(mut pid: u32) -> bool {
    for _ in 0..MOST_ANCESTORS {
        let environment = files::head(Path::new(&format!("/proc/{pid}/environ")), 1 << 20);
        let mut entries = environment.iter().flat_map(|bytes| bytes.split(|byte| *byte == 0));
        if entries.any(|entry| entry.starts_with(b"CLAUDECODE=")) {
            return true;
        }
        match parent_of(pid) {
            Some(parent) if parent > 1 => pid = parent,
            _ => return false,
        }
    }
    false
}

/// Field 4 of `/proc/PID/stat`.
fn parent_of(pid: u32) -> Option<u32> {
    let stat = files::small(Path::new(&format!("/proc/{pid}/stat")))?;
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// Only a process of this machine can be known to be gone.
pub fn is_gone(client: &Client, host: &str) -> bool {
    if client.host != host {
        return false;
    }
    match start_time(client.pid) {
        Some(started) => client.started.is_some_and(|then| then != started),
        None => !exists(client.pid),
    }
}

/// Where there is no `/proc`: a signal that is not sent tells.
fn exists(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| match rustix::process::test_kill_process(pid) {
        Ok(()) => true,
        Err(error) => error == rustix::io::Errno::PERM,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn we_are_alive_and_nobody_else_is() {
        let pid = std::os::unix::process::parent_id();
        let mut client =
            Client { pid, started: start_time(pid), host: host_name(), ..Client::default() };
        assert!(!is_gone(&client, &host_name()));
        client.started = Some(1);
        assert!(is_gone(&client, &host_name()), "another process with the same pid");
        client.pid = 999_999_999;
        assert!(is_gone(&client, &host_name()));
        assert!(!is_gone(&client, "elsewhere"));
    }
}
