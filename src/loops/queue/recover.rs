//! A queue whose loop was lost: its file is gone or makes no sense while a session drives it.
//!
//! The session keeps the loop's task, gates, limits and phase in its live record
//! (`session/queue_note.rs`), LOOP_STATE.md has the rest (`page` reads what `render` writes). From
//! these the next Stop, command or "stop the loop" makes the queue anew, and says so. Passes have
//! to be earned again. What could not be read is kept in quarantine. With the page gone too
//! (`rm -rf .claude/state/loop`) the loop was reset: it ends, and that is said.
//!
//! A file in the specification's form, which has no status, is another tool's loop: `loop adopt`
//! takes it up with what its page says, `loop start` refuses to drop it.

use crate::loops::queue::document::{PASSES, Queue};
use crate::loops::queue::page::{self, LoopStateText, Page};
use crate::loops::queue::phase::{self, PHASES};
use crate::loops::queue::rules::counter_name;
use crate::session::live::Live;
use crate::session::queue_note::QueueNote;
use crate::state::{Frozen, State};

/// A queue that was made anew, and what was wrong with it.
#[derive(Clone, Debug, PartialEq)]
pub struct Recovered {
    pub queue: Queue,
    pub why: String,
}

/// The queue of the loop that a session drives, if it was lost. Worked out once.
pub fn lost<'s>(driver: &Live, state: &'s State) -> Option<&'s Recovered> {
    struct Found(Option<Recovered>);
    driver.loop_queue.as_ref()?;
    state.derive(|| Found(find(driver, state))).0.as_ref()
}

fn find(driver: &Live, state: &State) -> Option<Recovered> {
    let note = driver.loop_queue.as_ref()?;
    let read = state.read::<Queue>(&());
    let (mut queue, why) = match (read.value, read.frozen()) {
        (None, None) => (Queue::default(), "was missing".to_owned()),
        (None, Some(Frozen::Unreadable(why))) => {
            (Queue::default(), format!("could not be read ({why})"))
        }
        (Some(queue), None) if !queue.has_earned_its_end() => {
            let mut queue = queue.clone();
            queue.ending = Default::default();
            (queue, "said that it was complete, which it was not".to_owned())
        }
        (Some(queue), None) if queue.status == "none" && queue.ending.verdict.is_none() => {
            (queue.clone(), "had lost its loop".to_owned())
        }
        _ => return None,
    };
    let page = state.get::<LoopStateText>();
    if read.value.is_none() && page.is_none() {
        return None;
    }
    fill(&mut queue, note, page.and_then(|page| page::parse(&page.0)), driver);
    Some(Recovered { queue, why })
}

/// What is known of the loop. Passes have to be earned again.
fn fill(queue: &mut Queue, note: &QueueNote, page: Option<Page>, driver: &Live) {
    queue.task = Some(note.task.clone());
    queue.started_at = Some(note.started_at.clone());
    queue.session_id = Some(driver.session_id.clone());
    if queue.gates.is_empty() {
        queue.gates.clone_from(&note.gates);
    }
    queue.max_iterations = note.max_iterations;
    queue.max_minutes = note.max_minutes;
    queue.consecutive_passes = 0;
    queue.status = PHASES[0].1.into();
    queue.phase = None;
    phase::set(queue, &note.phase);
    if let Some(page) = page {
        page.complete(queue);
    }
    let seen = driver.loop_iterations.get(&counter_name(queue)).copied();
    queue.iteration = queue.iteration.max(seen.unwrap_or(1)).max(1);
}

/// A loop that another tool keeps in the queue, in the specification's form, which has no status:
/// what its page says besides.
pub fn take_up(queue: &mut Queue, page: Option<&LoopStateText>, now: &str) {
    let page = page.and_then(|page| page::parse(&page.0)).unwrap_or_default();
    queue.status = PHASES[1].1.into();
    queue.phase = None;
    phase::set(queue, page.phase().unwrap_or(PHASES[1].0));
    page.complete(queue);
    queue.started_at.get_or_insert_with(|| now.to_owned());
    // As many as its history tells of.
    let told = queue.history.iter().rev().take_while(|past| past.passed).count() as u64;
    queue.consecutive_passes = queue.consecutive_passes.min(told).min(PASSES - 1);
}
