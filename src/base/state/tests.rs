//! What the handle promises, on documents and files of its own.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::core::error::{self, Error};
use crate::state::map::Files;
use crate::state::{Aside, Doc, Document, Frozen, Row, Source, State, Trouble, document};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
struct Note {
    text: String,
}

document!(
    Note by str,
    Row { name: "note", path: "state/notes/{id}.json", ..Row::EPHEMERAL },
    Doc::by_id
);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
struct Board {
    text: String,
}

document!(Board, Row { name: "board", path: "state/board.json", version: 2, ..Row::SHARED });

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
struct Leaf(u64);

document!(
    Leaf by (String, String),
    Row {
        name: "leaf",
        path: "trees/{tree}/leaves/{leaf}.json",
        also_at: &["fallen/leaf_{leaf}.json"],
        trouble: Trouble::PlantedIsLeftOut,
        ..Row::EPHEMERAL
    },
    |row, (tree, leaf)| Doc::new(row, format!("{tree}/leaves/{leaf}"))
);

/// What a file system does with a path.
enum File {
    Has(&'static str),
    Fails,
    IsPlanted,
}

/// A file system that notes what it was asked.
#[derive(Default)]
struct Noted {
    files: BTreeMap<&'static str, File>,
    reads: RefCell<Vec<String>>,
    aside: RefCell<Vec<String>>,
}

impl Noted {
    fn new(files: impl IntoIterator<Item = (&'static str, File)>) -> Self {
        Self { files: files.into_iter().collect(), ..Self::default() }
    }
}

impl Source for Noted {
    fn bytes(&self, path: &str) -> error::Result<Option<Vec<u8>>> {
        self.reads.borrow_mut().push(path.to_owned());
        match self.files.get(path) {
            None => Ok(None),
            Some(File::Has(text)) => Ok(Some(text.as_bytes().to_vec())),
            Some(File::Fails) => {
                Err(Error::io("read", Path::new(path), ErrorKind::PermissionDenied))
            }
            Some(File::IsPlanted) => Err(Error::Planted { path: path.into(), is: "a symlink" }),
        }
    }

    fn names(&self, folder: &str) -> error::Result<Vec<String>> {
        self.reads.borrow_mut().push(folder.to_owned());
        let names =
            self.files.keys().filter_map(|path| path.strip_prefix(folder)?.strip_prefix('/'));
        Ok(names.map(str::to_owned).collect())
    }

    fn has_folder(&self, folder: &str) -> error::Result<bool> {
        Err(Error::io("open", Path::new(folder), ErrorKind::PermissionDenied))
    }

    fn is_folder(&self, _: &str) -> bool {
        false
    }

    fn modified(&self, _: &str) -> i64 {
        0
    }

    fn put_aside(&self, doc: &Doc, why: &str) -> error::Result<Aside> {
        self.aside.borrow_mut().push(format!("{}: {why}", doc.name()));
        Ok(Aside::Moved("moved".into()))
    }
}

const NOTE: &str = "state/notes/a.json";
const BOARD: &str = "state/board.json";

#[test]
fn a_document_is_read_once_and_only_when_it_is_asked_for() {
    let files = Noted::new([(NOTE, File::Has(r#"{"text":"hello"}"#))]);
    let state = State::new(&files);
    assert_eq!(*files.reads.borrow(), [""; 0]);
    let first = state.get_by::<Note>("a").unwrap();
    assert!(std::ptr::eq(first, state.read::<Note>("a").value.unwrap()));
    assert_eq!(state.all::<Note>().chain(state.all::<Note>()).count(), 2);
    assert_eq!(first.text, "hello");
    assert_eq!(*files.reads.borrow(), [NOTE, "state/notes"]);
}

#[test]
fn absent_is_absent_and_is_looked_for_once() {
    let files = Noted::default();
    let state = State::new(&files);
    assert_eq!((state.get::<Board>(), state.get::<Board>()), (None, None));
    let read = state.read::<Board>(&());
    assert_eq!((read.frozen(), read.writable()), (None, None));
    assert!(state.unreadable().is_empty() && state.take_remarks().is_empty());
    assert_eq!(*files.reads.borrow(), [BOARD]);
    assert!(state.check().is_ok());
}

#[test]
fn unreadable_of_ours_is_put_aside_once_and_the_user_hears_of_it() {
    let files = Noted::new([(NOTE, File::Has("{"))]);
    let state = State::new(&files);
    for _ in 0..2 {
        let read = state.read::<Note>("a");
        assert_eq!((read.value, read.frozen()), (None, None));
    }
    let aside = files.aside.borrow();
    assert!(aside.len() == 1 && aside[0].starts_with("notes/a.json: EOF"), "{aside:?}");
    let remarks = state.take_remarks();
    assert_eq!((remarks.len(), remarks[0].0.as_str()), (1, "quarantine/moved"));
    assert!(remarks[0].1.contains(".claude/state/notes/a.json (EOF"), "{remarks:?}");
    assert_eq!(state.unreadable(), [Note::doc("a")]);
}

#[test]
fn unreadable_that_others_write_too_is_frozen_with_its_reason() {
    let files = Noted::new([(BOARD, File::Has(r#"{"text":7}"#))]);
    let state = State::new(&files);
    let read = state.read::<Board>(&());
    let Some(Frozen::Unreadable(why)) = read.frozen() else { panic!("{:?}", read.frozen()) };
    assert!(why.starts_with("invalid type: integer `7`"), "{why}");
    assert_eq!((read.value, read.writable()), (None, None));
    assert_eq!(state.frozen(&Board::doc(&())), read.frozen());
    assert!(state.is_unreadable(read.doc()));
    assert_eq!(*files.aside.borrow(), [""; 0]);
    state.read::<Board>(&());
    let remarks = state.take_remarks();
    assert_eq!(remarks.len(), 1, "{remarks:?}");
    assert!(remarks[0].1.ends_with("; it is left as it is."), "{remarks:?}");
}

#[test]
fn what_a_commit_asks_is_answered_from_what_was_read() {
    let files = Files::default().with_bytes(BOARD, "{\n  \"text\": \"a\"\n}\n");
    let state = files.state();
    let (doc, board) = (Board::doc(&()), Board { text: "a".into() });
    assert!(!state.has_bytes(&doc, &board.to_pieces()), "nobody has read it yet");
    let read = state.read::<Board>(&());
    assert!(state.has_bytes(&doc, read.write(&board).pieces()));
    assert!(!state.has_bytes(&doc, read.write(&Board { text: "b".into() }).pieces()));
    assert_eq!((state.frozen(&doc), read.writable()), (None, Some(&board)));
    state.freeze(&read, Frozen::Unusable("it is no use".into()));
    assert_eq!(state.frozen(&doc), Some(Frozen::Unusable("it is no use".into())));
    assert_eq!((read.value, read.writable()), (Some(&board), None));
    assert_eq!(
        state.take_remarks()[0].1,
        "HookKeeper: .claude/state/board.json is not used: it is no use."
    );
}

#[test]
fn newer_versions_are_frozen_and_read_if_they_can_be() {
    let version = |text: &str| {
        let files = Files::default().with_bytes(BOARD, text);
        let state = files.state();
        let read = state.read::<Board>(&());
        (read.value.map(|board| board.text.clone()), read.frozen())
    };
    assert_eq!(version(r#"{"version":2,"text":"a"}"#), (Some("a".into()), None));
    assert_eq!(version(r#"{"version":3,"text":"a"}"#), (Some("a".into()), Some(Frozen::Newer)));
    assert_eq!(version(r#"{"hooks_version":"3.1","text":"a"}"#).1, Some(Frozen::Newer));
    assert_eq!(version(r#"{"version":3,"text":{}}"#), (None, Some(Frozen::NewerAndUnreadable)));
    let ours = Noted::new([(NOTE, File::Has(r#"{"version":2}"#))]);
    let state = State::new(&ours);
    assert_eq!(state.read::<Note>("a").frozen(), Some(Frozen::NewerAndUnreadable));
    assert_eq!(*ours.aside.borrow(), [""; 0], "a newer version's document is not moved away");
}

#[test]
fn an_error_of_the_file_system_is_kept_for_the_commit() {
    let files = Noted::new([(NOTE, File::Fails), (BOARD, File::IsPlanted)]);
    let state = State::new(&files);
    assert_eq!(state.get_by::<Note>("a"), None);
    assert_eq!(state.get::<Board>(), None);
    assert_eq!(state.unreadable(), [Note::doc("a"), Board::doc(&())]);
    let first = state.check().unwrap_err().to_string();
    assert!(first.starts_with("cannot read: state/notes/a.json: "), "{first}");
}

#[test]
fn something_planted_is_left_out_where_the_row_says_so() {
    let files = Noted::new([("trees/a/leaves/b.json", File::IsPlanted)]);
    let state = State::new(&files);
    let read = state.read::<Leaf>(&("a".into(), "b".into()));
    let why = "refusing to write through trees/a/leaves/b.json: it is a symlink".to_owned();
    assert_eq!(read.frozen(), Some(Frozen::Planted(why.clone())));
    assert_eq!(state.take_remarks(), [(format!("trees/{why}"), format!("HookKeeper: {why}."))]);
    assert!(state.check().is_ok());
}

#[test]
fn lists_leave_out_what_is_no_document_and_names_of_our_own() {
    let mut files = Files::default();
    for name in ["b.json", "a.json", "synthesis.json", "current.json", "a.txt", ".json"] {
        files = files.with_bytes(&format!("state/notes/{name}"), &format!("{{\"text\":{name:?}}}"));
    }
    let state = files.state();
    let names: Vec<String> = state.list(Note::ROWS[0]).iter().map(Doc::name).collect();
    assert_eq!(names, ["notes/a.json", "notes/b.json"]);
    let texts: Vec<&str> = state.all::<Note>().map(|note| note.text.as_str()).collect();
    assert_eq!(texts, ["a.json", "b.json"]);
}

#[test]
fn a_row_knows_the_key_of_its_paths_and_no_others() {
    let [note, board, leaf] = [Note::ROWS[0], Board::ROWS[0], Leaf::ROWS[0]];
    assert_eq!(note.key_at(NOTE), Some("a"));
    assert_eq!(board.key_at(BOARD), Some(""));
    assert_eq!(leaf.key_at("trees/oak/leaves/b.json"), Some("b"), "of two, the last");
    assert_eq!(leaf.key_at("fallen/leaf_c.json"), Some("c"));
    for refused in
        ["state/a.json", "state/notes/.json", "state/notes/a/b.json", "notes/a.json", "state/notes"]
    {
        assert_eq!(note.key_at(refused), None, "{refused}");
    }
    for refused in
        ["trees/leaves/b.json", "trees//leaves/b.json", "fallen/c.json", "fallen/leaf_.json"]
    {
        assert_eq!(leaf.key_at(refused), None, "{refused}");
    }
    assert_eq!((note.folder(), note.file()), ("state/notes", "{id}.json"));
}
