//! Looking for whole words. "uses s3 bucket" has no S3, "Port 4290" no 429, "clock" no lock.

/// Whether `text` has `phrase` (lower case) as whole words, whatever the case in `text`.
pub fn has_phrase(text: &str, phrase: &str) -> bool {
    find_phrase(text, phrase).is_some()
}

/// Where `phrase` (lower case) stands in `text` as whole words: its first byte.
pub fn find_phrase(text: &str, phrase: &str) -> Option<usize> {
    let (text, phrase) = (text.as_bytes(), phrase.as_bytes());
    let first = *phrase.first()?;
    let mut from = 0;
    while let Some(rest) = text.get(from..) {
        let upper = first.to_ascii_uppercase();
        let at = from + memchr::memchr2(first, upper, rest)?;
        let end = at + phrase.len();
        let same = text.get(at..end).is_some_and(|part| part.eq_ignore_ascii_case(phrase));
        let before = at.checked_sub(1).and_then(|before| text.get(before));
        if same
            && !inside_word(before)
            && !inside_word(text.get(end))
            && !in_file_name(before, text.get(end), text.get(end + 1))
        {
            return Some(at);
        }
        from = at + 1;
    }
    None
}

/// The words of a text: letters, digits and what holds them together in codes.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty())
}

/// A word in a path or a file name says nothing: `src/timeout.ts`, `lib/network error-page.js`.
fn in_file_name(before: Option<&u8>, after: Option<&u8>, then: Option<&u8>) -> bool {
    matches!(before, Some(b'/' | b'-')) && matches!(after, Some(b'/' | b'-' | b'.'))
        || after == Some(&b'.') && then.is_some_and(u8::is_ascii_alphabetic)
        || after == Some(&b'/')
        || before == Some(&b'/')
}

fn inside_word(neighbour: Option<&u8>) -> bool {
    neighbour.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_' || *b >= 0x80)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_words() {
        assert!(has_phrase("Error: Rate Limit reached", "rate limit"));
        assert!(has_phrase("(timeout)", "timeout"));
        assert!(!has_phrase("blocked by clock", "lock"));
        assert!(!has_phrase("Port 4290", "429"));
        assert!(!has_phrase("build-linter.js", "lint"));
        assert!(!has_phrase("", "x"));
        assert_eq!(words("a-b, c_d 429").collect::<Vec<_>>(), ["a", "b", "c_d", "429"]);
    }
}
