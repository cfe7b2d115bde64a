//! A text that is looked for, whatever the case of its letters: first in raw bytes of JSON or text, which
//! says where it may be, and then in the text itself.

use memchr::memchr2;
use memchr::memmem::Finder;

pub struct Needle {
    /// In lower case, one blank between two words.
    text: String,
    raw: Raw,
}

/// What has to be in the bytes wherever the text is.
enum Raw {
    Ascii(Box<Phrase>),
    /// One of these.
    Spellings(Vec<Finder<'static>>),
}

/// ASCII in either case: the rarest byte of a word is looked for, and what is around it compared.
struct Phrase {
    word: Vec<u8>,
    rarest: usize,
    lower: u8,
    upper: u8,
    /// The words before it, the nearest first, and those behind it: whatever blanks or line breaks are
    /// between them.
    before: Vec<Vec<u8>>,
    behind: Vec<Vec<u8>>,
}

/// From the most frequent to the least in JSON with English in it; what is not here is rare.
const FREQUENT: &[u8] = b" etaoinsrlh_dcu:,.mpgf-0/12y3b5w4678v9k";

impl Needle {
    /// `None` if there is nothing to look for.
    pub fn new(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let text = words.join(" ");
        let raw = match Phrase::new(&words) {
            Some(phrase) => Raw::Ascii(Box::new(phrase)),
            None => Raw::Spellings(spellings(text.chars().find(|c| !c.is_ascii_control())?)),
        };
        Some(Self { text: text.to_lowercase(), raw })
    }

    /// Where the text may be first.
    pub fn find_raw(&self, bytes: &[u8]) -> Option<usize> {
        match &self.raw {
            Raw::Ascii(phrase) => phrase.find(bytes),
            Raw::Spellings(all) => all.iter().filter_map(|one| one.find(bytes)).min(),
        }
    }

    /// The text around what is found, if it is in there: on one line, a little before and more behind.
    pub fn excerpt(&self, text: &str) -> Option<String> {
        if self.find_raw_in_text(text) {
            // It is found across line breaks, as it is shown.
            let words: Vec<&str> = text.split_whitespace().collect();
            let text = words.join(" ");
            let lower = text.to_lowercase();
            let at = lower.find(&self.text)?;
            // Lower case may be longer or shorter: by characters it is nearly the same place.
            let before = lower.get(..at)?.chars().count();
            let start = before.saturating_sub(BEFORE);
            let part: String = text.chars().skip(start).take(AROUND).collect();
            let (head, tail) = (
                if start > 0 { "…" } else { "" },
                if text.chars().nth(start + AROUND).is_some() { "…" } else { "" },
            );
            return Some(format!("{head}{}{tail}", part.trim()));
        }
        None
    }

    /// Cheaper than making the whole text small.
    fn find_raw_in_text(&self, text: &str) -> bool {
        match &self.raw {
            Raw::Ascii(_) => self.find_raw(text.as_bytes()).is_some(),
            // What JSON spells otherwise stands here as it is.
            Raw::Spellings(_) => true,
        }
    }
}

const BEFORE: usize = 40;
const AROUND: usize = 200;

impl Phrase {
    /// `None` if no word has a character that JSON spells as it is.
    fn new(words: &[&str]) -> Option<Self> {
        let is_plain = |c: char| c.is_ascii_graphic() && !matches!(c, '"' | '\\');
        let runs = words.iter().enumerate();
        let runs =
            runs.flat_map(|(at, word)| word.split(|c| !is_plain(c)).map(move |run| (at, run)));
        let (at, word) =
            runs.max_by_key(|(_, run)| run.len()).filter(|(_, run)| !run.is_empty())?;
        // Beside a part of a word stands the rest of it.
        let is_whole = words.get(at).is_some_and(|whole| *whole == word);
        let plain = |words: Vec<&str>| -> Vec<Vec<u8>> {
            let words = words.into_iter().take_while(|word| is_whole && word.chars().all(is_plain));
            words.map(|word| word.as_bytes().to_vec()).collect()
        };
        let word = word.as_bytes();
        let rank = |byte: u8| {
            let place = FREQUENT.iter().position(|known| *known == byte.to_ascii_lowercase());
            place.unwrap_or(FREQUENT.len())
        };
        let rarest = (0..word.len()).max_by_key(|at| word.get(*at).map(|byte| rank(*byte)))?;
        let byte = word.get(rarest).copied()?;
        Some(Self {
            word: word.to_vec(),
            rarest,
            lower: byte.to_ascii_lowercase(),
            upper: byte.to_ascii_uppercase(),
            before: plain(words.get(..at)?.iter().rev().copied().collect()),
            behind: plain(words.get(at + 1..)?.to_vec()),
        })
    }

    fn find(&self, bytes: &[u8]) -> Option<usize> {
        let mut from = self.rarest;
        loop {
            let at = from + memchr2(self.lower, self.upper, bytes.get(from..)?)?;
            let begin = at - self.rarest;
            let end = begin + self.word.len();
            let found = bytes.get(begin..end)?;
            if found.eq_ignore_ascii_case(&self.word)
                && self.is_before(bytes.get(..begin)?)
                && self.is_behind(bytes.get(end..)?)
            {
                return Some(begin);
            }
            from = at + 1;
        }
    }

    fn is_behind(&self, mut bytes: &[u8]) -> bool {
        // Of the last word only the beginning has to be there, as of the whole text.
        self.behind.iter().all(|word| {
            let mut rest = bytes;
            while let Some(next) = without_blank(rest) {
                rest = next;
            }
            let is_apart = rest.len() < bytes.len();
            let is_there =
                rest.get(..word.len()).is_some_and(|there| there.eq_ignore_ascii_case(word));
            bytes = rest.get(word.len()..).unwrap_or_default();
            is_apart && is_there
        })
    }

    fn is_before(&self, mut bytes: &[u8]) -> bool {
        self.before.iter().all(|word| {
            let mut rest = bytes;
            while let Some(next) = without_last_blank(rest) {
                rest = next;
            }
            let is_apart = rest.len() < bytes.len();
            let Some(at) = rest.len().checked_sub(word.len()) else { return false };
            let is_there = rest.get(at..).is_some_and(|there| there.eq_ignore_ascii_case(word));
            bytes = rest.get(..at).unwrap_or_default();
            is_apart && is_there
        })
    }
}

/// Bytes behind a blank or a line break, as they are or as JSON spells them.
fn without_blank(bytes: &[u8]) -> Option<&[u8]> {
    match bytes {
        [b' ' | b'\n' | b'\r' | b'\t', rest @ ..] => Some(rest),
        [b'\\', b'n' | b'r' | b't', rest @ ..] => Some(rest),
        _ => None,
    }
}

fn without_last_blank(bytes: &[u8]) -> Option<&[u8]> {
    match bytes {
        [rest @ .., b'\\', b'n' | b'r' | b't'] => Some(rest),
        [rest @ .., b' ' | b'\n' | b'\r' | b'\t'] => Some(rest),
        _ => None,
    }
}

/// A character in both cases, also as JSON spells it.
fn spellings(c: char) -> Vec<Finder<'static>> {
    let cases = [c.to_string(), c.to_lowercase().collect(), c.to_uppercase().collect()];
    let in_json = cases.map(|text: String| {
        let quoted = serde_json::Value::from(text).to_string();
        quoted.trim_start_matches('"').strip_suffix('"').unwrap_or_default().to_owned()
    });
    let mut all = in_json.to_vec();
    // A quotation mark is spelled with a backslash.
    all.iter_mut().filter(|text| text.is_empty()).for_each(|text| *text = "\\\"".to_owned());
    all.dedup();
    all.iter().map(|text| Finder::new(text).into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finds(needle: &str, text: &str) -> bool {
        let needle = Needle::new(needle).unwrap();
        let json = serde_json::to_string(text).unwrap();
        let in_raw = needle.find_raw(json.as_bytes()).is_some();
        let in_text = needle.excerpt(text).is_some();
        assert!(in_raw || !in_text, "{text}: what is in the text is in its bytes");
        in_text
    }

    #[test]
    fn letters_are_found_in_either_case_and_as_json_spells_them() {
        for (needle, text) in [
            ("rate limit", "No Rate Limit on login"),
            ("RATE", "a rate"),
            ("größe", "Die GRÖSSE, die Größe"),
            ("Äö", "xäÖx"),
            ("say \"hi\"", "they say \"Hi\" twice"),
            ("\"", "a \"b"),
            ("\\", "C:\\x"),
            ("a\nb", "A\nB"),
            ("is the till open", "where is\n\tthe TILL  open?"),
            ("say \"hi\" to all", "Say\n\"hi\"\nto all"),
            ("漢字", "の漢字の"),
            ("z", "Z"),
        ] {
            assert!(finds(needle, text), "{needle} in {text}");
        }
        for (needle, text) in [
            ("rate limit", "ratelimit"),
            ("a till", "a bill till"),
            ("zz", "z"),
            ("ä", "a"),
            ("é\"", "é"),
        ] {
            assert!(!finds(needle, text), "{needle} in {text}");
        }
        assert!(Needle::new(" \n").is_none() && Needle::new("").is_none());
    }

    #[test]
    fn an_excerpt_is_one_line_around_it() {
        let needle = Needle::new("till").unwrap();
        assert_eq!(needle.excerpt("Close\n the till").unwrap(), "Close the till");
        let long = format!("{} TILL {}", "a".repeat(300), "b ".repeat(300));
        let excerpt = needle.excerpt(&long).unwrap();
        assert!(excerpt.starts_with('…') && excerpt.ends_with('…') && excerpt.contains("TILL"));
    }
}
