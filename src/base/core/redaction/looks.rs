//! Whether a value looks like a secret.

use crate::core::redaction::classes::Class;
use crate::core::redaction::names::Kind;
use crate::core::redaction::runs::Runs;
use crate::core::redaction::scan::Secret;

/// How much of a value is looked at.
const SAMPLE: usize = 64;

/// What stands behind a name that says what it is, in prose or in code.
pub fn secret(runs: &mut Runs, value: &Secret, kind: Kind, is_quoted: bool) -> bool {
    let Secret { start, end } = *value;
    if end - start < 6 || is_path(runs, value) || (!is_quoted && is_called(runs, end)) {
        return false;
    }
    let digits = runs.has_digit(start, end);
    if kind == Kind::Password {
        let sample = runs.bytes.get(start..end.min(start + SAMPLE)).unwrap_or_default();
        let signs = sample.iter().any(|b| b"!@#$%^*?~".contains(b));
        return (digits || signs) && !is_member(sample);
    }
    let sample = runs.bytes.get(start..end.min(start + SAMPLE)).unwrap_or_default();
    let member = is_member(sample);
    // `Token2` is a name.
    let counted = sample.len() < 16 && sample.iter().rev().skip(1).all(u8::is_ascii_alphabetic);
    (digits && !member && !counted && runs.has_letter(start, end))
        || (end - start >= 20 && runs.is_mixed(start, end) && !member)
}

/// A value in quotes behind a name that says what it is.
pub fn quoted(runs: &Runs, value: &Secret, kind: Kind) -> bool {
    let text = runs.bytes.get(value.clone()).unwrap_or_default();
    let blank = text.iter().any(u8::is_ascii_whitespace);
    match kind {
        // Four words or more are a sentence about passwords.
        Kind::Password => text.split(u8::is_ascii_whitespace).take(7).count() < 7,
        _ => !blank || text.starts_with(b"-----"),
    }
}

/// A text that only a machine has made: long, of letters and digits that change often.
pub fn random(runs: &mut Runs, value: &Secret, least: usize) -> bool {
    let Secret { start, end } = *value;
    if end - start < least || !runs.has_digit(start, end) || !runs.has_letter(start, end) {
        return false;
    }
    let sample = runs.bytes.get(start..end.min(start + SAMPLE)).unwrap_or_default();
    let sort = |b: u8| match b {
        b'0'..=b'9' => 1,
        b'a'..=b'z' => 2,
        b'A'..=b'Z' => 3,
        _ => 0,
    };
    let changes = sample.windows(2).filter(|pair| match pair {
        [a, b] => sort(*a) != sort(*b) && sort(*a) > 0 && sort(*b) > 0,
        _ => false,
    });
    changes.count() >= 4 && sample.iter().all(|b| Class::Key.has(*b) || b"!@#$^*:?".contains(b))
}

/// `read_password`, `self.token`, `parser.next()`: what stands there is a name itself.
pub fn code(runs: &Runs, value: &Secret, name: &[u8]) -> bool {
    let sample = runs.bytes.get(value.start..value.end.min(value.start + SAMPLE));
    let sample = sample.unwrap_or_default();
    let shouts = !name.iter().any(u8::is_ascii_lowercase);
    is_called(runs, value.end)
        || is_path(runs, value)
        || (!shouts && sample.iter().any(|b| matches!(b, b'.' | b'_' | b':')) && is_member(sample))
}

/// Names, joined by dots, colons and underscores.
fn is_member(sample: &[u8]) -> bool {
    let name = |b: &u8| b.is_ascii_alphabetic() || matches!(b, b'_' | b'.' | b':' | b'?' | b'!');
    let digits = sample.iter().filter(|b| b.is_ascii_digit()).count();
    digits <= 1
        && sample.iter().all(|b| name(b) || b.is_ascii_digit())
        && (digits == 0 || sample.iter().any(|b| matches!(b, b'.' | b':' | b'_')))
        && !sample.iter().any(|b| b == &b'!' || b == &b'?' && digits > 0)
}

fn is_called(runs: &Runs, end: usize) -> bool {
    // `Vec2<T>`, but not a value with a closing tag behind it.
    let is_generic =
        runs.starts(end, "<") && !["</", "<\\/"].iter().any(|tag| runs.starts(end, tag));
    matches!(runs.byte(end), Some(b'(' | b'[')) || is_generic
}

fn is_path(runs: &Runs, value: &Secret) -> bool {
    let text = runs.bytes.get(value.clone()).unwrap_or_default();
    let starts = ["/", "./", "../", "~/", "http://", "https://", "file:", "src/"];
    starts.iter().any(|start| text.starts_with(start.as_bytes()))
}
