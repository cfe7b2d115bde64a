//! The whole terminal: taken, drawn on, listened to, and given back as it was, whatever happens.

use std::io::{self, Stdout, Write};
use std::panic;
use std::sync::Once;
use std::time::Duration;

use ratatui_core::terminal::{Frame, Terminal};
use ratatui_crossterm::CrosstermBackend;
use ratatui_crossterm::crossterm::cursor::{Hide, Show};
use ratatui_crossterm::crossterm::event::{
    self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers,
};
use ratatui_crossterm::crossterm::style::ResetColor;
use ratatui_crossterm::crossterm::terminal::{
    self, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui_crossterm::crossterm::{execute, queue};

use crate::process::signals::Signals;
use crate::process::system::streams::stdout_is_gone;

/// The longest that a signal is not noticed.
const SLICE: Duration = Duration::from_millis(200);

pub struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
    signals: Signals,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Input {
    /// Ctrl-C, a signal, or the terminal is gone.
    Interrupt,
    Escape,
    Enter,
    Tab,
    BackTab,
    Backspace,
    Up,
    Down,
    PageUp,
    PageDown,
    Home,
    /// What was typed.
    Char(char),
    /// The size has changed, or the terminal shows something else.
    Redraw,
    /// The time is up.
    Nothing,
}

impl Screen {
    pub fn open() -> io::Result<Self> {
        let signals = Signals::noted()?;
        signals.insist(give_back);
        give_back_on_panic();
        enter()?;
        let terminal = Terminal::new(CrosstermBackend::new(io::stdout()));
        if terminal.is_err() {
            give_back();
        }
        Ok(Self { terminal: terminal?, signals })
    }

    pub fn draw(&mut self, picture: impl FnOnce(&mut Frame)) -> io::Result<()> {
        self.terminal.draw(picture).map(|_| ())
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
                self.terminal.clear()?;
                return Ok(Input::Redraw);
            }
            let slice = left.min(SLICE);
            if event::poll(slice)? {
                match event::read()? {
                    Event::Key(key) if stops(&key) => {
                        give_back();
                        Signals::stop_here();
                    }
                    Event::Key(key) if key.kind != KeyEventKind::Release => {
                        let input = named(&key);
                        if input == Input::Redraw {
                            self.terminal.clear()?;
                        }
                        return Ok(input);
                    }
                    Event::Resize(..) => return Ok(Input::Redraw),
                    _ => {}
                }
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

/// How many columns stdout's terminal has.
pub fn columns() -> Option<u16> {
    terminal::size().ok().map(|(columns, _)| columns).filter(|columns| *columns > 0)
}

fn enter() -> io::Result<()> {
    enable_raw_mode()?;
    execute!(io::stdout(), EnterAlternateScreen, Hide).inspect_err(|_| give_back())
}

/// All that can be done is tried: the terminal may be gone.
fn give_back() {
    let mut stdout = io::stdout();
    let _ = queue!(stdout, ResetColor, LeaveAlternateScreen, Show);
    let _ = stdout.flush();
    let _ = disable_raw_mode();
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

fn stops(key: &KeyEvent) -> bool {
    key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('z')
}

fn named(key: &KeyEvent) -> Input {
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        return match key.code {
            KeyCode::Char('c' | 'd') => Input::Interrupt,
            KeyCode::Char('l') => Input::Redraw,
            _ => Input::Nothing,
        };
    }
    match key.code {
        KeyCode::Esc => Input::Escape,
        KeyCode::Enter => Input::Enter,
        KeyCode::Tab => Input::Tab,
        KeyCode::BackTab => Input::BackTab,
        KeyCode::Backspace => Input::Backspace,
        KeyCode::Up => Input::Up,
        KeyCode::Down => Input::Down,
        KeyCode::PageUp => Input::PageUp,
        KeyCode::PageDown => Input::PageDown,
        KeyCode::Home => Input::Home,
        KeyCode::Char(typed) => Input::Char(typed),
        _ => Input::Nothing,
    }
}
