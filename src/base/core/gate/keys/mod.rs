//! Which keys were pressed, by the bytes that a terminal sends. What is no key of ours is passed over,
//! a sequence as a whole. With Alt or Shift a key is what it is without.

#[cfg(test)]
mod tests;

use std::{mem, str};

/// What somebody did at the terminal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Input {
    /// Ctrl-C, a signal, or the terminal is gone.
    Interrupt,
    /// Ctrl-Z.
    Stop,
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
    /// The time is up; or what came means nothing.
    Nothing,
}

const ESCAPE: u8 = 27;
const SHIFT: u32 = 1;
const CONTROL: u32 = 4;
const RELEASED: u32 = 3;

#[derive(Default)]
pub struct Keys {
    /// Before all that follows, Esc was pressed.
    is_escaped: bool,
    /// What has come and was not understood yet.
    bytes: Vec<u8>,
}

impl Keys {
    /// What one read gave.
    pub fn feed(&mut self, read: &[u8]) {
        // A sequence may come in pieces. A key that is pressed with Alt comes at once: this is another one.
        if self.is_unsure() && !matches!(read, [] | [b'[' | b'O', ..]) {
            self.is_escaped = true;
            self.bytes.clear();
        }
        self.bytes.extend_from_slice(read);
    }

    /// The next key, once all of it is there.
    pub fn take(&mut self) -> Option<Input> {
        if mem::take(&mut self.is_escaped) {
            return Some(Input::Escape);
        }
        while let Some((length, input)) = first(&self.bytes) {
            self.bytes.drain(..length);
            if input != Input::Nothing {
                return Some(input);
            }
        }
        None
    }

    /// Whether only time tells what came: the key Esc, or the beginning of a sequence.
    pub fn is_unsure(&self) -> bool {
        self.bytes == [ESCAPE]
    }

    /// Nothing came for a while, so it was the key.
    pub fn settle(&mut self) -> Option<Input> {
        if !self.is_unsure() {
            return None;
        }
        self.bytes.clear();
        Some(Input::Escape)
    }
}

/// What the first bytes mean, and how many they are; `None` if more have to come.
fn first(bytes: &[u8]) -> Option<(usize, Input)> {
    match bytes {
        [] | [ESCAPE] | [ESCAPE, b'O'] => None,
        [ESCAPE, ESCAPE, ..] => Some((1, Input::Escape)),
        [ESCAPE, b'[', rest @ ..] => behind(2, sequence(rest)),
        [ESCAPE, b'O', key, ..] => Some((3, named("", *key))),
        [ESCAPE, rest @ ..] => behind(1, first(rest)),
        [byte, ..] if byte.is_ascii_control() => Some((1, control(*byte))),
        _ => character(bytes),
    }
}

fn behind(before: usize, found: Option<(usize, Input)>) -> Option<(usize, Input)> {
    let (length, input) = found?;
    Some((before + length, input))
}

fn control(byte: u8) -> Input {
    match byte {
        3 | 4 => Input::Interrupt,
        b'\t' => Input::Tab,
        12 => Input::Redraw,
        b'\r' => Input::Enter,
        26 => Input::Stop,
        127 => Input::Backspace,
        _ => Input::Nothing,
    }
}

/// What stands behind `Esc [`: numbers, and a letter that ends them.
fn sequence(bytes: &[u8]) -> Option<(usize, Input)> {
    // Function keys of the Linux console, and where a mouse is: so many bytes behind the letter.
    let more = match bytes.first()? {
        b'[' => 1,
        b'M' => 3,
        _ => 0,
    };
    if more > 0 {
        return (bytes.len() > more).then_some((1 + more, Input::Nothing));
    }
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b' '..=b'?' => {}
            b'@'..=b'~' => {
                let numbers = str::from_utf8(bytes.get(..at)?).unwrap_or("?");
                return Some((at + 1, named(numbers, *byte)));
            }
            // Broken off; what broke it has a meaning of its own.
            _ => return Some((at, Input::Nothing)),
        }
    }
    None
}

/// `5;2~`: a key, what is held with it, and whether it was released: `5;1:3~`.
fn named(numbers: &str, letter: u8) -> Input {
    if numbers.contains(|c: char| !matches!(c, '0'..='9' | ';' | ':')) {
        return Input::Nothing;
    }
    let key = number(numbers, 0, 0);
    let held = number(numbers, 1, 0).saturating_sub(1);
    if number(numbers, 1, 1) == RELEASED {
        return Input::Nothing;
    }
    let is_control = held & CONTROL != 0;
    match (letter, key) {
        (b'u', _) => spelled(key, held),
        _ if is_control => Input::Nothing,
        (b'A', _) => Input::Up,
        (b'B', _) => Input::Down,
        (b'H', _) | (b'~', 1 | 7) => Input::Home,
        (b'Z', _) => Input::BackTab,
        (b'~', 5) => Input::PageUp,
        (b'~', 6) => Input::PageDown,
        _ => Input::Nothing,
    }
}

/// One of the numbers; 0 if it is not there.
fn number(numbers: &str, place: usize, part: usize) -> u32 {
    let group = numbers.split(';').nth(place).unwrap_or_default();
    group.split(':').nth(part).unwrap_or_default().parse().unwrap_or(0)
}

/// A key by the number of its character, as terminals send it that were told to.
fn spelled(key: u32, held: u32) -> Input {
    let Some(c) = char::from_u32(key) else { return Input::Nothing };
    if held & CONTROL != 0 {
        return match c {
            'c' | 'd' => Input::Interrupt,
            'l' => Input::Redraw,
            'z' => Input::Stop,
            _ => Input::Nothing,
        };
    }
    match c {
        '\u{1b}' => Input::Escape,
        '\r' => Input::Enter,
        '\t' if held & SHIFT != 0 => Input::BackTab,
        '\t' => Input::Tab,
        '\u{7f}' => Input::Backspace,
        // For private use: keys that have no character.
        '\u{e000}'..='\u{f8ff}' => Input::Nothing,
        _ if c.is_control() => Input::Nothing,
        _ => Input::Char(c),
    }
}

/// A character, once all of its bytes are there.
fn character(bytes: &[u8]) -> Option<(usize, Input)> {
    // None has more than four.
    let bytes = bytes.get(..4).unwrap_or(bytes);
    let text = match str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) if error.valid_up_to() == 0 => {
            return error.error_len().map(|length| (length, Input::Nothing));
        }
        Err(error) => str::from_utf8(bytes.get(..error.valid_up_to())?).ok()?,
    };
    let c = text.chars().next()?;
    let input = if c.is_control() { Input::Nothing } else { Input::Char(c) };
    Some((c.len_utf8(), input))
}
