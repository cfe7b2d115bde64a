//! PostToolUseFailure: a failure is classified, recorded, and the model told whether a retry makes
//! sense. A user's interrupt is no failure.

use crate::branch::witness::Witness;
use crate::core::event::Event;
use crate::core::time::Time;
use crate::errors::document::{
    Class, ESCALATED, Errors, Failure, QUEUED, RECOVERED, Record, Tally,
};
use crate::errors::{advice, classify, location, retry, target};
use crate::hooks::stop_failure::API;
use crate::loops::drive;
use crate::loops::queue::document::{Item, Queue};
use crate::session::live::Live;
use crate::session::record;
use crate::state::State;
use crate::state::plan::Plan;
use crate::turn::context::Context;

pub const LONGEST_MESSAGE: usize = 500;

pub fn plan(event: &Event, state: &State, context: &Context) -> Plan {
    if event.fields.flag("is_interrupt") {
        return Plan::because("a user's interrupt is no error");
    }
    let mut live = record::open_session(event, state, context);
    if let (true, Some(call)) = (event.is_agent_tool(), event.text("tool_use_id")) {
        live.drop_call(&call);
    }
    drive::at_work(event, &mut live);
    let note = record::take_nudge(event, &mut live, context);
    let mut witness = Witness::new(state, context);
    witness.mark_seen(event, &mut live);
    let mut plan = record(failure(event, context), live, state, context);
    witness.put(&mut plan);
    if let Some(note) = note {
        plan.reply.tell_model(&note);
    }
    plan
}

/// Records a failure. StopFailure comes here too.
pub fn record(failure: Failure, mut live: Live, state: &State, context: &Context) -> Plan {
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
    let place = failure.place.clone();
    let call = failure.tool_use_id.clone();
    let was_escalated = errors.find_open(&failure).is_some_and(|record| record.status == ESCALATED);
    let Some(record) = errors.record(failure, context.fresh_id.clone(), context.now) else {
        return again(live, &errors, call.as_ref(), state);
    };
    let mut plan = Plan::because(format!("{}: {}", record.classification, record.status));
    // The item first: an error that says `queued` must have one, even after a kill.
    if let (QUEUED, Some(place)) = (record.status.as_str(), place) {
        enqueue(&mut plan, &live, &record, place, state);
    }
    record::count_errors(&mut live, &errors);
    live.open_target(&record.target);
    record::mark_seen(&mut live, context);
    // The session's record before the error's: an error that no success could recover is worse
    // than a target that never failed.
    record::put_with_copies(&mut plan, &live, state);
    plan.put(&read, &errors);
    plan.reply.context = advice::advice(&record, &context.spelled()).map(Into::into);
    if calls_person(&record, was_escalated) {
        let words = escalation(&record);
        if context.settings.notify {
            plan.reply.ring(&words);
        }
        plan.reply.tell_user(&words);
    }
    plan
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

/// The call was counted, perhaps by a hook that was killed before it came to the session's record.
fn again(mut live: Live, errors: &Errors, call: Option<&String>, state: &State) -> Plan {
    let mut plan = Plan::because("this call was counted already");
    record::count_errors(&mut live, errors);
    let open =
        errors.find_by_call(&live.session_id, call).filter(|record| record.status != RECOVERED);
    if let Some(record) = open {
        live.open_target(&record.target);
    }
    record::put_with_copies(&mut plan, &live, state);
    plan
}

fn class(event: &Event) -> Class {
    let input = event.tool_input();
    let command = input.word("command");
    let call = classify::Call {
        command: command.as_deref(),
        duration_ms: event.fields.number("duration_ms"),
        timeout_ms: input.number("timeout"),
    };
    classify::failure(&event.text("error").unwrap_or_default(), &call)
}

fn failure(event: &Event, context: &Context) -> Failure {
    let message = event.text("error").unwrap_or_default();
    let tool = event.tool_name();
    let input = event.tool_input();
    let class = class(event);
    Failure {
        class,
        target: target::describe_target(&tool, &input, &context.root, &context.redact),
        tool,
        message: context.redact.block(&message, LONGEST_MESSAGE),
        context: target::context(&input, &context.root, &context.redact),
        session_id: event.session_id.clone(),
        agent_id: event.agent_id.clone(),
        tool_use_id: event.text("tool_use_id"),
        not_before: not_before(class, &message, context),
        place: place(class, &message, context),
        needs_change: class == Class::Resource && advice::scarce(&message).is_some(),
    }
}

/// The file of the project, and the line, that a compiler or an interpreter names.
fn place(class: Class, message: &str, context: &Context) -> Option<(String, u64)> {
    if !matches!(class, Class::Syntax | Class::Deterministic) {
        return None;
    }
    let (file, line) = location::find(message)?;
    let file = context.redact.text(file.trim_start_matches("./"));
    let file = context.relative(&file);
    let is_ours = !file.starts_with(['/', '~']) && !file.contains("node_modules/");
    is_ours.then_some((file, line))
}

/// Only a rate limit's message says when a retry makes sense.
pub fn not_before(class: Class, message: &str, context: &Context) -> Option<Time> {
    if class == Class::RateLimit { retry::retry_time(message, context.now) } else { None }
}

/// A syntax error is work, not something to try again.
fn enqueue(
    plan: &mut Plan,
    live: &Live,
    record: &Record,
    (file, line): (String, u64),
    state: &State,
) {
    let read = state.read::<Queue>(&());
    if read.is_frozen() {
        return;
    }
    let mut queue = read.value.cloned().unwrap_or_default();
    let at = format!("{file}:{line}");
    let added = queue.add(Item {
        priority: "S1".into(),
        title: format!("Fix the syntax error in {at}"),
        description: record.message.clone(),
        source: Some(format!("{} {at}", record.fingerprint)),
        target: Some(record.target.clone()),
        session_id: Some(live.session_id.clone()),
        file: Some(file),
        line: Some(line),
        ..Item::default()
    });
    if added {
        crate::loops::queue::drive::put_items(plan, &queue, state);
    }
}

pub fn escalation(record: &Record) -> String {
    let class = record.classification.replace('_', " ");
    let first = record.message.lines().find(|line| !line.starts_with("Exit code")).unwrap_or("");
    let first = crate::core::text::clip(first, 160);
    format!("HookKeeper: {} failed with a {class} error and needs you: {first}", record.target)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::core::event::Kind::PostToolUseFailure;
    use crate::errors::document::PENDING;
    use crate::hooks::testing::*;
    use crate::state::map::Files;

    fn refused() -> serde_json::Value {
        json!({"tool_name": "Bash", "tool_use_id": "c1", "tool_input": {"command": "curl a.test"},
            "error": "Exit code 7\ncurl: (7) Failed to connect: Connection refused"})
    }

    #[test]
    fn a_failure_is_recorded_and_the_model_told_when_to_retry() {
        let files = Files::default().with::<Live>(OWN, &own_session(&[]));
        let plan = plan_event(PostToolUseFailure, refused(), &files);
        let errors = put_of::<Errors>(&plan, &()).unwrap();
        let record = &errors.records()[0];
        assert_eq!((record.classification.as_str(), record.status.as_str()), ("network", PENDING));
        assert_eq!((record.id.as_str(), record.retry_count), ("error-fresh", 1));
        let live = own_record(&plan);
        assert_eq!((live.errors_encountered, &live.open_targets[0]), (1, &record.target));
        let advice = plan.reply.context.clone().unwrap();
        assert!(
            advice.contains("network error, attempt 1 of 3. A retry makes sense in"),
            "{advice}"
        );
        let again = plan_event(PostToolUseFailure, refused(), &after(&files, &plan));
        assert_eq!(put_of::<Errors>(&again, &()), None, "the same call counts once");
    }

    #[test]
    fn an_empty_state_gets_a_record_with_the_work_of_a_syntax_error() {
        let error = "Exit code 1\nsrc/new.js:7\nSyntaxError: Unexpected token";
        let event =
            json!({"tool_name": "Bash", "tool_input": {"command": "node new.js"}, "error": error});
        let plan = plan_event(PostToolUseFailure, event, &Files::default());
        let queue = put_of::<Queue>(&plan, &()).unwrap();
        assert_eq!(
            (queue.items[0].file.as_deref(), queue.items[0].line),
            (Some("src/new.js"), Some(7))
        );
        assert_eq!(put_of::<Errors>(&plan, &()).unwrap().records()[0].status, QUEUED);
        assert_eq!(own_record(&plan).errors_encountered, 1);
    }

    #[test]
    fn the_same_failure_of_another_session_is_another_one() {
        let files = other().with::<Live>(OWN, &own_session(&[]));
        let target =
            own_record(&plan_event(PostToolUseFailure, refused(), &files)).open_targets.remove(0);
        let errors = Errors::with_records(vec![error(OTHER, &target)]);
        let files = files.with::<Errors>(&(), &errors);
        let plan = plan_event(PostToolUseFailure, refused(), &files);
        ensure_other_is_kept(&files, &plan);
        let errors = put_of::<Errors>(&plan, &()).unwrap();
        let owners: Vec<String> =
            errors.records().into_iter().map(|error| error.session_id).collect();
        assert_eq!((owners, errors.summary.total), (vec![OTHER.to_owned(), OWN.to_owned()], 2));
        assert_eq!(own_record(&plan).errors_encountered, 1);
    }
}
