//! PostToolUse, wired for every tool: files that were modified, errors that recovered, agents that
//! are known by their call, and that somebody is alive. The usual call has nothing to record: it
//! reads the live record and writes `last_seen` once a minute.

use crate::agents::agent::{ANSWERED, Call};
use crate::agents::result::{AgentResult, SUCCESS};
use crate::agents::workflow_run::WorkflowRun;
use crate::branch::witness::Witness;
use crate::core::event::Event;
use crate::core::text::plural;
use crate::core::time;
use crate::errors::{compiles, target};
use crate::hooks::{
    agent_answer, execution_task, findings_report, pre_tool_use, reported_findings, subagent_stop,
    synthesis,
};
use crate::loops::drive;
use crate::loops::queue::document::Queue;
use crate::session::live::Live;
use crate::session::record::{self, LAST_SEEN_SECONDS};
use crate::state::State;
use crate::state::plan::Plan;
use crate::turn::context::Context;

pub fn plan(event: &Event, state: &State, context: &Context) -> Plan {
    let mut plan = Plan::default();
    let mut live = record::open_session(event, state, context);
    let mut news = Vec::new();
    // What the copies show may have changed.
    let mut has_copies = record::own_record(event, state).is_none();
    if !live.worked || is_stale(event, &live, context) {
        has_copies |= is_stale(event, &live, context);
        news.push("seen".to_owned());
    }
    record::mark_seen(&mut live, context);
    drive::at_work(event, &mut live);
    if let Some(file) = modified(event, context) {
        has_copies |= !live.files_modified.contains(&file);
        news.push(format!("modified {file}"));
        drive::at_change(&mut live, &file);
        crate::loops::iterative::drive::at_change(&mut live, &file);
        live.add_file(file);
    }
    let mut gone: Vec<String> = recovered(event, &live, context).into_iter().collect();
    let queue = finished_work(event, &live, &mut gone, state);
    if !gone.is_empty() {
        has_copies = true;
        record::recover_errors(&mut plan, &mut live, &gone, state);
        news.extend(gone.iter().map(|target| format!("recovered: {target}")));
    }
    if let Some(queue) = queue {
        crate::loops::queue::drive::put_items(&mut plan, &queue, state);
    }
    let mut witness = Witness::new(state, context);
    witness.mark_seen(event, &mut live);
    news.extend(witness.name(&live).map(|id| format!("agent {id} is known")));
    if let Some(run) = WorkflowRun::started_by(event, context) {
        news.push(format!("workflow {} runs", run.id));
        live.add_workflow_run(run);
    }
    has_copies |= record::is_nudged(event, &live, context);
    if let Some(note) = record::take_nudge(event, &mut live, context) {
        news.push("nudged".to_owned());
        plan.reply.tell_model(&note);
    }
    if execution_task::may_be_at_one(event, &live, context) {
        has_copies = true;
        let task = execution_task::note(&mut plan, event, &mut live, state);
        news.extend(task.map(|task| format!("at task {task}")));
    }
    if let Some(count) = reported_findings::note(&mut plan, event, &mut live, state, context) {
        has_copies = true;
        news.push(format!("{} reported", plural(count, "finding")));
    }
    if let Some(id) = linked(event, context) {
        has_copies = true;
        news.push(format!("agent {id} is known"));
        link(&mut plan, &mut live, event, &id, &mut witness, state, context);
    }
    plan.outcome = if news.is_empty() { "nothing to record".into() } else { news.join(", ") };
    match has_copies {
        true => record::put_with_copies(&mut plan, &live, state),
        false => record::put_record(&mut plan, &live, state),
    }
    witness.put(&mut plan);
    plan
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
    let target = target::describe_target(
        &event.tool_name(),
        &event.tool_input(),
        &context.root,
        &context.redact,
    );
    live.open_targets.contains(&target).then_some(target)
}

/// The queue, where the syntax error that an item came from is gone: the item is done. The targets of
/// such errors are added to `gone`.
fn finished_work(
    event: &Event,
    live: &Live,
    gone: &mut Vec<String>,
    state: &State,
) -> Option<Queue> {
    if live.open_targets.is_empty() {
        return None;
    }
    let command = event.tool_input().word("command").filter(|line| compiles::may_compile(line));
    if gone.is_empty() && command.is_none() {
        return None;
    }
    let mut queue = state.read::<Queue>(&()).writable()?.clone();
    let target = gone.first().map(String::as_str);
    let finished = queue.finish(&live.session_id, target, command.as_deref());
    let is_changed = !finished.is_empty();
    gone.extend(finished);
    gone.dedup();
    is_changed.then_some(queue)
}

/// The agent that an `Agent` call has just named.
fn linked(event: &Event, context: &Context) -> Option<String> {
    if event.is_agent_tool() && context.settings.systems.agents {
        event.tool_response().word("agentId")
    } else {
        None
    }
}

/// The call and the agent belong together: the agent's task is certain now, whether it still runs,
/// has ended or has not been seen to start.
fn link(
    plan: &mut Plan,
    live: &mut Live,
    event: &Event,
    id: &str,
    witness: &mut Witness,
    state: &State,
    context: &Context,
) {
    let response = event.tool_response();
    let task = pre_tool_use::task(event, context);
    let tool_use_id = event.text("tool_use_id");
    let status = response.word("status");
    // A teammate is one that goes on beside the session.
    let background =
        status.map(|status| matches!(status.as_str(), "async_launched" | "teammate_spawned"));
    let call = Call {
        tool_use_id: tool_use_id.clone().unwrap_or_default(),
        kind: response.word("agentType"),
        task: task.clone(),
        background,
        agent_id: Some(id.to_owned()),
        parent_agent: event.agent_id.clone(),
        team: response.word("team_name"),
        ..Call::default()
    };
    if let Some(call) = &tool_use_id {
        live.drop_call(call);
    }
    let result = subagent_stop::find_result(id, event, state)
        .filter(|was| was.session_id == live.session_id);
    if let Some(agent) = live.agent_mut(id) {
        agent.take_call(&call);
        if background == Some(false) {
            agent.status = ANSWERED.into();
            agent_answer::keep(plan, agent, event, state, context);
        }
        witness.describe(agent);
    } else if let Some(was) = result {
        let mut result = was.clone();
        result.task = task.clone().or(result.task);
        result.tool_use_id = tool_use_id;
        result.background = background;
        result.parent_agent.clone_from(&event.agent_id);
        result.team = call.team.or(result.team);
        agent_answer::add_figures(&mut result, event, context);
        let is_unheard = was.is_guess() && was.report.is_none() && background == Some(false);
        let is_heard = is_unheard && agent_answer::add_report(&mut result, event, context);
        if is_heard {
            (result.status, result.provisional) = (SUCCESS.into(), true);
            live.forget_lost(id);
            subagent_stop::uncount(live, was);
            subagent_stop::end(plan, live, std::slice::from_ref(&result), state, context);
            witness.end(&result, None);
        } else {
            plan.put(&state.read::<AgentResult>(id), &result);
            witness.know_result(&result);
        }
        if let Some(task) = task.as_ref().filter(|_| !is_heard) {
            let mut synthesis = synthesis::synthesis_of(live, state);
            synthesis.name_task(id, task);
            synthesis::put(plan, synthesis, live, state, context);
        }
    } else {
        live.add_call(call);
    }
    if findings_report::is_due(live) {
        let synthesis = synthesis::synthesis_of(live, state);
        if let Some(text) = findings_report::report(live, &synthesis) {
            plan.reply.tell_model(text);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::core::event::Kind::PostToolUse;
    use crate::errors::document::{Errors, RECOVERED};
    use crate::hooks::testing::*;
    use crate::state::map::Files;

    fn write() -> Value {
        json!({"tool_name": "Write", "tool_input": {"file_path": format!("{ROOT}/src/login.ts")}})
    }

    #[test]
    fn a_file_is_modified_and_what_failed_on_it_recovers() {
        let mut before = own_session(&[]);
        before.open_target("Write src/login.ts");
        let errors = Errors::with_records(vec![
            error(OWN, "Write src/login.ts"),
            error(OWN, "Write src/logout.ts"),
        ]);
        let files = Files::default().with::<Live>(OWN, &before).with::<Errors>(&(), &errors);
        let plan = plan_event(PostToolUse, write(), &files);
        let live = own_record(&plan);
        assert_eq!((live.files_modified, live.open_targets), (vec!["src/login.ts".into()], vec![]));
        let errors = put_of::<Errors>(&plan, &()).unwrap();
        assert_eq!(errors.records()[0].status, RECOVERED);
        assert_eq!(errors.records()[1], error(OWN, "Write src/logout.ts"));
    }

    #[test]
    fn an_empty_state_gets_a_record_with_the_file() {
        let plan = plan_event(PostToolUse, write(), &Files::default());
        let live = own_record(&plan);
        assert_eq!((live.files_modified, live.worked), (vec!["src/login.ts".into()], true));
        assert_eq!(put_of::<Errors>(&plan, &()), None);
    }

    #[test]
    fn an_agent_gets_the_task_of_its_call() {
        let files = Files::default().with::<Live>(OWN, &own_session(&["a1", "a2"]));
        let answer = json!({"tool_name": "Agent", "tool_use_id": "c2",
            "tool_input": {"description": "Test it"}, "tool_response": {"agentId": "a2"}});
        let live = own_record(&plan_event(PostToolUse, answer, &files));
        let tasks: Vec<Option<&str>> = live.agents.iter().map(|a| a.task.as_deref()).collect();
        assert_eq!(tasks, [None, Some("Test it")]);
    }

    #[test]
    fn the_same_failure_of_another_session_stays_open() {
        let mut own = own_session(&[]);
        own.open_target("Write src/login.ts");
        let errors = ["own", "other"].map(|session| error(session, "Write src/login.ts"));
        let errors = Errors::with_records(errors.to_vec());
        let files = other().with::<Live>(OWN, &own).with::<Errors>(&(), &errors);
        let plan = plan_event(PostToolUse, write(), &files);
        ensure_other_is_kept(&files, &plan);
        assert_eq!(put_of::<Errors>(&plan, &()).unwrap().records()[0].status, RECOVERED);
    }
}
