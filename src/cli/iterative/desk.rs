//! What the commands share: changing a task under the lock, and telling the session that drives it.

use anyhow::bail;
use serde_json::json;

use super::commits;
use super::driver::note_driver;
use crate::Outcome;
use crate::books::autonomous::Autonomous;
use crate::books::iterative::Task;
use crate::books::iterative::book::Book;
use crate::books::iterative::progress::Log;
use crate::books::live::Live;
use crate::cli::acting::must_act_for;
use crate::cli::{Project, said_json};
use crate::gather;
use crate::id::TaskSlug;
use crate::loops::iterative::{prompt, title};
use crate::plan::Plan;
use crate::snapshot::Snapshot;
use crate::store::Store;
use crate::store::layout::{Doc, Part};

pub struct Desk<'a> {
    pub project: &'a Project<'a>,
    /// For whom the command acts.
    pub session: Option<String>,
    /// The answer is one JSON object.
    pub json: bool,
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
        self.change_or(&self.slug(named)?, work, |_, why| Err(why))
    }

    /// The same, with another way for a task whose documents cannot be used.
    pub fn change_or(
        &self,
        slug: &TaskSlug,
        work: impl FnOnce(&mut Here) -> anyhow::Result<String>,
        otherwise: impl FnOnce(&mut Store, anyhow::Error) -> anyhow::Result<String>,
    ) -> anyhow::Result<Outcome> {
        let commits = self.commits(slug)?;
        self.project.change(|store| {
            let book = match self.open(store, slug)? {
                Ok(book) => book,
                Err(why) => return self.answer(otherwise(store, why)?, slug, None),
            };
            let snapshot = around(store)?;
            let mut here = Here { book, snapshot, store, signalled: false };
            here.book.state.add_commits(commits.unwrap_or_default());
            let before = here.book.clone();
            let mut said = match work(&mut here) {
                Ok(said) => said,
                Err(why) => {
                    // What was refused changes nothing, but the state may have been left behind.
                    here.book = before;
                    if here.book.settle_conflicts() {
                        self.write(here)?;
                    }
                    return Err(why);
                }
            };
            let plan = here.book.plan_doc();
            if here.store.frozen.contains(&plan) {
                said.push_str(&format!(
                    "\n{} cannot be read and was left as it is; `hookkeeper iterative rebuild {slug}` makes it anew.",
                    plan.path()
                ));
            }
            let book = here.book.clone();
            self.write(here)?;
            if !book.conflicts.is_empty() {
                said = format!(
                    "state.json and progress.md did not agree; the log holds: {}.\n{said}",
                    book.conflicts.join("; ")
                );
            }
            self.answer(said, slug, Some(&book))
        })
    }

    /// What a command says, and with `--json` where the task stands.
    pub fn answer(
        &self,
        said: String,
        slug: &TaskSlug,
        book: Option<&Book>,
    ) -> anyhow::Result<Outcome> {
        match (self.json, book) {
            (false, _) => Ok(Outcome::said(said)),
            (true, None) => said_json(&json!({"slug": slug.as_str(), "said": said.trim_end()})),
            (true, Some(book)) => {
                let task = &book.state;
                said_json(&json!({
                    "slug": slug.as_str(), "said": said.trim_end(), "open": task.is_open(),
                    "next": task.current().or_else(|| task.workable()), "task": task,
                    "conflicts": book.conflicts,
                }))
            }
        }
    }

    /// A task's book, or why it cannot be used.
    fn open(
        &self,
        store: &mut Store,
        slug: &TaskSlug,
    ) -> anyhow::Result<Result<Book, anyhow::Error>> {
        let book = gather::book(store, slug.clone(), self.project.process.now())?;
        if let (Some(book), false) = (book, Book::is_frozen(slug, &store.frozen)) {
            return Ok(Ok(book));
        }
        let own =
            [Part::State, Part::Progress].map(|part| Doc::Iterative(slug.clone(), part).path());
        let about = |text: &str| own.iter().any(|path| text.contains(path.as_str()));
        let why = store.remarks.iter().rev().find(|(_, text)| about(text));
        let why = why.map(|(_, text)| text.trim_start_matches("HookKeeper: ").to_owned());
        let why = why.unwrap_or_else(|| format!(".claude/iterative/{slug} has no state.json."));
        let help = match why.contains("progress.md") {
            true => format!(
                "`hookkeeper iterative rebuild {slug} --new-log` begins a new log with the state as it is"
            ),
            false => format!("`hookkeeper iterative rebuild {slug}` makes the state anew"),
        };
        Ok(Err(anyhow::anyhow!("task {slug} was not changed: {why} {help}")))
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
        let owner = self.book.state.session_id.as_deref();
        if let (Some(own), Some(owner)) = (session, owner)
            && own != owner
            && !self.snapshot.lives.contains_key(owner)
        {
            let (title, slug) = (title(&self.book), &self.book.slug);
            bail!(
                "the {title} was driven by session {owner}, which has ended; `hookkeeper iterative adopt {slug}` takes it over"
            );
        }
        must_act_for(session, owner, || title(&self.book))
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
                 `hookkeeper iterative unit {slug} '{}: title | criteria | max 5'`, and begin: \
                 `hookkeeper iterative phase {slug} execute`.",
                state.phase,
                self.book.file(Part::Brief),
                state.first_unit()
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
