//! What the events that report failures share: failures are recorded, counted, told of, and made work
//! where there is something to mend.
//!
//! The work item is written before the error's record. If a kill comes between them, the error is
//! only not counted.

use std::path::Path;

use crate::core::event::Event;
use crate::core::json::Object;
use crate::core::text::clip;
use crate::core::time::Time;
use crate::errors::document::{
    Class, ESCALATED, Errors, Failure, QUEUED, RECOVERED, Record, Tally,
};
use crate::errors::{advice, location, retry, target};
use crate::hooks::stop_failure::API;
use crate::loops::queue::document::{Item, Queue};
use crate::session::live::Live;
use crate::session::record;
use crate::state::State;
use crate::state::plan::Plan;
use crate::turn::context::Context;

pub const LONGEST_MESSAGE: usize = 500;
/// The model is told about so many failures of one event.
const MOST_ADVICE: usize = 3;

/// A failed call of a tool, as an event has it.
pub struct FailedCall<'a> {
    pub tool: String,
    pub input: Object<'a>,
    pub message: String,
    pub tool_use_id: Option<String>,
    pub class: Class,
}

impl FailedCall<'_> {
    pub fn failure(self, event: &Event, context: &Context) -> Failure {
        let Self { tool, input, message, tool_use_id, class } = self;
        Failure {
            class,
            target: target::describe_target(&tool, &input, &context.root, &context.redact),
            tool,
            context: target::context(&input, &context.root, &context.redact),
            session_id: event.session_id.clone(),
            agent_id: event.agent_id.clone(),
            tool_use_id,
            not_before: not_before(class, &message, context),
            place: place(class, &message, context),
            needs_change: class == Class::Resource && advice::scarce(&message).is_some(),
            message: context.redact.block(&message, LONGEST_MESSAGE),
        }
    }
}

/// Only a rate limit's message says when a retry makes sense.
pub fn not_before(class: Class, message: &str, context: &Context) -> Option<Time> {
    if class == Class::RateLimit { retry::retry_time(message, context.now) } else { None }
}

/// The file of the project, and the line, that a compiler or an interpreter names.
fn place(class: Class, message: &str, context: &Context) -> Option<(String, u64)> {
    if !matches!(class, Class::Syntax | Class::Deterministic) {
        return None;
    }
    let (file, line) = location::find(message)?;
    let file = context.redact.text(file.trim_start_matches("./"));
    let file = context.relative(&file);
    let is_outside = file.starts_with('~') || Path::new(&file).is_absolute();
    let is_ours = !is_outside && !file.contains("node_modules/");
    is_ours.then_some((file, line))
}

/// Records what failed, each call once.
pub fn record(failures: Vec<Failure>, mut live: Live, state: &State, context: &Context) -> Plan {
    if !context.settings.systems.errors {
        let mut plan = Plan::because("errors are switched off");
        record::mark_seen(&mut live, context);
        record::put_record(&mut plan, &live, state);
        return plan;
    }
    let read = state.read::<Errors>(&());
    if read.value.is_none() {
        // The document is new, or was lost; what it had counted is kept.
        live.earlier.errors = Tally {
            total: live.errors_encountered,
            recovered: live.errors_recovered,
            escalated: live.errors_escalated,
            extra: std::mem::take(&mut live.earlier.errors.extra),
        };
    }
    let mut errors = read.value.cloned().unwrap_or_default();
    let mut plan = Plan::default();
    let mut outcomes = Vec::new();
    let mut work = Vec::new();
    let mut advised = Vec::new();
    for (n, failure) in failures.into_iter().enumerate() {
        let place = failure.place.clone();
        let call = failure.tool_use_id.clone();
        let was_escalated =
            errors.find_open(&failure).is_some_and(|record| record.status == ESCALATED);
        let id = match n {
            0 => context.fresh_id.clone(),
            n => format!("{}-{n}", context.fresh_id),
        };
        let Some(record) = errors.record(failure, id, context.now) else {
            reopen_target(&mut live, &errors, call.as_ref());
            continue;
        };
        outcomes.push(format!("{}: {}", record.classification, record.status));
        plan.tell(record.journal_line());
        live.open_target(&record.target);
        advised.extend(advice::advice(&record, &context.spelled()));
        if calls_person(&record, was_escalated) {
            let words = escalation(&record);
            if context.settings.notify {
                plan.reply.ring(&words);
            }
            plan.reply.tell_user(&words);
        }
        if let (QUEUED, Some(place)) = (record.status.as_str(), place) {
            work.push(item(&record, place, &live));
        }
    }
    if outcomes.is_empty() {
        plan.outcome = "this call was counted already".into();
        record::count_errors(&mut live, &errors);
        record::put_with_copies(&mut plan, &live, state);
        return plan;
    }
    outcomes.dedup();
    plan.outcome = clip(&outcomes.join(", "), 200);
    // The items first: an error that says `queued` must have one, even after a kill.
    enqueue(&mut plan, work, state);
    record::count_errors(&mut live, &errors);
    record::mark_seen(&mut live, context);
    // The session's record before the errors: an error that no success could recover is worse than
    // a target that never failed.
    record::put_with_copies(&mut plan, &live, state);
    plan.put(&read, &errors);
    advised.dedup();
    advised.iter().take(MOST_ADVICE).for_each(|words| plan.reply.tell_model(words));
    plan
}

/// The call was counted, perhaps by a hook that was killed before it came to the session's record.
fn reopen_target(live: &mut Live, errors: &Errors, call: Option<&String>) {
    let known = errors.find_by_call(&live.session_id, call);
    if let Some(record) = known.filter(|record| record.status != RECOVERED) {
        live.open_target(&record.target);
    }
}

/// Once is enough; the same failure again changes nothing for the user. Where the model can ask for
/// what it needs, it does; a person is called when that did not help.
fn calls_person(record: &Record, was_escalated: bool) -> bool {
    let asks = record.classification == Class::Permission.name() && record.tool != API;
    match asks {
        true => record.occurrences == 2,
        false => record.status == ESCALATED && !was_escalated,
    }
}

pub fn escalation(record: &Record) -> String {
    let class = record.classification.replace('_', " ");
    let first = record.message.lines().find(|line| !line.starts_with("Exit code")).unwrap_or("");
    let first = clip(first, 160);
    format!("HookKeeper: {} failed with a {class} error and needs you: {first}", record.target)
}

/// A syntax error is work, not something to try again.
fn item(record: &Record, (file, line): (String, u64), live: &Live) -> Item {
    let at = format!("{file}:{line}");
    Item {
        priority: "S1".into(),
        title: format!("Fix the syntax error in {at}"),
        description: record.message.clone(),
        source: Some(format!("{} {at}", record.fingerprint)),
        target: Some(record.target.clone()),
        session_id: Some(live.session_id.clone()),
        file: Some(file),
        line: Some(line),
        ..Item::default()
    }
}

fn enqueue(plan: &mut Plan, work: Vec<Item>, state: &State) {
    if work.is_empty() {
        return;
    }
    let read = state.read::<Queue>(&());
    if read.is_frozen() {
        return;
    }
    let mut queue = read.value.cloned().unwrap_or_default();
    let added = work.into_iter().filter(|item| queue.add(item.clone())).count();
    if added > 0 {
        crate::loops::queue::drive::put_items(plan, &queue, state);
    }
}
