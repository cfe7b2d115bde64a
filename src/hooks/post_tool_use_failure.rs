//! PostToolUseFailure: a failure is classified, recorded, and the model told whether a retry makes
//! sense. A user's interrupt is no failure.

use crate::branch::witness::Witness;
use crate::core::event::Event;
use crate::core::text::file_and_line;
use crate::core::time::{self, Time};
use crate::errors::document::{
    Class, ESCALATED, Errors, Failure, LOGGED, PENDING, QUEUED, RECOVERED, Record, Tally,
};
use crate::errors::{classify, location, retry, target};
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
    let place = location::find(&failure.message);
    let call = failure.tool_use_id.clone();
    let was_escalated = errors.find_open(&failure).is_some_and(|record| record.status == ESCALATED);
    let Some(record) = errors.record(failure, context.fresh_id.clone(), context.now) else {
        return again(live, &errors, call.as_ref(), state);
    };
    let mut plan = Plan::because(format!("{}: {}", record.classification, record.status));
    // The item first: an error that says `queued` must have one, even after a kill.
    let queued = match record.status.as_str() {
        QUEUED => enqueue(&mut plan, &mut live, &record, place, state, context),
        _ => Queued::Before,
    };
    record::count_errors(&mut live, &errors);
    live.open_target(&record.target);
    record::mark_seen(&mut live, context);
    // The session's record before the error's: an error that no success could recover is worse
    // than a target that never failed.
    record::put_with_copies(&mut plan, &live, state);
    plan.put(&read, &errors);
    plan.reply.context = advice(&record, &queued, context).map(Into::into);
    // Once is enough; the same failure again changes nothing for the user.
    if record.status == ESCALATED && !was_escalated {
        let words = escalation(&record);
        if context.settings.notify {
            plan.reply.ring(&words);
        }
        plan.reply.tell_user(&words);
    }
    plan
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
    let command = event.tool_input().word("command");
    classify::failure(&event.text("error").unwrap_or_default(), command.as_deref())
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
    }
}

/// Only a rate limit's message says when a retry makes sense.
pub fn not_before(class: Class, message: &str, context: &Context) -> Option<Time> {
    if class == Class::RateLimit { retry::retry_time(message, context.now) } else { None }
}

/// Whether a syntax error is in the work queue.
enum Queued {
    As(String),
    Before,
    Refused,
}

/// A syntax error is work, not something to try again.
fn enqueue(
    plan: &mut Plan,
    live: &mut Live,
    record: &Record,
    place: Option<(String, u64)>,
    state: &State,
    context: &Context,
) -> Queued {
    let read = state.read::<Queue>(&());
    if read.is_frozen() {
        return Queued::Refused;
    }
    let mut queue = read.value.cloned().unwrap_or_default();
    let (file, line) = place.map_or((None, None), |(file, line)| (Some(file), Some(line)));
    let file = file.map(|file| context.relative(&file));
    let at = file_and_line(file.as_deref(), line).unwrap_or_else(|| record.target.clone());
    let added = queue.add(Item {
        priority: "S1".into(),
        title: format!("Fix the syntax error in {at}"),
        description: record.message.clone(),
        source: Some(format!("{} {at}", record.fingerprint)),
        target: Some(record.target.clone()),
        session_id: Some(live.session_id.clone()),
        file,
        line,
        ..Item::default()
    });
    if !added {
        return Queued::Before;
    }
    crate::loops::queue::drive::put_items(plan, &queue, state);
    queue.items.last().map_or(Queued::Before, |item| Queued::As(item.id.clone()))
}

/// One or two sentences for the model; nothing where there is nothing to advise.
fn advice(record: &Record, queued: &Queued, context: &Context) -> Option<String> {
    let class = record.classification.replace('_', " ");
    let (n, max) = (record.retry_count, record.max_retries);
    let class = if class == "unknown" { "unclassified".to_owned() } else { class };
    let text = match record.status.as_str() {
        PENDING => {
            let at = record.next_retry.as_deref().unwrap_or_default();
            let wait = time::seconds_between(&context.spelled(), at).unwrap_or(0);
            let when = match wait {
                0 => "now".to_owned(),
                seconds => format!("in {} (after {at})", time::human(seconds)),
            };
            match record.classification.as_str() {
                "unknown" => format!(
                    "unclassified error, attempt {n} of {max}. One retry is reasonable if the message does not \
                     say what is wrong."
                ),
                _ => format!("{class} error, attempt {n} of {max}. A retry makes sense {when}."),
            }
        }
        QUEUED => match queued {
            Queued::As(id) => format!(
                "syntax error. The same call fails again until the source is fixed; it is item {id} in \
                 .claude/state/loop/work_queue.json."
            ),
            Queued::Before => "syntax error. It is in the work queue already.".to_owned(),
            Queued::Refused => {
                "syntax error. The same call fails again until the source is fixed. The work \
                                queue cannot be written, so it is not in there."
                    .to_owned()
            }
        },
        ESCALATED if max == 0 => {
            format!("{class} error. A retry does not help; a person is needed.")
        }
        ESCALATED => format!("{class} error again, no attempt left. A person is needed."),
        LOGGED => return None,
        _ => return None,
    };
    Some(format!("HookKeeper: {text}"))
}

pub fn escalation(record: &Record) -> String {
    let class = record.classification.replace('_', " ");
    let class = if class == "unknown" { "repeated".to_owned() } else { class };
    let first = record.message.lines().find(|line| !line.starts_with("Exit code")).unwrap_or("");
    let first = crate::core::text::clip(first, 160);
    format!("HookKeeper: {} failed with a {class} error and needs you: {first}", record.target)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::core::event::Kind::PostToolUseFailure;
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
