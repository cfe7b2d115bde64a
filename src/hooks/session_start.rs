//! SessionStart: opens the session's record or takes it up again, closes sessions whose client is
//! gone, and gives the model what it may have lost.

use std::collections::BTreeSet;

use chrono::TimeDelta;

use crate::agents::result::AgentResult;
use crate::branch::checkout;
use crate::branch::witness::Witness;
use crate::core::event::Event;
use crate::core::time;
use crate::hooks::session_closing::{self, Closing};
use crate::hooks::{
    branch_context, commands_note, context_warning, lost_agents, newer_plugin, open_handoffs,
    restored_context,
};
use crate::loops::drive;
use crate::loops::queue::document::Queue;
use crate::loops::queue::drive::put_items;
use crate::session::ending::ABANDONED;
use crate::session::lineage::find_lineage;
use crate::session::live::Live;
use crate::session::metrics::Metrics;
use crate::session::record::{self, is_live, others};
use crate::state::State;
use crate::state::plan::Plan;
use crate::turn::context::Context;

/// A session on another machine is given up when it was silent for this long.
const SILENT_HOURS: i64 = 24;
const LONGEST_MODEL: usize = 100;

pub fn plan(event: &Event, state: &State, context: &Context) -> Plan {
    if event.agent_id.is_some() {
        return Plan::because("a subagent's context, not the session's");
    }
    let source = record::source(event);
    let mut plan = Plan::because(source.clone());
    let own = record::own_record(event, state);
    let known = own.into_iter().flat_map(|live| &live.agents);
    let mut folders: BTreeSet<String> = known.filter_map(|agent| agent.branch.clone()).collect();
    let here = checkout::among_folders(state, context);
    folders.extend(here.map(|here| here.key.as_str().to_owned()));
    let gone = abandoned(event, state, context);
    let is_gone = |live: &Live| gone.iter().any(|other| other.session_id == live.session_id);
    let mut witness = Witness::new(state, context);
    if !gone.is_empty() {
        let all = state.all::<Live>().count();
        let mut closing = Closing::new(state, context, all > gone.len());
        for live in &gone {
            // Nobody knows when its client died; it was last seen alive then.
            let end = time::parse(&live.last_seen).unwrap_or(context.now);
            closing.close(live, ABANDONED, &mut witness, end);
        }
        closing.put(&mut plan);
        plan.outcome = format!("{source}, closed {} abandoned", gone.len());
    }

    let mut live = record::open_session(event, state, context);
    record::restore_results(&mut plan, &live, state);
    let mut just_lost = Vec::new();
    if own.is_some_and(|own| context.facts.is_gone(&own.client)) {
        just_lost = begin_again(&mut plan, &mut live, &mut witness, state, context);
    }
    let lost = lost_agents::take_untold(&mut live, &just_lost, state, context);
    witness.name(&live);
    live.source.clone_from(&source);
    let client = context.facts.client();
    if !live.client.is(&client) {
        live.client = client;
    }
    live.transcript_path = event.text("transcript_path").or(live.transcript_path);
    if let Some(model) = event.text("model") {
        live.model_use.get_or_insert_default().name = context.redact.line(&model, LONGEST_MODEL);
    }
    live.last_seen = context.spelled();
    if live.lineage.is_none() {
        live.lineage = find_lineage(event, &live, state, context);
    }
    if source == "compact" {
        context_warning::begin_anew(&mut live);
    }
    if source == "fork" && live.task.is_none() {
        live.task = inherited_task(&live, state);
    }
    if source == "resume" {
        revive_work(&mut plan, &live, state);
    }
    drive::adopt(&mut plan, event, &mut live, state, context);
    branch_context::pass_on(&mut plan, &live, state, context);
    open_handoffs::note(&mut plan, &live, state, context);
    if source == "startup" || source == "resume" {
        newer_plugin::warn(&mut plan, context);
    }
    plan.put(&state.read::<Live>(&live.session_id), &live);
    let stay = others(&live.session_id, state).filter(|other| !is_gone(other));
    let stay = stay.chain(std::iter::once(&live));
    record::put_copies(&mut plan, stay.clone(), state);
    let stuck = witness.find_stuck(folders, &stay.collect::<Vec<_>>());
    witness.put(&mut plan);
    plan.reply.context = restored_context::at_start(event, &live, &stuck, &lost, state, context);
    commands_note::tell_once(&mut plan, state, context);
    plan
}

/// What expired when the session ended is work again.
fn revive_work(plan: &mut Plan, live: &Live, state: &State) {
    let read = state.read::<Queue>(&());
    // Sessions that were closed with this event may have changed it.
    let planned = plan.take_put(&read);
    let Some(mut queue) = planned.clone().or_else(|| read.writable().cloned()) else { return };
    if queue.revive(&live.session_id) || planned.is_some() {
        put_items(plan, &queue, state);
    }
}

/// The session's client was killed and it goes on in another one: nothing of the old one runs any
/// more, and the time in between does not count.
fn begin_again(
    plan: &mut Plan,
    live: &mut Live,
    witness: &mut Witness,
    state: &State,
    context: &Context,
) -> Vec<AgentResult> {
    let end = time::parse(&live.last_seen).unwrap_or(context.now);
    let lost = session_closing::end_agents(live, witness, end, state, context);
    for result in &lost {
        plan.tell(result.journal_line());
        plan.put(&state.read::<AgentResult>(&result.agent_id), result);
    }
    let minutes = time::seconds_between(&live.started, &live.last_seen).unwrap_or(0) / 60;
    live.earlier.minutes += minutes;
    live.started = context.spelled();
    live.calls.clear();
    live.workflow_runs.clear();
    lost
}

/// A fork takes the task over from a parent that has ended.
fn inherited_task(live: &Live, state: &State) -> Option<String> {
    let parent = &live.lineage.as_ref()?.parent;
    if is_live(parent, state) {
        return None;
    }
    state.get::<Metrics>()?.find(parent)?.task
}

/// Live sessions of this machine whose client no longer runs, and silent ones of other machines.
fn abandoned<'s>(event: &Event, state: &'s State, context: &Context) -> Vec<&'s Live> {
    let host = context.facts.host();
    let silent = |live: &Live| {
        live.client.host != host
            && time::parse(&live.last_seen)
                .is_none_or(|seen| context.now - seen > TimeDelta::hours(SILENT_HOURS))
    };
    let others = state.all::<Live>().filter(|live| live.session_id != event.session_id);
    others.filter(|live| context.facts.is_gone(&live.client) || silent(live)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::core::event::Kind::SessionStart;
    use crate::hooks::testing::*;
    use crate::session::cleared::Cleared;
    use crate::session::current::CurrentFile;
    use crate::session::live::Live;
    use crate::session::metrics::Metrics;
    use crate::state::map::Files;

    #[test]
    fn a_session_that_goes_on_keeps_its_record() {
        let own = Live { task: Some("Add login".into()), ..own_session(&["a1"]) };
        let files = Files::default().with::<Live>(OWN, &own);
        let plan = plan_event(SessionStart, json!({"source": "resume"}), &files);
        let live = own_record(&plan);
        assert_eq!((live.source.as_str(), &live.agents), ("resume", &own.agents));
        assert_eq!((&live.started, &live.task), (&own.started, &own.task));
        let told = plan.reply.context.unwrap();
        // Its prompts are in its context; what runs is not.
        assert!(told.contains("a1 (Explore)") && !told.contains("Add login"), "{told}");
    }

    #[test]
    fn an_empty_state_gets_a_record_and_its_copy() {
        let plan = plan_event(SessionStart, json!({"source": "startup"}), &Files::default());
        let live = own_record(&plan);
        assert_eq!((live.started.as_str(), live.source.as_str()), (NOW, "startup"));
        assert_eq!((live.working_directory.as_str(), live.worked), (ROOT, false));
        assert_eq!(put_of::<CurrentFile>(&plan, &()).unwrap().0["session_id"], OWN);
        assert_eq!(plan.reply.context, None);
    }

    #[test]
    fn another_session_stays_open_and_keeps_its_loop() {
        let plan = plan_beside_other(SessionStart, json!({"source": "startup"}), None);
        assert_eq!(own_record(&plan).lineage, None);
        assert_eq!(removed(&plan), Vec::<String>::new());
        assert_eq!(put_of::<CurrentFile>(&plan, &()).unwrap().0["session_id"], OWN);
    }

    #[test]
    fn a_clear_goes_on_from_what_its_own_client_cleared() {
        let mut cleared = other().state().get::<Cleared>().unwrap().clone();
        cleared.add(&live("before", OWN_PID), EARLIER.into());
        let files = other().with::<Cleared>(&(), &cleared);
        let found = Found { client: client(OWN_PID), ..Found::default() };
        let plan = plan_event_with(&found, SessionStart, json!({"source": "clear"}), &files);
        assert_eq!(own_record(&plan).lineage.unwrap().parent, "before");
        ensure_other_is_kept(&files, &plan);
    }

    #[test]
    fn a_session_whose_client_is_gone_is_closed() {
        let found = Found { gone: Some(client(OTHER_PID)), ..Found::default() };
        let plan = plan_event_with(&found, SessionStart, json!({"source": "startup"}), &other());
        assert_eq!(removed(&plan), ["errors/classified.json", "session/live/other.json"]);
        let entry = put_of::<Metrics>(&plan, &()).unwrap().find(OTHER).unwrap();
        assert_eq!((entry.ended.as_str(), entry.agents.failed), ("abandoned", 1));
    }
}
