//! Showing a file in the user's browser.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::process::Process;

/// Programs that know the user's browser, besides the one in `BROWSER`.
const OPENERS: [&str; 3] =
    [if cfg!(target_os = "macos") { "open" } else { "xdg-open" }, "wslview", "x-www-browser"];
/// Who fails does so at once; who shows the file may stay.
const LOOKS: u32 = 10;
const TICK: Duration = Duration::from_millis(100);

/// Starts the browser and leaves it alone.
pub fn open(process: &Process, file: &Path) -> io::Result<()> {
    let Some(program) = opener(process) else {
        return Err(io::Error::other(format!("there is no {}", OPENERS.join(", no "))));
    };
    let mut command = Command::new(&program);
    command.arg(file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.process_group(0).spawn()?;
    for _ in 0..LOOKS {
        match child.try_wait()? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => {
                return Err(io::Error::other(format!("{}: {status}", program.display())));
            }
            None => thread::sleep(TICK),
        }
    }
    Ok(())
}

fn opener(process: &Process) -> Option<PathBuf> {
    let named = process.env("BROWSER");
    let named = named.as_deref().and_then(|names| names.split(':').next());
    named.into_iter().chain(OPENERS).find_map(|name| process.on_path(name))
}
