//! What is declared of a document: its type, where it is, how it is kept, who else writes it.

use std::rc::Rc;

use crate::core::id::FileStem;
use crate::core::pieces::Pieces;
use crate::core::settings::Systems;
use crate::state::panel::StatusPart;

/// The bytes of a document as they were read. A document may keep them, and parse what it needs.
pub type Bytes = Rc<Vec<u8>>;

/// How a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Json,
    /// A JSON document on each line.
    Lines,
    /// A text for people; it has no schema.
    Text,
}

/// Who writes a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writers {
    /// Only this program: what cannot be read is moved to the quarantine, and begun anew.
    Ours,
    /// Models and other tools too, and not atomically: a hook never moves it away.
    Shared,
}

/// What becomes of an event when the file system refuses a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The event fails.
    Fails,
    /// Something that is no file in its place is left alone, and the event goes on without it.
    PlantedIsLeftOut,
    /// The event goes on without it, whatever the reason.
    LeftOut,
}

/// The declaration of a document.
#[derive(Debug)]
pub struct Row {
    /// What `schema` and `validate` call it; no two rows have the same.
    pub name: &'static str,
    /// Below `.claude`. What stands in braces is the document's key.
    pub path: &'static str,
    /// Where else such documents are.
    pub also_at: &'static [&'static str],
    /// In `schemas/`; several rows may share one.
    pub schema: &'static str,
    pub title: &'static str,
    /// One line for people.
    pub about: &'static str,
    pub format: Format,
    /// Durable documents are synced before they take their place; the others die with the client.
    pub is_durable: bool,
    pub writers: Writers,
    pub trouble: Trouble,
    /// The version of its format that this program knows.
    pub version: u64,
    /// Whether its system is on; hooks neither read nor write it otherwise.
    pub is_on: fn(&Systems) -> bool,
    /// What `status` shows of it.
    pub status: Option<StatusPart>,
}

impl Row {
    /// A JSON document of our own that is not synced: it is written often, and nothing depends on it.
    /// It stays all the same until somebody removes it.
    pub const EPHEMERAL: Self = Self {
        name: "",
        path: "",
        also_at: &[],
        schema: "",
        title: "",
        about: "",
        format: Format::Json,
        is_durable: false,
        writers: Writers::Ours,
        trouble: Trouble::Fails,
        version: 1,
        is_on: |_| true,
        status: None,
    };

    /// A JSON document of our own that outlives sessions and is worth a sync at every write.
    pub const DURABLE: Self = Self { is_durable: true, ..Self::EPHEMERAL };

    /// A durable document that models and other tools write too.
    pub const SHARED: Self = Self { writers: Writers::Shared, ..Self::DURABLE };

    /// The folder that such documents are in, if the key does not name it.
    pub fn folder(&self) -> &'static str {
        self.path.rsplit_once('/').map_or("", |(folder, _)| folder)
    }

    /// The name of such files, with braces if it has a key in it.
    pub fn file(&self) -> &'static str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    /// The key of the document at this path below `.claude`; `None` if it is no such document.
    pub fn key_at<'a>(&self, path: &'a str) -> Option<&'a str> {
        std::iter::once(&self.path).chain(self.also_at).find_map(|pattern| matched(pattern, path))
    }
}

/// What stands for the braces of a pattern; of several, for the last ones.
fn matched<'a>(pattern: &str, path: &'a str) -> Option<&'a str> {
    let (mut patterns, mut segments) = (pattern.split('/'), path.split('/'));
    let mut key = "";
    loop {
        match (patterns.next(), segments.next()) {
            (None, None) => return Some(key),
            (Some(pattern), Some(segment)) => match pattern.split_once('{') {
                None if pattern == segment => {}
                None => return None,
                Some((before, rest)) => {
                    let after = rest.rsplit_once('}')?.1;
                    let inner = segment.strip_prefix(before)?.strip_suffix(after)?;
                    key = Some(inner).filter(|inner| !inner.is_empty())?;
                }
            },
            _ => return None,
        }
    }
}

/// The address of one document.
#[derive(Clone, Debug)]
pub struct Doc {
    pub row: &'static Row,
    /// What stands for the braces in its row's path: made by `id`, so it is no way out of a folder.
    pub key: String,
}

impl PartialEq for Doc {
    fn eq(&self, other: &Self) -> bool {
        self.row.name == other.row.name && self.key == other.key
    }
}

impl Eq for Doc {}

impl Doc {
    pub fn new(row: &'static Row, key: impl Into<String>) -> Self {
        Self { row, key: key.into() }
    }

    /// For documents that are named by an id from a payload.
    pub fn by_id(row: &'static Row, id: &str) -> Self {
        Self::new(row, FileStem::from_id(id).as_str())
    }

    /// Below `.claude`: `state/agents/active.json`.
    pub fn below_claude(&self) -> String {
        match (self.row.path.split_once('{'), self.row.path.rsplit_once('}')) {
            (Some((before, _)), Some((_, after))) => format!("{before}{}{after}", self.key),
            _ => self.row.path.to_owned(),
        }
    }

    /// From the project: `.claude/state/agents/active.json`.
    pub fn path(&self) -> String {
        format!(".claude/{}", self.below_claude())
    }

    /// As people see it in messages and in the log: `agents/active.json`.
    pub fn name(&self) -> String {
        let path = self.below_claude();
        path.strip_prefix("state/").map(str::to_owned).unwrap_or(path)
    }

    /// The folder below `.claude`, and the file in it.
    pub fn place(&self) -> (String, String) {
        let path = self.below_claude();
        match path.rsplit_once('/') {
            Some((folder, file)) => (folder.to_owned(), file.to_owned()),
            None => (String::new(), path),
        }
    }

    /// Whether it is a document of this type.
    pub fn is<T: Document>(&self) -> bool {
        T::ROWS.iter().any(|row| row.name == self.row.name)
    }
}

/// A type that is kept in a file.
pub trait Document: PartialEq + Sized + 'static {
    /// Whether equal documents have equal bytes, so that nothing has to be printed to compare them.
    /// Others may have been laid out by somebody else.
    const IS_SPLICED: bool = false;
    /// Usually one; a type of text may have several.
    const ROWS: &'static [&'static Row];
    type Key: ?Sized;

    fn doc(key: &Self::Key) -> Doc;
    /// The error says what is wrong with it, as an end to "cannot be read: …".
    fn parse(doc: &Doc, bytes: &Bytes) -> Result<Self, String>;
    fn to_bytes(&self) -> Vec<u8>;

    /// The document's bytes in pieces, for documents that are mostly what was read.
    fn to_pieces(&self) -> Pieces {
        self.to_bytes().into()
    }

    /// The schema of the document; a text has none.
    #[cfg(feature = "testing")]
    fn schema(_: schemars::SchemaGenerator) -> Option<schemars::Schema> {
        None
    }
}

/// Declares a type as a JSON document: `document!(Type, Row { … })` for one that there is once,
/// `document!(Type by Key, Row { … }, |row, key| …)` for one of many. The type that the schema is
/// made from may be named where it is not this one, the reader and the writer where they are not
/// serde's.
#[macro_export]
macro_rules! document {
    (
        $type:ident, $row:expr
        $(, schema: $schema:ty)? $(, parse: $parse:expr)? $(, pieces: $pieces:expr)?
    ) => {
        $crate::state::document!(
            $type by (), $row, |row, ()| $crate::state::Doc::new(row, "")
            $(, schema: $schema)? $(, parse: $parse)? $(, pieces: $pieces)?
        );
    };
    (
        $type:ident by $key:ty, $row:expr, $doc:expr
        $(, schema: $schema:ty)? $(, parse: $parse:expr)? $(, pieces: $pieces:expr)?
    ) => {
        impl $crate::state::Document for $type {
            const ROWS: &'static [&'static $crate::state::Row] = &[&$row];
            $(const IS_SPLICED: bool = $crate::state::document!(@spliced $pieces);)?
            type Key = $key;

            fn doc(key: &$key) -> $crate::state::Doc {
                let address: fn(&'static $crate::state::Row, &$key) -> $crate::state::Doc = $doc;
                const ROW: &$crate::state::Row = &$row;
                address(ROW, key)
            }

            fn parse(
                doc: &$crate::state::Doc,
                bytes: &$crate::state::Bytes,
            ) -> std::result::Result<Self, String> {
                let _ = doc;
                $crate::state::document!(@parse doc, bytes $(, $parse)?)
            }

            fn to_bytes(&self) -> Vec<u8> {
                $crate::state::document!(@bytes self $(, $pieces)?)
            }

            $(fn to_pieces(&self) -> $crate::core::pieces::Pieces {
                let pieces: fn(&Self) -> $crate::core::pieces::Pieces = $pieces;
                pieces(self)
            })?

            #[cfg(feature = "testing")]
            fn schema(generator: schemars::SchemaGenerator) -> Option<schemars::Schema> {
                type Described = $crate::state::document!(@schema $type $(, $schema)?);
                Some(generator.into_root_schema_for::<Described>())
            }
        }
    };
    (@parse $doc:ident, $bytes:ident) => {
        serde_json::from_slice($bytes).map_err(|error| error.to_string())
    };
    (@parse $doc:ident, $bytes:ident, $parse:expr) => {{
        let parse: fn(
            &$crate::state::Doc,
            &$crate::state::Bytes,
        ) -> std::result::Result<Self, String> = $parse;
        parse($doc, $bytes)
    }};
    (@spliced $pieces:expr) => { true };
    (@schema $type:ident) => { $type };
    (@schema $type:ident, $schema:ty) => { $schema };
    (@bytes $self:ident) => { $crate::core::text::to_bytes($self) };
    (@bytes $self:ident, $pieces:expr) => { $self.to_pieces().to_vec() };
}
pub use document;

/// Declares a type as a text for people.
#[macro_export]
macro_rules! text_document {
    ($type:ident by $key:ty, $rows:expr, $doc:expr) => {
        impl $crate::state::Document for $type {
            const ROWS: &'static [&'static $crate::state::Row] = $rows;
            type Key = $key;

            fn doc(key: &$key) -> $crate::state::Doc {
                let address: fn(&$key) -> $crate::state::Doc = $doc;
                address(key)
            }

            fn parse(
                _: &$crate::state::Doc,
                bytes: &$crate::state::Bytes,
            ) -> std::result::Result<Self, String> {
                let text = String::from_utf8(bytes.as_ref().clone());
                text.map(Self).map_err(|_| "it is not UTF-8".into())
            }

            fn to_bytes(&self) -> Vec<u8> {
                self.0.clone().into_bytes()
            }
        }
    };
}
pub use text_document;
