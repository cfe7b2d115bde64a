//! Whether the client behind a session still runs.

use serde::{Deserialize, Serialize};

use crate::core::text::Extra;
use crate::process::processes::{exists, start_time};

/// The client process behind a session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
pub struct Client {
    #[cfg_attr(feature = "testing", schemars(extend("maximum" = u32::MAX)))]
    pub pid: u32,
    /// The process's start time as the system counts it: a pid alone is used again.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::processes::host_name;

    #[test]
    fn we_are_alive_and_nobody_else_is() {
        let pid = crate::process::system::parent_id();
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
