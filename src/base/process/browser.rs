//! Showing a file in the user's browser.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::process::Process;
use crate::process::system::programs::{Group, OPENERS};

/// Who fails does so at once; who shows the file may stay.
const LOOKS: u32 = 10;
const TICK: Duration = Duration::from_millis(100);

/// Starts the browser and leaves it alone.
pub fn open(process: &Process, file: &Path) -> io::Result<()> {
    let Some((program, before)) = opener(process) else {
        let names = OPENERS.map(|(name, _)| name);
        return Err(io::Error::other(format!("there is no {}", names.join(", no "))));
    };
    let mut command = Command::new(&program);
    command.args(before).arg(file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let (mut child, _) = Group::spawn(&mut command)?;
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

fn opener(process: &Process) -> Option<(PathBuf, &'static [&'static str])> {
    let named = process.env("BROWSER");
    let named = named.as_deref().and_then(|names| names.split(':').next());
    let named = named.map(|name| (name, [].as_slice()));
    let mut all = named.into_iter().chain(OPENERS);
    all.find_map(|(name, before)| Some((process.on_path(name)?, before)))
}
