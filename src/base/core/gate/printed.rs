//! What commands print: lines that have passed the gate, and colours of our own.

use std::fmt;
use std::ops::Deref;

use serde::Serialize;

use super::{Words, is_break, is_invisible};

/// A text for a terminal. Line breaks and tabs stay; colours are put on by [`Printed::painted`] alone,
/// and by [`Printed::run`] where a whole screen is drawn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Printed(pub(super) String);

impl Printed {
    /// A text in a colour of ours: the numbers of its escape sequence.
    pub fn painted(style: &'static str, text: &str) -> Self {
        Self(format!("\x1b[{style}m{}\x1b[0m", Self::from(text)))
    }

    /// JSON that people can read too. What a terminal would obey is escaped, so nothing is lost.
    pub fn json<T: Serialize + ?Sized>(value: &T) -> serde_json::Result<Self> {
        Ok(Self::escaped(&serde_json::to_string_pretty(value)?))
    }

    /// JSON on one line, escaped.
    pub fn json_line(value: &serde_json::Value) -> Self {
        Self::escaped(&value.to_string())
    }

    fn escaped(json: &str) -> Self {
        let mut out = String::with_capacity(json.len());
        for c in json.chars() {
            match is_refused(c) {
                true => c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| {
                    out.push_str(&format!("\\u{unit:04x}"));
                }),
                false => out.push(c),
            }
        }
        Self(out)
    }

    /// A line of its own.
    pub fn line(&mut self, text: impl Into<Words>) {
        self.push(text.into());
        self.0.push('\n');
    }

    pub fn push(&mut self, more: impl Into<Self>) {
        self.0.push_str(&more.into().0);
    }

    /// Without blanks at the end.
    pub fn trimmed(mut self) -> Self {
        self.0.truncate(self.0.trim_end().len());
        self
    }
}

/// What must not reach a terminal in a text of several lines.
fn is_refused(c: char) -> bool {
    !matches!(c, '\n' | '\t') && (is_break(c) || is_invisible(c))
}

impl Deref for Printed {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl From<String> for Printed {
    fn from(text: String) -> Self {
        let plain = |b: &u8| matches!(b, b' '..0x7f | b'\n' | b'\t');
        if text.as_bytes().iter().all(plain) || !text.chars().any(is_refused) {
            return Self(text);
        }
        let shown = |c: char| match is_break(c) {
            true if is_refused(c) => Some('\u{fffd}'),
            _ => (!is_invisible(c)).then_some(c),
        };
        Self(text.chars().filter_map(shown).collect())
    }
}

impl From<&str> for Printed {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<Words> for Printed {
    fn from(words: Words) -> Self {
        Self(words.0)
    }
}

impl fmt::Display for Printed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromIterator<Printed> for Printed {
    fn from_iter<I: IntoIterator<Item = Printed>>(pieces: I) -> Self {
        Self(pieces.into_iter().map(|piece| piece.0).collect())
    }
}
