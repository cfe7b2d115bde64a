//! A quick walk over JSON text: whether it is well formed, and where its parts stand. Nothing is
//! decoded and nothing is copied, so a document costs about three instructions per byte.

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
    at: usize,
    /// What closes the lists and objects that are being skipped.
    closers: Vec<u8>,
}

impl<'a> Scanner<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, closers: Vec::new() }
    }

    /// Walks over an object and lets `visit` walk over each value; it is given the key, without
    /// its quotes.
    pub fn object(&mut self, mut visit: impl FnMut(&mut Self, Span) -> Option<()>) -> Option<()> {
        self.expect(b'{')?;
        if self.closes(b'}')? {
            return Some(());
        }
        loop {
            let key = self.key()?;
            visit(self, key)?;
            if self.ends(b'}')? {
                return Some(());
            }
        }
    }

    /// Walks over a list and lets `visit` walk over each item.
    pub fn list(&mut self, mut visit: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.expect(b'[')?;
        if self.closes(b']')? {
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
        self.skip_value()?;
        Some(Span { start, end: self.at })
    }

    /// Whether an object comes next.
    pub fn is_at_object(&mut self) -> bool {
        self.skip_blanks();
        self.peek() == Some(b'{')
    }

    /// Where the next value begins.
    pub fn start(&mut self) -> usize {
        self.skip_blanks();
        self.at
    }

    /// Where the last value ended.
    pub fn position(&self) -> usize {
        self.at
    }

    /// What stands between the quotes of a string, decoded. `None`: it is half of a character.
    pub fn decode(&self, inner: Span) -> Option<Cow<'a, str>> {
        let inner = self.bytes.get(inner.start..inner.end)?;
        unescape(std::str::from_utf8(inner).ok()?)
    }

    /// Nothing may follow.
    pub fn finish(&mut self) -> Option<()> {
        self.skip_blanks();
        (self.at == self.bytes.len()).then_some(())
    }

    /// Walks over a value without recursion: depth is no danger.
    fn skip_value(&mut self) -> Option<()> {
        let outside = self.closers.len();
        loop {
            self.skip_blanks();
            match self.next()? {
                b'"' => drop(self.string()?),
                b'{' if !self.closes(b'}')? => {
                    self.closers.push(b'}');
                    self.key()?;
                    continue;
                }
                b'[' if !self.closes(b']')? => {
                    self.closers.push(b']');
                    continue;
                }
                b'{' | b'[' => {}
                first => self.scalar(first)?,
            }
            loop {
                if self.closers.len() == outside {
                    return Some(());
                }
                let closer = self.closers.last().copied()?;
                if !self.ends(closer)? {
                    break;
                }
                self.closers.pop();
            }
            if self.closers.last() == Some(&b'}') {
                self.key()?;
            }
        }
    }

    /// The rest of a value that is no string, list or object.
    fn scalar(&mut self, first: u8) -> Option<()> {
        match first {
            b't' => self.literal(b"rue"),
            b'f' => self.literal(b"alse"),
            b'n' => self.literal(b"ull"),
            b'-' => {
                let first = self.next()?;
                self.number(first)
            }
            _ => self.number(first),
        }
    }

    fn number(&mut self, first: u8) -> Option<()> {
        match first {
            b'0' => {}
            b'1'..=b'9' => self.skip_digits(),
            _ => return None,
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.some_digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.some_digits()?;
        }
        Some(())
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        self.skip_blanks();
        (self.next()? == byte).then_some(())
    }

    /// Whether a list or object that was just opened is empty.
    fn closes(&mut self, closer: u8) -> Option<bool> {
        self.skip_blanks();
        let is_empty = self.peek()? == closer;
        self.at += usize::from(is_empty);
        Some(is_empty)
    }

    /// What follows a value in a list or object: its end, or a comma and the next one.
    fn ends(&mut self, closer: u8) -> Option<bool> {
        self.skip_blanks();
        match self.next()? {
            b',' => Some(false),
            byte if byte == closer => Some(true),
            _ => None,
        }
    }

    /// A key and its colon.
    fn key(&mut self) -> Option<Span> {
        self.expect(b'"')?;
        let key = self.string()?;
        self.expect(b':')?;
        Some(key)
    }

    /// The rest of a string whose opening quote is behind us; what is between its quotes.
    fn string(&mut self) -> Option<Span> {
        let start = self.at;
        loop {
            while let Some(word) = self.word() {
                let stops = stops(word);
                if stops != 0 {
                    self.at += (stops.trailing_zeros() / 8) as usize;
                    break;
                }
                self.at += 8;
            }
            match self.next()? {
                b'"' => return Some(Span { start, end: self.at - 1 }),
                b'\\' => self.escape()?,
                0..=0x1f => return None,
                _ => {}
            }
        }
    }

    fn escape(&mut self) -> Option<()> {
        match self.next()? {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(()),
            b'u' => {
                let digits = self.bytes.get(self.at..self.at + 4)?;
                self.at += 4;
                digits.iter().all(u8::is_ascii_hexdigit).then_some(())
            }
            _ => None,
        }
    }

    fn some_digits(&mut self) -> Option<()> {
        let start = self.at;
        self.skip_digits();
        (self.at > start).then_some(())
    }

    fn skip_digits(&mut self) {
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
    }

    fn literal(&mut self, rest: &[u8]) -> Option<()> {
        let end = self.at + rest.len();
        let is_there = self.bytes.get(self.at..end)? == rest;
        self.at = end;
        is_there.then_some(())
    }

    fn skip_blanks(&mut self) {
        loop {
            match self.peek() {
                // Indentation is most of what a document has between its values.
                Some(b' ') => {
                    let others = self.word().map_or(1 << 8, |word| word ^ SPACES);
                    self.at += (others.trailing_zeros() / 8) as usize;
                }
                Some(b'\n' | b'\r' | b'\t') => self.at += 1,
                _ => return,
            }
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    /// The next eight bytes, the first one lowest.
    fn word(&self) -> Option<u64> {
        let rest = self.bytes.get(self.at..)?;
        rest.first_chunk().map(|chunk| u64::from_le_bytes(*chunk))
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
fn unescape(inner: &str) -> Option<Cow<'_, str>> {
    if memchr::memchr(b'\\', inner.as_bytes()).is_none() {
        return Some(Cow::Borrowed(inner));
    }
    serde_json::from_str(&format!("\"{inner}\"")).ok().map(Cow::Owned)
}

#[cfg(test)]
mod tests {
    use serde::de::IgnoredAny;

    use super::*;

    const TEXTS: [&str; 4] = [
        "{\n    \"a\": [1, -0.5e+3, 20E1, true, false, null, \"\", {}, [ ]],\r\t\"b\\u00e9\\n\": \"some\\\\ \\\"text\\\" that is longer, ü\"\n}\n",
        "[{\"id\":\"a long enough name\",\"n\":0},{\"id\":\"b\",\"deep\":{\"x\":[[[]]]}}]",
        "  \"\\ud83d\"  ",
        "-12.0",
    ];

    #[test]
    fn it_takes_what_serde_json_takes() {
        for text in TEXTS {
            assert!(is_value(text.as_bytes()), "{text}");
            let bytes = text.as_bytes();
            let cuts = (0..bytes.len()).map(|at| bytes[..at].to_vec());
            let flips = (0..bytes.len() * 256).map(|n| {
                let mut bytes = bytes.to_vec();
                bytes[n / 256] = (n % 256) as u8;
                bytes
            });
            for damaged in cuts.chain(flips) {
                let expected = serde_json::from_slice::<IgnoredAny>(&damaged).is_ok();
                let text = String::from_utf8_lossy(&damaged);
                assert_eq!(is_value(&damaged), expected, "{text:?}");
            }
        }
    }

    #[test]
    fn depth_is_no_danger() {
        assert!(is_value(format!("{}{}", "[".repeat(100_000), "]".repeat(100_000)).as_bytes()));
        assert!(!is_value(&[b'['; 1_000_000]));
    }

    #[test]
    fn parts_are_found_where_they_stand() {
        let text = r#"{ "a" : [1, "x\ty"], "b\u0021": {"c": 2} }"#;
        let mut scanner = Scanner::new(text.as_bytes());
        let mut found = Vec::new();
        let walked = scanner.object(|scanner, key| {
            let value = scanner.value()?;
            found.push((scanner.decode(key)?, value.slice(text)));
            Some(())
        });
        assert!(walked.and_then(|()| scanner.finish()).is_some());
        assert_eq!(found, [("a".into(), r#"[1, "x\ty"]"#), ("b!".into(), r#"{"c": 2}"#)]);
    }
}
