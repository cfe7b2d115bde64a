//! Which files the calls of a transcript were about.

use std::collections::{BTreeSet, VecDeque};
use std::fs::File;

use memchr::memmem;

use crate::client::transcript::{HEAD, Kind, blocks, has, text_after};
use crate::process::positioned::FileExt;

pub const FILES: usize = 200;
/// Calls of one turn run at once; their results come in any order.
const UNREAD: usize = 1_000;

/// File calls, collected from the end: a result is seen before the call that it answers.
#[derive(Default)]
pub struct Calls<'a> {
    confirmed: BTreeSet<String>,
    pub files: Vec<String>,
    /// Those of them that were changed.
    pub changed: Vec<String>,
    pub reads: u64,
    /// Calls on files that are known already are passed over, and results are only looked into if
    /// they answer one that is not: most of a transcript stays unread.
    only_new_files: Option<&'a File>,
    known: BTreeSet<Vec<u8>>,
    /// The last results that were not looked into.
    unread: VecDeque<Unread>,
}

/// A result: whose, where it begins, and how long it is.
struct Unread {
    id: Vec<u8>,
    begins: u64,
    length: usize,
}

impl<'a> Calls<'a> {
    /// Those on files that were not seen yet; all results are in this file.
    pub fn of_new_files(transcript: &'a File) -> Self {
        Self { only_new_files: Some(transcript), ..Self::default() }
    }

    pub fn line(&mut self, kind: Kind, begins: u64, line: &[u8]) {
        match kind {
            Kind::User => self.result(begins, line),
            Kind::Other if has(line, b"\"tool_use\"") && has(line, b"_path\"") => self.uses(line),
            _ => {}
        }
    }

    /// These lines hold whole files and make up most of a transcript.
    fn result(&mut self, begins: u64, line: &[u8]) {
        if self.only_new_files.is_some()
            && let Some(id) = only_id(line)
        {
            if self.unread.len() >= UNREAD {
                self.unread.pop_front();
            }
            self.unread.push_back(Unread { id: id.to_owned(), begins, length: line.len() });
        } else {
            self.confirm(line);
        }
    }

    /// A result that is no error confirms its call. Without an error in it, the id in its head is
    /// all that is read.
    fn confirm(&mut self, line: &[u8]) {
        if !has(line, b"\"is_error\"")
            && let Some(id) = only_id(line)
        {
            self.confirmed.insert(String::from_utf8_lossy(id).into_owned());
            return;
        }
        if !has(line, b"\"tool_result\"") {
            return;
        }
        for block in blocks(line) {
            if block.word("type").as_deref() == Some("tool_result")
                && !block.flag("is_error")
                && let Some(id) = block.word("tool_use_id")
            {
                self.confirmed.insert(id);
            }
        }
    }

    fn is_confirmed(&mut self, id: &str) -> bool {
        // A result stands right behind its call: it was among the last that were seen.
        let at = self.unread.iter().rposition(|unread| unread.id == id.as_bytes());
        let unread = at.and_then(|at| self.unread.remove(at));
        if let (Some(file), Some(unread)) = (self.only_new_files, unread) {
            let mut line = vec![0; unread.length];
            if file.read_exact_at(&mut line, unread.begins).is_ok() {
                self.confirm(&line);
            }
        }
        self.confirmed.contains(id)
    }

    fn uses(&mut self, line: &[u8]) {
        if self.only_new_files.is_some()
            && let Some(path) = text_after(line, b"_path\"")
            && self.known.contains(path)
        {
            return;
        }
        if let Some((id, name, path)) = single_use(line) {
            return self.file(id, name, path);
        }
        for block in blocks(line) {
            let Some(name) = block.word("name") else { continue };
            let key = match name.as_str() {
                "NotebookEdit" => "notebook_path",
                _ => "file_path",
            };
            let path = block.object("input").and_then(|input| input.word(key));
            if let (Some(id), Some(path)) = (block.word("id"), path) {
                self.file(&id, &name, &path);
            }
        }
    }

    /// A call on a file; it counts if its result confirmed it.
    fn file(&mut self, id: &str, name: &str, path: &str) {
        let on_file = matches!(name, "Read" | "Edit" | "Write" | "MultiEdit" | "NotebookEdit");
        if !on_file || !self.is_confirmed(id) {
            return;
        }
        self.reads += u64::from(name == "Read");
        if name != "Read" && self.changed.len() < FILES && !self.changed.iter().any(|f| f == path) {
            self.changed.push(path.to_owned());
        }
        if self.files.len() < FILES && !self.files.iter().any(|have| have == path) {
            self.known.insert(path.as_bytes().to_vec());
            self.files.push(path.to_owned());
        }
    }
}

/// The call that a line answers, by its head; `None` if it answers several, or none.
fn only_id(line: &[u8]) -> Option<&[u8]> {
    let head = line.get(..HEAD).unwrap_or(line);
    let id = text_after(head, b"\"tool_use_id\"")?;
    (memmem::find_iter(head, b"\"tool_use_id\"").count() == 1).then_some(id)
}

/// Id, tool and file of a line with one call in it, as the client writes them, without parsing
/// the rest. `None` if there are more, or if something is escaped.
fn single_use(line: &[u8]) -> Option<(&str, &str, &str)> {
    // The reason why a message ended has the same name.
    let is_type = |at: &usize| {
        let before = line.get(..*at).unwrap_or_default().trim_ascii_end();
        before.strip_suffix(b":").is_some_and(|key| key.trim_ascii_end().ends_with(b"\"type\""))
    };
    let mut uses = memmem::find_iter(line, b"\"tool_use\"").filter(is_type);
    let block = line.get(uses.next()?..)?;
    if uses.next().is_some() {
        return None;
    }
    let plain = |key: &[u8]| {
        let text = std::str::from_utf8(text_after(block, key)?).ok()?;
        (!text.contains('\\')).then_some(text)
    };
    Some((plain(b"\"id\"")?, plain(b"\"name\"")?, plain(b"_path\"")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_call_is_read_without_parsing_and_two_are_not() {
        let one = br#"{"message":{"content":[{"type":"tool_use","id":"t1","name":"Read","input":
            {"file_path":"/a"}}],"stop_reason":"tool_use"},"type":"assistant"}"#;
        assert_eq!(single_use(one), Some(("t1", "Read", "/a")));
        let two = br#"{"content":[{"type": "tool_use","id":"t1","name":"Read","input":{"file_path":"/a"}},
            {"type": "tool_use","id":"t2","name":"Edit","input":{"file_path":"/b"}}]}"#;
        assert_eq!(single_use(two), None);
        let escaped =
            br#"{"type":"tool_use","id":"t1","name":"Read","input":{"file_path":"/a\"b"}}"#;
        assert_eq!(single_use(escaped), None);
    }
}
