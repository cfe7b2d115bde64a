//! Tasks without a state. That of one which a session drives is made anew where somebody removed or
//! broke it: the log tells all of it. For others a command does that, which is named.

use crate::core::event::{Event, Kind};
use crate::core::id::TaskSlug;
use crate::loops::iterative::document::progress::Log;
use crate::loops::iterative::document::rebuild::{Sources, rebuild};
use crate::loops::iterative::document::task_documents::TaskDocuments;
use crate::loops::iterative::document::{Part, Task, TaskText, brief};
use crate::loops::iterative::folder::newest_tasks;
use crate::state::{Document as _, Frozen, State};
use crate::turn::context::Context;

/// The documents of a task whose state is gone or makes no sense, while its log is as we left it.
/// Written, and said, at the end of a turn.
pub fn recreate(
    slug: &TaskSlug,
    event: &Event,
    state: &State,
    context: &Context,
) -> Option<TaskDocuments> {
    let read = state.read::<Task>(slug);
    let why = match (read.value, read.frozen()) {
        (None, None) => "was missing".to_owned(),
        (None, Some(Frozen::Unreadable(why))) => format!("could not be read ({why})"),
        (Some(task), None) if !task.is_known() => "made no sense".to_owned(),
        _ => return None,
    };
    let text = |part| state.get_by::<TaskText>(&(slug.clone(), part)).map(|text| text.0.as_str());
    let log = Log::parse(text(Part::Progress)?).ok().filter(Log::is_anchored)?;
    let brief = text(Part::Brief);
    let is_knowledge = brief::parse(brief?).ok()?.is_knowledge();
    let plan = text(if is_knowledge { Part::Plan } else { Part::Tasks });
    let sources =
        Sources { slug: slug.as_str(), brief, plan, log: &log, commits: Vec::new(), old: None };
    let made = rebuild(&sources).ok()?;
    let plan = plan.map(str::to_owned);
    let mut documents = TaskDocuments::with(slug.clone(), made, log, plan, context.now);
    documents.conflicts = vec![format!("state.json {why}")];
    if event.kind == Kind::Stop && context.is_heard {
        let is_there = read.value.is_some() || read.is_frozen();
        let aside = if is_there { Some(state.put_aside(&read, &why)?) } else { None };
        let aside = aside.map(|aside| format!(" The file as it was is now {aside}."));
        documents.settle_conflicts();
        let path = Task::doc(slug).path();
        state.remark(
            format!("iterative/{slug}/{why}/{}", context.spelled()),
            format!(
                "HookKeeper: {path} {why}; it was made anew from progress.md.{}",
                aside.unwrap_or_default()
            ),
        );
    }
    Some(documents)
}

/// So many tasks of others are named.
const NAMED: usize = 3;

/// Tasks that have a log and no state: others keep them, or somebody lost it.
pub fn without_state(state: &State) -> Vec<TaskSlug> {
    let has_no_state = |slug: &TaskSlug| {
        let read = state.read::<Task>(slug);
        let log = || state.get_by::<TaskText>(&(slug.clone(), Part::Progress));
        read.value.is_none() && !read.is_frozen() && log().is_some()
    };
    let slugs = newest_tasks(state.source()).unwrap_or_default();
    slugs.into_iter().filter(has_no_state).take(NAMED).collect()
}

/// The command that takes such a task up.
pub fn hint(slug: &TaskSlug) -> String {
    format!(
        ".claude/iterative/{slug} has a progress.md and no state.json; `hookkeeper iterative rebuild {}` takes it up",
        slug.word()
    )
}
