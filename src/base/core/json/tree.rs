//! JSON as it stands in a text: every value with its place. Strict, so that what we accept the
//! client accepts too; an error names line and column.

use std::fmt;
use std::ops::Range;

/// Deeper than anybody nests settings, and far from the end of the stack.
const DEEPEST: usize = 200;

#[derive(Debug)]
pub struct Node {
    /// In bytes of the text.
    pub span: Range<usize>,
    pub value: Value,
}

#[derive(Debug)]
pub enum Value {
    Object(Vec<Member>),
    Array(Vec<Node>),
    /// Decoded; half a surrogate pair is U+FFFD.
    Text(String),
    /// Its value is only good for comparing; the spelling is in the text.
    Number(f64),
    Bool(bool),
    Null,
}

#[derive(Debug)]
pub struct Member {
    /// From the key to the end of the value.
    pub span: Range<usize>,
    pub key: String,
    pub value: Node,
}

#[derive(Debug, PartialEq)]
pub struct Malformed {
    pub line: usize,
    pub column: usize,
    pub what: String,
}

impl Malformed {
    pub fn at(line: usize, column: usize, what: &str) -> Self {
        Self { line, column, what: what.to_owned() }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.what)
    }
}

impl std::error::Error for Malformed {}

impl Node {
    /// The value of a key; of two equal keys the last one counts, as it does for the client.
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.members().iter().rev().find(|member| member.key == key).map(|member| &member.value)
    }

    pub fn members(&self) -> &[Member] {
        if let Value::Object(members) = &self.value { members } else { &[] }
    }

    pub fn elements(&self) -> &[Self] {
        if let Value::Array(elements) = &self.value { elements } else { &[] }
    }

    pub fn text(&self) -> Option<&str> {
        if let Value::Text(text) = &self.value { Some(text) } else { None }
    }

    pub fn number(&self) -> Option<f64> {
        if let Value::Number(number) = self.value { Some(number) } else { None }
    }

    pub fn is_true(&self) -> bool {
        matches!(self.value, Value::Bool(true))
    }

    pub fn is_null(&self) -> bool {
        matches!(self.value, Value::Null)
    }

    pub fn is_object(&self) -> bool {
        matches!(self.value, Value::Object(_))
    }

    pub fn is_array(&self) -> bool {
        matches!(self.value, Value::Array(_))
    }
}

/// The value that a text holds. A byte order mark before it is passed over.
pub fn parse(text: &str) -> Result<Node, Malformed> {
    let mut reader = Reader { text, at: 0 };
    if text.starts_with('\u{feff}') {
        reader.at = '\u{feff}'.len_utf8();
    }
    let node = reader.value(0)?;
    reader.blanks();
    if reader.at < text.len() {
        return Err(reader.wrong("there is more text after the end of the JSON value"));
    }
    Ok(node)
}

/// Line and column (in characters, both from 1) of a byte of a text.
pub fn line_and_column(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let column = before.get(start..).unwrap_or_default().trim_start_matches('\u{feff}');
    (line, column.chars().count() + 1)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn value(&mut self, depth: usize) -> Result<Node, Malformed> {
        self.blanks();
        if depth > DEEPEST {
            return Err(self.wrong("it is nested too deep"));
        }
        let start = self.at;
        let value = match self.peek() {
            Some(b'{') => self.object(depth)?,
            Some(b'[') => self.array(depth)?,
            Some(b'"') => Value::Text(self.string()?),
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(b't') => self.word("true", Value::Bool(true))?,
            Some(b'f') => self.word("false", Value::Bool(false))?,
            Some(b'n') => self.word("null", Value::Null)?,
            Some(b'/') => return Err(self.wrong("comments are not allowed in JSON")),
            Some(_) => return Err(self.wrong("a value must stand here")),
            None => return Err(self.wrong("the text ends where a value must stand")),
        };
        Ok(Node { span: start..self.at, value })
    }

    fn object(&mut self, depth: usize) -> Result<Value, Malformed> {
        let mut members = Vec::new();
        self.items('}', |reader| {
            let start = reader.at;
            if reader.peek() != Some(b'"') {
                return Err(reader.wrong("a key in double quotes must stand here"));
            }
            let key = reader.string()?;
            reader.blanks();
            if reader.peek() != Some(b':') {
                return Err(reader.wrong("`:` must stand here"));
            }
            reader.at += 1;
            let value = reader.value(depth + 1)?;
            members.push(Member { span: start..reader.at, key, value });
            Ok(())
        })?;
        Ok(Value::Object(members))
    }

    fn array(&mut self, depth: usize) -> Result<Value, Malformed> {
        let mut elements = Vec::new();
        self.items(']', |reader| {
            elements.push(reader.value(depth + 1)?);
            Ok(())
        })?;
        Ok(Value::Array(elements))
    }

    /// What stands between two brackets, with commas in between.
    fn items(
        &mut self,
        close: char,
        mut read_item: impl FnMut(&mut Self) -> Result<(), Malformed>,
    ) -> Result<(), Malformed> {
        let closes = |byte: Option<u8>| byte.map(char::from) == Some(close);
        self.at += 1;
        self.blanks();
        while !closes(self.peek()) {
            read_item(self)?;
            self.blanks();
            if closes(self.peek()) {
                break;
            }
            if self.peek() != Some(b',') {
                return Err(self.wrong(&format!("`,` or `{close}` must stand here")));
            }
            self.at += 1;
            self.blanks();
            if closes(self.peek()) {
                let what = format!("a comma before `{close}` is not allowed in JSON");
                return Err(self.wrong(&what));
            }
        }
        self.at += 1;
        Ok(())
    }

    /// Its end is found here; serde_json decodes it, unless half a surrogate pair is in it.
    fn string(&mut self) -> Result<String, Malformed> {
        let start = self.at;
        self.at += 1;
        loop {
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => self.escape()?,
                Some(0..0x20) => {
                    return Err(self.wrong("a line break or control character is in a string"));
                }
                Some(_) => self.at += 1,
                None => return Err(self.wrong("a string is not closed")),
            }
        }
        self.at += 1;
        let raw = self.text.get(start..self.at).unwrap_or_default();
        Ok(serde_json::from_str(raw).unwrap_or_else(|_| "\u{fffd}".to_owned()))
    }

    fn escape(&mut self) -> Result<(), Malformed> {
        self.at += 1;
        let hex = |digits: &str| digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        match self.peek() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 1,
            Some(b'u') if self.text.get(self.at + 1..self.at + 5).is_some_and(hex) => self.at += 5,
            _ => return Err(self.wrong("there is no such escape in JSON")),
        }
        Ok(())
    }

    fn number(&mut self) -> Result<Value, Malformed> {
        let start = self.at;
        while matches!(self.peek(), Some(b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9')) {
            self.at += 1;
        }
        let raw = self.text.get(start..self.at).unwrap_or_default();
        if !is_number(raw) {
            self.at = start;
            return Err(self.wrong("this is no number in JSON"));
        }
        Ok(Value::Number(raw.parse().unwrap_or(f64::INFINITY)))
    }

    fn word(&mut self, word: &str, value: Value) -> Result<Value, Malformed> {
        if !self.text.get(self.at..).is_some_and(|rest| rest.starts_with(word)) {
            return Err(self.wrong("a value must stand here"));
        }
        self.at += word.len();
        Ok(value)
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn wrong(&self, what: &str) -> Malformed {
        let (line, column) = line_and_column(self.text, self.at);
        Malformed { line, column, what: what.to_owned() }
    }
}

/// `-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?`
fn is_number(raw: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let raw = raw.strip_prefix('-').unwrap_or(raw);
    let (mantissa, exponent) = match raw.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (raw, None),
    };
    let exponent =
        exponent.is_none_or(|text| digits(text.strip_prefix(['+', '-']).unwrap_or(text)));
    let (whole, part) = match mantissa.split_once('.') {
        Some((whole, part)) => (whole, Some(part)),
        None => (mantissa, None),
    };
    let whole = digits(whole) && (whole == "0" || !whole.starts_with('0'));
    whole && part.is_none_or(digits) && exponent
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fails(text: &str) -> String {
        parse(text).unwrap_err().to_string()
    }

    #[test]
    fn values_know_their_place() {
        let text = "\u{feff}{ \"a\" : [1e400, \"x\\u00e9\\ud800\"],\n\"b\": {\"c\": null}}\r\n";
        let root = parse(text).unwrap();
        let list = root.get("a").unwrap();
        assert_eq!(text.get(list.span.clone()).unwrap(), "[1e400, \"x\\u00e9\\ud800\"]");
        assert_eq!(list.elements()[0].number(), Some(f64::INFINITY));
        assert!(root.get("b").unwrap().get("c").unwrap().is_null());
        assert_eq!(text.get(root.members()[1].span.clone()).unwrap(), "\"b\": {\"c\": null}");
    }

    #[test]
    fn what_the_client_would_refuse_is_refused_with_its_place() {
        assert_eq!(
            fails("{\n  \"a\": 1,\n}"),
            "line 3, column 1: a comma before `}` is not allowed in JSON"
        );
        assert_eq!(fails("{\"é\": 01}"), "line 1, column 7: this is no number in JSON");
        assert_eq!(fails("// x\n{}"), "line 1, column 1: comments are not allowed in JSON");
        assert!(fails("{\"a\": 1} x").starts_with("line 1, column 10: there is more"));
        for text in [
            "", "{", "{\"a\"", "{\"a\":", "[1,]", "{'a': 1}", "\"a\nb\"", "\"\\x\"", "nul", "+1",
            ".5", "1.", "-",
        ] {
            assert!(parse(text).is_err(), "{text:?}");
        }
        assert!(parse(&"[".repeat(100_000)).is_err());
    }

    #[test]
    fn it_agrees_with_serde_json() {
        for text in ["0", "-0.5e+3", "1E9", "\"\\/\\b\\u0041\"", "[]", " {} ", "[[],{}]", "true"] {
            assert!(parse(text).is_ok(), "{text}");
            assert!(serde_json::from_str::<serde_json::Value>(text).is_ok(), "{text}");
        }
    }
}
