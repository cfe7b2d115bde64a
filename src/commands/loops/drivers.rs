//! What a command notes of a loop in the records of the sessions that drive it, or drove it.

use crate::commands::loops::Before;
use crate::loops::kind::remember;
use crate::loops::{Loop, LoopKind, Verdict, left};
use crate::session::live::Live;
use crate::session::record;
use crate::state::State;
use crate::state::plan::Plan;

/// The session that drives a loop knows it, and one that does not any more forgets it.
pub fn note_drivers(
    plan: &mut Plan,
    the_loop: &dyn Loop,
    before: Option<&Before>,
    caller: Option<&str>,
    state: &State,
) {
    let (kind, folder) = (the_loop.kind(), the_loop.folder());
    let driver = the_loop.owner().filter(|_| the_loop.is_running());
    let before_driver =
        before.filter(|before| before.is_running).and_then(|before| before.owner.as_deref());
    let verdict = &the_loop.ending().verdict;
    let is_other = before.and_then(|before| before.ending.verdict.as_ref()) != verdict.as_ref();
    change_lives(plan, state, |live| {
        let drives = driver == Some(live.session_id.as_str());
        let drove = match folder {
            "" => before_driver == Some(live.session_id.as_str()),
            _ => kind.note(live) == Some(folder),
        };
        if drives != drove {
            kind.set_note(live, Some(folder).filter(|_| drives));
            live.loop_iterations.clear();
            live.loop_exit_told = false;
            // Whoever runs the command reads its answer.
            live.loop_untold = drives && caller != Some(live.session_id.as_str());
        }
        if (drives || drove) && is_other {
            live.loop_verdict.clone_from(verdict);
        }
        if drives {
            left::forget(live, the_loop);
            remember(the_loop, live);
            the_loop.remind(live);
        }
    });
}

/// No session drives this loop any more, whatever became of it; whether one did.
pub fn forget_loop(
    plan: &mut Plan,
    (kind, folder): (LoopKind, &str),
    verdict: Option<Verdict>,
    state: &State,
) -> bool {
    change_lives(plan, state, |live| {
        if kind.note(live) == Some(folder) {
            kind.set_note(live, None);
            if verdict.is_some() {
                left::note(live, kind, folder);
            }
            let verdict = verdict.map(|verdict| verdict.name().to_owned());
            live.loop_verdict = verdict.or(live.loop_verdict.take());
        }
    })
}

/// Changes the records of live sessions; whether there was anything to change.
fn change_lives(plan: &mut Plan, state: &State, change: impl Fn(&mut Live)) -> bool {
    let mut lives: Vec<Live> = state.all::<Live>().cloned().collect();
    let mut is_changed = false;
    for live in &mut lives {
        let before = live.clone();
        change(live);
        if *live != before {
            plan.put(&state.read::<Live>(&live.session_id), live);
            is_changed = true;
        }
    }
    if is_changed {
        record::put_copies(plan, lives.iter(), state);
    }
    is_changed
}
