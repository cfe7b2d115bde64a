//! The folders of iterative tasks.

use crate::core::error::Result;
use crate::core::id::TaskSlug;
use crate::loops::iterative::document::Part;
use crate::state::Source;
use crate::store::Store;

pub const TASKS: &str = "iterative";
/// Tasks that a hook looks at to find one; nobody has that many open at once.
const MOST: usize = 200;

/// The folders of tasks. Others make them too.
pub fn all_tasks(source: &dyn Source) -> Result<Vec<TaskSlug>> {
    let names = source.names(TASKS)?.into_iter();
    let names = names.filter(|name| source.is_folder(&format!("{TASKS}/{name}")));
    Ok(names.filter_map(|name| TaskSlug::known(&name)).collect())
}

/// The folders of tasks that something happened in last.
pub fn newest_tasks(source: &dyn Source) -> Result<Vec<TaskSlug>> {
    let mut slugs = all_tasks(source)?;
    if slugs.len() > MOST {
        let modified = |slug: &TaskSlug| source.modified(&format!("{TASKS}/{slug}"));
        slugs.sort_by_cached_key(|slug| std::cmp::Reverse(modified(slug)));
        slugs.truncate(MOST);
    }
    Ok(slugs)
}

/// The guardrails of archived tasks: the archive's name, and the text; the newest first.
pub fn archived_guardrails(source: &dyn Source) -> Result<Vec<(String, String)>> {
    let archive = format!("{TASKS}/{}", TaskSlug::ARCHIVE);
    let mut found = Vec::new();
    for name in source.names(&archive)? {
        let doc = TaskSlug::known(&name).map(|slug| Part::Guardrails.doc(&slug));
        let file = doc.map(|doc| doc.place().1).unwrap_or_default();
        let text = source.bytes(&format!("{archive}/{name}/{file}")).ok().flatten();
        let text = text.and_then(|bytes| String::from_utf8(bytes).ok());
        let modified = source.modified(&format!("{archive}/{name}"));
        found.extend(text.map(|text| (modified, name, text)));
    }
    found.sort_by(|a, b| b.cmp(a));
    Ok(found.into_iter().map(|(_, name, text)| (name, text)).collect())
}

/// Whether something is there that has a task's name.
pub fn has_task(store: &Store, slug: &TaskSlug) -> Result<bool> {
    store.has_entry(TASKS, slug.as_str())
}

/// Makes a folder in a task's folder.
pub fn make_task_folder(store: &Store, slug: &TaskSlug, name: &str) -> Result<()> {
    store.make_folder(&format!("{TASKS}/{slug}/{name}"))
}

/// Moves a task's folder to `archive/{slug}-{YYYYMMDD}`, or to the first free name after that.
pub fn archive_task(store: &Store, slug: &TaskSlug) -> Result<String> {
    let archive = format!("{TASKS}/{}", TaskSlug::ARCHIVE);
    store.move_folder(TASKS, slug.as_str(), &archive)
}

pub fn remove_task(store: &Store, slug: &TaskSlug) -> Result<()> {
    store.remove_folder(TASKS, slug.as_str())
}
