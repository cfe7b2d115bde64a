//! Takes secrets out of text before it is stored: keys of the common shapes, bearer tokens,
//! passwords in URLs, flags and assignments, private keys. Ids, paths and hashes stay.
//!
//! `scan` goes over a text once; what it looks for stands in the tables of `tokens`, `names`,
//! `places` and `arguments`. A project's own `patterns` come after it.

mod arguments;
mod classes;
mod looks;
pub mod names;
pub mod patterns;
mod places;
mod runs;
pub mod scan;
#[cfg(test)]
mod tests;
mod tokens;
mod values;

use crate::core::redaction::names::Kind;
use crate::core::redaction::patterns::Patterns;
use crate::core::text::{clip, clip_block};

pub const MARK: &str = "[redacted]";

/// How much behind the part that is kept is looked at. Longer than any token.
const MARGIN: usize = 4096;

/// Redacts by the built-in rules and a project's own patterns.
#[derive(Default)]
pub struct Redactor {
    patterns: Patterns,
}

impl Redactor {
    /// Patterns that are no regular expressions were reported when the settings were read.
    pub fn new(patterns: &[String]) -> Self {
        Self { patterns: Patterns::new(patterns) }
    }

    /// All of a text.
    pub fn text(&self, text: &str) -> String {
        self.patterns.replace(scan::redact(text, false).0)
    }

    /// The first `most` characters on one line: what is not kept is not looked at, and a secret
    /// that begins in what is kept goes, wherever it ends.
    pub fn line(&self, text: &str, most: usize) -> String {
        clip(&self.head(text.trim_start(), most), most)
    }

    /// The first `most` characters with line breaks kept.
    pub fn block(&self, text: &str, most: usize) -> String {
        clip_block(&self.head(text, most), most)
    }

    /// The beginning of a text, long enough for `most` characters of it. Ends with `…` if there is
    /// more.
    pub fn head(&self, text: &str, most: usize) -> String {
        // A character has at most four bytes; what is clean gets shorter, never what is kept.
        let wanted = most.saturating_mul(4).saturating_add(2 * MARGIN);
        if text.len() <= wanted {
            return self.text(text);
        }
        let head = text.get(..text.floor_char_boundary(wanted)).unwrap_or_default();
        self.cut(head)
    }

    /// A text that was cut off: what may be the beginning of a secret at its end goes too.
    pub fn cut(&self, text: &str) -> String {
        let mut clean = self.patterns.replace(scan::redact(text, true).0);
        if !self.patterns.is_empty() {
            // What a project's pattern would match may begin in the last part and end behind it.
            let tail = clean.rfind(MARK).map_or(0, |at| at + MARK.len());
            let sure = clean.len().saturating_sub(patterns::LONGEST_MATCH).max(tail);
            clean.truncate(clean.floor_char_boundary(sure));
        }
        clean.push('…');
        clean
    }

    /// A value that is stored with its key: the key may say that the value is a secret.
    pub fn field(&self, key: &str, value: &str) -> String {
        let kind = names::kind(key.as_bytes());
        let is_secret = kind.is_some_and(|kind| kind != Kind::Weak);
        if is_secret || names::is_header(key.as_bytes()) {
            return MARK.to_owned();
        }
        self.text(value)
    }

    /// What was not looked for any more, because it cost too much.
    pub fn dropped(&self) -> Vec<String> {
        self.patterns.dropped()
    }
}
