//! Tolerant reading of JSON that somebody else wrote: payloads, transcripts, side files.
//!
//! An [`Object`] is a list of keys and raw values. Nothing is decoded before it is asked for, so a
//! payload with a whole file in it costs one scan and no copy. A field of the wrong type is a
//! field that is not there; of two equal keys the last one counts.

pub mod scan;
pub mod tree;

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::value::RawValue;

use scan::{Scanner, unescape};

#[derive(Default, Clone)]
pub struct Object<'a>(Vec<(Cow<'a, str>, &'a str)>);

impl<'a> Object<'a> {
    pub fn parse(bytes: &'a [u8]) -> serde_json::Result<Self> {
        match std::str::from_utf8(bytes).ok().and_then(fields) {
            Some(fields) => Ok(Self(fields)),
            None => Err(refusal(bytes, "")),
        }
    }

    /// The names of its fields, in their order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_ref())
    }

    /// A field's value as it stands.
    pub fn raw(&self, key: &str) -> Option<&'a str> {
        self.0.iter().rev().find(|(name, _)| name == key).map(|&(_, raw)| raw)
    }

    pub fn text(&self, key: &str) -> Option<String> {
        text(self.raw(key)?)
    }

    /// A text that says something: not empty, not only blanks.
    pub fn word(&self, key: &str) -> Option<String> {
        self.text(key).filter(|text| !text.trim().is_empty())
    }

    pub fn flag(&self, key: &str) -> bool {
        self.raw(key).is_some_and(|raw| raw == "true")
    }

    pub fn number(&self, key: &str) -> Option<u64> {
        let number: f64 = serde_json::from_str(self.raw(key)?).ok()?;
        (number.is_finite() && (0.0..9e15).contains(&number)).then_some(number as u64)
    }

    pub fn float(&self, key: &str) -> Option<f64> {
        serde_json::from_str(self.raw(key)?).ok()
    }

    pub fn object(&self, key: &str) -> Option<Object<'a>> {
        fields(self.raw(key)?).map(Object)
    }

    pub fn list(&self, key: &str) -> Option<Vec<&'a str>> {
        items(self.raw(key)?)
    }

    /// The objects of a list; what is no object is passed over.
    pub fn objects(&self, key: &str) -> Option<Vec<Object<'a>>> {
        let list = self.list(key)?;
        Some(list.into_iter().filter_map(fields).map(Object).collect())
    }
}

/// A JSON text with every string value changed: `change` gets the key that it stands under and the
/// decoded value. What is not changed keeps its spelling, and so does everything else.
pub fn map_strings(text: &str, mut change: impl FnMut(&str, &str) -> String) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut key = "";
    while let Some(open) = rest.find('"') {
        let (before, from) = rest.split_at(open + 1);
        out.push_str(before);
        let end = closing_quote(from);
        let (string, after) = from.split_at(end);
        let is_key = after.get(1..).is_some_and(|after| after.trim_start().starts_with(':'));
        if is_key {
            key = string;
            out.push_str(string);
        } else {
            out.push_str(&changed(key, string, &mut change));
        }
        rest = after;
        if let Some(after) = rest.strip_prefix('"') {
            out.push('"');
            rest = after;
        }
    }
    out.push_str(rest);
    out
}

/// A string between its quotes, changed and encoded again.
fn changed(key: &str, raw: &str, change: &mut impl FnMut(&str, &str) -> String) -> String {
    let quoted = format!("\"{raw}\"");
    let value = text(&quoted);
    // No string at all: nothing in it may be kept as it is.
    let Some(value) = value else { return change(key, "") };
    let new = change(key, &value);
    if new == value {
        return raw.to_owned();
    }
    let encoded = serde_json::to_string(&new).unwrap_or_default();
    let inner = encoded.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    inner.unwrap_or_default().to_owned()
}

/// Where the string that begins here ends: its first quote that no backslash escapes.
fn closing_quote(text: &str) -> usize {
    let mut escaped = false;
    let end = text.bytes().position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    });
    end.unwrap_or(text.len())
}

/// A JSON string, decoded. Half a surrogate pair (a client that cut an emoji) becomes U+FFFD.
pub fn text(raw: &str) -> Option<String> {
    if !raw.starts_with('"') {
        return None;
    }
    serde_json::from_str(raw).ok().or_else(|| {
        let Bytes(bytes) = serde_json::from_str(raw).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    })
}

/// The keys and values of an object. `None`: it is something else, or no JSON.
fn fields(text: &str) -> Option<Vec<(Cow<'_, str>, &str)>> {
    let mut fields = Vec::with_capacity(20);
    let mut scanner = Scanner::new(text.as_bytes());
    scanner.object(|scanner, key| {
        let value = scanner.value()?;
        fields.push((unescape(key.slice(text))?, value.slice(text)));
        Some(())
    })?;
    scanner.finish()?;
    Some(fields)
}

/// The items of a list. `None`: it is something else, or no JSON.
fn items(text: &str) -> Option<Vec<&str>> {
    let mut items = Vec::new();
    let mut scanner = Scanner::new(text.as_bytes());
    scanner.list(|scanner| {
        items.push(scanner.value()?.slice(text));
        Some(())
    })?;
    scanner.finish()?;
    Some(items)
}

/// Why bytes are no object, or one whose field `list` is no list, in serde_json's words.
pub fn refusal(bytes: &[u8], list: &str) -> serde_json::Error {
    struct AnyObject<'a>(&'a str);

    impl<'de> Visitor<'de> for AnyObject<'_> {
        type Value = ();

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a JSON object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
            while let Some(key) = map.next_key::<String>()? {
                if !self.0.is_empty() && key == self.0 {
                    map.next_value::<Vec<&RawValue>>()?;
                } else {
                    map.next_value::<&RawValue>()?;
                }
            }
            Ok(())
        }
    }

    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let walked = deserializer.deserialize_map(AnyObject(list)).and_then(|()| deserializer.end());
    walked.err().unwrap_or_else(|| Error::custom("it cannot be read"))
}

/// A JSON string as bytes: serde_json lets unpaired surrogates through only this way.
struct Bytes(Vec<u8>);

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;

        impl Visitor<'_> for Collect {
            type Value = Vec<u8>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Self::Value, E> {
                Ok(bytes.to_owned())
            }
        }

        deserializer.deserialize_bytes(Collect).map(Bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_types_are_absent_and_the_last_duplicate_counts() {
        let object =
            Object::parse(br#"{"a": 1, "b": "x", "b": "y", "c": [1, {"d": true}]}"#).unwrap();
        assert_eq!(object.text("a"), None);
        assert_eq!(object.text("b").as_deref(), Some("y"));
        assert!(object.objects("c").unwrap()[0].flag("d"));
        assert_eq!(object.number("a"), Some(1));
    }

    #[test]
    fn half_a_surrogate_pair_is_replaced() {
        let object = Object::parse(br#"{"a": "cut \ud83d"}"#).unwrap();
        assert!(object.text("a").unwrap().starts_with("cut \u{fffd}"));
    }

    #[test]
    fn strings_are_mapped_and_nothing_else() {
        let text = r#"{"a": "x\"y", "b": ["z", 1e999, {"c": "\ud83d"}], "d": null}"#;
        let seen = map_strings(text, |key, value| format!("{key}={value}"));
        assert_eq!(seen, r#"{"a": "a=x\"y", "b": ["b=z", 1e999, {"c": "c=���"}], "d": null}"#);
    }

    #[test]
    fn depth_is_no_danger() {
        let deep = format!("{{\"a\": {}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(Object::parse(deep.as_bytes()).unwrap().text("a").is_none());
    }
}
