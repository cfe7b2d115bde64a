//! `cancel`: a task ends at once, whatever its files look like. No readable file is needed: at the
//! least the task is taken from the session's record.

use anyhow::{Error, bail};

use crate::commands::loops::iterative::task_command::TaskCommand;
use crate::commands::loops::{CANCELLED, forget_loop};
use crate::core::ending::{Ending, Verdict};
use crate::core::id::TaskSlug;
use crate::core::outcome::Outcome;
use crate::core::time;
use crate::loops::LoopKind;
use crate::loops::iterative::document::Task;
use crate::session::live::Live;
use crate::state::State;
use crate::state::plan::Plan;
use crate::store::Store;

pub fn cancel(at: &TaskCommand, named: Option<&str>) -> anyhow::Result<Outcome> {
    let slug = match at.slug(named) {
        Ok(slug) => slug,
        // The state may be lost, or all of it; the session still knows what it drives.
        Err(why) => {
            let noted = at.noted_slug()?;
            match noted.filter(|slug| named.is_none_or(|name| name == slug.as_str())) {
                Some(slug) => slug,
                None => return Err(why),
            }
        }
    };
    at.change_or(
        &slug,
        |task, _, state| at.command.cancel(task, state),
        |store, why| without_log(at, store, &slug, why),
    )
}

/// A log that cannot be used cannot tell of it: the state does, if it can be read, and in any case no
/// session drives the task any more.
fn without_log(
    at: &TaskCommand,
    store: &Store,
    slug: &TaskSlug,
    why: Error,
) -> anyhow::Result<String> {
    // It may have been frozen only because of the log; what is wrong with itself comes out again.
    let state = &State::new(store);
    let read = state.read::<Task>(slug);
    let open = read.writable().filter(|task| task.is_open());
    let bound = state.all::<Live>().filter(|live| live.loop_task.as_deref() == Some(slug.as_str()));
    let mut drivers: Vec<&str> = bound.map(|live| live.session_id.as_str()).collect();
    drivers.extend(open.and_then(|task| task.session_id.as_deref()));
    if open.is_none() && drivers.is_empty() {
        bail!(why);
    }
    for driver in drivers {
        let adopt = format!("{} adopt {slug}", LoopKind::Iterative.command());
        at.command.ensure_acts_for(Some(driver), || format!("task {slug}"), &adopt, state)?;
    }
    let mut plan = Plan::default();
    if let Some(mut task) = open.cloned() {
        task.ending = Ending::new(Verdict::Cancelled, CANCELLED, at.command.now);
        task.updated = time::spell(at.command.now);
        plan.put(&read, &task);
    }
    let the_loop = (LoopKind::Iterative, slug.as_str());
    forget_loop(&mut plan, the_loop, Some(Verdict::Cancelled), state);
    store.commit(&plan.changes, state)?;
    let why = why.to_string();
    let why = why.split_once(" was not changed: ").map_or(why.as_str(), |(_, why)| why);
    Ok(format!("Cancelled: task {slug}, but progress.md does not say so. {why}"))
}
