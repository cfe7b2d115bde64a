//! How far a part of a text goes, without looking at any byte twice for the same question: what
//! repeats itself costs no more than anything else.

use crate::core::redaction::classes::{CLASSES, Class};

#[derive(Clone, Copy)]
struct Run {
    start: usize,
    end: usize,
}

/// A text and what is known of it already.
pub struct Runs<'a> {
    pub text: &'a str,
    pub bytes: &'a [u8],
    /// The text goes on behind its end, where nobody will look.
    pub cut: bool,
    known: [Run; CLASSES],
    /// Bytes that were looked at.
    pub steps: u64,
}

impl<'a> Runs<'a> {
    pub fn new(text: &'a str, cut: bool) -> Self {
        let none = Run { start: usize::MAX, end: 0 };
        Self { text, bytes: text.as_bytes(), cut, known: [none; CLASSES], steps: 0 }
    }

    pub fn byte(&self, at: usize) -> Option<u8> {
        self.bytes.get(at).copied()
    }

    pub fn before(&self, at: usize) -> Option<u8> {
        at.checked_sub(1).and_then(|at| self.byte(at))
    }

    pub fn starts(&self, at: usize, with: &str) -> bool {
        self.bytes.get(at..).is_some_and(|rest| rest.starts_with(with.as_bytes()))
    }

    pub fn starts_caseless(&self, at: usize, with: &str) -> bool {
        let head = self.bytes.get(at..at + with.len());
        head.is_some_and(|head| head.eq_ignore_ascii_case(with.as_bytes()))
    }

    /// Where the bytes of this class end that begin here.
    pub fn end(&mut self, class: Class, from: usize) -> usize {
        let Some(run) = self.known.get_mut(class as usize) else { return from };
        if run.start <= from && from <= run.end {
            return run.end;
        }
        let joined = from < run.start && run.start < self.bytes.len();
        let stop = if joined { run.start } else { self.bytes.len() };
        let part = self.bytes.get(from..stop).unwrap_or_default();
        let length = part.iter().position(|b| !class.has(*b)).unwrap_or(part.len());
        self.steps += length as u64 + 1;
        let end = from + length;
        if joined && end == stop {
            run.start = from;
            return run.end;
        }
        if !joined {
            *run = Run { start: from, end };
        }
        end
    }

    /// Where the run of a class that ends here begins, at most so far back.
    pub fn start(&self, class: Class, to: usize, most: usize) -> usize {
        let head = self.bytes.get(..to).unwrap_or_default();
        let length = head.iter().rev().take(most).take_while(|b| class.has(**b)).count();
        to - length
    }

    /// Whether a part that ends here was cut off.
    pub fn is_cut(&self, end: usize) -> bool {
        self.cut && end == self.bytes.len()
    }

    pub fn has_digit(&mut self, start: usize, end: usize) -> bool {
        self.end(Class::NoDigit, start) < end
    }

    pub fn has_letter(&mut self, start: usize, end: usize) -> bool {
        self.end(Class::NoLetter, start) < end
    }

    /// Whether a part has digits, or capital letters among others: names mostly have neither.
    pub fn is_mixed(&mut self, start: usize, end: usize) -> bool {
        self.has_digit(start, end)
            || (self.end(Class::NoUpper, start) < end && self.end(Class::NoLower, start) < end)
    }
}
