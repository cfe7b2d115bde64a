//! Who drives a loop: whom its file names; else, where a model wrote the file anew and left that
//! out, whom we remember. Of the autonomous loop `loop/autonomous.json` remembers it. Of the others
//! a session's record does: it names the folder of its branch loop or task, and has the counter of
//! its queue loop.

use crate::branch::document::BranchState;
use crate::branch::folder::BRANCHES;
use crate::core::id::{BranchKey, TaskSlug};
use crate::loops::LoopKind;
use crate::loops::autonomous::drive as autonomous;
use crate::loops::autonomous::rules::words;
use crate::loops::iterative::document::Task;
use crate::loops::iterative::folder::all_tasks;
use crate::loops::queue::document::Queue;
use crate::loops::queue::drive as queue;
use crate::loops::queue::rules::{counter_name, title};
use crate::session::live::Live;
use crate::state::State;

/// Who drives a loop: whom its file names; else whom we remember, because a model that writes the
/// file anew forgets whose it is. `None`: nobody.
pub fn resolve<'s>(
    kind: LoopKind,
    folder: &str,
    written: Option<&'s String>,
    state: &'s State,
) -> Option<&'s str> {
    written.map(String::as_str).or_else(|| remembered(kind, folder, state))
}

fn remembered<'s>(kind: LoopKind, folder: &str, state: &'s State) -> Option<&'s str> {
    let lives = || state.all::<Live>();
    let live = match kind {
        LoopKind::Autonomous => return autonomous::seen(state)?.session_id.as_deref(),
        LoopKind::Queue => {
            let name = counter_name(state.get::<Queue>()?);
            lives().find(|live| live.loop_iterations.contains_key(&name))
        }
        LoopKind::Branch | LoopKind::Iterative => {
            lives().find(|live| kind.note(live) == Some(folder))
        }
    };
    live.map(|live| live.session_id.as_str())
}

/// A loop: its kind, its folder, and what it is called.
pub type LoopName = (LoopKind, String, String);

/// The loops that a session drives, by their documents and by what it noted: there should be one at
/// most. For commands.
pub fn driven_by(session: &str, state: &State) -> Vec<LoopName> {
    // What is wrong with other loops' files is no business of the command.
    let state = &State::new(state.source());
    let mut loops = running(state.get_by::<Live>(session), state);
    loops.retain(|((kind, folder, _), written)| {
        resolve(*kind, folder, written.as_ref(), state) == Some(session)
    });
    let mut names: Vec<LoopName> = loops.into_iter().map(|(name, _)| name).collect();
    if let Some(live) = state.get_by::<Live>(session) {
        names.extend(live.loop_branch.clone().map(of_branch));
        names.extend(live.loop_task.clone().map(of_task));
    }
    names
}

/// The loops that a person has started here and that wait for the next session: there should be one
/// at most. For commands.
pub fn waiting(state: &State) -> Vec<LoopName> {
    let state = &State::new(state.source());
    let mut loops = running(None, state);
    loops.retain(|((kind, folder, _), written)| {
        state.source().has_begun(&kind.key(folder))
            && resolve(*kind, folder, written.as_ref(), state).is_none()
    });
    loops.into_iter().map(|(name, _)| name).collect()
}

/// The loops that run, each with the session that its file names. `live` is who asks.
fn running(live: Option<&Live>, state: &State) -> Vec<(LoopName, Option<String>)> {
    let mut loops = Vec::new();
    if let Some(queue) = queue::running(live, state) {
        let name = (LoopKind::Queue, String::new(), title(queue));
        loops.push((name, queue.session_id.clone()));
    }
    if let Some(found) = autonomous::running(state) {
        let name = (LoopKind::Autonomous, String::new(), words::title(found));
        loops.push((name, found.session_id.clone()));
    }
    loops.extend(branch_loops(state).into_iter().map(|(key, owner)| (of_branch(key), owner)));
    loops.extend(open_tasks(state).into_iter().map(|(slug, owner)| (of_task(slug), owner)));
    loops
}

fn of_branch(key: String) -> LoopName {
    let title = format!("loop of branch {key}");
    (LoopKind::Branch, key, title)
}

fn of_task(slug: String) -> LoopName {
    let title = format!("task {slug}");
    (LoopKind::Iterative, slug, title)
}

/// The folders of branches whose loop runs, with the session that its file names.
fn branch_loops(state: &State) -> Vec<(String, Option<String>)> {
    let names = state.source().names(BRANCHES).unwrap_or_default();
    let running = |name: &String| {
        let branch = state.get_by::<BranchState>(&BranchKey::known(name)?)?;
        Some((name.clone(), branch.running()?.session_id.clone()))
    };
    names.iter().filter_map(running).collect()
}

/// The open tasks, with the session that each names.
fn open_tasks(state: &State) -> Vec<(String, Option<String>)> {
    let slugs = all_tasks(state.source()).unwrap_or_default();
    let open = |slug: &TaskSlug| {
        let task = state.get_by::<Task>(slug).filter(|task| task.is_open())?;
        Some((slug.as_str().to_owned(), task.session_id.clone()))
    };
    slugs.iter().filter_map(open).collect()
}
