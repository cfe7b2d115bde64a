//! The whole terminal: taken, drawn on, listened to, and given back as it was, whatever happens.

use std::io;
use std::panic;
use std::sync::Once;
use std::time::Duration;

use crate::console::canvas::Canvas;
use crate::core::gate::Printed;
use crate::core::gate::keys::Input;
use crate::process::lines;
use crate::process::signals::Signals;
use crate::process::system::streams::stdout_is_gone;
use crate::process::system::terminal::{self, Keyboard};

/// The longest that a signal is not noticed.
const SLICE: Duration = Duration::from_millis(200);

pub struct Screen {
    keyboard: Keyboard,
    signals: Signals,
    /// What the terminal shows, if that is known.
    shown: Option<Canvas>,
    /// Of the last picture.
    size: (u16, u16),
}

impl Screen {
    pub fn open() -> io::Result<Self> {
        let signals = Signals::noted()?;
        signals.insist(give_back);
        Signals::wake_when_resized()?;
        give_back_on_panic();
        let (keyboard, size) = (Keyboard::open()?, terminal::size()?);
        enter()?;
        Ok(Self { keyboard, signals, shown: None, size })
    }

    /// Shows a picture. Only rows that have changed are written.
    pub fn draw(&mut self, paint: impl FnOnce(&mut Canvas)) -> io::Result<()> {
        self.size = terminal::size()?;
        let (width, height) = self.size;
        let mut canvas = Canvas::new(width, height);
        paint(&mut canvas);
        lines::show(&canvas.changes(self.shown.as_ref()))?;
        self.shown = Some(canvas);
        Ok(())
    }

    /// What comes next, within some time.
    pub fn input(&mut self, patience: Duration) -> io::Result<Input> {
        let mut left = patience;
        loop {
            if self.signals.say_end() || stdout_is_gone() {
                return Ok(Input::Interrupt);
            }
            if self.signals.say_resumed() {
                give_back();
                enter()?;
                self.shown = None;
                return Ok(Input::Redraw);
            }
            if terminal::size()? != self.size {
                return Ok(Input::Redraw);
            }
            let slice = left.min(SLICE);
            match self.keyboard.input(slice)? {
                Input::Stop => {
                    give_back();
                    Signals::stop_here();
                }
                Input::Redraw => {
                    self.shown = None;
                    return Ok(Input::Redraw);
                }
                Input::Nothing => {}
                input => return Ok(input),
            }
            left = left.saturating_sub(slice);
            if left.is_zero() {
                return Ok(Input::Nothing);
            }
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

/// How many columns the terminal has that we write to.
pub fn columns() -> Option<u16> {
    match terminal::size() {
        Ok((columns, _)) if columns > 0 => Some(columns),
        _ => None,
    }
}

fn enter() -> io::Result<()> {
    terminal::take()?;
    let entered = lines::show(&Printed::whole_screen());
    if entered.is_err() {
        give_back();
    }
    entered
}

/// All that can be done is tried: the terminal may be gone. Its modes come first, because one that takes
/// nothing lets a write wait.
fn give_back() {
    let _ = terminal::give_back();
    let _ = lines::show(&Printed::screen_given_back());
}

/// The message of a panic has to be seen, and release builds end there.
fn give_back_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            give_back();
            before(info);
        }));
    });
}
