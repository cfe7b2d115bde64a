//! What the commands share: changing a task under the lock, and the answer.

use anyhow::{Error, bail};
use serde_json::json;

use crate::commands::loops::{Before, LoopCommand};
use crate::console::project::print_json;
use crate::core::id::TaskSlug;
use crate::core::outcome::Outcome;
use crate::loops::iterative::document::progress::Log;
use crate::loops::iterative::document::task_documents::TaskDocuments;
use crate::loops::iterative::document::{Part, Task, TaskText};
use crate::loops::iterative::drive::try_open_book;
use crate::loops::iterative::rules::IterativeLoop;
use crate::loops::iterative::seen::{Eyes, Seen};
use crate::loops::left;
use crate::state::{Document, State};
use crate::store::Store;
use crate::turn::world::World;

pub struct TaskCommand<'a> {
    pub command: LoopCommand<'a>,
    /// The answer is one JSON object.
    pub json: bool,
    /// Whether what the whole checkout holds decides something.
    pub at_tree: bool,
}

impl TaskCommand<'_> {
    /// What is seen of a task's work, before the lock is taken.
    pub fn look(&self, slug: &TaskSlug) -> anyhow::Result<Seen> {
        let Some(view) = self.command.project.view()? else { return Ok(Seen::default()) };
        let state = view.state();
        let text = |part| {
            let text = state.get_by::<TaskText>(&(slug.clone(), part));
            text.map(|text| text.0.as_str()).unwrap_or_default()
        };
        let task = match state.get_by::<Task>(slug) {
            Some(task) => task.clone(),
            // It may be about to be made anew.
            None => crate::loops::iterative::document::brief::parse(text(Part::Brief))
                .unwrap_or_default(),
        };
        let log = Log::parse(text(Part::Progress)).unwrap_or_default();
        self.look_at(slug, &task, &log)
    }

    pub fn look_at(&self, slug: &TaskSlug, task: &Task, log: &Log) -> anyhow::Result<Seen> {
        let (root, redact) = (self.root()?, self.command.project.redactor()?);
        let facts = World::new(self.command.project.process, &root);
        let eyes = Eyes { facts: &facts, root: &root, redact: &redact };
        Ok(eyes.look(slug, task, log, self.at_tree))
    }

    /// Changes a task under the lock, and what its session knows of it.
    pub fn change(
        &self,
        named: Option<&str>,
        work: impl FnOnce(&mut IterativeLoop, &State) -> anyhow::Result<String>,
    ) -> anyhow::Result<Outcome> {
        let work = |task: &mut IterativeLoop, _: &Store, state: &State| work(task, state);
        self.change_or(&self.slug(named)?, work, |_, why| Err(why))
    }

    /// Changes a task under the lock, with another way for one whose documents cannot be used.
    pub fn change_or(
        &self,
        slug: &TaskSlug,
        work: impl FnOnce(&mut IterativeLoop, &Store, &State) -> anyhow::Result<String>,
        otherwise: impl FnOnce(&Store, Error) -> anyhow::Result<String>,
    ) -> anyhow::Result<Outcome> {
        let seen = self.look(slug)?;
        self.command.project.change(|store, state| {
            let mut documents = match self.open(state, slug) {
                Ok(documents) => documents,
                Err(why) => return self.answer(otherwise(store, why)?, slug, None),
            };
            documents.see(seen);
            let mut task = IterativeLoop::new(documents.clone(), state);
            left::end_left(&mut task, state, self.command.now);
            let before = Before::new(&task);
            let mut said = match work(&mut task, store, state) {
                Ok(said) => said,
                Err(why) => {
                    // What was refused changes nothing, but the state may have been left behind.
                    task.documents = documents;
                    if task.documents.settle_conflicts() {
                        self.command.write(&task, Some(&before), store, state)?;
                    }
                    return Err(why);
                }
            };
            let plan = task.documents.state.plan_part().doc(slug);
            if state.frozen(&plan).is_some() {
                let word = slug.word();
                said.push_str(&format!(
                    "\n{} cannot be read and was left as it is; `hookkeeper iterative rebuild {word}` makes it anew.",
                    plan.path()
                ));
            }
            self.command.write(&task, Some(&before), store, state)?;
            if !task.documents.conflicts.is_empty() {
                said = format!(
                    "state.json and progress.md did not agree; the log holds: {}.\n{said}",
                    task.documents.conflicts.join("; ")
                );
            }
            self.answer(said, slug, Some(&task.documents))
        })
    }

    /// What a command says, and with `--json` where the task stands.
    pub fn answer(
        &self,
        said: String,
        slug: &TaskSlug,
        documents: Option<&TaskDocuments>,
    ) -> anyhow::Result<Outcome> {
        match (self.json, documents) {
            (false, _) => Ok(Outcome::printed(said)),
            (true, None) => print_json(&json!({"slug": slug.as_str(), "said": said.trim_end()})),
            (true, Some(documents)) => {
                let task = &documents.state;
                print_json(&json!({
                    "slug": slug.as_str(), "said": said.trim_end(), "open": task.is_open(),
                    "next": task.current().or_else(|| task.workable()), "task": task,
                    "conflicts": documents.conflicts,
                }))
            }
        }
    }

    /// A task's documents, or why it cannot be used.
    fn open(&self, state: &State, slug: &TaskSlug) -> anyhow::Result<TaskDocuments> {
        let opened = try_open_book(slug, state, self.command.now);
        let path = Task::doc(slug).path();
        let frozen = || state.frozen(&Task::doc(slug));
        let (why, is_log) = match (opened, frozen()) {
            (Ok(Some(documents)), None) => return Ok(documents),
            (Err(problem), _) => (format!("{path} is not used: {problem}."), problem.is_log()),
            (_, Some(frozen)) => (format!("{path} {frozen}."), false),
            (Ok(None), None) => (format!(".claude/iterative/{slug} has no state.json."), false),
        };
        let word = slug.word();
        let help = match is_log {
            true => format!(
                "`hookkeeper iterative rebuild {word} --new-log` begins a new log with the state as it is"
            ),
            false => format!("`hookkeeper iterative rebuild {word}` makes the state anew"),
        };
        bail!("task {slug} was not changed: {why} {help}")
    }
}

/// What the rules forbid, as an error.
pub fn rule(result: Result<(), String>) -> anyhow::Result<()> {
    result.map_err(Error::msg)
}
