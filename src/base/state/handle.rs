//! [`State`]: documents that are read when they are first asked for, once.

use std::any::{Any, TypeId};
use std::cell::{Cell, RefCell};

use crate::core::error::{Error, Result};
use crate::core::id::FileStem;
use crate::core::pieces::Pieces;
use crate::core::settings::Systems;
use crate::state::list::List;
use crate::state::{Aside, Bytes, Doc, Document, Frozen, Row, Source, Trouble, Writers, is_newer};

/// The state of a project as one event or one command sees it.
///
/// What cannot be read is no reason to stop deciding: the document is absent, and the reason is
/// kept here. An error of the file system makes the commit fail ([`State::check`]).
pub struct State<'s> {
    source: &'s dyn Source,
    systems: Systems,
    entries: List<Entry>,
    listed: List<(&'static str, Vec<Doc>)>,
    derived: List<(TypeId, Box<dyn Any>)>,
    error: RefCell<Option<Error>>,
    /// What the user should hear of: a key and a text.
    remarks: RefCell<Vec<(String, String)>>,
}

/// What was read of a document. Only who has one can write the document.
pub struct Read<'s, T> {
    entry: &'s Entry,
    pub value: Option<&'s T>,
}

impl<'s, T> Read<'s, T> {
    pub fn doc(&self) -> &'s Doc {
        &self.entry.doc
    }

    /// Why it must stay as it is, if it must.
    pub fn frozen(&self) -> Option<Frozen> {
        self.entry.frozen.borrow().clone()
    }

    pub fn is_frozen(&self) -> bool {
        self.entry.frozen.borrow().is_some()
    }

    /// The document, if it may be changed.
    pub fn writable(&self) -> Option<&'s T> {
        self.value.filter(|_| !self.is_frozen())
    }
}

impl<T: Document> Read<'_, T> {
    /// What replaces the document.
    pub fn write(&self, document: &T) -> Write {
        self.write_pieces(document.to_pieces())
    }

    /// What replaces the document, from bytes that were made elsewhere.
    pub fn write_bytes(&self, bytes: Vec<u8>) -> Write {
        self.write_pieces(bytes.into())
    }

    fn write_pieces(&self, pieces: Pieces) -> Write {
        Write { doc: self.entry.doc.clone(), pieces }
    }
}

/// New bytes for a document. It can only be made from what was read of the document.
#[derive(Clone, Debug, PartialEq)]
pub struct Write {
    doc: Doc,
    pieces: Pieces,
}

impl Write {
    pub fn doc(&self) -> &Doc {
        &self.doc
    }

    pub fn pieces(&self) -> &Pieces {
        &self.pieces
    }
}

struct Entry {
    doc: Doc,
    /// As they are in the file; `None` if there is none, or none that is a document.
    bytes: Option<Bytes>,
    value: Option<Box<dyn Any>>,
    frozen: RefCell<Option<Frozen>>,
    /// There was something, and it could not be read.
    is_unreadable: Cell<bool>,
    /// Why it could not, if that must stop who needs it.
    left_out: RefCell<Option<Error>>,
}

impl<'s> State<'s> {
    pub fn new(source: &'s dyn Source) -> Self {
        Self::for_hook(source, Systems::ON)
    }

    /// Documents of systems that are off are absent, and stay as they are.
    pub fn for_hook(source: &'s dyn Source, systems: Systems) -> Self {
        Self {
            source,
            systems,
            entries: List::default(),
            listed: List::default(),
            derived: List::default(),
            error: RefCell::default(),
            remarks: RefCell::default(),
        }
    }

    /// A document that there is once.
    pub fn get<T: Document<Key = ()>>(&self) -> Option<&T> {
        self.read::<T>(&()).value
    }

    /// A document of many.
    pub fn get_by<T: Document>(&self, key: &T::Key) -> Option<&T> {
        self.read::<T>(key).value
    }

    /// A document, with what is needed to write it.
    pub fn read<T: Document>(&self, key: &T::Key) -> Read<'_, T> {
        self.read_doc(T::doc(key))
    }

    /// A document by its address.
    pub fn read_doc<T: Document>(&self, doc: Doc) -> Read<'_, T> {
        let read = self.read_listed(doc);
        if let Some(error) = read.entry.left_out.take() {
            self.keep_error::<()>(Err(error));
        }
        read
    }

    /// A document that is one of many: where the file system refuses it, it is left out, and the user
    /// hears of it once. An error that may pass is one here too: next time it can be read. Who asks for it by name is refused as for any other.
    pub fn read_listed<T: Document>(&self, doc: Doc) -> Read<'_, T> {
        let entry = match self.entries.find(|entry| entry.doc == doc) {
            Some(entry) => entry,
            None => {
                let entry = self.load::<T>(doc);
                self.entries.push(entry)
            }
        };
        if let Some(error) = entry.left_out.borrow_mut().take_if(|error| error.may_pass()) {
            self.keep_error::<()>(Err(error));
        }
        if let Some(error) = &*entry.left_out.borrow() {
            let (key, text) = left_out_remark(&entry.doc.name(), error);
            self.remark(key, text);
        }
        Read { entry, value: entry.value.as_ref().and_then(|value| value.downcast_ref()) }
    }

    /// All documents of a type that can be read, in the order of their names.
    pub fn all<T: Document>(&self) -> impl Iterator<Item = &T> {
        let docs = T::ROWS.first().map(|row| self.list(row)).unwrap_or_default();
        docs.iter().filter_map(|doc| self.read_listed::<T>(doc.clone()).value)
    }

    /// The documents of a row, by their names.
    pub fn list(&self, row: &'static Row) -> &[Doc] {
        if let Some((_, docs)) = self.listed.find(|(name, _)| *name == row.name) {
            return docs;
        }
        let names = self.keep_error(self.source.names(row.folder())).unwrap_or_default();
        let doc = |name: &String| {
            let path = format!("{}/{name}", row.folder());
            let key = row.key_at(&path).filter(|key| !FileStem::is_reserved(key))?;
            Some(Doc::new(row, key))
        };
        &self.listed.push((row.name, names.iter().filter_map(doc).collect())).1
    }

    /// Something that follows from documents and is worked out once.
    pub fn derive<T: 'static>(&self, work: impl FnOnce() -> T) -> &T {
        if self.derived::<T>().is_none() {
            let value = work();
            self.derived.push((TypeId::of::<T>(), Box::new(value)));
        }
        match self.derived() {
            Some(value) => value,
            None => unreachable!("a derived value is kept under its own type"),
        }
    }

    /// Something that was worked out before, if it was.
    pub fn derived<T: 'static>(&self) -> Option<&T> {
        let id = TypeId::of::<T>();
        self.derived.find(|(have, _)| *have == id)?.1.downcast_ref()
    }

    /// A document must stay as it is; the user hears why, once.
    pub fn freeze<T>(&self, read: &Read<'_, T>, why: Frozen) {
        self.freeze_entry(read.entry, why);
    }

    fn freeze_entry(&self, entry: &Entry, why: Frozen) {
        self.remark(
            format!("frozen/{}/{why}", entry.doc.name()),
            format!("HookKeeper: {} {why}.", entry.doc.path()),
        );
        *entry.frozen.borrow_mut() = Some(why);
    }

    /// Moves a document away that can be made anew, whoever wrote it; where it is then.
    pub fn put_aside<T>(&self, read: &Read<'_, T>, why: &str) -> Option<String> {
        let doc = &read.entry.doc;
        let aside = self.keep_error(self.source.put_aside(doc, why))?;
        let Aside::Moved(name) = aside else { return None };
        let is_said = |key: &str| key.starts_with(&format!("frozen/{}/", doc.name()));
        self.remarks.borrow_mut().retain(|(key, _)| !is_said(key));
        *read.entry.frozen.borrow_mut() = None;
        Some(format!(".claude/state/quarantine/{name}"))
    }

    /// Why a document that was read must stay as it is.
    pub fn frozen(&self, doc: &Doc) -> Option<Frozen> {
        self.entries.find(|entry| entry.doc == *doc)?.frozen.borrow().clone()
    }

    /// Whether a document was there and could not be read.
    pub fn is_unreadable(&self, doc: &Doc) -> bool {
        self.entries.find(|entry| entry.doc == *doc).is_some_and(|entry| entry.is_unreadable.get())
    }

    /// The documents that were there and could not be read.
    pub fn unreadable(&self) -> Vec<Doc> {
        let mut found = Vec::new();
        self.entries.each(|entry| {
            if entry.is_unreadable.get() {
                found.push(entry.doc.clone());
            }
        });
        found
    }

    /// Whether a document has these bytes already.
    pub fn has_bytes(&self, doc: &Doc, pieces: &Pieces) -> bool {
        let entry = self.entries.find(|entry| entry.doc == *doc);
        let have = entry.and_then(|entry| entry.bytes.as_ref());
        have.is_some_and(|have| *pieces == *have.as_slice())
    }

    /// The files themselves, for what is no document.
    pub fn source(&self) -> &'s dyn Source {
        self.source
    }

    /// Something that the user should hear of.
    pub fn remark(&self, key: String, text: String) {
        self.remarks.borrow_mut().push((key, text));
    }

    pub fn take_remarks(&self) -> Vec<(String, String)> {
        std::mem::take(&mut self.remarks.borrow_mut())
    }

    /// Keeps an error of the file system for the commit.
    pub fn keep_error<T>(&self, result: Result<T>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                self.error.borrow_mut().get_or_insert(error);
                None
            }
        }
    }

    /// The first error of the file system that was met, if there was one.
    pub fn check(&self) -> Result<()> {
        self.error.borrow_mut().take().map_or(Ok(()), Err)
    }

    fn load<T: Document>(&self, doc: Doc) -> Entry {
        let mut entry = Entry {
            doc,
            bytes: None,
            value: None,
            frozen: RefCell::default(),
            is_unreadable: Cell::new(false),
            left_out: RefCell::default(),
        };
        if !(entry.doc.row.is_on)(&self.systems) {
            *entry.frozen.borrow_mut() = Some(Frozen::Off);
            return entry;
        }
        match self.source.bytes(&entry.doc.below_claude()) {
            Ok(None) => {}
            Ok(Some(bytes)) => self.take_in::<T>(&mut entry, Bytes::new(bytes)),
            Err(error @ Error::TooLarge { .. }) => self.spoiled(&entry, error.to_string()),
            Err(error) => self.trouble(&entry, error),
        }
        entry
    }

    /// Parses what was read. What is ours and cannot be read is moved away.
    fn take_in<T: Document>(&self, entry: &mut Entry, bytes: Bytes) {
        let newer = is_newer(&bytes, entry.doc.row.version);
        let why = match T::parse(&entry.doc, &bytes) {
            Ok(document) => {
                if newer {
                    self.freeze_entry(entry, Frozen::Newer);
                }
                entry.value = Some(Box::new(document));
                entry.bytes = Some(bytes);
                return;
            }
            Err(why) => why,
        };
        if newer {
            entry.is_unreadable.set(true);
            self.freeze_entry(entry, Frozen::NewerAndUnreadable);
        } else {
            self.spoiled(entry, why);
        }
    }

    /// It is there and of no use.
    fn spoiled(&self, entry: &Entry, why: String) {
        entry.is_unreadable.set(true);
        if entry.doc.row.writers == Writers::Shared {
            self.freeze_entry(entry, Frozen::Unreadable(why));
        } else if let Some(Aside::Moved(name)) =
            self.keep_error(self.source.put_aside(&entry.doc, &why))
        {
            let text = format!(
                "HookKeeper could not read {} ({why}). It was moved to \
                 .claude/state/quarantine/{name} and started anew.",
                entry.doc.path()
            );
            self.remark(format!("quarantine/{name}"), text);
        }
    }

    fn trouble(&self, entry: &Entry, error: Error) {
        let is_planted = matches!(error, Error::Planted { .. });
        let row = entry.doc.row;
        // Nobody but us writes it, and there is one: what is in its place is nobody's document.
        if let Error::Planted { is, .. } = &error
            && (row.trouble, row.writers) == (Trouble::Fails, Writers::Ours)
            && entry.doc.key.is_empty()
        {
            return self.spoiled(entry, format!("it is {is}"));
        }
        entry.is_unreadable.set(true);
        let name = entry.doc.name();
        let folder = name.split('/').next().unwrap_or_default();
        let key = match entry.doc.row.trouble {
            Trouble::PlantedIsLeftOut if is_planted => format!("{folder}/{error}"),
            Trouble::LeftOut => folder.to_owned(),
            Trouble::Fails | Trouble::PlantedIsLeftOut => {
                *entry.frozen.borrow_mut() = Some(Frozen::Planted(error.to_string()));
                *entry.left_out.borrow_mut() = Some(error);
                return;
            }
        };
        self.remark(key, format!("HookKeeper: {error}."));
        *entry.frozen.borrow_mut() = Some(Frozen::Planted(error.to_string()));
    }
}

/// What the user hears, once, of a document of many that the file system refuses.
pub fn left_out_remark(name: &str, error: &Error) -> (String, String) {
    (format!("left-out/{name}"), format!("HookKeeper: {error}. It is left out."))
}
