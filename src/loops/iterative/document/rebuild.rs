//! The state that follows from the log: `state.json` is a copy of this, and is made anew where the
//! two differ.

use crate::core::ending::Ending;
use crate::core::text::clip;
use crate::loops::iterative::document::by_hand::by_signals;
use crate::loops::iterative::document::lifecycle::{self, Status};
use crate::loops::iterative::document::needs::{in_order, wrong};
use crate::loops::iterative::document::progress::{Entry, Log, NONE, TASK};
use crate::loops::iterative::document::unit::{is_id, spoken_reason};
use crate::loops::iterative::document::{Task, Unit, brief, planned};

/// What there is to rebuild a state from.
pub struct Sources<'a> {
    pub slug: &'a str,
    pub brief: Option<&'a str>,
    pub plan: Option<&'a str>,
    pub log: &'a Log,
    /// What git says that was committed.
    pub commits: Vec<String>,
    /// The state as it is, if it can be read: for fields that nobody else has.
    pub old: Option<&'a Task>,
}

/// The state that brief, plan, log and git make.
pub fn rebuild(sources: &Sources) -> Result<Task, String> {
    let mut task = match sources.brief.map(brief::parse) {
        Some(Ok(task)) => task,
        Some(Err(why)) if sources.old.is_none() => return Err(format!("brief.md: {why}")),
        None if sources.old.is_none() => return Err("there is no brief.md".into()),
        _ => Task::default(),
    };
    if let Some(old) = sources.old {
        if !task.is_known() {
            let Task { task: name, mode, domain, created, .. } = old.clone();
            task = Task { task: name, mode, domain, created, ..Task::default() };
        }
        task.extra = old.extra.clone();
    }
    task.slug = sources.slug.to_owned();
    task.commits.clone_from(&sources.commits);
    let known = sources.old.map(Task::units);
    for (id, mut unit) in planned::parse(sources.plan.unwrap_or_default()).0 {
        if let Some(old) = known.and_then(|units| units.get(&id)) {
            unit.extra = old.extra.clone();
        }
        task.units_mut().0.push((id, unit));
    }
    add_unplanned(&mut task, sources);
    if let Some(why) = wrong(task.units()) {
        return Err(format!("{}: {why}", task.plan_file()));
    }
    let ids: Vec<String> = task.units().iter().map(|(id, _)| id.clone()).collect();
    for (_, unit) in task.units_mut().iter_mut() {
        in_order(&mut unit.needs, &ids);
    }
    Ok(if sources.log.is_anchored() {
        fold(&task, sources.log)
    } else {
        by_signals(&task, sources.log, &planned::ticked(sources.plan.unwrap_or_default()))
    })
}

/// A plan that is gone, was emptied or has another form takes no unit away that the state knows, or,
/// without a state, the log.
fn add_unplanned(task: &mut Task, sources: &Sources) {
    let mut more: Vec<(String, Unit)> = Vec::new();
    match sources.old {
        Some(old) => more.extend(old.units().iter().cloned()),
        None => {
            let entries = &sources.log.entries;
            let states = entries.iter().filter_map(|entry| entry.state.as_ref());
            for state in states.filter_map(|state| serde_json::from_str::<Task>(state).ok()) {
                more.extend(state.units().iter().cloned());
            }
            let by_hand = !sources.log.is_anchored();
            let is_work =
                |entry: &&Entry| entry.step.is_some() || (by_hand && entry.iteration().is_some());
            let subjects = entries.iter().filter(is_work).map(|entry| &entry.subject);
            more.extend(subjects.filter(|id| is_id(id)).map(|id| (id.clone(), Unit::default())));
        }
    }
    let mut ids: Vec<String> = task.units().iter().map(|(id, _)| id.clone()).collect();
    ids.extend(more.iter().map(|(id, _)| id.clone()));
    for (id, unit) in more {
        if task.unit(&id).is_none() {
            let mut unit = unit.untouched();
            in_order(&mut unit.needs, &ids);
            task.units_mut().0.push((id, unit));
        }
    }
}

/// A task after all that the log tells. `task` says what it is about; where it stands does not count.
pub fn fold(task: &Task, log: &Log) -> Task {
    let mut state = untouched(task);
    for entry in &log.entries {
        apply(&mut state, entry);
    }
    state
}

/// Whether an entry may move its unit; if not, the rule that it would break.
pub fn allowed(state: &Task, entry: &Entry) -> Result<(), String> {
    let id = &entry.subject;
    let Some(unit) = state.unit(id) else {
        return Err(format!("there is no unit `{}`", clip(id, 80)));
    };
    let Some(step) = &entry.step else { return Ok(()) };
    let Some(is) = unit.stands() else {
        return Err(format!("{id}: nobody knows the status `{}`", clip(&unit.status, 40)));
    };
    let refused =
        |rule: &str| Err(format!("{id}: {} → {} is refused: {rule}", is.name(), step.to.name()));
    if let Err(rule) = lifecycle::allowed(is, step.to) {
        return refused(&rule);
    }
    if step.from != is {
        return refused(&format!("it is not {}", step.from.name()));
    }
    let begins = step.to.is_at_work() && !is.is_at_work();
    match state.units().iter().find(|(_, unit)| begins && unit.is_at_work()) {
        Some((other, _)) => refused(&format!("one unit is worked on at a time, and {other} is")),
        None => Ok(()),
    }
}

/// What one entry changes. An entry that breaks a rule changes nothing.
pub fn apply(state: &mut Task, entry: &Entry) {
    if let Some(at) = entry.time() {
        state.updated = at.to_owned();
    }
    if entry.subject == TASK {
        apply_to_task(state, entry);
    } else if let (Ok(()), Some(step)) = (allowed(state, entry), &entry.step)
        && let Some(unit) = state.units_mut().get_mut(&entry.subject)
        && let Some(is) = unit.stands()
    {
        unit.status = step.to.name().into();
        unit.iterations_used = step.iteration.unwrap_or(unit.iterations_used);
        unit.skipped = step.skipped;
        unit.reason = match step.to {
            Status::Blocked | Status::Timeout => entry.blockers.as_deref().map(spoken_reason),
            _ => None,
        };
        let gaps = format!("{}_GAPS", entry.subject);
        match (is, step.to) {
            (_, Status::Confirming) if is != step.to => unit.confirmations_used += 1,
            (_, Status::Pending) => unit.verifications_failed = 0,
            (_, Status::Done) => {
                unit.verification_passed = Some(true);
                unit.completed_at = Some(entry.at.clone());
            }
            (Status::Verifying, _) if entry.signal.as_deref() == Some(&gaps) => {
                unit.verification_passed = Some(false);
                unit.verifications_failed += 1;
            }
            _ => {}
        }
    }
    state.settle();
}

fn apply_to_task(state: &mut Task, entry: &Entry) {
    if let Some(old) = &entry.state
        && let Ok(old) = serde_json::from_str::<Task>(old)
    {
        stand_like(state, &old);
    }
    if let Some(phase) = &entry.phase {
        state.phase.clone_from(phase);
    }
    if let Some(session) = &entry.session {
        state.session_id = Some(session.clone()).filter(|id| id != NONE);
    }
    if let Some(said) = &entry.verdict {
        let (verdict, why) = said.split_once(": ").unwrap_or((said, ""));
        let ended = verdict != NONE;
        state.ending = Ending {
            verdict: ended.then(|| verdict.to_owned()),
            verdict_at: ended.then(|| entry.at.clone()),
            verdict_reason: Some(why.to_owned()).filter(|why| ended && !why.is_empty()),
        };
    }
}

/// A task as it was before anything was done.
pub fn untouched(task: &Task) -> Task {
    let mut state = task.clone();
    state.updated.clone_from(&task.created);
    state.phase = "discover".into();
    state.session_id = None;
    state.ending = Ending::default();
    for (_, unit) in state.units_mut().iter_mut() {
        *unit = unit.untouched();
    }
    state.settle();
    state
}

/// Takes over where a task stood.
fn stand_like(state: &mut Task, other: &Task) {
    state.phase.clone_from(&other.phase);
    state.session_id.clone_from(&other.session_id);
    state.ending.clone_from(&other.ending);
    for (id, unit) in other.units().iter() {
        if let Some(own) = state.units_mut().get_mut(id) {
            own.stand_like(unit);
        }
    }
    state.settle();
}
