//! Agents whose end nobody told of: which of them the client has no longer, how they seem to have
//! ended, and what the model hears of those that were lost with their client.
//!
//! Whatever is said here is a guess. A SubagentStop that comes after all takes its place.
//!
//! What is guessed is `provisional`. The late SubagentStop takes it back and counts anew: in the
//! record, the result, the synthesis, the branch's document, and in the metrics if the session has
//! ended by then, without opening it. A run of which nothing was seen but its start leaves the
//! result of the run before. Agents that were lost when their client ended are named once to
//! whoever goes on with the session (`lost_agents` in the live record and in the metrics).

use std::collections::BTreeSet;

use crate::agents::agent::{ANSWERED, Agent};
use crate::agents::result::{AgentResult, ArchivedResult, FAILED, INTERRUPTED, LOST, SUCCESS};
use crate::client::side_file::{self, SideFile};
use crate::client::transcript::AgentWork;
use crate::core::event::{BackgroundTask, Event};
use crate::core::text::{clip, plural};
use crate::core::time::{self, Time};
use crate::hooks::subagent_stop;
use crate::session::live::Live;
use crate::state::State;
use crate::turn::context::Context;

/// So many transcripts are read for agents that end at once.
const READ: usize = 20;
/// Of an agent that was lost, in what the model hears.
const LONGEST_TASK: usize = 120;
const FILES: usize = 3;

/// Running agents that the client has no longer, by what it lists as running behind the turn that
/// is over. The agents of a workflow, of a teammate or of another agent are not in that list: they
/// stay as long as somebody is in it who could have started them.
pub fn missing(event: &Event, live: &Live) -> Vec<String> {
    let Some(tasks) = event.background_tasks() else { return Vec::new() };
    let running: Vec<&BackgroundTask> = tasks.iter().filter(|task| task.is_running()).collect();
    let has = |kind: &str| running.iter().any(|task| task.kind.as_deref() == Some(kind));
    let has_owner = running.iter().any(|task| task.may_start_agents());
    let is_kept = |agent: &Agent| {
        if running.iter().any(|task| task.id == agent.id) {
            return true;
        }
        match agent {
            agent if agent.is_of_main_thread() => false,
            agent if agent.is_of_workflow() => has("workflow"),
            agent if agent.team.is_some() => has("teammate"),
            // Its parent decides, below.
            agent if agent.parent_agent.is_some() => false,
            _ => has_owner,
        }
    };
    let kept = live.agents.iter().filter(|agent| is_kept(agent));
    let mut kept: BTreeSet<&str> = kept.map(|agent| agent.id.as_str()).collect();
    // Who was started by one that is kept is kept, however deep.
    loop {
        let is_child = |agent: &&Agent| {
            let parent = agent.parent_agent.as_deref();
            !kept.contains(agent.id.as_str()) && parent.is_some_and(|id| kept.contains(id))
        };
        let children: Vec<&str> =
            live.agents.iter().filter(is_child).map(|agent| agent.id.as_str()).collect();
        if children.is_empty() {
            break;
        }
        kept.extend(children);
    }
    let gone = live.agents.iter().filter(|agent| !kept.contains(agent.id.as_str()));
    gone.map(|agent| agent.id.clone()).collect()
}

/// Takes agents out of the record whose SubagentStop did not come, and says how they ended: as the
/// result says that a killed hook has left, as the client's files tell (after an API error there is
/// no SubagentStop), else as lost.
pub fn end_unseen(
    live: &mut Live,
    ids: &[String],
    end: Time,
    state: &State,
    context: &Context,
) -> Vec<AgentResult> {
    let mut ended = Vec::new();
    for (n, id) in ids.iter().enumerate() {
        let Some(agent) = live.take_agent(id) else { continue };
        match subagent_stop::result_of_this_run(&agent, state) {
            // What only its call has answered is taken up below.
            Some(result) if agent.status != ANSWERED || !result.provisional => {
                ended.push(result.clone());
            }
            None if subagent_stop::take_back(live, &agent) => {}
            _ => ended.push(guess(agent, live, n < READ, end, state, context)),
        }
    }
    ended
}

fn guess(
    mut agent: Agent,
    live: &Live,
    reads: bool,
    end: Time,
    state: &State,
    context: &Context,
) -> AgentResult {
    let transcript = live.transcript_path.as_deref().filter(|_| reads);
    let side_file = transcript.and_then(|path| context.facts.side_file(path, &agent.id));
    if let Some(side) = &side_file {
        agent.identify(side, &context.redact);
    }
    let workflow = agent.workflow.as_deref();
    let path = transcript.and_then(|path| side_file::transcript_path(path, &agent.id, workflow));
    let work = path.as_ref().map(|path| context.facts.agent_work(path)).unwrap_or_default();
    let otherwise = if agent.status == ANSWERED { SUCCESS } else { LOST };
    let status = how_it_ended(&work, side_file.as_ref()).unwrap_or(otherwise);
    let earlier = subagent_stop::earlier_run(&agent, state);
    let answer = subagent_stop::result_of_this_run(&agent, state);
    let written = path.and_then(|path| context.facts.modified(&path));
    let is_untouched = agent.last_seen == agent.started
        && written.is_none_or(|then| time::spell(then) < agent.started);
    let reported = std::mem::take(&mut agent.reported);
    let mut result = AgentResult::from_agent(agent, status, end);
    result.provisional = true;
    result.add_work(&work, &context.redact, |file| context.relative(file));
    result.add_findings(reported);
    if let Some(answer) = answer {
        result.add_answer(answer);
    }
    if let Some(earlier) = earlier {
        // A start that comes after its stop looks like another run; nothing was seen of that.
        result.keep_earlier_run(earlier, status == LOST && is_untouched);
    }
    result
}

/// The end that the client's files tell of; `None` if they tell of none.
pub fn how_it_ended(work: &AgentWork, side: Option<&SideFile>) -> Option<&'static str> {
    if work.ended_in_api_error {
        return Some(FAILED);
    }
    side.filter(|side| side.stopped_by_user).map(|_| INTERRUPTED)
}

/// The agents that were lost with the client and that the model has not heard of, which it does
/// now. `just`: those that were found to be lost by this very event.
pub fn take_untold(
    live: &mut Live,
    just: &[AgentResult],
    state: &State,
    context: &Context,
) -> Vec<AgentResult> {
    if !context.is_heard {
        return Vec::new();
    }
    let find = |id: &String| {
        let key = (live.session_id.clone(), id.clone());
        let kept = || state.get_by::<AgentResult>(id).cloned();
        let archived = || Some(state.get_by::<ArchivedResult>(&key)?.0.clone());
        let result = just.iter().find(|result| result.agent_id == *id).cloned();
        result.or_else(kept).or_else(archived).filter(|result| result.status == LOST)
    };
    let lost = live.lost_agents.iter().filter_map(find).collect();
    live.lost_agents.clear();
    lost
}

/// What the model hears of them: their tasks, and the ways on.
pub fn lines(lost: &[AgentResult]) -> Vec<String> {
    if lost.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![format!(
        "- {} lost when the client ended, unfinished. The ways on: take one up again (SendMessage \
         to its id), run it anew (`hookkeeper agents show ID` has its prompt), read what it \
         changed, or drop it.",
        plural(lost.len(), "agent")
    )];
    lines.extend(lost.iter().map(|result| {
        let task = clip(result.task.as_deref().unwrap_or("task not known"), LONGEST_TASK);
        let files = &result.files_modified;
        let more = files.len().saturating_sub(FILES);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let shown: Vec<&str> = files.iter().take(FILES).map(String::as_str).collect();
        let wrote = match shown.is_empty() {
            true => String::new(),
            false => format!(", changed {}{more}", shown.join(", ")),
        };
        format!(
            "  - {} ({}): {task}; ran for {}{wrote}",
            result.agent_id,
            result.kind,
            time::human(result.duration_seconds)
        )
    }));
    lines
}
