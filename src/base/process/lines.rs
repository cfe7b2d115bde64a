//! Output line by line, for commands that go on printing, and the wait between two prints.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use crate::core::gate::Printed;
use crate::process::system::streams::Stdin;

/// What stdin said while nothing was to print.
#[derive(Debug, PartialEq)]
pub enum Heard {
    Nothing,
    /// A line with `q`.
    Quit,
    /// Nobody reads stdout any more.
    Unheard,
}

/// What ended a wait.
#[derive(Debug, PartialEq)]
pub enum Woken {
    Nothing,
    #[cfg_attr(windows, expect(dead_code, reason = "nobody can tell there"))]
    Unheard,
    Typed(Vec<u8>),
    StdinEnded,
}

pub struct Lines {
    stdin: Stdin,
    /// What stdin gave so far of a line.
    typed: Vec<u8>,
    stdin_ended: bool,
}

impl Default for Lines {
    fn default() -> Self {
        Self { stdin: Stdin::open(), typed: Vec::new(), stdin_ended: false }
    }
}

impl Lines {
    pub fn print(&self, text: &Printed) -> io::Result<()> {
        let mut stdout = io::stdout().lock();
        writeln!(stdout, "{}", text.trim_end_matches('\n'))?;
        stdout.flush()
    }

    /// Waits, at most this long. A signal ends the wait too.
    pub fn wait(&mut self, patience: Duration) -> Heard {
        match self.stdin.wait(patience, self.stdin_ended) {
            Woken::Nothing => return Heard::Nothing,
            Woken::Unheard => return Heard::Unheard,
            Woken::Typed(typed) => self.typed.extend(typed),
            // Without a stdin it goes on: a signal can still end it.
            Woken::StdinEnded => self.stdin_ended = true,
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

/// Writes to stdout what is for a terminal, and nothing around it.
pub fn show(text: &Printed) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}

/// Writes over the line that stderr's terminal is on.
pub fn overwrite(text: &Printed) -> io::Result<()> {
    let mut stderr = io::stderr().lock();
    write!(stderr, "\r{}", &**text)?;
    stderr.flush()
}

pub fn stderr_is_terminal() -> bool {
    io::stderr().is_terminal()
}

/// Whether a person sits at stdin, who would have to be waited for.
pub fn stdin_is_terminal() -> bool {
    io::stdin().is_terminal()
}

/// Says on a terminal what is waited for; elsewhere nothing.
pub fn hint(text: &Printed) {
    let mut stderr = io::stderr();
    if stderr.is_terminal() {
        let _ = writeln!(stderr, "{text}");
    }
}
