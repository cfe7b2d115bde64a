//! A loop that a person left while its document could not be read: it has ended for the session that
//! drove it, and says so itself as soon as it is back.

use crate::branch::document::BranchState;
use crate::core::id::{BranchKey, TaskSlug};
use crate::core::time::Time;
use crate::loops::autonomous::document::Autonomous;
use crate::loops::autonomous::watched::Watched;
use crate::loops::iterative::document::Task;
use crate::loops::iterative::drive as iterative;
use crate::loops::queue::document::Queue;
use crate::loops::{Loop, LoopKind, Verdict};
use crate::session::live::Live;
use crate::state::State;

/// Why such a loop ended.
pub const ASKED: &str = "the user asked to stop";

/// The loop that a session drives, by what we keep of it, and whose document cannot be read or is
/// gone: its kind and its folder.
pub fn unreadable(live: &Live, state: &State) -> Option<(LoopKind, String)> {
    LoopKind::ALL.into_iter().find_map(|kind| {
        let folder = kind.note(live)?;
        is_unreadable(kind, folder, live, state).then(|| (kind, folder.to_owned()))
    })
}

fn is_unreadable(kind: LoopKind, folder: &str, live: &Live, state: &State) -> bool {
    match kind {
        LoopKind::Queue => {
            live.loop_queue.is_some() && state.read::<Queue>(&()).writable().is_none()
        }
        LoopKind::Autonomous => {
            let is_own = |known: &&Watched| {
                known.verdict.is_none() && known.session_id.as_ref() == Some(&live.session_id)
            };
            state.get::<Watched>().filter(is_own).is_some()
                && state.read::<Autonomous>(&()).writable().is_none()
        }
        LoopKind::Branch => BranchKey::known(folder)
            .is_some_and(|key| state.read::<BranchState>(&key).writable().is_none()),
        LoopKind::Iterative => TaskSlug::known(folder).is_some_and(|slug| {
            iterative::is_frozen(&slug, state) || state.get_by::<Task>(&slug).is_none()
        }),
    }
}

/// Notes that a loop has ended for a session.
pub fn note(live: &mut Live, kind: LoopKind, folder: &str) {
    let key = kind.key(folder);
    if !live.loops_left.contains(&key) {
        live.loops_left.push(key);
    }
}

/// It goes on, or has ended in its own document, too. Whether it was noted.
pub fn forget(live: &mut Live, the_loop: &dyn Loop) -> bool {
    let key = the_loop.kind().key(the_loop.folder());
    let before = live.loops_left.len();
    live.loops_left.retain(|left| *left != key);
    live.loops_left.len() < before
}

/// Whether the session that drives a loop has left it.
pub fn is_noted(the_loop: &dyn Loop, state: &State) -> bool {
    let key = the_loop.kind().key(the_loop.folder());
    let owner = the_loop.owner().and_then(|owner| state.get_by::<Live>(owner));
    owner.is_some_and(|live| live.loops_left.contains(&key))
}

/// A command finds a loop that its session has left as one that has ended.
pub fn end_left(the_loop: &mut dyn Loop, state: &State, now: Time) {
    if the_loop.is_running() && is_noted(the_loop, state) {
        the_loop.end(Verdict::Cancelled, ASKED, now);
    }
}
