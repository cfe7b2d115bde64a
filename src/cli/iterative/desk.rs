//! What the commands share: finding the task that is meant, changing it under the lock, and telling
//! the session that drives it.

use std::path::PathBuf;

use anyhow::bail;

use super::commits;
use super::driver::note_driver;
use crate::Outcome;
use crate::books::autonomous::Autonomous;
use crate::books::clip;
use crate::books::iterative::Task;
use crate::books::iterative::book::Book;
use crate::books::iterative::progress::Log;
use crate::books::live::Live;
use crate::cli::Project;
use crate::gather;
use crate::id::TaskSlug;
use crate::loops::iterative::{prompt, title};
use crate::plan::Plan;
use crate::snapshot::Snapshot;
use crate::store::Store;
use crate::store::iterative::Shelf;
use crate::store::layout::{Doc, Part};

/// Names in a message.
const NAMES: usize = 20;

pub struct Desk<'a> {
    pub project: &'a Project<'a>,
    /// For whom the command acts.
    pub session: Option<String>,
}

/// A task under the lock, with the sessions around it.
pub struct Here<'a> {
    pub book: Book,
    pub snapshot: Snapshot,
    pub store: &'a mut Store,
    /// A signal was taken: the session that drives the task has had its transition.
    pub signalled: bool,
}

impl Desk<'_> {
    pub fn shelf(&self) -> anyhow::Result<Option<Shelf>> {
        let root = self.root()?;
        Ok(Shelf::open(&root, self.project.process.home().as_deref())?)
    }

    pub fn root(&self) -> anyhow::Result<PathBuf> {
        self.project.root()
    }

    pub fn slugs(&self) -> anyhow::Result<Vec<TaskSlug>> {
        Ok(self.shelf()?.map(|shelf| shelf.slugs()).transpose()?.unwrap_or_default())
    }

    /// The state of a task without the lock, if it can be read.
    pub fn state(&self, slug: &TaskSlug) -> anyhow::Result<Option<Task>> {
        let bytes = self.shelf()?.map(|shelf| shelf.bytes(slug, Part::State)).transpose()?;
        Ok(bytes.flatten().and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }

    /// The task that is named; else the session's; else the only one that is open.
    pub fn slug(&self, named: Option<&str>) -> anyhow::Result<TaskSlug> {
        self.slug_of(named, Task::is_open)
    }

    /// The same among those that are fit for something.
    pub fn slug_of(&self, named: Option<&str>, fit: fn(&Task) -> bool) -> anyhow::Result<TaskSlug> {
        let shelf = self.shelf()?;
        if let (Some(shelf), Some(slug)) = (&shelf, named.and_then(TaskSlug::known))
            && shelf.has(&slug)?
        {
            return Ok(slug);
        }
        let known = self.slugs()?;
        if let Some(name) = named {
            let name = clip(name, 80);
            match known.as_slice() {
                [] => bail!("there is no task `{name}`; `hookkeeper iterative new` makes one"),
                known => bail!("there is no task `{name}`; there are {}", names(known)),
            }
        }
        let mut open = Vec::new();
        for slug in known {
            if let Some(task) = self.state(&slug)?.filter(fit) {
                if self.session.is_some() && task.session_id == self.session {
                    return Ok(slug);
                }
                open.push(slug);
            }
        }
        match open.as_slice() {
            [slug] => Ok(slug.clone()),
            [] => bail!("no task is open; `hookkeeper iterative list` shows all, name one"),
            several => bail!("several tasks are open, name one: {}", names(several)),
        }
    }

    /// What git says that was committed for a task, before the lock is taken.
    pub fn commits(&self, slug: &TaskSlug) -> anyhow::Result<Option<Vec<String>>> {
        let Some(shelf) = self.shelf()? else { return Ok(None) };
        let text = |part| Ok::<_, anyhow::Error>(shelf.bytes(slug, part)?.unwrap_or_default());
        let task = match serde_json::from_slice::<Task>(&text(Part::State)?) {
            Ok(task) => task,
            // It may be about to be made anew.
            Err(_) => {
                let brief = String::from_utf8_lossy(&text(Part::Brief)?).into_owned();
                crate::books::iterative::brief::parse(&brief).unwrap_or_default()
            }
        };
        let progress = String::from_utf8_lossy(&text(Part::Progress)?).into_owned();
        let log = Log::parse(&progress).unwrap_or_default();
        Ok(commits::of(&self.root()?, &task, &log))
    }

    /// Changes a task under the lock, and what its session knows of it.
    pub fn change(
        &self,
        named: Option<&str>,
        work: impl FnOnce(&mut Here) -> anyhow::Result<String>,
    ) -> anyhow::Result<Outcome> {
        let slug = self.slug(named)?;
        let commits = self.commits(&slug)?;
        self.project.change(|store| {
            let book = self.open(store, &slug)?;
            let snapshot = around(store)?;
            let mut here = Here { book, snapshot, store, signalled: false };
            here.book.state.add_commits(commits.unwrap_or_default());
            let conflicts = here.book.conflicts.clone();
            let mut said = work(&mut here)?;
            self.write(here)?;
            if !conflicts.is_empty() {
                said = format!(
                    "state.json and progress.md did not agree; the log holds: {}.\n{said}",
                    conflicts.join("; ")
                );
            }
            Ok(Outcome::said(said))
        })
    }

    /// A task's book, or why it cannot be changed.
    fn open(&self, store: &mut Store, slug: &TaskSlug) -> anyhow::Result<Book> {
        let book = gather::book(store, slug.clone(), self.project.process.now())?;
        let own = |doc: &&Doc| matches!(doc, Doc::Iterative(other, _) if other == slug);
        let frozen = store.frozen.iter().any(|doc| own(&doc));
        if let (Some(book), false) = (book, frozen) {
            return Ok(book);
        }
        let why = store
            .remarks
            .last()
            .map(|(_, text)| text.trim_start_matches("HookKeeper: ").to_owned());
        let why = why.unwrap_or_else(|| format!(".claude/iterative/{slug} has no state.json."));
        let help = match why.contains("progress.md") {
            true => format!(
                "`hookkeeper iterative rebuild {slug} --new-log` begins a new log with the state as it is"
            ),
            false => format!("`hookkeeper iterative rebuild {slug}` makes the state anew"),
        };
        bail!("task {slug} was not changed: {why} {help}")
    }

    /// Writes a book down, and tells the sessions whose loop it is or was.
    pub fn write(&self, here: Here) -> anyhow::Result<()> {
        let Here { book, mut snapshot, store, signalled } = here;
        if !book.is_changed() {
            return Ok(());
        }
        let mut plan = Plan::default();
        book.write(&mut plan);
        self.tell_driver(&book, store);
        note_driver(&mut plan, &mut snapshot, &book, signalled);
        store.commit(&plan.changes)?;
        Ok(())
    }
}

/// Live sessions, and the loops that one of them may drive.
pub fn around(store: &mut Store) -> anyhow::Result<Snapshot> {
    let mut snapshot = Snapshot::default();
    gather::copies(&mut snapshot, store)?;
    snapshot.queue = store.load(&Doc::Queue, gather::json)?;
    snapshot.autonomous = store.load(&Doc::Autonomous, Autonomous::parse)?;
    Ok(snapshot)
}

impl Here<'_> {
    /// The record of the session that drives the task.
    pub fn driver(&self) -> Option<&Live> {
        let live = self.snapshot.lives.get(self.book.state.session_id.as_ref()?)?;
        (live.loop_task.as_deref() == Some(self.book.slug.as_str())).then_some(live)
    }

    /// A command that a model runs acts for its session; a person's acts for all.
    pub fn must_be_own(&self, session: Option<&str>) -> anyhow::Result<()> {
        match (session, self.book.state.session_id.as_deref()) {
            (Some(own), Some(owner)) if own != owner => bail!(
                "the {} is driven by session {owner}; to act for it: --session {owner}",
                title(&self.book)
            ),
            _ => Ok(()),
        }
    }

    pub fn must_run(&self, session: Option<&str>) -> anyhow::Result<()> {
        self.must_be_own(session)?;
        let (slug, state) = (&self.book.slug, &self.book.state);
        match &state.verdict {
            _ if state.is_open() => Ok(()),
            Some(verdict) if verdict == "complete" => bail!("the task {slug} is complete"),
            Some(verdict) => bail!(
                "the task {slug} has ended ({verdict}); `hookkeeper iterative resume {slug}` goes on with it"
            ),
            None => bail!("the task {slug} is complete"),
        }
    }

    /// What comes now, for whoever asked.
    pub fn now(&self) -> String {
        let (slug, state) = (&self.book.slug, &self.book.state);
        if let Some(verdict) = &state.verdict {
            let why = state.verdict_reason.as_deref().unwrap_or("no reason given");
            return format!("The task {slug} is {verdict}: {why}.");
        }
        match state.phase.as_str() {
            "execute" => prompt::of(&self.book).unwrap_or_else(|| {
                prompt::question(&self.book).trim_start_matches("HookKeeper: ").to_owned()
            }),
            "discover" | "plan" if state.units().is_empty() => format!(
                "The task {slug} is in its phase {}. Fill in {}, then add units: \
                 `hookkeeper iterative unit {slug} 'T1: title | criteria | max 5'`, and begin: \
                 `hookkeeper iterative phase {slug} execute`.",
                state.phase,
                self.book.file(Part::Brief)
            ),
            phase => format!(
                "The task {slug} is in its phase {phase}; its units go on with `hookkeeper iterative phase {slug} execute`."
            ),
        }
    }
}

/// What the rules forbid, as an error.
pub fn rule(result: Result<(), String>) -> anyhow::Result<()> {
    result.map_err(anyhow::Error::msg)
}

fn names(slugs: &[TaskSlug]) -> String {
    let names: Vec<&str> = slugs.iter().take(NAMES).map(TaskSlug::as_str).collect();
    match slugs.len() - names.len() {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}
