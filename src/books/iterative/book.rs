//! A task's documents together: the state as the log makes it, and what is to be written.
//!
//! Every change is an entry in the log first ([`Book::record`]); the state is what the entry makes of
//! it. So the log is enough to make the state again, and a kill between the two writes is healed by
//! whoever opens the book next.

use super::plan::{self, Planned};
use super::progress::{Entry, Log, TASK};
use super::rebuild::{apply, differences, fold};
use super::{Task, lifecycle};
use crate::books::clip;
use crate::id::TaskSlug;
use crate::plan::{Change, Plan};
use crate::store::layout::{Doc, Part};
use crate::time::{self, Time};

#[derive(Clone, Debug, PartialEq)]
pub struct Book {
    pub slug: TaskSlug,
    pub state: Task,
    pub log: Log,
    plan: Option<String>,
    /// What state.json said otherwise than the log.
    pub conflicts: Vec<String>,
    /// What has to be added to the log.
    new: Vec<Entry>,
    before: Task,
    /// When this is.
    pub now: Time,
}

impl Book {
    /// Opens a task. An error says why it cannot be used.
    pub fn open(
        slug: TaskSlug,
        state: Task,
        progress: Option<&str>,
        plan: Option<String>,
        now: Time,
    ) -> Result<Self, String> {
        if !state.is_known() {
            let mode = clip(&state.mode, 40);
            return Err(format!("its mode is `{mode}`, neither development nor knowledge"));
        }
        let log = match progress {
            None => return Err("progress.md is missing".into()),
            Some(text) => Log::parse(text).map_err(|why| format!("progress.md: {why}"))?,
        };
        let before = state.clone();
        let mut known = state;
        for (id, planned) in Planned::parse(plan.as_deref().unwrap_or_default()).units.iter() {
            if let Some(unit) = known.units_mut().get_mut(id) {
                unit.learn_from(planned);
            }
        }
        let mut book = Self {
            slug,
            state: known,
            log,
            plan,
            conflicts: Vec::new(),
            new: Vec::new(),
            before,
            now,
        };
        if !book.log.is_anchored() {
            book.state.guess_needs();
            book.state.settle();
        } else {
            let folded = fold(&book.state, &book.log);
            book.conflicts = differences(&book.state, &folded);
            book.state = folded;
        }
        Ok(book)
    }

    /// A task with a state that did not come from its file: just made, or made anew.
    pub fn with(slug: TaskSlug, state: Task, log: Log, plan: Option<String>, now: Time) -> Self {
        Self {
            slug,
            before: Task::default(),
            state,
            log,
            plan,
            conflicts: Vec::new(),
            new: Vec::new(),
            now,
        }
    }

    /// Puts an entry into the log, and what follows from it into the state. Refused if it would
    /// break the lifecycle: the rule is named.
    pub fn record(&mut self, entry: Entry) -> Result<(), String> {
        if entry.subject != TASK {
            self.must_be_allowed(&entry)?;
        }
        self.anchor(&entry);
        self.push(entry);
        Ok(())
    }

    fn must_be_allowed(&self, entry: &Entry) -> Result<(), String> {
        let id = &entry.subject;
        let Some(unit) = self.state.unit(id) else {
            return Err(format!("there is no unit `{}`", clip(id, 80)));
        };
        let Some(step) = &entry.step else { return Ok(()) };
        let Some(is) = unit.stands() else {
            return Err(format!("{id}: nobody knows the status `{}`", clip(&unit.status, 40)));
        };
        lifecycle::allowed(is, step.to)
            .map_err(|rule| format!("{id}: {} → {} is refused: {rule}", is.name(), step.to.name()))
    }

    /// Before the first new entry: what the log could not tell, or what it corrects.
    fn anchor(&mut self, first: &Entry) {
        if !self.new.is_empty() {
            return;
        }
        if !self.log.is_anchored() && !first.is_anchor() {
            let mut entry = Entry::of_task("Taken over");
            entry.did = Some("HookKeeper goes on from here with the state as it was.".into());
            entry.state = serde_json::to_string(&self.state).ok();
            self.push(entry);
        } else if !self.conflicts.is_empty() {
            self.push(rebuilt(&self.conflicts));
        }
    }

    fn push(&mut self, mut entry: Entry) {
        entry.at = time::spell(self.now);
        entry.tidy();
        apply(&mut self.state, &entry);
        self.log.entries.push(entry.clone());
        self.new.push(entry);
    }

    pub fn is_changed(&self) -> bool {
        !self.new.is_empty() || self.state != self.before
    }

    pub fn file(&self, part: Part) -> String {
        Doc::Iterative(self.slug.clone(), part).path()
    }

    fn doc(&self, part: Part) -> Doc {
        Doc::Iterative(self.slug.clone(), part)
    }

    /// What has to be written: the log first, because the state follows from it.
    pub fn write(&self, plan: &mut Plan) {
        let text: String = self.new.iter().map(Entry::markdown).collect();
        if !text.is_empty() {
            plan.changes.push(Change::Append(self.doc(Part::Progress), text));
        }
        plan.put(self.doc(Part::State), &self.state);
        let part = if self.state.is_knowledge() { Part::Plan } else { Part::Tasks };
        let text = match &self.plan {
            Some(text) => plan::update(text, &self.state),
            None => plan::render(&self.state),
        };
        plan.put_text(self.doc(part), &text);
    }
}

/// The entry that says what the log corrected in the state.
pub fn rebuilt(conflicts: &[String]) -> Entry {
    let mut entry = Entry::of_task("Rebuilt");
    entry.did = Some(match conflicts {
        [] => "state.json was made anew; nothing differed.".into(),
        conflicts => format!("state.json was made anew from the log. {}.", conflicts.join("; ")),
    });
    entry
}
