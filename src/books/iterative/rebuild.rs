//! The state that follows from the log: `state.json` is a copy of this, and is made anew where the
//! two differ.

use super::lifecycle::{self, Status};
use super::plan::Planned;
use super::progress::{Entry, Log, NONE, TASK};
use super::{Task, Unit, brief};

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
    let planned = Planned::parse(sources.plan.unwrap_or_default());
    let known = sources.old.map(Task::units);
    for (id, mut unit) in planned.units.0 {
        if let Some(old) = known.and_then(|units| units.get(&id)) {
            unit.extra = old.extra.clone();
        }
        task.units_mut().0.push((id, unit));
    }
    // Without a plan the units of the state are all that is known of them.
    if let (true, Some(units)) = (sources.plan.is_none(), known) {
        for (id, unit) in units.iter() {
            task.units_mut().0.push((id.clone(), unit.untouched()));
        }
    }
    Ok(if sources.log.is_anchored() {
        fold(&task, sources.log)
    } else {
        by_signals(&task, sources.log)
    })
}

/// A task after all that the log tells. `task` says what it is about; where it stands does not count.
pub fn fold(task: &Task, log: &Log) -> Task {
    let mut state = untouched(task);
    for entry in &log.entries {
        apply(&mut state, entry);
    }
    state
}

/// What one entry changes. An entry that breaks the lifecycle changes nothing.
pub fn apply(state: &mut Task, entry: &Entry) {
    state.updated.clone_from(&entry.at);
    if entry.subject == TASK {
        apply_to_task(state, entry);
    } else if let Some(unit) = state.units_mut().get_mut(&entry.subject)
        && let Some(step) = &entry.step
    {
        let is = unit.stands().filter(|is| lifecycle::allowed(*is, step.to).is_ok());
        let Some(is) = is else { return };
        unit.status = step.to.name().into();
        unit.iterations_used = step.iteration.unwrap_or(unit.iterations_used);
        unit.skipped = step.skipped;
        unit.reason = match step.to {
            Status::Blocked | Status::Timeout => entry.blockers.clone(),
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
        state.verdict = ended.then(|| verdict.to_owned());
        state.verdict_at = ended.then(|| entry.at.clone());
        state.verdict_reason = Some(why.to_owned()).filter(|why| ended && !why.is_empty());
    }
}

/// A log that was kept without us: its signals tell how far the work has come.
fn by_signals(task: &Task, log: &Log) -> Task {
    let mut state = untouched(task);
    state.phase = if state.units().is_empty() { "discover" } else { "execute" }.into();
    for entry in &log.entries {
        state.updated.clone_from(&entry.at);
        let said = entry.signal.clone().unwrap_or_default();
        let Some(unit) = state.units_mut().get_mut(&entry.subject) else { continue };
        let word = said.strip_prefix(&format!("{}_", entry.subject)).unwrap_or(&said);
        let is = unit.stands().unwrap_or(Status::Pending);
        unit.iterations_used = unit.iterations_used.max(entry.iteration().unwrap_or(0));
        let to = match (word, is) {
            ("DONE", Status::Pending | Status::InProgress) => Status::Confirming,
            ("DONE", Status::Confirming) => Status::Verifying,
            ("VERIFIED", Status::Verifying) => Status::Done,
            (word, _) if word.starts_with("BLOCKED") => Status::Blocked,
            (_, Status::Pending) | ("GAPS", Status::Verifying) => Status::InProgress,
            _ => is,
        };
        unit.status = to.name().into();
        unit.reason = (to == Status::Blocked).then(|| blocker(entry, word));
        match to {
            Status::Confirming if is != to => unit.confirmations_used += 1,
            Status::Done => {
                unit.verification_passed = Some(true);
                unit.completed_at = Some(entry.at.clone());
            }
            _ => {}
        }
    }
    only_one_at_work(&mut state);
    state.settle();
    state
}

fn blocker(entry: &Entry, word: &str) -> String {
    let said = word.strip_prefix("BLOCKED").unwrap_or(word).trim_start_matches([':', ' ']);
    match (said, &entry.blockers) {
        ("", Some(blockers)) => blockers.clone(),
        ("", None) => "no reason given".into(),
        (said, _) => said.to_owned(),
    }
}

/// The newest unit is at work; the ones before it wait until somebody goes back to them.
fn only_one_at_work(state: &mut Task) {
    let at_work = state.units().iter().filter(|(_, unit)| unit.is_at_work());
    let ids: Vec<String> = at_work.map(|(id, _)| id.clone()).collect();
    for id in ids.iter().rev().skip(1) {
        if let Some(unit) = state.units_mut().get_mut(id) {
            unit.status = Status::Pending.name().into();
        }
    }
}

/// The same task before anything was done.
fn untouched(task: &Task) -> Task {
    let mut state = task.clone();
    state.updated.clone_from(&task.created);
    state.phase = "discover".into();
    state.session_id = None;
    (state.verdict, state.verdict_at, state.verdict_reason) = (None, None, None);
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
    state.verdict.clone_from(&other.verdict);
    state.verdict_at.clone_from(&other.verdict_at);
    state.verdict_reason.clone_from(&other.verdict_reason);
    for (id, unit) in other.units().iter() {
        if let Some(own) = state.units_mut().get_mut(id) {
            own.stand_like(unit);
        }
    }
    state.settle();
}

/// Where a state and what the log makes of it differ, for people.
pub fn differences(state: &Task, log: &Task) -> Vec<String> {
    let (mut found, mut rules) = (Vec::new(), Vec::new());
    let mut differ = |what: &str, is: &str, should: &str| {
        if is != should {
            found.push(format!("{what}: {is} in state.json, {should} by progress.md"));
        }
    };
    differ("phase", &state.phase, &log.phase);
    let word = |text: &Option<String>| text.clone().unwrap_or_else(|| NONE.into());
    differ("verdict", &word(&state.verdict), &word(&log.verdict));
    differ("session", &word(&state.session_id), &word(&log.session_id));
    for (id, unit) in log.units().iter() {
        let Some(is) = state.unit(id) else {
            differ(id, "missing", &unit.status);
            continue;
        };
        differ(id, &is.status, &unit.status);
        rules.extend(broken_rule(id, is, unit));
        let counts = |unit: &Unit| {
            format!(
                "{} iterations, {} confirmations",
                unit.iterations_used, unit.confirmations_used
            )
        };
        differ(id, &counts(is), &counts(unit));
        let passed = |unit: &Unit| match unit.verification_passed {
            Some(true) => "verified",
            _ => "not verified",
        };
        differ(id, passed(is), passed(unit));
    }
    for id in state.units().ids() {
        if log.unit(id).is_none() {
            differ(id, "there", "unknown");
        }
    }
    found.extend(rules);
    found
}

/// The rule that a state breaks which says more of a unit than the log allows.
fn broken_rule(id: &str, is: &Unit, log: &Unit) -> Option<String> {
    let (from, to) = (log.stands()?, is.stands()?);
    let rule = lifecycle::allowed(from, to).err().filter(|_| from != to)?;
    Some(format!("{id}: {} → {} is refused: {rule}", from.name(), to.name()))
}
