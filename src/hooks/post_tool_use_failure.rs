//! PostToolUseFailure: a failure is classified, recorded, and the model told whether a retry makes
//! sense. A user's interrupt is no failure.

use crate::books::clip_block;
use crate::books::errors::{
    Class, ESCALATED, Errors, Failure, LOGGED, PENDING, QUEUED, RECOVERED, Record, Tally,
};
use crate::books::live::Live;
use crate::books::queue::Item;
use crate::event::Event;
use crate::facts::{classify, place, retry, target};
use crate::plan::Plan;
use crate::snapshot::{Ask, Context, Snapshot};
use crate::store::layout::Doc;
use crate::time::{self, Time};

use super::witness::Witness;
use super::{desk, drive};

pub const LONGEST_MESSAGE: usize = 500;

pub fn asks(event: &Event, snapshot: &Snapshot, context: &Context) -> Vec<Ask> {
    if event.fields.flag("is_interrupt") {
        return Vec::new();
    }
    let mut asks = desk::asks_with_copies(event, snapshot);
    asks.push(Ask::Errors);
    if let Some(live) = snapshot.own(event) {
        asks.extend(desk::asks_of_silent(event, live, context));
    }
    if class(event) == Class::Syntax {
        asks.extend(drive::queue::asks_for_items(snapshot));
    }
    asks
}

pub fn plan(event: &Event, snapshot: &Snapshot, context: &Context) -> Plan {
    if event.fields.flag("is_interrupt") {
        return Plan::because("a user's interrupt is no error");
    }
    let mut live = desk::take(event, snapshot, context);
    if let (true, Some(call)) = (event.is_agent_tool(), event.text("tool_use_id")) {
        live.drop_call(&call);
    }
    drive::at_work(event, &mut live);
    let note = desk::take_nudge(event, &mut live, context);
    let mut witness = Witness::new(snapshot);
    desk::agent_seen(event, &mut live, &mut witness, context);
    let mut plan = record(failure(event, context), live, snapshot, context);
    witness.put(&mut plan);
    if let Some(note) = note {
        plan.reply.tell_model(&note);
    }
    plan
}

/// Takes a failure into the books. StopFailure comes here too.
pub fn record(failure: Failure, mut live: Live, snapshot: &Snapshot, context: &Context) -> Plan {
    if snapshot.errors.is_none() {
        // The document is new, or was lost; what it had counted is kept.
        live.earlier.errors = Tally {
            total: live.errors_encountered,
            recovered: live.errors_recovered,
            escalated: live.errors_escalated,
            extra: std::mem::take(&mut live.earlier.errors.extra),
        };
    }
    let mut errors = snapshot.errors.clone().unwrap_or_default();
    let place = place::find(&failure.message);
    let call = failure.tool_use_id.clone();
    let was_escalated = errors.find_open(&failure).is_some_and(|record| record.status == ESCALATED);
    let Some(record) = errors.record(failure, context.fresh_id.clone(), context.now) else {
        return again(live, &errors, call.as_ref(), snapshot);
    };
    let mut plan = Plan::because(format!("{}: {}", record.classification, record.status));
    // The item first: an error that says `queued` must have one, even after a kill.
    let queued = match record.status.as_str() {
        QUEUED => enqueue(&mut plan, &mut live, &record, place, snapshot, context),
        _ => Queued::Before,
    };
    desk::count_errors(&mut live, &errors);
    live.open_target(&record.target);
    desk::seen(&mut live, context);
    // The session's record before the error's: an error that no success could recover is worse
    // than a target that never failed.
    desk::put(&mut plan, snapshot, &live);
    plan.put_bytes(Doc::Errors, errors.to_bytes());
    plan.reply.context = advice(&record, &queued, context);
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
fn again(mut live: Live, errors: &Errors, call: Option<&String>, snapshot: &Snapshot) -> Plan {
    let mut plan = Plan::because("this call was counted already");
    desk::count_errors(&mut live, errors);
    let open =
        errors.find_by_call(&live.session_id, call).filter(|record| record.status != RECOVERED);
    if let Some(record) = open {
        live.open_target(&record.target);
    }
    desk::put(&mut plan, snapshot, &live);
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
        target: target::of(&tool, &input, &context.root, &context.redact),
        tool,
        message: clip_block(&context.redact.text(&message), LONGEST_MESSAGE),
        context: target::context(&input, &context.root, &context.redact),
        session_id: event.session_id.clone(),
        agent_id: event.agent_id.clone(),
        tool_use_id: event.text("tool_use_id"),
        not_before: not_before(class, &message, context),
    }
}

/// Only a rate limit's message says when a retry makes sense.
pub fn not_before(class: Class, message: &str, context: &Context) -> Option<Time> {
    if class == Class::RateLimit { retry::at(message, context.now) } else { None }
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
    snapshot: &Snapshot,
    context: &Context,
) -> Queued {
    if snapshot.frozen.contains(&Doc::Queue) {
        return Queued::Refused;
    }
    let mut queue = snapshot.queue.clone().unwrap_or_default();
    let (file, line) = place.map_or((None, None), |(file, line)| (Some(file), Some(line)));
    let file = file.map(|file| context.relative(&file));
    let at = match (&file, line) {
        (Some(file), Some(line)) => format!("{file}:{line}"),
        _ => record.target.clone(),
    };
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
    drive::queue::put_items(plan, &queue, snapshot);
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
    let first = crate::books::clip(first, 160);
    format!("HookKeeper: {} failed with a {class} error and needs you: {first}", record.target)
}
