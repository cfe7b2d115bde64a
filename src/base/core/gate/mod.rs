//! The gate for words: what goes into a reply, a notice or a terminal passes here.
//!
//! Documents and payloads hold what models, tools and strangers wrote. None of it may move a cursor,
//! turn a line round, hide, or begin a line that looks like ours. What is stored stays as it is; a
//! [`Reply`](crate::core::reply::Reply) takes only [`Words`], a command prints only [`Printed`], and
//! both can be made here alone.
//!
//! A text becomes one line, whatever it holds: control, escape, direction and invisible characters
//! are taken out, and it is clipped. For several lines there are `Words::lines`, and [`Printed`] of
//! lines or of texts whose line breaks stay (`Printed::line` for a line with values in it). Colours
//! are put on behind the gate (`Printed::painted`). JSON is escaped (`Printed::json`), not changed.
//! A value inside a suggested command is a [`shell_word`], and is named so. What a command that the
//! user runs through us prints (`run-gate`, `run-verify`) is passed on as it is. What a terminal sends
//! in escape sequences is read here too, in `keys`.

pub mod keys;
pub mod printed;
pub mod terminal;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

pub use printed::Printed;

/// So much of one line; a reply as a whole has a limit of its own.
const LONGEST: usize = 4_000;

/// Lines that have passed the gate.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Words(String);

impl Words {
    /// A line for each text.
    pub fn lines<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> Self {
        let mut all = Self::default();
        for text in texts {
            all.add(&text.as_ref().into());
        }
        all
    }

    /// Further lines below.
    pub fn add(&mut self, more: &Self) {
        if !self.0.is_empty() {
            self.0.push('\n');
        }
        self.0.push_str(&more.0);
    }

    /// The first `most` characters.
    pub fn clipped(self, most: usize) -> Self {
        Self(crate::core::text::clip_block(&self.0, most))
    }
}

impl Deref for Words {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for Words {
    fn from(text: &str) -> Self {
        Self(one_line(text).into_owned())
    }
}

impl From<&String> for Words {
    fn from(text: &String) -> Self {
        text.as_str().into()
    }
}

impl From<String> for Words {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

/// A text on one line, without anything that a terminal obeys or that cannot be seen, clipped.
pub fn one_line(text: &str) -> Cow<'_, str> {
    let is_plain = |b: &u8| (b' '..0x7f).contains(b);
    if text.len() <= LONGEST && text.as_bytes().iter().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let mut line = String::with_capacity(text.len().min(LONGEST));
    let mut length = 0;
    let mut breaks = false;
    for c in text.chars().filter(|c| !is_invisible(*c)) {
        if is_break(c) {
            breaks = true;
            continue;
        }
        let between = breaks && c != ' ' && !line.is_empty() && !line.ends_with(' ');
        length += 1 + usize::from(between);
        if length > LONGEST {
            line.push('…');
            break;
        }
        if between {
            line.push(' ');
        }
        line.push(c);
        breaks = false;
    }
    Cow::Owned(line)
}

/// A word for a command that somebody may copy into a shell: one word there, whatever it holds.
pub fn shell_word(text: &str) -> String {
    let word = one_line(text);
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '-' | '_' | '~' | '+');
    let quoted = match !word.is_empty() && word.chars().all(plain) {
        true => word.into_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    };
    // An option is none behind this.
    if quoted.trim_start_matches('\'').starts_with('-') { format!("-- {quoted}") } else { quoted }
}

/// What ends a line or what a terminal obeys.
fn is_break(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')
}

/// Marks that join, hide or turn round what stands beside them: what Unicode calls ignorable by
/// default, and the marks of annotations.
fn is_invisible(c: char) -> bool {
    if c < '\u{ad}' {
        return false;
    }
    matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}
