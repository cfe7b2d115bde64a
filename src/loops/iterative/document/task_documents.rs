//! A task's documents together: the state as the log makes it, and what is to be written.
//!
//! Every change is an entry in the log first ([`TaskDocuments::record`]), which is refused if it
//! breaks the lifecycle. The state is what the entry makes of it (`rebuild::apply`), so `rebuild`
//! is the same function over all entries. A kill between the two writes, or a state that somebody
//! edited, is found and put right by whoever opens the documents next.
//!
//! A log without any entry of ours gets one with the whole state before the first change. Nothing
//! but the log and the state is needed to go on: a plan that cannot be read holds nothing up.

use std::fmt;

use crate::core::id::TaskSlug;
use crate::core::text::clip;
use crate::core::time::{self, Time};
use crate::loops::iterative::document::differences::differences;
use crate::loops::iterative::document::lifecycle::Status;
use crate::loops::iterative::document::needs::{circle, in_order};
use crate::loops::iterative::document::progress::{Entry, Log, NOT_SAID, TASK};
use crate::loops::iterative::document::rebuild::{allowed, apply, fold};
use crate::loops::iterative::document::{Part, Task, TaskText, plan, planned};
use crate::loops::iterative::seen::Seen;
use crate::state::plan::Plan;
use crate::state::{Document, State};

#[derive(Clone, Debug, PartialEq)]
pub struct TaskDocuments {
    pub slug: TaskSlug,
    pub state: Task,
    pub log: Log,
    plan: Option<String>,
    /// What state.json said otherwise than the log.
    pub conflicts: Vec<String>,
    /// What has to be added to the log.
    new: Vec<Entry>,
    before: Task,
    /// What is seen of the work outside of the documents.
    pub seen: Seen,
    /// What the model said at the end of its turn, for the entry that is made of it.
    pub told: Option<String>,
    /// When this is.
    pub now: Time,
}

/// Why the documents of a task cannot be used.
#[derive(Clone, Debug, PartialEq)]
pub enum TaskProblem {
    /// The state has a mode that there is not.
    Mode(String),
    /// The log is missing, or no text.
    Log(String),
    /// The log has something in it that is no entry.
    Entry(String),
}

impl TaskProblem {
    /// Whether it is the log's fault.
    pub fn is_log(&self) -> bool {
        matches!(self, Self::Log(_) | Self::Entry(_))
    }
}

impl fmt::Display for TaskProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mode(mode) => {
                write!(f, "its mode is `{mode}`, neither development nor knowledge")
            }
            Self::Log(why) => write!(f, "progress.md {why}"),
            Self::Entry(why) => write!(f, "progress.md: {why}"),
        }
    }
}

impl TaskDocuments {
    /// Opens a task. An error says why it cannot be used.
    pub fn open(
        slug: TaskSlug,
        state: Task,
        progress: Option<&str>,
        plan: Option<String>,
        now: Time,
    ) -> Result<Self, TaskProblem> {
        if !state.is_known() {
            return Err(TaskProblem::Mode(clip(&state.mode, 40)));
        }
        let log = match progress {
            None => return Err(TaskProblem::Log("is missing".into())),
            Some(text) => Log::parse(text).map_err(TaskProblem::Entry)?,
        };
        let known = learn(&state, plan.as_deref());
        let mut documents = Self { before: state, ..Self::with(slug, known, log, plan, now) };
        if !documents.log.is_anchored() {
            documents.state.guess_needs();
            documents.state.settle();
        } else {
            let folded = fold(&documents.state, &documents.log);
            documents.conflicts = differences(&documents.state, &folded);
            documents.state = folded;
        }
        Ok(documents)
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
            seen: Seen::default(),
            told: None,
            now,
        }
    }

    /// A task whose log begins anew with the state as it is.
    pub fn without_log(slug: TaskSlug, state: &Task, plan: Option<String>, now: Time) -> Self {
        let mut known = learn(state, plan.as_deref());
        known.guess_needs();
        known.settle();
        Self::with(slug, known, Log::default(), plan, now)
    }

    /// Puts an entry into the log, and what follows from it into the state. Refused if it would
    /// break the lifecycle: the rule is named.
    pub fn record(&mut self, entry: Entry) -> Result<(), String> {
        if entry.subject != TASK {
            allowed(&self.state, &entry)?;
        }
        self.anchor(&entry);
        self.push(entry);
        Ok(())
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

    /// Notes what the log corrects, where nothing else is to be recorded; whether there is anything.
    pub fn settle_conflicts(&mut self) -> bool {
        if self.new.is_empty() && !self.conflicts.is_empty() {
            self.push(rebuilt(&self.conflicts));
        }
        !self.conflicts.is_empty()
    }

    /// Takes in what was seen of the work.
    pub fn see(&mut self, mut seen: Seen) {
        self.state.add_commits(std::mem::take(&mut seen.commits));
        self.seen = seen;
    }

    /// What every entry about a unit says: what was done, what remains, what is in the way, what
    /// was committed since the last one.
    fn fill_in(&mut self, entry: &mut Entry) {
        if let (Some(told), Some(_)) = (&self.told, &entry.step) {
            let did = entry.did.take().unwrap_or_default();
            entry.did = Some(format!("{did} {told}"));
            self.told = None;
        }
        let tried = self.log.attempts(&entry.subject);
        if let (Some(did), false) = (&entry.did, tried.is_empty())
            && entry.step.as_ref().is_some_and(|step| step.to == Status::Timeout)
        {
            entry.did = Some(format!("{did} Attempted: {}", tried.join("; ")));
        }
        let is = |word: &str| entry.signal == Some(format!("{}_{word}", entry.subject));
        if entry.remaining.is_none() {
            let left = match entry.step.as_ref().map(|step| step.to) {
                Some(Status::Confirming | Status::Verifying | Status::Done) if !is("GAPS") => {
                    "None"
                }
                _ => self.log.remaining(&entry.subject).unwrap_or(NOT_SAID),
            };
            entry.remaining = Some(left.to_owned());
        }
        entry.blockers.get_or_insert_with(|| "None".into());
        if entry.commit.is_none() {
            let head = self.seen.head.as_deref().map(|head| head.get(..7).unwrap_or(head));
            let new = head
                .filter(|head| self.log.last_commit().is_none_or(|last| !last.starts_with(head)));
            entry.commit = Some(new.unwrap_or("None").to_owned());
        }
    }

    fn push(&mut self, mut entry: Entry) {
        if entry.subject != TASK {
            self.fill_in(&mut entry);
        }
        entry.at = time::spell(self.now);
        entry.tidy();
        apply(&mut self.state, &entry);
        self.log.entries.push(entry.clone());
        self.new.push(entry);
    }

    /// Whether a unit has just been said to be done, so that its confirmation begins now.
    pub fn begins_to_confirm(&self) -> bool {
        let mut steps = self.new.iter().filter_map(|entry| entry.step.as_ref());
        steps.any(|step| step.to == Status::Confirming && step.from != step.to)
    }

    /// Whether something is to be added to the log.
    pub fn has_entries(&self) -> bool {
        !self.new.is_empty()
    }

    /// Whether there was no state that could be used.
    pub fn is_made_anew(&self) -> bool {
        self.before == Task::default()
    }

    pub fn is_changed(&self) -> bool {
        self.has_entries() || self.state != self.before
    }

    /// Where the state is, from the project.
    pub fn state_path(&self) -> String {
        Task::doc(&self.slug).path()
    }

    /// Where a text of the task is, from the project.
    pub fn file(&self, part: Part) -> String {
        part.doc(&self.slug).path()
    }

    /// What has to be written: the log first, because the state follows from it.
    pub fn write(&self, plan: &mut Plan, state: &State) {
        let text_of = |part| state.read::<TaskText>(&(self.slug.clone(), part));
        let text: String = self.new.iter().map(Entry::markdown).collect();
        if !text.is_empty() {
            plan.append(&text_of(Part::Progress), text);
        }
        plan.put(&state.read::<Task>(&self.slug), &self.state);
        let text = match &self.plan {
            Some(text) => plan::update(text, &self.state),
            None => plan::render(&self.state),
        };
        plan.put(&text_of(self.state.plan_part()), &TaskText(text));
    }
}

/// A state with what only the plan says of its units.
fn learn(state: &Task, plan: Option<&str>) -> Task {
    let mut known = state.clone();
    let planned = planned::parse(plan.unwrap_or_default());
    let ids: Vec<String> = state.units().iter().map(|(id, _)| id.clone()).collect();
    for (id, planned) in planned.iter() {
        if let Some(unit) = known.units_mut().get_mut(id) {
            let mut planned = planned.clone();
            in_order(&mut planned.needs, &ids);
            unit.learn_from(&planned);
        }
    }
    // With units that need each other nothing could be done any more.
    if circle(known.units()).is_empty() { known } else { state.clone() }
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
