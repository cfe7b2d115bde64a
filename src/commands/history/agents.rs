//! What the agents of all sessions came to: results of live sessions, those in the archive, and for
//! sessions that are not in it any more what the journal says of their ends.

use std::collections::BTreeMap;

use crate::agents::result::{AgentResult, ArchivedResult};
use crate::core::id::FileStem;
use crate::core::journal::EntryKind;
use crate::state::{Doc, Document as _};
use crate::store::journal::read::Order;
use crate::store::view::View;

/// Where the results of ended sessions are.
const ARCHIVE: &str = "state/agents/results-archive";
/// The status of an agent whose start is all that is known.
pub const UNKNOWN: &str = "unknown";

/// The results of one session, by the stem of its id, or of all; in the order of their starts.
pub fn kept_results(view: &View, stem: Option<&str>) -> Vec<AgentResult> {
    let state = view.state();
    let mut results: BTreeMap<String, AgentResult> = BTreeMap::new();
    let mut sources: Vec<String> = Vec::new();
    let journal = view.journal();
    match stem {
        Some(stem) => sources.push(stem.to_owned()),
        None => sources.extend(journal.sessions().into_iter().map(|files| files.stem)),
    }
    for stem in &sources {
        let kinds = ["\"agent_end\"", "\"agent_start\""];
        for entry in journal.of_stem(stem, Order::OldestFirst).with_any(&kinds) {
            let Some(agent) = entry.agent.clone() else { continue };
            let result = entry.record.as_ref().and_then(|record| record.read::<AgentResult>());
            match entry.kind {
                EntryKind::AgentEnd => {
                    if let Some(result) = result {
                        results.insert(agent, result);
                    }
                }
                EntryKind::AgentStart => {
                    results.entry(agent.clone()).or_insert_with(|| AgentResult {
                        agent_id: agent,
                        kind: entry.what.unwrap_or_default(),
                        task: entry.target,
                        started: entry.time,
                        status: UNKNOWN.to_owned(),
                        session_id: entry.session,
                        ..AgentResult::default()
                    });
                }
                _ => {}
            }
        }
    }
    let archived = match stem {
        Some(stem) => vec![stem.to_owned()],
        None => view.names(ARCHIVE),
    };
    for session in archived {
        for name in view.names(&format!("{ARCHIVE}/{session}")) {
            let agent = name.strip_suffix(".json").filter(|agent| !FileStem::is_reserved(agent));
            let Some(agent) = agent else { continue };
            let doc = ArchivedResult::ROWS.first();
            let doc = doc.map(|row| Doc::new(row, format!("{session}/{agent}")));
            let read = doc.and_then(|doc| state.read_doc::<ArchivedResult>(doc).value);
            results.extend(read.map(|kept| (kept.0.agent_id.clone(), kept.0.clone())));
        }
    }
    let live = state.all::<AgentResult>().cloned();
    results.extend(live.map(|result| (result.agent_id.clone(), result)));
    let mut results: Vec<AgentResult> = results.into_values().collect();
    if let Some(stem) = stem {
        results.retain(|result| crate::store::journal::stem(&result.session_id) == stem);
    }
    results.sort_by(|one, other| one.started.cmp(&other.started));
    results
}
