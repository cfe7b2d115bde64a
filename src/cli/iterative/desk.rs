//! What the commands share: changing a task under the lock, and telling the session that drives it.

use anyhow::bail;
use serde_json::json;

use super::commits;
use super::driver::note_driver;
use crate::Outcome;
use crate::books::iterative::book::Book;
use crate::books::iterative::progress::Log;
use crate::books::iterative::{Part, Task, TaskText};
use crate::books::live::Live;
use crate::cli::acting::must_act_for;
use crate::cli::{Project, said_json};
use crate::hooks::drive::iterative::try_open_book;
use crate::hooks::session_record::is_live;
use crate::id::TaskSlug;
use crate::loops::iterative::{prompt, title};
use crate::plan::Plan;
use crate::state::{Document, State};
use crate::store::Store;

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
    pub around: &'a State<'a>,
    pub store: &'a Store,
    /// A signal was taken: the session that drives the task has had its transition.
    pub signalled: bool,
}

impl Desk<'_> {
    /// What git says that was committed for a task, before the lock is taken.
    pub fn commits(&self, slug: &TaskSlug) -> anyhow::Result<Option<Vec<String>>> {
        let Some(view) = self.project.view()? else { return Ok(None) };
        let state = view.state();
        let text = |part| {
            let text = state.get_by::<TaskText>(&(slug.clone(), part));
            text.map(|text| text.0.as_str()).unwrap_or_default()
        };
        let task = match state.get_by::<Task>(slug) {
            Some(task) => task.clone(),
            // It may be about to be made anew.
            None => crate::books::iterative::brief::parse(text(Part::Brief)).unwrap_or_default(),
        };
        let log = Log::parse(text(Part::Progress)).unwrap_or_default();
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
        otherwise: impl FnOnce(&Store, anyhow::Error) -> anyhow::Result<String>,
    ) -> anyhow::Result<Outcome> {
        let commits = self.commits(slug)?;
        self.project.change(|store, around| {
            let book = match self.open(around, slug) {
                Ok(book) => book,
                Err(why) => return self.answer(otherwise(store, why)?, slug, None),
            };
            let mut here = Here { book, around, store, signalled: false };
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
            let plan = here.book.plan_part().doc(slug);
            if around.frozen(&plan).is_some() {
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
    fn open(&self, around: &State, slug: &TaskSlug) -> anyhow::Result<Book> {
        let opened = try_open_book(slug, around, self.project.process.now());
        let path = Task::doc(slug).path();
        let frozen = || around.frozen(&Task::doc(slug));
        let (why, is_log) = match (opened, frozen()) {
            (Ok(Some(book)), None) => return Ok(book),
            (Err(problem), _) => (format!("{path} is not used: {problem}."), problem.is_log()),
            (_, Some(frozen)) => (format!("{path} {frozen}."), false),
            (Ok(None), None) => (format!(".claude/iterative/{slug} has no state.json."), false),
        };
        let help = match is_log {
            true => format!(
                "`hookkeeper iterative rebuild {slug} --new-log` begins a new log with the state as it is"
            ),
            false => format!("`hookkeeper iterative rebuild {slug}` makes the state anew"),
        };
        bail!("task {slug} was not changed: {why} {help}")
    }

    /// Writes a book down, and tells the sessions whose loop it is or was.
    pub fn write(&self, here: Here) -> anyhow::Result<()> {
        let Here { book, around, store, signalled } = here;
        if !book.is_changed() {
            return Ok(());
        }
        let mut plan = Plan::default();
        book.write(&mut plan, around);
        self.tell_driver(&book, store);
        note_driver(&mut plan, around, &book, signalled);
        store.commit(&plan.changes, around)?;
        Ok(())
    }
}

impl Here<'_> {
    /// The record of the session that drives the task.
    pub fn driver(&self) -> Option<&Live> {
        let live = self.around.get_by::<Live>(self.book.state.session_id.as_ref()?)?;
        (live.loop_task.as_deref() == Some(self.book.slug.as_str())).then_some(live)
    }

    /// A command that a model runs acts for its session; a person's acts for all.
    pub fn must_be_own(&self, session: Option<&str>) -> anyhow::Result<()> {
        let owner = self.book.state.session_id.as_deref();
        if let (Some(own), Some(owner)) = (session, owner)
            && own != owner
            && !is_live(owner, self.around)
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
