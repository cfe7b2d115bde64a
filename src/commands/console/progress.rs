//! A line on the terminal for what may take longer than a second: what is done, and for how long
//! already. It comes after a second, on stderr, and goes before anything else is printed.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::console::project::Project;
use crate::console::screen;
use crate::core::table::{clean, cut_to_width};
use crate::process::lines;

/// What is over by then needs no line.
const PATIENCE: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(200);
const MARKS: [&str; 4] = ["|", "/", "-", "\\"];
/// A terminal that does not tell its width.
const NARROW: u16 = 60;

/// As long as this is kept, the work goes on.
#[must_use]
pub struct Progress {
    line: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Project<'_> {
    /// Tells a person who waits what is done: "reading 200 transcripts". Elsewhere nothing is said.
    pub fn progress(&self, what: &str) -> Progress {
        let terminal = lines::stderr_is_terminal() && !self.process.terminal().dumb;
        let line = terminal.then(|| {
            let (done, waits) = mpsc::channel();
            let what = what.to_owned();
            (done, thread::spawn(move || show(&what, &|time| is_over(&waits, time))))
        });
        Progress { line }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((done, thread)) = self.line.take() {
            drop(done);
            // The line has to be gone before anything else is printed.
            let _ = thread.join();
        }
    }
}

fn is_over(waits: &mpsc::Receiver<()>, time: Duration) -> bool {
    !matches!(waits.recv_timeout(time), Err(RecvTimeoutError::Timeout))
}

fn show(what: &str, is_over: &dyn Fn(Duration) -> bool) {
    if is_over(PATIENCE) {
        return;
    }
    let width = usize::from(screen::columns().unwrap_or(NARROW)).saturating_sub(1);
    let mut passed = PATIENCE;
    for mark in MARKS.iter().cycle() {
        let line = spelled(mark, what, passed, width);
        // Nobody sees it any more: it is not worth an error.
        if lines::overwrite(&line.as_str().into()).is_err() || is_over(TICK) {
            break;
        }
        passed += TICK;
    }
    let _ = lines::overwrite(&" ".repeat(width).into());
    let _ = lines::overwrite(&"".into());
}

/// `/ reading 200 transcripts … 3 s`, always as wide as the line before.
fn spelled(mark: &str, what: &str, passed: Duration, width: usize) -> String {
    let line = format!("{mark} {} … {} s", clean(what), passed.as_secs());
    format!("{:<width$}", cut_to_width(&line, width))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_width_of_the_terminal() {
        let line = spelled("|", "reading\x1b[2J 3 files", Duration::from_millis(2400), 40);
        assert!(line.starts_with("| reading") && line.contains("3 files … 2 s"), "{line}");
        assert!(!line.contains('\x1b') && line.chars().count() == 40, "{line}");
        assert_eq!(spelled("|", "reading", Duration::ZERO, 5).chars().count(), 5);
    }
}
