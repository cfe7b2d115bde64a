//! Who drives a loop.

use crate::books::branch::BranchState;
use crate::books::iterative::Task;
use crate::books::live::Live;
use crate::books::queue::Queue;
use crate::id::{BranchKey, TaskSlug};
use crate::loops::LoopKind;
use crate::loops::autonomous::words;
use crate::loops::queue::{counter_name, title};
use crate::state::State;
use crate::store::branches::BRANCHES;
use crate::store::iterative::all_tasks;

use super::{autonomous, queue};

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

/// A loop that a session drives: its kind, its folder, and what it is called.
pub type DrivenLoop = (LoopKind, String, String);

/// The loops that a session drives, by their documents and by what it noted: there should be one at
/// most. For commands.
pub fn driven_by(session: &str, state: &State) -> Vec<DrivenLoop> {
    let mut found = Vec::new();
    // What is wrong with other loops' files is no business of the command.
    let state = &State::new(state.source());
    let is_own = |kind, folder: &str, written: Option<&String>| {
        resolve(kind, folder, written, state) == Some(session)
    };
    let kind = LoopKind::Queue;
    if let Some(queue) = queue::running(state)
        && is_own(kind, "", queue.session_id.as_ref())
    {
        found.push((kind, String::new(), title(queue)));
    }
    let kind = LoopKind::Autonomous;
    if let Some(running) = autonomous::running(state)
        && is_own(kind, "", running.session_id.as_ref())
    {
        found.push((kind, String::new(), words::title(running)));
    }
    let live = state.get_by::<Live>(session);
    let mut add = |kind: LoopKind, folders: Vec<(String, Option<String>)>, word: &str| {
        let noted = live.and_then(|live| kind.note(live)).map(str::to_owned);
        let own = folders.iter().filter(|(folder, owner)| is_own(kind, folder, owner.as_ref()));
        let mut names: Vec<String> = own.map(|(folder, _)| folder.clone()).collect();
        names.extend(noted.filter(|noted| !names.contains(noted)));
        found.extend(names.into_iter().map(|name| {
            let title = format!("{word} {name}");
            (kind, name, title)
        }));
    };
    add(LoopKind::Branch, branch_loops(state), "loop of branch");
    add(LoopKind::Iterative, open_tasks(state), "task");
    found
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
