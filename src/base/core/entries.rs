//! The list of a document that grows by entries: metrics, errors, a branch's agents.
//!
//! One entry of hundreds is changed by an event. So an entry stays the text that it is until
//! somebody wants to change it, and is written back byte for byte.

use std::fmt::Debug;
use std::rc::Rc;

use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::core::json::scan::{Frame, Scanner, Span, unescape};
use crate::core::pieces::Pieces;

/// What stands in such a list.
pub trait Entry: Clone + Debug + PartialEq + Serialize + DeserializeOwned {
    /// What is known of an entry that was not parsed.
    type Outline: Clone + Debug + Default + PartialEq;
    /// What the key of a field means. Entries have the same keys, so it is looked at once for many.
    type Key: Copy;

    /// What a key means that stands before the field of this number. It comes without its quotes,
    /// and with its escapes.
    fn key(number: usize, key: &[u8]) -> Self::Key;

    /// Notes one field of an entry while the document is scanned.
    fn outline(outline: &mut Self::Outline, field: &Field<Self::Key>);
}

/// A field of an entry, as it stands.
pub struct Field<'a, K> {
    pub key: K,
    pub value: &'a [u8],
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Slot<T: Entry> {
    /// The text that it is in the document, and what is known of it.
    Raw(Span, T::Outline),
    Typed(Box<T>),
}

/// The entries of a document, oldest first.
#[derive(Clone, Debug, PartialEq)]
pub struct Entries<T: Entry> {
    /// The document as it was read.
    source: Shared,
    pub slots: Vec<Slot<T>>,
}

/// What stands between two entries.
const BETWEEN: &str = ",\n    ";

/// The bytes of a document, which whoever has read it keeps too: copying them would cost more than
/// looking through them.
pub type Shared = Rc<Vec<u8>>;

/// Fields of a document beside its entries, as they stand.
pub type Beside = Vec<(String, String)>;

impl<T: Entry> Default for Entries<T> {
    fn default() -> Self {
        Self { source: Shared::default(), slots: Vec::new() }
    }
}

impl<T: Entry> From<Vec<T>> for Entries<T> {
    fn from(entries: Vec<T>) -> Self {
        let slots = entries.into_iter().map(|entry| Slot::Typed(Box::new(entry)));
        Self { slots: slots.collect(), ..Self::default() }
    }
}

impl<T: Entry> Entries<T> {
    /// Reads a document in one scan: the list under `key`, and the fields beside it. Of two equal
    /// keys the last one counts. `None`: it is no JSON object, or `key` is no list.
    pub fn parse(bytes: &Shared, key: &str) -> Option<(Self, Beside)> {
        let text = std::str::from_utf8(bytes).ok()?;
        let mut slots = Vec::new();
        let mut beside = Beside::new();
        let mut layout = Vec::new();
        let mut scanner = Scanner::new(bytes);
        scanner.object(|scanner, name| {
            let name = unescape(name.slice(text))?;
            if name == key {
                slots.clear();
                return scanner.list(|scanner| {
                    slots.push(scan_entry(scanner, bytes, &mut layout)?);
                    Some(())
                });
            }
            let value = scanner.value()?.slice(text);
            beside.push((name.into_owned(), value.to_owned()));
            Some(())
        })?;
        scanner.finish()?;
        Some((Self { source: bytes.clone(), slots }, beside))
    }

    /// An entry's text.
    pub fn text(&self, slot: &Slot<T>) -> String {
        match slot {
            Slot::Raw(span, _) => self.slice(*span).to_owned(),
            Slot::Typed(entry) => line(entry),
        }
    }

    /// Whether a text can stand in an entry; escapes are no reason to say no.
    pub fn may_have(&self, slot: &Slot<T>, text: &str) -> bool {
        match slot {
            Slot::Raw(span, _) => {
                let raw = self.slice(*span).as_bytes();
                memchr::memmem::find(raw, text.as_bytes()).is_some()
                    || memchr::memchr(b'\\', raw).is_some()
            }
            Slot::Typed(_) => true,
        }
    }

    /// A string in an entry that was not parsed, as it stands between its quotes.
    pub fn word(&self, value: Span) -> &str {
        self.slice(value).trim_matches('"')
    }

    /// The text of a string in an entry that was not parsed.
    pub fn string(&self, value: Span) -> String {
        crate::core::json::text(self.slice(value)).unwrap_or_default()
    }

    /// Whether a value in an entry that was not parsed is this string.
    pub fn is_string(&self, value: Span, text: &str) -> bool {
        let raw = self.source.get(value.start..value.end).unwrap_or_default();
        let inner = raw.strip_prefix(b"\"").and_then(|raw| raw.strip_suffix(b"\""));
        inner == Some(text.as_bytes())
            || (raw.contains(&b'\\')
                && crate::core::json::text(self.slice(value)).as_deref() == Some(text))
    }

    /// An entry, parsed. `None` if it cannot be.
    pub fn read(&self, slot: &Slot<T>) -> Option<T> {
        match slot {
            Slot::Raw(span, _) => serde_json::from_str(self.slice(*span)).ok(),
            Slot::Typed(entry) => Some(T::clone(entry)),
        }
    }

    /// All entries that can be parsed.
    pub fn read_all(&self) -> impl Iterator<Item = T> {
        self.slots.iter().filter_map(|slot| self.read(slot))
    }

    /// An entry that is to be changed. `None` if it cannot be parsed: then it stays as it is.
    pub fn edit(&mut self, at: usize) -> Option<&mut T> {
        if let Slot::Raw(span, _) = self.slots.get(at)? {
            let entry = serde_json::from_str(self.slice(*span)).ok()?;
            *self.slots.get_mut(at)? = Slot::Typed(entry);
        }
        match self.slots.get_mut(at)? {
            Slot::Typed(entry) => Some(entry),
            Slot::Raw(..) => None,
        }
    }

    fn slice(&self, span: Span) -> &str {
        let bytes = self.source.get(span.start..span.end).unwrap_or_default();
        std::str::from_utf8(bytes).unwrap_or_default()
    }

    pub fn push(&mut self, entry: T) {
        self.slots.push(Slot::Typed(Box::new(entry)));
    }

    /// Writes the list as it stands in a document; `print` gives the text of an entry that was
    /// parsed, whose first line is indented already.
    pub fn write(&self, out: &mut Pieces, print: impl Fn(&T) -> String) {
        let mut between = "[\n    ";
        // Entries that stand side by side, as we would write them, are one range.
        let mut range: Option<Span> = None;
        for slot in &self.slots {
            range = match (slot, range) {
                (Slot::Raw(span, _), Some(range)) if self.are_neighbours(range, *span) => {
                    Some(Span { end: span.end, ..range })
                }
                (_, range) => {
                    self.keep(out, range);
                    out.push(between);
                    match slot {
                        Slot::Raw(span, _) => Some(*span),
                        Slot::Typed(entry) => {
                            out.push(&print(entry));
                            None
                        }
                    }
                }
            };
            between = BETWEEN;
        }
        self.keep(out, range);
        out.push(if self.slots.is_empty() { "[]" } else { "\n  ]" });
    }

    fn are_neighbours(&self, one: Span, next: Span) -> bool {
        self.source.get(one.end..next.start) == Some(BETWEEN.as_bytes())
    }

    fn keep(&self, out: &mut Pieces, range: Option<Span>) {
        if let Some(range) = range {
            out.keep(&self.source, range);
        }
    }
}

/// What stands before a value, what the key in it means, and how the value was framed.
struct Lead<'a, K> {
    text: &'a [u8],
    key: K,
    frame: Frame<'a>,
}

/// `layout` has what stands before each value of the entry before this one. Entries are laid out
/// alike, so most of that is not looked at again but only compared.
fn scan_entry<'a, T: Entry>(
    scanner: &mut Scanner<'a>,
    bytes: &'a [u8],
    layout: &mut Vec<Lead<'a, T::Key>>,
) -> Option<Slot<T>> {
    let part = |span: Span| bytes.get(span.start..span.end);
    let mut outline = T::Outline::default();
    let start = scanner.start();
    if !scanner.is_at_object() {
        return scanner.value().map(|span| Slot::Raw(span, outline));
    }
    for n in 0.. {
        let from = scanner.position();
        if !layout.get(n).is_some_and(|lead| scanner.skip(lead.text)) {
            let Some(key) = scanner.next_key(n == 0)? else { break };
            let key = T::key(n, part(key)?);
            let text = part(Span { start: from, end: scanner.position() })?;
            layout.truncate(n);
            layout.push(Lead { text, key, frame: Frame::default() });
        }
        let lead = layout.get_mut(n)?;
        let span = scanner.value_like(&mut lead.frame)?;
        T::outline(&mut outline, &Field { key: lead.key, value: part(span)?, span });
    }
    Some(Slot::Raw(Span { start, end: scanner.position() }, outline))
}

/// Deserializes a document by its own `parse`.
pub fn deserialize<'de, D: Deserializer<'de>, T>(
    deserializer: D,
    parse: impl FnOnce(&Shared) -> Result<T, String>,
) -> Result<T, D::Error> {
    let raw = Box::<RawValue>::deserialize(deserializer)?;
    parse(&Shared::new(raw.get().into())).map_err(D::Error::custom)
}

/// The end of a document: what stands beside its entries, as it stood.
pub fn write_beside(out: &mut Pieces, beside: &Beside) {
    for (key, raw) in beside {
        out.push(",\n  ");
        out.push(&line(key));
        out.push(": ");
        out.push(raw);
    }
    out.push("\n}\n");
}

/// An entry on one line.
pub fn line<T: Serialize>(entry: &T) -> String {
    serde_json::to_string(entry).unwrap_or_default()
}

/// A value in lines, as it stands some levels deep in a document.
pub fn indented<T: Serialize>(value: &T, levels: usize) -> String {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.replace('\n', &format!("\n{}", "  ".repeat(levels)))
}
