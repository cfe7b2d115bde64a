//! The terminal: its modes, its size, and the keys that are pressed there.

use std::fs::File;
use std::io::{self, IsTerminal as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};

use super::streams::{is_passing, timeout};
use crate::core::gate::keys::{Input, Keys};

/// A terminal sends the bytes of a key at once; over a network they may come in pieces.
const TOGETHER: Duration = Duration::from_millis(50);
const MOST: usize = 1024;

/// How the terminal was before it was taken.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

/// From now on keys come one by one, are not shown, and send no signal.
pub fn take() -> io::Result<()> {
    let mut before = before();
    if before.is_some() {
        return Ok(());
    }
    let terminal = open()?;
    let modes = tcgetattr(&terminal)?;
    let mut raw = modes.clone();
    raw.make_raw();
    tcsetattr(&terminal, OptionalActions::Now, &raw)?;
    *before = Some(modes);
    Ok(())
}

/// Gives it its modes back, if it was taken.
pub fn give_back() -> io::Result<()> {
    let mut before = before();
    if let Some(modes) = &*before {
        tcsetattr(open()?, OptionalActions::Now, modes)?;
        *before = None;
    }
    Ok(())
}

/// Columns and rows of the terminal that we write to: stdout, or else stderr.
pub fn size() -> io::Result<(u16, u16)> {
    let size = match tcgetwinsize(rustix::stdio::stdout()) {
        Ok(size) => size,
        Err(_) => tcgetwinsize(rustix::stdio::stderr())?,
    };
    Ok((size.ws_col, size.ws_row))
}

pub struct Keyboard {
    terminal: OwnedFd,
    keys: Keys,
}

impl Keyboard {
    pub fn open() -> io::Result<Self> {
        Ok(Self { terminal: open()?, keys: Keys::default() })
    }

    /// What comes next, within some time; a signal ends the wait too.
    pub fn input(&mut self, patience: Duration) -> io::Result<Input> {
        if let Some(input) = self.keys.take() {
            return Ok(input);
        }
        let is_unsure = self.keys.is_unsure();
        let patience = if is_unsure { TOGETHER } else { patience };
        let mut fds = [PollFd::new(&self.terminal, PollFlags::IN)];
        match poll(&mut fds, Some(&timeout(patience))) {
            Ok(0) => return Ok(self.keys.settle().unwrap_or(Input::Nothing)),
            // Not every system can wait for `/dev/tty`.
            Ok(_) if fds.iter().any(|fd| fd.revents().contains(PollFlags::NVAL)) => {
                return Err(io::ErrorKind::Unsupported.into());
            }
            Ok(_) => {}
            Err(Errno::INTR) => return Ok(Input::Nothing),
            Err(error) => return Err(error.into()),
        }
        let mut bytes = Vec::with_capacity(MOST);
        match rustix::io::read(&self.terminal, spare_capacity(&mut bytes)) {
            // The terminal is gone.
            Ok(0) | Err(Errno::IO) => return Ok(Input::Interrupt),
            Ok(_) => self.keys.feed(&bytes),
            Err(error) if is_passing(&error.into()) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(self.keys.take().unwrap_or(Input::Nothing))
    }
}

/// The terminal that keys come from, whatever stdin is.
fn open() -> io::Result<OwnedFd> {
    let stdin = io::stdin();
    match stdin.is_terminal() {
        true => stdin.as_fd().try_clone_to_owned(),
        false => Ok(File::options().read(true).write(true).open("/dev/tty")?.into()),
    }
}

fn before() -> MutexGuard<'static, Option<Termios>> {
    BEFORE.lock().unwrap_or_else(PoisonError::into_inner)
}
