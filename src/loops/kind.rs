//! What all loops have in common: the words of their commands, and what hooks and commands do with
//! one of them.

use crate::branch::folder::BRANCHES;
use crate::core::gate::Words;
use crate::core::settings::Systems;
use crate::core::time::Time;
use crate::loops::autonomous::document::Autonomous;
use crate::loops::governor::Stop;
use crate::loops::iterative::folder::TASKS;
use crate::loops::queue::document::Queue;
use crate::loops::{Ending, Say, Verdict};
use crate::session::live::Live;
use crate::state::plan::Plan;
use crate::state::{Document as _, State};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoopKind {
    Queue,
    Autonomous,
    Branch,
    Iterative,
}

impl LoopKind {
    pub const ALL: [Self; 4] = [Self::Queue, Self::Autonomous, Self::Branch, Self::Iterative];

    /// How the commands of such a loop begin.
    pub fn command(self) -> &'static str {
        self.words().0
    }

    /// One word for it, where no task may be named.
    pub fn word(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::Autonomous => "autonomous",
            Self::Branch => "branch",
            Self::Iterative => "iterative",
        }
    }

    /// Which loop it is, among all of a project.
    pub fn key(self, folder: &str) -> String {
        format!("{} {folder}", self.command()).trim_end().to_owned()
    }

    /// Whether hooks drive such loops.
    pub fn is_on(self, systems: &Systems) -> bool {
        match self {
            Self::Queue => systems.queue_loop,
            Self::Autonomous => systems.autonomous,
            Self::Branch => systems.branches && systems.branch_loop,
            Self::Iterative => systems.iterative,
        }
    }

    /// The file of such a loop that a model may write, from the project.
    pub fn file(self, folder: &str) -> String {
        match self {
            Self::Queue => Queue::doc(&()).path(),
            Self::Autonomous => Autonomous::doc(&()).path(),
            Self::Branch => format!(".claude/{BRANCHES}/{folder}/state.json"),
            Self::Iterative => format!(".claude/{TASKS}/{folder}/state.json"),
        }
    }

    /// The command that starts one.
    pub fn start(self) -> String {
        let (command, start) = self.words();
        format!("{command} {start}")
    }

    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Queue => ("hookkeeper loop", "start TASK"),
            Self::Autonomous => ("hookkeeper autonomous", "start FEATURE"),
            Self::Branch => ("hookkeeper branch loop", "start PROMPT"),
            Self::Iterative => ("hookkeeper iterative", "new SLUG"),
        }
    }

    /// The folder of the loop that a session has noted as the one that it drives. There is one queue
    /// and one autonomous loop: they need no note.
    pub fn note(self, live: &Live) -> Option<&str> {
        match self {
            Self::Queue | Self::Autonomous => Some(""),
            Self::Branch => live.loop_branch.as_deref(),
            Self::Iterative => live.loop_task.as_deref(),
        }
    }

    pub fn set_note(self, live: &mut Live, folder: Option<&str>) {
        match self {
            Self::Autonomous => {}
            Self::Queue => live.loop_queue = live.loop_queue.take().filter(|_| folder.is_some()),
            Self::Branch => live.loop_branch = folder.map(str::to_owned),
            Self::Iterative => {
                live.loop_task = folder.map(str::to_owned);
                live.loop_edits = 0;
                live.loop_tree = None;
                live.loop_signalled = false;
            }
        }
    }
}

/// A loop, taken out of its documents to be changed.
pub trait Loop {
    fn kind(&self) -> LoopKind;

    /// Its folder, where there are several of a kind.
    fn folder(&self) -> &str {
        ""
    }

    /// What it is called in a sentence.
    fn noun(&self) -> String {
        "loop".into()
    }

    /// Which loop, and where it stands.
    fn title(&self) -> String;

    /// One of its commands.
    fn command(&self, verb: &str) -> String {
        format!("{} {verb}", self.kind().command())
    }

    /// The command that lets it go on after an end.
    fn resume_command(&self) -> String {
        format!("{} resume", self.kind().command())
    }

    fn owner(&self) -> Option<&str>;

    /// A session drives it from now on.
    fn bind(&mut self, session: &str);

    /// Somebody else chose its limits: none is above [`MOST_ITERATIONS`] and [`MOST_MINUTES`] after this.
    fn clamp(&mut self);

    fn is_running(&self) -> bool;

    fn ending(&self) -> &Ending;

    /// Whether it did what it was for.
    fn is_complete(&self) -> bool {
        self.ending().is_complete()
    }

    fn end(&mut self, verdict: Verdict, why: &str, now: Time);

    /// Ends it, and says so.
    fn finish(&mut self, verdict: Verdict, why: String, now: Time) -> Say {
        self.end(verdict, &why, now);
        Say::End(verdict, why)
    }

    /// Goes on after an end, with so many iterations at most. An error says why it cannot.
    fn reopen(&mut self, most: Option<u64>, now: Time) -> Result<(), String>;

    /// Begins with what comes next, where that needs a step.
    fn begin_next(&mut self) -> Result<(), String> {
        Ok(())
    }

    /// What the model is told: it may have just lost its context.
    fn reason(&self) -> Words;

    /// Its iteration, and the name under which the session that drives it remembers that.
    fn counter(&self) -> Option<(String, u64)> {
        None
    }

    /// Somebody set the counter back: it goes on here.
    fn restore_count(&mut self, _iteration: u64) {}

    /// What the session that drives it keeps of it, in case its file is lost.
    fn keep(&self, _live: &mut Live) {}

    /// What else the session that drives it has to remember.
    fn remind(&self, _live: &mut Live) {}

    /// Whether it is over, or has to wait, before another turn is counted.
    fn check(&mut self, stop: &Stop) -> Option<Say>;

    /// Counts a turn.
    fn turn(&mut self, stop: &Stop) -> Say;

    /// Writes its documents, as far as they have changed.
    fn put(&self, plan: &mut Plan, state: &State);

    /// Writes that it has another owner.
    fn put_owner(&self, plan: &mut Plan, state: &State) {
        self.put(plan, state);
    }
}

/// What a loop that is adopted may take at most.
pub const MOST_ITERATIONS: u64 = 200;
pub const MOST_MINUTES: u64 = 24 * 60;

/// The limit of a loop that goes on after an end: what is asked for, else the one it had, else ten
/// iterations more.
pub fn new_limit(most: Option<u64>, limit: u64, iteration: u64) -> Result<u64, String> {
    let more = if iteration >= limit { iteration.saturating_add(10) } else { limit };
    let most = most.unwrap_or(more);
    match most > iteration {
        true => Ok(most),
        false => Err(format!("{iteration} iterations are over already; give it more")),
    }
}

/// A counter that somebody rolled back goes on where it was.
pub fn restore_count(the_loop: &mut dyn Loop, live: &Live) {
    if let Some((key, iteration)) = the_loop.counter()
        && let Some(seen) = live.loop_iterations.get(&key).filter(|seen| **seen > iteration)
    {
        the_loop.restore_count(*seen);
    }
}

/// A session drives one loop: the counters of earlier ones are of no use. What was changed belongs to
/// the iteration that is over.
pub fn remember(the_loop: &dyn Loop, live: &mut Live) {
    the_loop.keep(live);
    if let Some((key, iteration)) = the_loop.counter() {
        live.loop_changed &= live.loop_iterations.get(&key) == Some(&iteration);
        live.loop_iterations.retain(|known, _| *known == key);
        live.loop_iterations.insert(key, iteration);
    }
}
