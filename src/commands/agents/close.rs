//! `hookkeeper agents close`: strikes off an agent that runs no more and that no session knows.

use anyhow::{Context as _, bail};

use crate::agents::agent::Agent;
use crate::branch::agents_document::BranchAgents;
use crate::branch::folder::branch_agents;
use crate::console::project::{Project, one_of, print_json};
use crate::core::id::BranchKey;
use crate::core::outcome::Outcome;
use crate::core::time;
use crate::session::live::Live;
use crate::state::plan::Plan;

pub fn run(project: &Project, named: &str, as_json: bool) -> anyhow::Result<Outcome> {
    let branches = project.view()?.map(|view| branch_agents(&view)).unwrap_or_default();
    let now = time::spell(project.process.now());
    let (entry, folder) = project.change(|store, state| {
        let running: Vec<&Agent> = state.all::<Live>().flat_map(|live| &live.agents).collect();
        let open = |document: &BranchAgents| {
            document.open().map(|entry| entry.id.clone()).collect::<Vec<_>>()
        };
        let mut ids: Vec<String> = branches.iter().flat_map(|(_, d)| open(d)).collect();
        ids.extend(running.iter().map(|agent| agent.id.clone()));
        ids.sort();
        ids.dedup();
        if !named.is_empty() && ids.iter().all(|id| !id.starts_with(named)) {
            bail!("no agent `{named}` was left behind (hookkeeper branch show)");
        }
        let id = one_of(named, &ids, "agent", "")?;
        if let Some(agent) = running.iter().find(|agent| agent.id == id) {
            bail!(
                "agent {id} runs in session {}; /tasks in Claude Code stops it",
                agent.session_id
            );
        }
        let folder = branches.iter().find(|(_, document)| open(document).contains(&id));
        let folder = folder.map(|(folder, _)| folder.clone()).context("it is gone")?;
        let read = state.read::<BranchAgents>(&BranchKey::known(&folder).context("it is gone")?);
        let mut document = read.value.cloned().unwrap_or_default();
        document.mark_lost(&id, &now, "closed by a person");
        let entry = document.find(&id).context("it is gone")?;
        let mut plan = Plan::default();
        plan.put(&read, &document);
        store.commit(&plan.changes, state)?;
        Ok((entry, folder))
    })?;
    if as_json {
        return print_json(&entry);
    }
    Ok(Outcome::printed(format!(
        "{}: closed, in the document of branch {folder} as failed.",
        entry.id
    )))
}
