//! Output line by line, for commands that go on printing, and the wait between two prints.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::core::gate::Printed;

/// What stdin said while nothing was to print.
#[derive(Debug, PartialEq)]
pub enum Heard {
    Nothing,
    /// A line with `q`.
    Quit,
    /// Nobody reads stdout any more.
    Unheard,
}

#[derive(Default)]
pub struct Lines {
    /// What stdin gave so far of a line.
    typed: Vec<u8>,
    stdin_ended: bool,
}

impl Lines {
    pub fn print(&self, text: &Printed) -> io::Result<()> {
        let mut stdout = io::stdout().lock();
        writeln!(stdout, "{}", text.trim_end_matches('\n'))?;
        stdout.flush()
    }

    /// Waits, at most this long. A signal ends the wait too.
    pub fn wait(&mut self, patience: Duration) -> Heard {
        let (stdin, stdout) = (rustix::stdio::stdin(), rustix::stdio::stdout());
        let reader = PollFd::new(&stdout, PollFlags::empty());
        let typist = PollFd::new(&stdin, PollFlags::IN);
        let mut fds = if self.stdin_ended { vec![reader] } else { vec![reader, typist] };
        let timeout = Timespec {
            tv_sec: i64::try_from(patience.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(patience.subsec_nanos()),
        };
        if !matches!(poll(&mut fds, Some(&timeout)), Ok(1..)) {
            return Heard::Nothing;
        }
        let gone = PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL;
        if fds.first().is_some_and(|fd| fd.revents().intersects(gone)) {
            return Heard::Unheard;
        }
        self.read()
    }

    fn read(&mut self) -> Heard {
        let mut chunk = [0; 256];
        match rustix::io::read(rustix::stdio::stdin(), &mut chunk[..]) {
            Ok(n @ 1..) => self.typed.extend_from_slice(chunk.get(..n).unwrap_or_default()),
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
            // Without a stdin it goes on: a signal can still end it.
            Ok(_) | Err(_) => self.stdin_ended = true,
        }
        let quits = self.typed.split(|byte| *byte == b'\n').any(|l| l.trim_ascii() == b"q");
        let ended = self.typed.ends_with(b"\n") || self.stdin_ended;
        if quits && ended {
            return Heard::Quit;
        }
        let last = self.typed.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
        self.typed = last.get(..last.len().min(80)).unwrap_or_default().to_vec();
        Heard::Nothing
    }
}

/// Whether a person sits at stdin, who would have to be waited for.
pub fn stdin_is_terminal() -> bool {
    io::stdin().is_terminal()
}
