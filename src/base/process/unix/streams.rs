//! The three standard streams, with patience.

use std::io;
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::process::lines::Woken;

const NOW: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

/// Makes sure that 0, 1 and 2 are taken. Where a caller closed one of them, the next file that is
/// opened would get its number, and a reply would be written into it.
pub fn standard_streams() {
    let (stdin, stdout, stderr) =
        (rustix::stdio::stdin(), rustix::stdio::stdout(), rustix::stdio::stderr());
    let mut fds = [&stdin, &stdout, &stderr].map(|fd| PollFd::new(fd, PollFlags::empty()));
    if poll(&mut fds, Some(&NOW)) == Ok(0) {
        return;
    }
    for fd in fds.iter().filter(|fd| fd.revents().contains(PollFlags::NVAL)) {
        let _ = fd;
        // The lowest free number is the one that is missing. It stays open for good.
        if let Ok(null) = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null") {
            std::mem::forget(null);
        }
    }
}

/// Stdin for who does not wait for ever.
pub struct Stdin;

impl Stdin {
    pub fn open() -> Self {
        Self
    }

    /// Whether there is something to read (the end of the stream counts) within some time.
    pub fn is_readable(&mut self, patience: Duration) -> bool {
        let stdin = rustix::stdio::stdin();
        let mut fds = [PollFd::new(&stdin, PollFlags::IN)];
        loop {
            match poll(&mut fds, Some(&timeout(patience))) {
                Ok(n) => return n > 0,
                Err(rustix::io::Errno::INTR) => {}
                // What cannot be polled is read: the read says what is wrong.
                Err(_) => return true,
            }
        }
    }

    /// Adds what comes next, at most so much; nothing is the end of the stream.
    pub fn read(&mut self, bytes: &mut Vec<u8>, most: usize) -> io::Result<usize> {
        bytes.reserve(most);
        Ok(rustix::io::read(rustix::stdio::stdin(), spare_capacity(bytes))?)
    }

    /// Waits for a line, and for the reader of our output to go away. A signal ends the wait too.
    pub fn wait(&mut self, patience: Duration, has_ended: bool) -> Woken {
        let (stdin, stdout) = (rustix::stdio::stdin(), rustix::stdio::stdout());
        let reader = PollFd::new(&stdout, PollFlags::empty());
        let typist = PollFd::new(&stdin, PollFlags::IN);
        let mut fds = if has_ended { vec![reader] } else { vec![reader, typist] };
        if !matches!(poll(&mut fds, Some(&timeout(patience))), Ok(1..)) {
            return Woken::Nothing;
        }
        let gone = PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL;
        if fds.first().is_some_and(|fd| fd.revents().intersects(gone)) {
            return Woken::Unheard;
        }
        let mut typed = Vec::new();
        match self.read(&mut typed, 256) {
            Ok(1..) => Woken::Typed(typed),
            Err(error) if is_passing(&error) => Woken::Typed(typed),
            Ok(_) | Err(_) => Woken::StdinEnded,
        }
    }
}

/// Whether a read may be tried again.
pub fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock)
}

/// Whether the terminal was closed. Nobody has to send a signal then.
pub fn stdout_is_gone() -> bool {
    let stdout = rustix::stdio::stdout();
    let mut fds = [PollFd::new(&stdout, PollFlags::empty())];
    let polled = poll(&mut fds, Some(&NOW));
    polled.is_ok() && fds.iter().any(|fd| fd.revents().intersects(PollFlags::HUP | PollFlags::ERR))
}

pub fn timeout(patience: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(patience.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(patience.subsec_nanos()),
    }
}
