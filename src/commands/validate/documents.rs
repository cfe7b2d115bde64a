//! Every document and every other file of ours, room by room. What `schema`, `validate`, `status`, the
//! schema generator and the fault suite know of files comes from here.
//!
//! The declaration of a document stands beside its type (`document!`), and the room adds it in its
//! `documents`; a test holds that none is missing.

use crate::core::settings::Settings;
use crate::state::{Declared, Doc, Documents, Row};
use crate::{agents, branch, client, compaction, errors, execute, loops, session, store};

/// Our own settings, which people write.
const SETTINGS: Row = Row {
    name: "settings",
    path: "hookkeeper.json",
    schema: "settings",
    title: "HookKeeper settings",
    about: "what a project may set",
    ..Row::SHARED
};

/// All of them, in the order in which people see them.
pub fn all() -> Vec<Declared> {
    let mut all = Documents::default();
    session::documents(&mut all);
    agents::documents(&mut all);
    errors::documents(&mut all);
    compaction::documents(&mut all);
    branch::documents(&mut all);
    loops::documents(&mut all);
    execute::documents(&mut all);
    let check = |_: &Doc, bytes: &[u8]| Settings::read(bytes).1.map_or(Ok(()), Err);
    all.add_file::<Settings>(&SETTINGS, check);
    store::documents(&mut all);
    client::documents(&mut all);
    all.0
}

/// What stands at a path below `.claude`.
pub fn declared_at(path: &str) -> Option<(Declared, Doc)> {
    let fits = |declared: Declared| {
        let key = declared.row.key_at(path)?;
        Some((declared, Doc::new(declared.row, key)))
    };
    let found: Vec<(Declared, Doc)> = all().into_iter().filter_map(fits).collect();
    // A name that stands in a row is no key of another one.
    let named = found.iter().find(|(_, doc)| path.ends_with(doc.row.file()));
    named.or(found.first()).cloned()
}

/// Whether a folder below `.claude` has documents in it, or folders that have.
pub fn has_documents(folder: &str) -> bool {
    let fits = |pattern: &&str| {
        let mut patterns = pattern.split('/');
        folder.split('/').all(|segment| {
            patterns.next().is_some_and(|pattern| pattern.starts_with('{') || pattern == segment)
        }) && patterns.next().is_some()
    };
    all()
        .iter()
        .any(|Declared { row, .. }| std::iter::once(&row.path).chain(row.also_at).any(&fits))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::{Path, PathBuf};

    use super::*;

    #[test]
    fn no_two_rows_share_a_name_or_a_path() {
        let rows = all();
        let names: BTreeSet<&str> = rows.iter().map(|known| known.row.name).collect();
        let paths: Vec<&str> = rows.iter().flat_map(|known| paths_of(known.row)).collect();
        assert_eq!(names.len(), rows.len());
        assert_eq!(paths.iter().collect::<BTreeSet<_>>().len(), paths.len());
    }

    /// Whoever declares a document and forgets to add it hears of it from this test.
    #[test]
    fn every_declared_document_is_added() {
        let (mut types, mut paths) = (BTreeSet::new(), BTreeSet::new());
        let mut added = BTreeSet::new();
        // In `state` are the macros themselves, and the documents of their tests.
        for file in
            sources(&source("")).iter().filter(|file| !file.starts_with(source("base/state")))
        {
            let code = code(file);
            types.extend(declarations(&code).into_iter().map(str::to_owned));
            let lines = code.lines().filter_map(|line| quoted_after(line.trim(), "path: "));
            paths.extend(lines.map(str::to_owned));
            let lines = code.lines().filter_map(|line| line.trim().strip_prefix("all.add::<"));
            let names = lines.filter_map(|rest| rest.split('>').next()?.rsplit("::").next());
            added.extend(names.map(str::to_owned));
        }
        let missing: Vec<&String> = types.difference(&added).collect();
        assert!(missing.is_empty(), "declared, and added by no room's `documents`: {missing:?}");
        let known: BTreeSet<String> = all().iter().map(|known| known.row.path.to_owned()).collect();
        let missing: Vec<&String> = paths.difference(&known).collect();
        assert!(missing.is_empty(), "a room's `documents` is not called by `all`: {missing:?}");
        assert_eq!((types, paths), (added, known));
    }

    /// A list of documents is made from [`all`]; a file of the program that spells many of their
    /// paths keeps one by hand.
    #[test]
    fn nobody_keeps_a_list_of_documents_by_hand() {
        let rows = all();
        let is_program = |file: &PathBuf| !file.to_string_lossy().ends_with("tests.rs");
        for file in sources(&source("")).into_iter().filter(is_program) {
            let code = code(&file);
            let spelled = |known: &&Declared| {
                let name = known.row.path.trim_start_matches("state/");
                !name.starts_with('{') && code.lines().any(|line| is_spelled(line, name))
            };
            let names: Vec<&str> =
                rows.iter().filter(spelled).map(|known| known.row.name).collect();
            assert!(names.len() <= MOST_SPELLED, "{} spells {names:?}", file.display());
        }
    }

    /// A document and its archive are declared side by side.
    const MOST_SPELLED: usize = 2;

    fn is_spelled(line: &str, name: &str) -> bool {
        let line = line.trim();
        !line.starts_with("//") && !line.starts_with("path: ") && line.contains(name)
    }

    fn paths_of(row: &'static Row) -> impl Iterator<Item = &'static str> {
        std::iter::once(row.path).chain(row.also_at.iter().copied())
    }

    /// The types that code declares as documents; who reads a part of another one is none.
    fn declarations(code: &str) -> Vec<&str> {
        let begins =
            |line: &&str| line.contains("document!(") || line.starts_with("impl Document for ");
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        let mut found = Vec::new();
        for line in code.lines().filter(begins).filter(|line| !line.trim().starts_with("//")) {
            let begin = line.find("document!(").map_or("impl Document for ".len(), |at| at + 10);
            // rustfmt may put the name on the next line.
            let at = line.as_ptr().addr() - code.as_ptr().addr() + begin;
            let rest = code.get(at..).unwrap().trim_start();
            let is_part = rest.lines().nth(1).is_some_and(|line| line.ends_with("::ROWS;"));
            found.extend(rest.split(|c| !is_name(c)).next().filter(|_| !is_part));
        }
        found
    }

    fn quoted_after<'a>(line: &'a str, begin: &str) -> Option<&'a str> {
        line.strip_prefix(begin)?.strip_prefix('"')?.split('"').next()
    }

    fn source(path: &str) -> PathBuf {
        crate::core::repository::root().join("src").join(path)
    }

    /// A file without its tests.
    #[expect(clippy::disallowed_methods, reason = "a test reads files of the repository")]
    fn code(path: &Path) -> String {
        let text = std::fs::read_to_string(path).unwrap();
        text.split("#[cfg(test)]\nmod tests").next().unwrap().to_owned()
    }

    #[expect(clippy::disallowed_methods, reason = "a test reads files of the repository")]
    fn sources(folder: &Path) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let files =
            entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] });
        files.filter(|path| path.extension().is_some_and(|kind| kind == "rs")).collect()
    }
}
