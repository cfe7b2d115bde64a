//! `hookkeeper agents close`: strikes off an agent that runs no more and that no session knows.

use anyhow::{Context as _, bail};

use crate::Outcome;
use crate::books::agent_book::AgentBook;
use crate::cli::{Project, one_of, said_json};
use crate::gather;
use crate::id::BranchKey;
use crate::plan::Change;
use crate::snapshot::Snapshot;
use crate::store::layout::Doc;
use crate::time;

pub fn run(project: &Project, named: &str, as_json: bool) -> anyhow::Result<Outcome> {
    let books = project.view()?.map(|view| view.agent_books()).unwrap_or_default();
    let now = time::spell(project.process.now());
    let (entry, folder) = project.change(|store| {
        let mut snapshot = Snapshot::default();
        gather::copies(&mut snapshot, store)?;
        let mut running = snapshot.lives.values().flat_map(|live| &live.agents);
        if let Some(agent) = running.find(|agent| agent.id == named) {
            bail!(
                "agent {named} runs in session {}; /tasks in Claude Code stops it",
                agent.session_id
            );
        }
        let open = |book: &AgentBook| book.open().map(|entry| entry.id.clone()).collect::<Vec<_>>();
        let ids: Vec<String> = books.iter().flat_map(|(_, book)| open(book)).collect();
        let id = one_of(named, &ids, "agent that was left behind", "")?;
        let folder = books.iter().find(|(_, book)| open(book).contains(&id));
        let folder = folder.map(|(folder, _)| folder.clone()).context("it is gone")?;
        let doc = Doc::BranchAgents(BranchKey::known(&folder).context("it is gone")?);
        let mut book = store.load(&doc, AgentBook::parse)?.unwrap_or_default();
        book.mark_lost(&id, &now, "closed by a person");
        let entry = book.find(&id).context("it is gone")?;
        store.commit(&[Change::Put(doc, book.to_bytes())])?;
        Ok((entry, folder))
    })?;
    if as_json {
        return said_json(&entry);
    }
    Ok(Outcome::said(format!("{}: closed, in the book of branch {folder} as failed.", entry.id)))
}
