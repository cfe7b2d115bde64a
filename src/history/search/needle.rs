//! A text that is looked for, whatever the case of its letters: first in raw bytes of JSON or text, which
//! says where it may be, and then in the text itself.

use memchr::memchr2;
use memchr::memmem::Finder;

pub struct Needle {
    /// In lower case.
    text: String,
    raw: Raw,
}

/// What has to be in the bytes wherever the text is.
enum Raw {
    /// ASCII in either case: the rarest byte is looked for, and what is around it compared.
    Ascii { bytes: Vec<u8>, rarest: usize, lower: u8, upper: u8 },
    /// One of these.
    Spellings(Vec<Finder<'static>>),
}

/// From the most frequent to the least in JSON with English in it; what is not here is rare.
const FREQUENT: &[u8] = b" etaoinsrlh_dcu:,.mpgf-0/12y3b5w4678v9k";

impl Needle {
    /// `None` if there is nothing to look for.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        // JSON spells some characters otherwise.
        let is_plain = |c: char| c.is_ascii() && !c.is_ascii_control() && !matches!(c, '"' | '\\');
        let longest = text.split(|c| !is_plain(c)).max_by_key(|run| run.len())?;
        let raw = match longest.is_empty() {
            false => Raw::ascii(longest.as_bytes()),
            true => Raw::Spellings(spellings(text.chars().find(|c| !c.is_ascii_control())?)),
        };
        Some(Self { text: text.to_lowercase(), raw })
    }

    /// Where the text may be first.
    pub fn find_raw(&self, bytes: &[u8]) -> Option<usize> {
        match &self.raw {
            Raw::Ascii { bytes: wanted, rarest, lower, upper } => {
                let mut from = *rarest;
                loop {
                    let at = from + memchr2(*lower, *upper, bytes.get(from..)?)?;
                    let begin = at - rarest;
                    let found = bytes.get(begin..begin + wanted.len())?;
                    if found.eq_ignore_ascii_case(wanted) {
                        return Some(begin);
                    }
                    from = at + 1;
                }
            }
            Raw::Spellings(all) => all.iter().filter_map(|one| one.find(bytes)).min(),
        }
    }

    /// The text around what is found, if it is in there: on one line, a little before and more behind.
    pub fn excerpt(&self, text: &str) -> Option<String> {
        if self.find_raw_in_text(text) {
            let lower = text.to_lowercase();
            let at = lower.find(&self.text)?;
            // Lower case may be longer or shorter: by characters it is nearly the same place.
            let before = lower.get(..at)?.chars().count();
            let start = before.saturating_sub(BEFORE);
            let part: String = text.chars().skip(start).take(AROUND).collect();
            let words: Vec<&str> = part.split_whitespace().collect();
            let (head, tail) = (
                if start > 0 { "…" } else { "" },
                if text.chars().nth(start + AROUND).is_some() { "…" } else { "" },
            );
            return Some(format!("{head}{}{tail}", words.join(" ")));
        }
        None
    }

    /// Cheaper than making the whole text small.
    fn find_raw_in_text(&self, text: &str) -> bool {
        match &self.raw {
            Raw::Ascii { .. } => self.find_raw(text.as_bytes()).is_some(),
            // What JSON spells otherwise stands here as it is.
            Raw::Spellings(_) => true,
        }
    }
}

const BEFORE: usize = 40;
const AROUND: usize = 200;

impl Raw {
    fn ascii(bytes: &[u8]) -> Self {
        let rank = |byte: u8| {
            let place = FREQUENT.iter().position(|known| *known == byte.to_ascii_lowercase());
            place.unwrap_or(FREQUENT.len())
        };
        let rarest = (0..bytes.len()).max_by_key(|at| bytes.get(*at).map(|byte| rank(*byte)));
        let rarest = rarest.unwrap_or(0);
        let byte = bytes.get(rarest).copied().unwrap_or_default();
        let (lower, upper) = (byte.to_ascii_lowercase(), byte.to_ascii_uppercase());
        Self::Ascii { bytes: bytes.to_vec(), rarest, lower, upper }
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
            ("漢字", "の漢字の"),
            ("z", "Z"),
        ] {
            assert!(finds(needle, text), "{needle} in {text}");
        }
        for (needle, text) in
            [("rate limit", "rate  limits no"), ("zz", "z"), ("ä", "a"), ("é\"", "é")]
        {
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
