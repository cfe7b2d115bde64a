//! What a hook decides, as data: documents to write in this order, and a reply.

use crate::core::journal::Entry;
use crate::core::reply::Reply;
use crate::state::{Bytes, Doc, Document, Read, Write};

#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// Replace a document, unless it has these bytes already.
    Put(Write),
    Remove(Doc),
    /// Add to the end of a document; what is there stays as it is.
    Append(Doc, String),
    /// Add lines to a document that has one entry on each line.
    AddLines(Doc, Vec<String>),
    /// Move the results of a closed session that goes on back to where they were.
    RestoreResults {
        session_id: String,
    },
    /// Move a session's results out of the way. `alone`: no other session is live.
    ArchiveResults {
        session_id: String,
        alone: bool,
    },
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    pub changes: Vec<Change>,
    pub reply: Reply,
    /// What the user should hear of, now or with a later event: a key and a text.
    pub notices: Vec<(String, String)>,
    /// A loop that was started here and is driven by a session from now on.
    pub adopted: Option<String>,
    /// For the journal: what happened, in a few words.
    pub outcome: String,
    /// What happened beside the event itself; each is a line of the journal.
    pub told: Vec<Entry>,
}

impl Plan {
    pub fn because(outcome: impl Into<String>) -> Self {
        Self { outcome: outcome.into(), ..Self::default() }
    }

    /// Something for the journal.
    pub fn tell(&mut self, entry: Entry) {
        self.told.push(entry);
    }

    /// Replaces a document that was read.
    pub fn put<T: Document>(&mut self, read: &Read<T>, document: &T) {
        // A change before it in the plan may have made another of it.
        if T::IS_SPLICED && read.value == Some(document) && !self.has_put(read.doc()) {
            return;
        }
        self.changes.push(Change::Put(read.write(document)));
    }

    fn has_put(&self, doc: &Doc) -> bool {
        let is_put = |change: &Change| matches!(change, Change::Put(write) if write.doc() == doc);
        self.changes.iter().any(is_put)
    }

    /// Takes back what it was about to put for a document, so that it can be put once, with more.
    pub fn take_put<T: Document>(&mut self, read: &Read<T>) -> Option<T> {
        let doc = read.doc();
        let is_put = |change: &Change| matches!(change, Change::Put(write) if write.doc() == doc);
        let at = self.changes.iter().rposition(is_put)?;
        match self.changes.remove(at) {
            Change::Put(write) => T::parse(doc, &Bytes::new(write.pieces().to_vec())).ok(),
            _ => None,
        }
    }

    pub fn remove<T: Document>(&mut self, read: &Read<T>) {
        self.changes.push(Change::Remove(read.doc().clone()));
    }

    /// Adds to the end of a text that was read.
    pub fn append<T: Document>(&mut self, read: &Read<T>, text: String) {
        self.changes.push(Change::Append(read.doc().clone(), text));
    }
}
