//! PostToolUse, wired for every tool: files that were modified, errors that recovered, agents that
//! are known by their call, and that somebody is alive. The usual call has nothing to record: it
//! reads the live record and writes `last_seen` once a minute.

use serde_json::Value;

use crate::books::agent::{ANSWERED, Agent, Call};
use crate::books::live::Live;
use crate::books::result::AgentResult;
use crate::event::Event;
use crate::facts::target;
use crate::plan::Plan;
use crate::snapshot::{Ask, COPIES, Context, Snapshot};
use crate::store::layout::Doc;
use crate::time;

use super::desk::LAST_SEEN_SECONDS;
use super::witness::{self, Witness};
use super::{at_task, desk, drive, pre_tool_use, subagent_stop, synthesis, tell};

pub fn asks(event: &Event, snapshot: &Snapshot, context: &Context) -> Vec<Ask> {
    let mut asks = desk::asks(event, snapshot);
    if !snapshot.has(&Ask::Live) {
        return asks;
    }
    let Some(live) = snapshot.own(event) else {
        asks.extend(COPIES);
        return asks;
    };
    if modified(event, context).is_some_and(|file| !live.files_modified.contains(&file)) {
        asks.extend(COPIES);
    }
    if recovered(event, live, context).is_some() {
        asks.push(Ask::Errors);
        asks.extend(drive::queue::asks_for_items(snapshot));
        asks.extend(COPIES);
    }
    if let Some(id) = linked(event) {
        asks.extend(COPIES);
        asks.push(Ask::Result(id.clone()));
        asks.extend(synthesis::asks(Some(live), snapshot));
        asks.extend(witness::asks(live.agent(&id), context));
        let ended = snapshot.results.get(&id).and_then(|result| result.branch.clone());
        asks.extend(ended.map(Ask::AgentsOf));
    }
    if let Some(side_file) = nameless(event, live) {
        asks.push(side_file);
        asks.extend(COPIES);
        asks.extend(witness::asks(from_agent(event, live), context));
    }
    if let Some(ask) = at_task::asks(event, live, context) {
        asks.push(ask);
        asks.extend(COPIES);
    }
    asks.extend(desk::asks_of_silent(event, live, context));
    if is_stale(event, live, context) || desk::is_nudged(event, live, context) {
        asks.extend(COPIES);
    }
    asks
}

pub fn plan(event: &Event, snapshot: &Snapshot, context: &Context) -> Plan {
    let mut plan = Plan::default();
    let mut live = desk::take(event, snapshot, context);
    let mut news = Vec::new();
    if !live.worked || is_stale(event, &live, context) {
        news.push("seen".to_owned());
    }
    desk::seen(&mut live, context);
    drive::at_work(event, &mut live);
    if let Some(file) = modified(event, context) {
        news.push(format!("modified {file}"));
        drive::iterative::at_change(&mut live, &file);
        live.add_file(file);
    }
    if let (Some(target), Some(errors)) = (recovered(event, &live, context), &snapshot.errors) {
        desk::recover(&mut plan, &mut live, errors, std::slice::from_ref(&target));
        finish_work(&mut plan, &live, &target, snapshot);
        news.push(format!("recovered: {target}"));
    }
    let mut witness = Witness::new(snapshot);
    desk::agent_seen(event, &mut live, &mut witness, context);
    if let Some(id) = event.agent_id.as_deref()
        && let Some(agent) = live.agent_mut(id)
        && agent.task.is_none()
        && snapshot.side_files.contains_key(id)
    {
        subagent_stop::identify(agent, snapshot, context);
        news.push(format!("agent {id} is known"));
        witness.know([&*agent]);
    }
    if let Some(note) = desk::take_nudge(event, &mut live, context) {
        news.push("nudged".to_owned());
        plan.reply.tell_model(&note);
    }
    if let Some(task) = at_task::note(&mut plan, event, &mut live, snapshot) {
        news.push(format!("at task {task}"));
    }
    if let Some(id) = linked(event) {
        news.push(format!("agent {id} is known"));
        link(&mut plan, &mut live, event, &id, &mut witness, context);
    }
    plan.outcome = if news.is_empty() { "nothing to record".into() } else { news.join(", ") };
    desk::put(&mut plan, snapshot, &live);
    witness.put(&mut plan);
    plan
}

fn from_agent<'a>(event: &Event, live: &'a Live) -> Option<&'a Agent> {
    live.agent(event.agent_id.as_deref()?)
}

/// Whether it is time to note that the session, or the agent in it, is alive.
fn is_stale(event: &Event, live: &Live, context: &Context) -> bool {
    let agent = event.agent_id.as_deref().and_then(|id| live.agent(id));
    let mut times = std::iter::once(&live.last_seen).chain(agent.map(|agent| &agent.last_seen));
    times.any(|time| time::age(time, context.now) >= LAST_SEEN_SECONDS)
}

/// The file that an edit changed, as the project sees it.
fn modified(event: &Event, context: &Context) -> Option<String> {
    let key = match event.tool_name().as_str() {
        "Edit" | "Write" | "MultiEdit" => "file_path",
        "NotebookEdit" => "notebook_path",
        _ => return None,
    };
    event.tool_input().word(key).map(|path| context.relative(&path))
}

/// The target that failed before and has just succeeded.
fn recovered(event: &Event, live: &Live, context: &Context) -> Option<String> {
    if live.open_targets.is_empty() {
        return None;
    }
    let target =
        target::of(&event.tool_name(), &event.tool_input(), &context.root, &context.redact);
    live.open_targets.contains(&target).then_some(target)
}

/// The syntax error that an item came from is gone: the item is done.
fn finish_work(plan: &mut Plan, live: &Live, target: &str, snapshot: &Snapshot) {
    let Some(mut queue) = snapshot.queue.clone() else { return };
    if queue.finish(&live.session_id, target) && !snapshot.frozen.contains(&Doc::Queue) {
        drive::queue::put_items(plan, &queue, snapshot);
    }
}

/// The agent that an `Agent` call has just named.
fn linked(event: &Event) -> Option<String> {
    if event.is_agent_tool() { event.tool_response().word("agentId") } else { None }
}

/// A running agent whose task nobody has named yet; its side file may exist by now.
fn nameless(event: &Event, live: &Live) -> Option<Ask> {
    let id = event.agent_id.as_deref()?;
    live.agent(id).filter(|agent| agent.task.is_none())?;
    subagent_stop::side_file_of(event, id)
}

/// The call and the agent belong together: the agent's task is certain now, whether it still runs,
/// has ended or has not been seen to start.
fn link(
    plan: &mut Plan,
    live: &mut Live,
    event: &Event,
    id: &str,
    witness: &mut Witness,
    context: &Context,
) {
    let snapshot = witness.snapshot;
    let response = event.tool_response();
    let task = pre_tool_use::task(event, context);
    let tool_use_id = event.text("tool_use_id");
    let background = response.word("status").map(|status| status == "async_launched");
    if let Some(call) = &tool_use_id {
        live.drop_call(call);
    }
    let result = snapshot.results.get(id).filter(|was| was.session_id == live.session_id);
    if let Some(agent) = live.agent_mut(id) {
        agent.task = task.or(agent.task.take());
        agent.tool_use_id = tool_use_id;
        agent.background = background;
        if background == Some(false) {
            agent.status = ANSWERED.into();
        }
        witness.know([&*agent]);
    } else if let Some(result) = result {
        let mut result = result.clone();
        result.task = task.clone().or(result.task);
        result.tool_use_id = tool_use_id;
        result.background = background;
        complete(&mut result, event);
        plan.put(Doc::result(id), &result);
        witness.know_result(&result);
        if let Some(task) = &task {
            let mut synthesis = synthesis::of(live, snapshot);
            synthesis.name_task(id, task);
            synthesis::put(plan, &synthesis, snapshot);
        }
    } else {
        live.add_call(Call {
            tool_use_id: tool_use_id.unwrap_or_default(),
            kind: response.word("agentType"),
            task,
            background,
            agent_id: Some(id.to_owned()),
            ..Call::default()
        });
    }
    if tell::is_due(live) {
        let synthesis = synthesis::of(live, snapshot);
        if let Some(text) = tell::tell(live, &synthesis) {
            plan.reply.tell_model(&text);
        }
    }
}

/// What the call's answer says about the agent's work.
fn complete(result: &mut AgentResult, event: &Event) {
    let response = event.tool_response();
    let reads = response.object("toolStats").and_then(|stats| stats.number("readCount"));
    result.metrics.files_read = result.metrics.files_read.max(reads.unwrap_or(0));
    for (key, name) in [
        ("totalToolUseCount", "tool_uses"),
        ("totalTokens", "tokens"),
        ("totalDurationMs", "duration_ms"),
    ] {
        if let Some(number) = response.number(key) {
            result.metrics.extra.insert(name.into(), Value::from(number));
        }
    }
}
