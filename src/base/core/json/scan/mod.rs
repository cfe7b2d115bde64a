//! A quick walk over JSON text: whether it is well formed, and where its parts stand. Nothing is
//! decoded and nothing is copied, so a document costs about three instructions per byte.
//!
//! Documents that grow by entries (metrics, errors, a branch's agents) are read so
//! (`core/entries.rs`). What the scan refuses is read by serde_json, which says what is wrong with
//! it.

#[cfg(test)]
pub mod tests;

use std::borrow::Cow;

/// Where something stands in a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    pub start: usize,
    pub end: usize,
}

impl Span {
    /// The text that stands here; nothing if this is another text's place.
    pub fn slice(self, text: &str) -> &str {
        text.get(self.start..self.end).unwrap_or_default()
    }
}

/// Whether bytes are one JSON value. Strings may hold any bytes above ASCII: UTF-8 is not looked at.
pub fn is_value(bytes: &[u8]) -> bool {
    let mut scanner = Scanner::new(bytes);
    scanner.value().and_then(|_| scanner.finish()).is_some()
}

/// Walks over a JSON text. Every step gives `None` where the text is not JSON.
pub struct Scanner<'a> {
    bytes: &'a [u8],
    rest: &'a [u8],
    /// What closes the lists and objects that are being skipped.
    closers: Vec<u8>,
}

impl<'a> Scanner<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, rest: bytes, closers: Vec::new() }
    }

    /// Walks over an object and lets `visit` walk over each value; it is given the key, without
    /// its quotes.
    pub fn object(&mut self, mut visit: impl FnMut(&mut Self, Span) -> Option<()>) -> Option<()> {
        let mut is_first = true;
        while let Some(key) = self.next_key(is_first)? {
            visit(self, key)?;
            is_first = false;
        }
        Some(())
    }

    /// Walks to the next value of an object and gives its key, or over the object's end. Before
    /// the first one the object has yet to begin.
    pub fn next_key(&mut self, is_first: bool) -> Option<Option<Span>> {
        if is_first {
            self.rest = skip_blanks(expect(self.rest, b'{')?);
            if let [b'}', rest @ ..] = self.rest {
                self.rest = rest;
                return Some(None);
            }
        } else if self.ends(b'}')? {
            return Some(None);
        }
        self.rest = expect(self.rest, b'"')?;
        let start = self.position();
        self.rest = string(self.rest)?;
        let key = Span { start, end: self.position() - 1 };
        self.rest = skip_blanks(expect(self.rest, b':')?);
        Some(Some(key))
    }

    /// Walks over what was found to be good before, if the same bytes come next.
    pub fn skip(&mut self, bytes: &[u8]) -> bool {
        let rest = self.rest.strip_prefix(bytes);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Walks over a list and lets `visit` walk over each item.
    pub fn list(&mut self, mut visit: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.rest = skip_blanks(expect(self.rest, b'[')?);
        if let [b']', rest @ ..] = self.rest {
            self.rest = rest;
            return Some(());
        }
        loop {
            visit(self)?;
            if self.ends(b']')? {
                return Some(());
            }
        }
    }

    /// Walks over a value of any kind.
    pub fn value(&mut self) -> Option<Span> {
        let start = self.start();
        self.rest = match self.rest {
            // Most values.
            [b'"', rest @ ..] => string(rest)?,
            rest => value(rest, &mut self.closers)?,
        };
        Some(Span { start, end: self.position() })
    }

    /// Walks over a value that is likely to be framed like the one before it. Then only the scalars
    /// in it are looked at, and the rest is compared.
    pub fn value_like(&mut self, frame: &mut Frame<'a>) -> Option<Span> {
        let start = self.position();
        let end = match self.rest {
            // Most values.
            [b'"', rest @ ..] => string(rest),
            [b'{' | b'[', ..] => frame.walk(self.rest),
            rest => scalar(rest),
        };
        if let Some(rest) = end {
            self.rest = rest;
            return Some(Span { start, end: self.position() });
        }
        let span = self.value()?;
        frame.note(self.bytes.get(span.start..span.end)?);
        Some(span)
    }

    /// Whether an object comes next.
    pub fn is_at_object(&mut self) -> bool {
        self.rest = skip_blanks(self.rest);
        self.rest.first() == Some(&b'{')
    }

    /// Where the next value begins.
    pub fn start(&mut self) -> usize {
        self.rest = skip_blanks(self.rest);
        self.position()
    }

    /// Where the last value ended.
    pub fn position(&self) -> usize {
        self.bytes.len() - self.rest.len()
    }

    /// Nothing may follow.
    pub fn finish(&mut self) -> Option<()> {
        skip_blanks(self.rest).is_empty().then_some(())
    }

    /// What follows a value in a list or object: its end, or a comma and the next one.
    fn ends(&mut self, closer: u8) -> Option<bool> {
        let (next, rest) = skip_blanks(self.rest).split_first()?;
        self.rest = rest;
        (*next == b',' || *next == closer).then_some(*next == closer)
    }
}

/// What stands around the scalars of a value: before the first one, between two, after the last. A
/// value with the same around other scalars is well formed too.
#[derive(Default)]
pub struct Frame<'a>(Vec<&'a [u8]>);

impl<'a> Frame<'a> {
    /// Walks over a value with this frame. `None`: it has another one, or is not well formed.
    fn walk<'b>(&self, mut rest: &'b [u8]) -> Option<&'b [u8]> {
        let (before, others) = self.0.split_first()?;
        rest = rest.strip_prefix(*before)?;
        for between in others {
            rest = match rest {
                [b'"', rest @ ..] => string(rest)?,
                rest => scalar(rest)?,
            };
            rest = rest.strip_prefix(*between)?;
        }
        Some(rest)
    }

    /// Notes the frame of a value that is well formed.
    fn note(&mut self, value: &'a [u8]) {
        self.0.clear();
        let (mut outside, mut rest) = (value, value);
        while let [first, next @ ..] = rest {
            let after = match first {
                b'"' => string(next).filter(|after| !skip_blanks(after).starts_with(b":")),
                b'{' | b'}' | b'[' | b']' | b',' | b':' | b' ' | b'\n' | b'\r' | b'\t' => None,
                _ => scalar(rest),
            };
            rest = match (after, first) {
                (Some(after), _) => {
                    let length = outside.len() - rest.len();
                    self.0.push(outside.get(..length).unwrap_or_default());
                    outside = after;
                    after
                }
                (None, b'"') => string(next).unwrap_or_default(),
                (None, _) => next,
            };
        }
        self.0.push(outside);
    }
}

// Each of these takes what is left of a text and gives what is left behind what it has walked over.
// So a walk needs no memory but two registers.

/// A value, without recursion: depth is no danger.
fn value<'a>(mut rest: &'a [u8], closers: &mut Vec<u8>) -> Option<&'a [u8]> {
    let outside = closers.len();
    loop {
        rest = match skip_blanks(rest) {
            [b'"', rest @ ..] => string(rest)?,
            [b'{', inside @ ..] => match skip_blanks(inside) {
                [b'}', rest @ ..] => rest,
                inside => {
                    closers.push(b'}');
                    rest = key(inside)?;
                    continue;
                }
            },
            [b'[', inside @ ..] => match skip_blanks(inside) {
                [b']', rest @ ..] => rest,
                inside => {
                    closers.push(b']');
                    rest = inside;
                    continue;
                }
            },
            scalar => crate::core::json::scan::scalar(scalar)?,
        };
        loop {
            if closers.len() == outside {
                return Some(rest);
            }
            let closer = *closers.last()?;
            match skip_blanks(rest) {
                [b',', next @ ..] => {
                    rest = if closer == b'}' { key(next)? } else { next };
                    break;
                }
                [byte, next @ ..] if *byte == closer => {
                    rest = next;
                    closers.pop();
                }
                _ => return None,
            }
        }
    }
}

/// A value that is no string, list or object.
fn scalar(rest: &[u8]) -> Option<&[u8]> {
    match rest {
        [b'0'..=b'9', ..] => number(rest),
        [b'n', b'u', b'l', b'l', rest @ ..]
        | [b't', b'r', b'u', b'e', rest @ ..]
        | [b'f', b'a', b'l', b's', b'e', rest @ ..] => Some(rest),
        [b'-', rest @ ..] => number(rest),
        _ => None,
    }
}

fn number(rest: &[u8]) -> Option<&[u8]> {
    let mut rest = match rest {
        [b'0', rest @ ..] => rest,
        _ => digits(rest)?,
    };
    if let [b'.', fraction @ ..] = rest {
        rest = digits(fraction)?;
    }
    if let [b'e' | b'E', exponent @ ..] = rest {
        let unsigned = match exponent {
            [b'+' | b'-', rest @ ..] => rest,
            rest => rest,
        };
        rest = digits(unsigned)?;
    }
    Some(rest)
}

/// One digit or more.
fn digits(rest: &[u8]) -> Option<&[u8]> {
    let [b'0'..=b'9', rest @ ..] = rest else { return None };
    let mut rest = rest;
    while let [b'0'..=b'9', next @ ..] = rest {
        rest = next;
    }
    Some(rest)
}

/// A key and its colon.
fn key(rest: &[u8]) -> Option<&[u8]> {
    expect(string(expect(rest, b'"')?)?, b':')
}

/// A string whose opening quote is behind us.
#[inline(always)]
fn string(mut rest: &[u8]) -> Option<&[u8]> {
    loop {
        while let Some((word, next)) = rest.split_first_chunk() {
            let stops = stops(u64::from_le_bytes(*word));
            if stops != 0 {
                rest = rest.get((stops.trailing_zeros() / 8) as usize..)?;
                break;
            }
            rest = next;
        }
        match rest {
            [b'"', rest @ ..] => return Some(rest),
            [b'\\', escaped @ ..] => rest = escape(escaped)?,
            [b' '..=u8::MAX, next @ ..] => rest = next,
            _ => return None,
        }
    }
}

fn escape(rest: &[u8]) -> Option<&[u8]> {
    match rest {
        [b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', rest @ ..] => Some(rest),
        [b'u', a, b, c, d, rest @ ..] => {
            [a, b, c, d].iter().all(|digit| digit.is_ascii_hexdigit()).then_some(rest)
        }
        _ => None,
    }
}

#[inline(always)]
fn expect(rest: &[u8], byte: u8) -> Option<&[u8]> {
    let (next, rest) = skip_blanks(rest).split_first()?;
    (*next == byte).then_some(rest)
}

/// Most often there are none.
#[inline(always)]
fn skip_blanks(rest: &[u8]) -> &[u8] {
    match rest {
        [b' ' | b'\n' | b'\r' | b'\t', ..] => skip_some_blanks(rest),
        _ => rest,
    }
}

fn skip_some_blanks(mut rest: &[u8]) -> &[u8] {
    loop {
        match rest {
            [b' ', next @ ..] => {
                rest = next;
                // Indentation is most of what a document has between its values.
                while let Some((blanks, next)) = rest.split_first_chunk()
                    && *blanks == [b' '; 4]
                {
                    rest = next;
                }
            }
            [b'\n' | b'\r' | b'\t', next @ ..] => rest = next,
            _ => return rest,
        }
    }
}

const ONES: u64 = u64::from_ne_bytes([1; 8]);
const SPACES: u64 = ONES * b' ' as u64;

/// The high bits of those bytes where a string may end: a quote, a backslash, a control character.
/// Only the lowest one is exact: a subtraction borrows from the bytes above it.
fn stops(word: u64) -> u64 {
    let zero_bytes = |word: u64| word.wrapping_sub(ONES) & !word;
    let quotes = zero_bytes(word ^ (ONES * b'"' as u64));
    let escapes = zero_bytes(word ^ (ONES * b'\\' as u64));
    let controls = word.wrapping_sub(SPACES) & !word;
    (quotes | escapes | controls) & (ONES << 7)
}

/// The text of a JSON string, given without its quotes. `None`: an escape is half of a character.
pub fn unescape(inner: &str) -> Option<Cow<'_, str>> {
    if !inner.as_bytes().contains(&b'\\') {
        return Some(Cow::Borrowed(inner));
    }
    serde_json::from_str(&format!("\"{inner}\"")).ok().map(Cow::Owned)
}
