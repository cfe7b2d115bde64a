//! What a hook decides, as data: documents to write in this order, and a reply.

use crate::books::to_bytes;
use crate::reply::Reply;
use crate::store::layout::Doc;

#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// Replace a document, unless it has these bytes already.
    Put(Doc, Vec<u8>),
    Remove(Doc),
    /// Add to the end of a document; what is there stays as it is.
    Append(Doc, String),
    /// Add lines to the metrics archive.
    Archive(Vec<String>),
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
    /// For the log: what happened, in a few words.
    pub outcome: String,
}

impl Plan {
    pub fn put<T: serde::Serialize>(&mut self, doc: Doc, document: &T) {
        self.put_bytes(doc, to_bytes(document));
    }

    /// Puts a document that prints itself.
    pub fn put_bytes(&mut self, doc: Doc, bytes: Vec<u8>) {
        self.changes.push(Change::Put(doc, bytes));
    }

    /// Takes back what it was about to put for a document, so that it can be put once, with more.
    pub fn take_put<T: serde::de::DeserializeOwned>(&mut self, doc: &Doc) -> Option<T> {
        let is_put = |change: &Change| matches!(change, Change::Put(put, _) if put == doc);
        let at = self.changes.iter().rposition(is_put)?;
        match self.changes.remove(at) {
            Change::Put(_, bytes) => serde_json::from_slice(&bytes).ok(),
            _ => None,
        }
    }

    pub fn put_text(&mut self, doc: Doc, text: &str) {
        self.put_bytes(doc, text.as_bytes().to_vec());
    }

    pub fn because(outcome: impl Into<String>) -> Self {
        Self { outcome: outcome.into(), ..Self::default() }
    }
}
