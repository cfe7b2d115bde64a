//! The terminal: its modes, its size, and the keys that are pressed there.

use std::io;
use std::time::Duration;

use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use crossterm::{ansi_support, terminal};

use crate::core::gate::keys::Input;

/// From now on keys come one by one, are not shown, and send no signal; what is written is obeyed as
/// on every other system.
pub fn take() -> io::Result<()> {
    if !ansi_support::supports_ansi() {
        return Err(io::ErrorKind::Unsupported.into());
    }
    terminal::enable_raw_mode()
}

/// Gives it its modes back.
pub fn give_back() -> io::Result<()> {
    terminal::disable_raw_mode()
}

/// Columns and rows of the terminal that we write to.
pub fn size() -> io::Result<(u16, u16)> {
    terminal::size()
}

pub struct Keyboard;

impl Keyboard {
    pub fn open() -> io::Result<Self> {
        Ok(Self)
    }

    /// What comes next, within some time.
    pub fn input(&mut self, patience: Duration) -> io::Result<Input> {
        if !event::poll(patience)? {
            return Ok(Input::Nothing);
        }
        match event::read()? {
            Event::Key(key) if key.kind != KeyEventKind::Release => Ok(named(&key)),
            Event::Resize(..) => Ok(Input::Redraw),
            _ => Ok(Input::Nothing),
        }
    }
}

fn named(key: &KeyEvent) -> Input {
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        return match key.code {
            KeyCode::Char('c' | 'd') => Input::Interrupt,
            KeyCode::Char('l') => Input::Redraw,
            // Programs cannot be stopped here.
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
