//! The folders of iterative tasks, and the texts in them that are only added to.

use std::path::Path;

use crate::books::iterative::Task;
use crate::books::settings::Durability;
use crate::error::{Error, Result};
use crate::gather;
use crate::id::TaskSlug;
use crate::store::dir::Dir;
use crate::store::home;
use crate::store::layout::{Doc, Part, Room};
use crate::store::view::View;
use crate::store::{Store, quarantine};

const ROOM: &str = "iterative";
/// Tasks that a hook looks at to find one; nobody has that many open at once.
const MOST: usize = 200;

impl Store {
    /// The folders of tasks that something happened in last.
    pub fn newest_tasks(&self) -> Result<Vec<TaskSlug>> {
        let Some(room) = self.claude.sub(ROOM)? else { return Ok(Vec::new()) };
        let mut slugs = slugs(&room)?;
        if slugs.len() > MOST {
            slugs.sort_by_cached_key(|slug| std::cmp::Reverse(room.modified(slug.as_str())));
            slugs.truncate(MOST);
        }
        Ok(slugs)
    }

    /// Whether something is there that has a task's name.
    pub fn has_task(&self, slug: &TaskSlug) -> Result<bool> {
        self.claude.sub(ROOM)?.map_or(Ok(false), |room| room.exists(slug.as_str()))
    }

    /// The state of a task, if it can be read. What cannot is frozen.
    pub fn task_state(&mut self, slug: &TaskSlug) -> Result<Option<Task>> {
        self.load(&Doc::Iterative(slug.clone(), Part::State), gather::json)
    }

    /// One of a task's texts. What is no text is frozen.
    pub fn task_text(&mut self, slug: &TaskSlug, part: Part) -> Result<Option<String>> {
        self.load(&Doc::Iterative(slug.clone(), part), utf8)
    }

    /// Adds to the end of a document, and syncs: what stands there is primary.
    pub(super) fn append(&mut self, doc: &Doc, text: &str) -> Result<()> {
        if self.frozen.contains(doc) {
            return Ok(());
        }
        self.make_room(doc.room())?;
        let room = self.room(doc.room())?;
        // A line that was cut off, or that somebody left open, ends here.
        let torn = room.read_tail(&doc.file(), 1)?.last().is_some_and(|last| *last != b'\n');
        let text = format!("{}{text}", if torn { "\n" } else { "" });
        room.append(&doc.file(), text.as_bytes())?;
        if self.settings.durability != Durability::None {
            room.sync_file(&doc.file())?;
        }
        self.loaded.retain(|(have, _)| have != doc);
        self.wrote.push(doc.name());
        Ok(())
    }

    /// Makes a folder in a task's folder.
    pub fn make_task_folder(&mut self, slug: &TaskSlug, name: &str) -> Result<()> {
        self.make_room(Room::Iterative(slug.clone()))?;
        self.room(Room::Iterative(slug.clone()))?.make(name).map(drop)
    }

    /// Moves a task's folder to `archive/{slug}-{YYYYMMDD}`, or to the first free name after that.
    pub fn archive_task(&mut self, slug: &TaskSlug) -> Result<String> {
        let room = self.claude.make(ROOM)?;
        let archive = room.make(TaskSlug::ARCHIVE)?;
        let name = format!("{slug}-{}", self.now.format("%Y%m%d"));
        let mut free = name.clone();
        for n in 2.. {
            match room.rename_new(slug.as_str(), &archive, &free) {
                Err(Error::Io { cause, .. }) if is_taken(&cause) => free = format!("{name}-{n}"),
                other => {
                    other?;
                    break;
                }
            }
        }
        self.forget_room(slug);
        self.wrote.push(format!("{ROOM}/{}/{free}", TaskSlug::ARCHIVE));
        Ok(format!(".claude/{ROOM}/{}/{free}", TaskSlug::ARCHIVE))
    }

    pub fn remove_task(&mut self, slug: &TaskSlug) -> Result<()> {
        if let Some(room) = self.claude.sub(ROOM)? {
            room.remove_tree(slug.as_str())?;
        }
        self.forget_room(slug);
        self.wrote.push(format!("-{ROOM}/{slug}"));
        Ok(())
    }

    /// The guardrails of archived tasks: the archive's name, and the text; the newest first.
    pub fn archived_guardrails(&self) -> Result<Vec<(String, String)>> {
        let Some(room) = self.claude.sub(ROOM)? else { return Ok(Vec::new()) };
        let Some(archive) = room.sub(TaskSlug::ARCHIVE)? else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        for name in archive.names()? {
            let Ok(Some(task)) = archive.sub(&name) else { continue };
            let text = task.read(Part::Guardrails.file()).ok().flatten();
            let text = text.and_then(|bytes| String::from_utf8(bytes).ok());
            found.extend(text.map(|text| (archive.modified(&name), name, text)));
        }
        found.sort_by(|a, b| b.cmp(a));
        Ok(found.into_iter().map(|(_, name, text)| (name, text)).collect())
    }

    /// Moves a document of a task that cannot be read out of the way, so that another can be made;
    /// `None` if there is none.
    pub fn set_task_aside(&mut self, slug: &TaskSlug, part: Part) -> Result<Option<String>> {
        let doc = Doc::Iterative(slug.clone(), part);
        if !self.find_room(doc.room())? {
            return Ok(None);
        }
        let room = self.room(doc.room())?;
        if !room.exists(&doc.file())? {
            return Ok(None);
        }
        let name = quarantine::put(&self.state, room, &doc.name(), self.now)?;
        self.frozen.retain(|frozen| *frozen != doc);
        self.loaded.retain(|(have, _)| *have != doc);
        self.wrote.push(format!("quarantine/{name}"));
        Ok(Some(format!(".claude/state/quarantine/{name}")))
    }

    fn forget_room(&mut self, slug: &TaskSlug) {
        self.rooms.retain(|(room, _)| *room != Room::Iterative(slug.clone()));
        let own = |doc: &Doc| matches!(doc, Doc::Iterative(other, _) if other == slug);
        self.loaded.retain(|(doc, _)| !own(doc));
    }
}

/// The tasks of a project, for reading without the lock. Others make them too, so the folder may be
/// there without any of ours.
pub struct Shelf {
    claude: Dir,
}

impl Shelf {
    pub fn open(root: &Path, home: Option<&Path>) -> Result<Option<Self>> {
        Ok(home::existing_claude_dir(root, home)?.map(|claude| Self { claude }))
    }

    pub fn slugs(&self) -> Result<Vec<TaskSlug>> {
        Ok(self.claude.sub(ROOM)?.map(|room| slugs(&room)).transpose()?.unwrap_or_default())
    }

    pub fn has(&self, slug: &TaskSlug) -> Result<bool> {
        Ok(self.claude.sub(ROOM)?.is_some_and(|room| room.is_dir(slug.as_str())))
    }

    pub fn archived(&self) -> Result<Vec<String>> {
        let Some(room) = self.claude.sub(ROOM)? else { return Ok(Vec::new()) };
        room.sub(TaskSlug::ARCHIVE)?.map_or_else(|| Ok(Vec::new()), |archive| archive.names())
    }

    /// A document of a task; `None` if there is none.
    pub fn bytes(&self, slug: &TaskSlug, part: Part) -> Result<Option<Vec<u8>>> {
        let Some(room) = self.claude.sub(ROOM)? else { return Ok(None) };
        let Some(task) = room.sub(slug.as_str())? else { return Ok(None) };
        task.read(part.file())
    }
}

/// A path, and what came of reading it.
type TaskState = (String, Result<Option<Vec<u8>>>);

impl View {
    /// The states of tasks, by their paths from the project.
    pub fn task_states(&self) -> Result<Vec<TaskState>> {
        let Some(room) = self.claude.sub(ROOM)? else { return Ok(Vec::new()) };
        let file = Part::State.file();
        let state = |slug: &TaskSlug| match room.sub(slug.as_str()) {
            Ok(Some(task)) => task.read(file),
            Ok(None) => Ok(None),
            Err(error) => Err(error),
        };
        let slugs = slugs(&room)?;
        let states = slugs
            .iter()
            .map(|slug| (Doc::Iterative(slug.clone(), Part::State).path(), state(slug)));
        Ok(states.collect())
    }
}

/// The task whose state is at this path.
pub fn task_of(path: &str) -> Option<TaskSlug> {
    let rest = path.strip_prefix(".claude/iterative/")?;
    TaskSlug::known(rest.strip_suffix("/state.json")?)
}

fn slugs(room: &Dir) -> Result<Vec<TaskSlug>> {
    let names = room.names()?.into_iter().filter(|name| room.is_dir(name));
    Ok(names.filter_map(|name| TaskSlug::known(&name)).collect())
}

fn is_taken(cause: &std::io::Error) -> bool {
    use std::io::ErrorKind::{AlreadyExists, DirectoryNotEmpty};
    matches!(cause.kind(), AlreadyExists | DirectoryNotEmpty)
}

pub fn utf8(bytes: &[u8]) -> std::result::Result<String, String> {
    String::from_utf8(bytes.to_vec()).map_err(|_| "it is not UTF-8".into())
}
