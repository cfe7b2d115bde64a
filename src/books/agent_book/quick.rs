//! A quick way to read a book that has the form in which we write it: an entry per line, each a flat
//! object. It is read whenever an agent starts or ends, and a parser that knows nothing of that
//! would take half of the hook's own time. Whatever looks otherwise goes the usual way.

const LIST: &str = "\n  \"agents\": [";
const NEXT: &str = "\n    ";

/// The entries of a book, and the book with an empty list in their place.
pub fn split(text: &str) -> Option<(Vec<&str>, String)> {
    let begin = text.find(LIST)? + LIST.len();
    let mut at = begin;
    let mut entries = Vec::new();
    loop {
        let rest = text.get(at..)?.strip_prefix(NEXT)?;
        let entry = rest.get(..flat(rest.as_bytes())?)?;
        entries.push(entry);
        at += NEXT.len() + entry.len();
        match text.as_bytes().get(at)? {
            b',' => at += 1,
            _ => break,
        }
    }
    let tail = text.get(at..)?.strip_prefix("\n  ]")?;
    Some((entries, format!("{}]{tail}", text.get(..begin)?)))
}

/// Where the object ends that these bytes begin with, if it is a good one and nothing is nested in it.
fn flat(bytes: &[u8]) -> Option<usize> {
    let mut at = expect(bytes, 0, b"{")?;
    loop {
        at = expect(bytes, string(bytes, at)?, b":")?;
        at = match bytes.get(at)? {
            b'"' => string(bytes, at)?,
            b'n' => expect(bytes, at, b"null")?,
            b't' => expect(bytes, at, b"true")?,
            b'f' => expect(bytes, at, b"false")?,
            _ => whole_number(bytes, at)?,
        };
        match bytes.get(at)? {
            b',' => at += 1,
            b'}' => return Some(at + 1),
            _ => return None,
        }
    }
}

fn expect(bytes: &[u8], at: usize, what: &[u8]) -> Option<usize> {
    bytes.get(at..)?.starts_with(what).then_some(at + what.len())
}

fn string(bytes: &[u8], at: usize) -> Option<usize> {
    let mut at = expect(bytes, at, b"\"")?;
    loop {
        let rest = bytes.get(at..)?;
        let stop = memchr::memchr2(b'"', b'\\', rest)?;
        let lowest = rest.get(..stop)?.iter().fold(u8::MAX, |lowest, byte| lowest.min(*byte));
        if lowest < b' ' {
            return None;
        }
        at += stop + 1;
        if rest.get(stop) == Some(&b'"') {
            return Some(at);
        }
        at += match bytes.get(at)? {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => 1,
            b'u' if bytes.get(at + 1..at + 5)?.iter().all(u8::is_ascii_hexdigit) => 5,
            _ => return None,
        };
    }
}

fn whole_number(bytes: &[u8], at: usize) -> Option<usize> {
    let first = at + usize::from(bytes.get(at) == Some(&b'-'));
    let digits = bytes.get(first..)?.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let is_good = digits == 1 || (digits > 1 && bytes.get(first) != Some(&b'0'));
    is_good.then_some(first + digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_takes_is_good_and_the_rest_is_left() {
        for good in [
            r#"{"a":"b","n":-12,"z":0,"t":true,"f":false,"x":null}"#,
            r#"{"é":"a \" \\ \u00e9 \n 🦀"}"#,
        ] {
            let more = format!("{good}, and more");
            assert_eq!(flat(more.as_bytes()), Some(good.len()), "{good}");
            assert!(serde_json::from_str::<serde_json::Value>(good).is_ok());
        }
        for left in [
            "",
            "{",
            "{}",
            r#"{"a"}"#,
            r#"{"a":}"#,
            r#"{"a":1"#,
            r#"{"a":1,}"#,
            r#"{"a":01}"#,
            r#"{"a":-}"#,
            r#"{"a":1.5}"#,
            r#"{"a":{}}"#,
            r#"{"a":[]}"#,
            r#"{"a":"\x"}"#,
            r#"{"a":"\u12"}"#,
            "{\"a\":\"\n\"}",
            r#"{a:1}"#,
            r#"{"a":nul}"#,
            r#"{"a" :1}"#,
        ] {
            assert_eq!(flat(left.as_bytes()), None, "{left}");
        }
    }

    #[test]
    fn a_book_is_taken_apart_and_put_together() {
        let book = "{\n  \"branch\": \"b\",\n  \"agents\": [\n    {\"id\":\"a\"},\n    {\"id\":\"b\"}\n  ],\n  \"stats\": {}\n}\n";
        let (entries, rest) = split(book).unwrap();
        assert_eq!(entries, [r#"{"id":"a"}"#, r#"{"id":"b"}"#]);
        assert_eq!(rest, "{\n  \"branch\": \"b\",\n  \"agents\": [],\n  \"stats\": {}\n}\n");
        assert_eq!(split(&book.replace("\n    ", " ")), None);
        assert_eq!(split(&rest), None);
    }
}
