//! A project's own patterns. They come with a checkout, so that what they may cost is limited: their
//! number, their size, and the work of all of them in one process.

use std::cell::{Cell, OnceCell, RefCell};

use regex_lite::{Regex, RegexBuilder};

use crate::core::redaction::MARK;

/// So many patterns of a project are used.
pub const MOST: usize = 32;
/// Bytes of a pattern.
pub const LONGEST: usize = 512;
/// Bytes that one match may have; a search looks no farther.
pub const LONGEST_MATCH: usize = 512;

/// What a compiled pattern may take, and how much a byte then weighs.
const SIZES: [(usize, u64); 3] = [(2 << 10, 1), (8 << 10, 4), (32 << 10, 16)];
/// Weighed bytes that are searched in one process. Each pattern has an equal share of them.
const WORK: u64 = 8 << 20;

#[derive(Default)]
pub struct Patterns {
    sources: Vec<String>,
    /// Compiled when the first text comes.
    compiled: OnceCell<Vec<Pattern>>,
    dropped: RefCell<Vec<String>>,
}

struct Pattern {
    source: String,
    regex: Regex,
    weight: u64,
    work: Cell<u64>,
}

/// Why a pattern is not used.
pub fn fault(source: &str) -> Option<&'static str> {
    if source.len() > LONGEST {
        return Some("is too long");
    }
    match Pattern::new(source) {
        // It would match between any two characters, or all there is.
        Some(pattern) if pattern.regex.is_match("") => Some("matches the empty text"),
        Some(_) => None,
        None if Regex::new(source).is_ok() => Some("is too large"),
        None => Some("is no regular expression"),
    }
}

impl Pattern {
    fn new(source: &str) -> Option<Self> {
        SIZES.iter().find_map(|(size, weight)| {
            let regex = RegexBuilder::new(source).size_limit(*size).build().ok()?;
            Some(Self { source: source.to_owned(), regex, weight: *weight, work: Cell::new(0) })
        })
    }

    /// Window by window, so that no search looks far; `None` if its share of the work is used up.
    fn replaced(&self, text: &str, share: u64) -> Option<String> {
        let mut clean = String::with_capacity(text.len());
        let (mut kept, mut at) = (0, 0);
        while at < text.len() {
            let end = text.floor_char_boundary(at.saturating_add(2 * LONGEST_MATCH));
            let work = self.work.get() + (end - at) as u64 * self.weight;
            if work > share {
                return None;
            }
            let window = text.get(..end)?;
            let found = self.regex.find_at(window, at);
            // What reaches a window's end may go on behind it, and is looked at again from there.
            let middle = text.floor_char_boundary(at + LONGEST_MATCH);
            let is_last = end == text.len();
            match found {
                Some(found) if found.start() < middle || is_last => {
                    // The search may have looked farther than it found.
                    let looked = found.end() - at + LONGEST_MATCH;
                    self.work.set(self.work.get() + looked as u64 * self.weight);
                    clean.push_str(text.get(kept..found.start())?);
                    if found.is_empty() {
                        kept = found.start();
                        at = text.ceil_char_boundary(found.end() + 1);
                    } else {
                        clean.push_str(MARK);
                        (kept, at) = (found.end(), found.end());
                    }
                }
                _ => {
                    self.work.set(work);
                    at = if is_last { end } else { middle };
                }
            }
        }
        clean.push_str(text.get(kept..)?);
        Some(clean)
    }
}

impl Patterns {
    pub fn new(sources: &[String]) -> Self {
        Self { sources: sources.iter().take(MOST).cloned().collect(), ..Self::default() }
    }

    pub fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    pub fn replace(&self, mut text: String) -> String {
        if self.is_empty() {
            return text;
        }
        let compile = || self.sources.iter().filter_map(|source| Pattern::new(source)).collect();
        let share = WORK / self.sources.len() as u64;
        for pattern in self.compiled.get_or_init(compile) {
            if self.dropped.borrow().contains(&pattern.source) {
                continue;
            }
            match pattern.replaced(&text, share) {
                Some(clean) => text = clean,
                None => self.dropped.borrow_mut().push(pattern.source.clone()),
            }
        }
        text
    }

    pub fn dropped(&self) -> Vec<String> {
        self.dropped.borrow().clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(sources: &[&str]) -> Patterns {
        Patterns::new(&sources.iter().map(|source| (*source).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn a_match_is_found_wherever_it_stands() {
        let patterns = of(&["CORP-[0-9]{6}"]);
        for before in [0, 500, 511, 512, 513, 1020, 1023, 1024, 5000] {
            let text = format!("{} CORP-481516 ä", "é".repeat(before));
            let clean = patterns.replace(text.clone());
            assert_eq!(clean, text.replace("CORP-481516", MARK), "{before}");
        }
        assert_eq!(of(&["x*"]).replace("äxxbx".into()), format!("ä{MARK}b{MARK}"));
        assert_eq!(of(&["(?m)^k.*$"]).replace("a\nkey\nb k".into()), format!("a\n{MARK}\nb k"));
    }

    #[test]
    fn what_costs_too_much_is_dropped_and_the_others_go_on() {
        let slow = "(a|aa)*c|a";
        let patterns = of(&[slow, "b"]);
        let text = format!("{}b", "a".repeat(200_000));
        let clean = patterns.replace(text);
        assert_eq!(patterns.dropped(), [slow]);
        assert!(clean.ends_with(&format!("a{MARK}")), "the other pattern was used");
        assert_eq!(patterns.replace("aab".into()), format!("aa{MARK}"), "it stays dropped");
        assert_eq!(of(&["b"]).dropped(), [""; 0]);
    }
}
