//! What `status` shows of agents that run, and of the loops of branches.

use serde_json::json;

use crate::agents::agent::{ANSWERED, Agent};
use crate::agents::tree::{arrange, indented};
use crate::branch::document::{BranchLoop, BranchState};
use crate::branch::folder;
use crate::branch::witness::is_stuck;
use crate::core::spelling::short_id;
use crate::core::table::{Cell, Table, Tone};
use crate::core::text::clip;
use crate::core::time::Time;
use crate::process::files;
use crate::session::active::Active;
use crate::session::live::Live;
use crate::session::record::live_sessions;
use crate::state::panel::{Column, Detail, Panel, PanelContext, Section, since};

/// The agents that run, and which of them are quiet.
pub fn agents(context: &PanelContext) -> Section {
    let lives = live_sessions(context.state, context.settings);
    let active = Active::from_records(lives.iter(), context.state.get::<Active>());
    let quiet_after = context.settings.stuck_after_minutes;
    Section::new([("agents", json!(active))], move |now| {
        Some(agents_panel(&active, |agent| is_quiet(agent, &lives, quiet_after, now), now))
    })
}

fn agents_panel(active: &Active, is_quiet: impl Fn(&Agent) -> bool, now: Time) -> Panel {
    let ids: Vec<&str> = active.agents.iter().map(|agent| agent.id.as_str()).collect();
    let nodes: Vec<&Agent> = active.agents.iter().collect();
    let row = |(at, depth): (usize, usize)| {
        let agent = nodes.get(at).copied()?;
        let silence = since(&agent.last_seen, now);
        let (tone, state) = match agent.status.as_str() {
            _ if is_quiet(agent) => (Tone::Warn, format!("quiet {silence}")),
            ANSWERED => (Tone::Dim, "answered".into()),
            _ => (Tone::Plain, format!("seen {silence} ago")),
        };
        Some(vec![
            Cell::new(Tone::Id, &indented(&short_id(&agent.id, &ids), depth)),
            Cell::new(Tone::Good, &clip(&agent.kind, 20)),
            Cell::new(Tone::Dim, &format!("for {}", since(&agent.started, now))),
            Cell::new(tone, &state),
            Cell::new(Tone::Plain, agent.task_text()),
        ])
    };
    let quiet = active.agents.iter().filter(|agent| is_quiet(agent)).count();
    let quietly = if quiet > 0 { format!(", {quiet} quiet") } else { String::new() };
    Panel {
        title: "Agents",
        says: format!(
            "{} running{quietly}, {} spawned, {} completed",
            active.agents.len(),
            active.total_spawned,
            active.total_completed
        ),
        tone: if quiet == 0 { Tone::Plain } else { Tone::Warn },
        table: Table::new(&[0, 4, 3, 2, 1], arrange(&nodes).into_iter().filter_map(row).collect()),
        spare: 0,
        brief: 20,
        column: Column::Left,
        due: quiet,
        details: arrange(&nodes)
            .into_iter()
            .filter_map(|(at, _)| Some(detail(nodes.get(at)?)))
            .collect(),
        ..Panel::default()
    }
}

fn detail(agent: &Agent) -> Detail {
    Detail {
        title: format!("Agent {} ({})", agent.id, agent.kind),
        text: format!("Task: {}\n", agent.task_text()),
        time: Some(("Started", agent.started.clone())),
        session: Some(agent.session_id.clone()),
        agent: Some(agent.id.clone()),
    }
}

/// Whether an agent of one of these sessions is stuck, as `agents stuck` says it.
pub fn is_quiet<'a>(
    agent: &Agent,
    lives: impl IntoIterator<Item = &'a Live>,
    after_minutes: u64,
    now: Time,
) -> bool {
    // Without its session nobody knows where its transcript is.
    let unknown = Live::default();
    let live = lives.into_iter().find(|live| live.session_id == agent.session_id);
    let threshold = after_minutes.saturating_mul(60);
    is_stuck(agent, live.unwrap_or(&unknown), threshold, now, files::modified).0
}

/// The loops of branches, those that run first.
pub fn loops(context: &PanelContext) -> Section {
    let branches = folder::all_states(context.state);
    let all = context.all;
    Section::new([("branches", json!(branches))], move |now| loops_panel(&branches, all, now))
}

fn loops_panel(branches: &[BranchState], all: bool, now: Time) -> Option<Panel> {
    let with_loops = |state: &'_ BranchState| {
        let the_loop = state.the_loop.as_ref().filter(|the_loop| all || !is_old(the_loop, now))?;
        Some((state.branch.clone(), the_loop.clone()))
    };
    let mut loops: Vec<(String, BranchLoop)> = branches.iter().filter_map(with_loops).collect();
    loops.sort_by_key(|(_, the_loop)| !the_loop.is_running());
    let running = loops.iter().filter(|(_, the_loop)| the_loop.is_running()).count();
    let row = |(branch, the_loop): &(String, BranchLoop)| {
        let ended = the_loop.ending.verdict.as_deref().map(|verdict| format!("ended: {verdict}"));
        vec![
            Cell::new(Tone::Good, &clip(branch, 24)),
            Cell::new(Tone::Plain, &format!("{}/{}", the_loop.iteration, the_loop.max_iterations)),
            Cell::new(Tone::Dim, &ended.unwrap_or_else(|| "running".into())),
            Cell::new(Tone::Plain, &the_loop.prompt),
        ]
    };
    let panel = Panel {
        title: "Branch loops",
        says: format!("{running} running"),
        is_past: running == 0,
        table: Table::new(&[0, 0, 0, 1], loops.iter().map(row).collect()),
        ..Panel::default()
    };
    panel.unless_empty()
}

/// Whether a loop ended long ago. One that was switched off by hand does not say when.
fn is_old(the_loop: &BranchLoop, now: Time) -> bool {
    match the_loop.ending.verdict {
        Some(_) => the_loop.ending.is_old(now),
        None => !the_loop.active,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::agent::RUNNING;
    use crate::core::time;

    #[test]
    fn only_a_running_agent_that_is_silent_for_long_is_quiet() {
        let now = time::parse("2026-01-29T10:30:00Z").unwrap();
        let agent = |status: &str, last_seen: &str| Agent {
            status: status.into(),
            last_seen: last_seen.into(),
            ..Agent::default()
        };
        let lives = [Live::default()];
        let is_quiet = |agent: &Agent| is_quiet(agent, &lives, 5, now);
        assert!(is_quiet(&agent(RUNNING, "2026-01-29T10:24:59Z")));
        assert!(!is_quiet(&agent(RUNNING, "2026-01-29T10:25:00Z")));
        assert!(!is_quiet(&agent("answered", "2026-01-29T09:00:00Z")));
    }
}
