//! Headers of requests, as people give them: `Name: value` on lines of a file or of a command, or
//! `name=value,name=value` in a variable. Their values are secrets, and are never in a message.

use crate::core::settings::export::check_header as check;

/// Nobody needs more.
const MOST: usize = 32;

pub type Headers = Vec<(String, String)>;

/// `Name: value` on each line; empty lines and those that begin with `#` are none.
pub fn from_lines(text: &str) -> Result<Headers, String> {
    let lines =
        text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    collect(lines.map(|line| line.split_once(':')))
}

/// `name=value,name=value`, as OpenTelemetry has it: values may have `%20` and the like in them.
pub fn from_variable(text: &str) -> Result<Headers, String> {
    let parts = text.split(',').filter(|part| !part.trim().is_empty());
    let mut headers = collect(parts.map(|part| part.split_once('=')))?;
    for (name, value) in &mut headers {
        *value =
            decoded(value).ok_or_else(|| format!("the header `{name}` has a bad `%` in it"))?;
        check(name, value)?;
    }
    Ok(headers)
}

fn collect<'a>(pairs: impl Iterator<Item = Option<(&'a str, &'a str)>>) -> Result<Headers, String> {
    let mut headers = Headers::new();
    for pair in pairs {
        let (name, value) = pair.ok_or("a header has a name and a value")?;
        let (name, value) = (name.trim(), value.trim());
        check(name, value)?;
        headers.push((name.to_owned(), value.to_owned()));
    }
    if headers.len() > MOST {
        return Err(format!("there are more than {MOST} headers"));
    }
    Ok(headers)
}

/// With `%XX` taken apart; `None` if that is no text.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let digit =
            |byte: Option<u8>| char::from(byte?).to_digit(16).and_then(|d| u8::try_from(d).ok());
        bytes.push(match byte {
            b'%' => digit(rest.next())? << 4 | digit(rest.next())?,
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read_in_both_forms() {
        let one = vec![("Authorization".to_owned(), "Bearer s3cret".to_owned())];
        assert_eq!(from_lines("# mine\n\nAuthorization: Bearer s3cret\r\n"), Ok(one.clone()));
        assert_eq!(from_variable("Authorization=Bearer%20s3cret"), Ok(one));
        assert_eq!(from_variable("a=1, b=2").unwrap().len(), 2);
        assert_eq!(from_lines(""), Ok(Vec::new()));
    }

    #[test]
    fn what_is_no_header_is_refused_without_its_value() {
        for text in [
            "Authorization=Bearer%0As3cret",
            "Authorization=%0d%0aX: s3cret",
            "Authorization=s3cret%zz",
            "Authorization=%ffs3cret",
            "A B=s3cret",
            "=s3cret",
            "s3cret",
            "Content-Length=s3cret",
        ] {
            let why = from_variable(text).unwrap_err();
            assert!(!why.contains("s3cret"), "{why}");
        }
        let why = from_variable("Authorization=Bearer%0As3cret").unwrap_err();
        assert_eq!(why, "the header `Authorization` has a line break in it");
        assert!(from_lines("X: a\u{0}b").is_err());
        assert!(from_lines("X: größer").is_err());
    }
}
