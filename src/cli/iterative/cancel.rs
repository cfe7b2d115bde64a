//! `cancel`: a task ends at once, whatever its files look like.

use anyhow::bail;

use super::desk::{Desk, rule};
use super::driver::note_driver;
use crate::Outcome;
use crate::books::iterative::Task;
use crate::books::iterative::book::Book;
use crate::books::live::Live;
use crate::cli::acting::must_act_for;
use crate::id::TaskSlug;
use crate::loops::Verdict;
use crate::loops::iterative::{advance, title};
use crate::plan::Plan;
use crate::state::State;
use crate::store::Store;
use crate::time;

const WHY: &str = "cancelled by a command";

pub fn cancel(at: &Desk, named: Option<&str>) -> anyhow::Result<Outcome> {
    let slug = match at.slug(named) {
        Ok(slug) => slug,
        // The state may be lost, or all of it; the session still knows what it drives.
        Err(why) => {
            match at.driven()?.filter(|slug| named.is_none_or(|name| name == slug.as_str())) {
                Some(slug) => slug,
                None => return Err(why),
            }
        }
    };
    at.change_or(
        &slug,
        |here| {
            here.must_run(at.session.as_deref())?;
            let title = title(&here.book);
            rule(advance::end(&mut here.book, Verdict::Cancelled, WHY))?;
            Ok(format!("Cancelled: {title}"))
        },
        |store, why| without_log(at, store, &slug, why),
    )
}

/// A log that cannot be used cannot tell of it: the state does, if it can be read, and in any case no
/// session drives the task any more.
fn without_log(
    at: &Desk,
    store: &Store,
    slug: &TaskSlug,
    why: anyhow::Error,
) -> anyhow::Result<String> {
    // It may have been frozen only because of the log; what is wrong with itself comes out again.
    let around = State::new(store);
    let read = around.read::<Task>(slug);
    let state = read.writable().filter(|task| task.is_known()).cloned();
    let mut drivers: Vec<String> = Vec::new();
    let bound =
        around.all::<Live>().filter(|live| live.loop_task.as_deref() == Some(slug.as_str()));
    drivers.extend(bound.map(|live| live.session_id.clone()));
    let open = state.filter(Task::is_open);
    drivers.extend(open.as_ref().and_then(|state| state.session_id.clone()));
    if open.is_none() && drivers.is_empty() {
        bail!(why);
    }
    for driver in &drivers {
        must_act_for(at.session.as_deref(), Some(driver), || format!("task {slug}"))?;
    }
    let now = at.project.process.now();
    let mut plan = Plan::default();
    let mut state = open.clone().unwrap_or_default();
    state.verdict = Some(Verdict::Cancelled.name().to_owned());
    state.verdict_at = Some(time::spell(now));
    state.verdict_reason = Some(WHY.to_owned());
    state.updated = time::spell(now);
    if open.is_some() {
        plan.put(&read, &state);
    }
    let book = Book::without_log(slug.clone(), &state, None, now);
    note_driver(&mut plan, &around, &book, false);
    store.commit(&plan.changes, &around)?;
    let why = why.to_string();
    let why = why.split_once(" was not changed: ").map_or(why.as_str(), |(_, why)| why);
    Ok(format!("Cancelled: task {slug}, but progress.md does not say so. {why}"))
}
