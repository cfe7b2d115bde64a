//! `subagents/agent-{id}.meta.json`, which the client keeps beside a subagent's transcript. It does
//! not exist yet when the agent starts. The agents of a workflow have a folder for each run of it:
//! `subagents/workflows/{run}/`.

use std::path::{Path, PathBuf};

use crate::core::json::Object;
use crate::process::files;

/// A session's runs of workflows in which an agent is looked for.
const RUNS: usize = 100;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct SideFile {
    /// The agent's type, as its events have it.
    pub kind: Option<String>,
    pub description: Option<String>,
    pub tool_use_id: Option<String>,
    pub stopped_by_user: bool,
    pub background: Option<bool>,
    /// The agent that started it.
    pub parent_agent: Option<String>,
    /// The team that it is a teammate of.
    pub team: Option<String>,
    /// The run of a workflow that it belongs to: the folder that the file is in.
    pub workflow: Option<String>,
}

/// The side file of an agent of the session with this transcript, wherever it is.
pub fn find(session_transcript: &str, agent_id: &str) -> Option<SideFile> {
    let name = file_name(agent_id, "meta.json")?;
    let folder = folder(session_transcript);
    if let Some(found) = read(&folder.join(&name)) {
        return Some(found);
    }
    let workflows = folder.join("workflows");
    files::folders(&workflows, RUNS).into_iter().filter(|run| is_plain(run)).find_map(|run| {
        let found = read(&workflows.join(&run).join(&name))?;
        Some(SideFile { workflow: Some(run), ..found })
    })
}

/// Where the agent's own transcript is; `workflow`: the run that it belongs to.
pub fn transcript_path(
    session_transcript: &str,
    agent_id: &str,
    workflow: Option<&str>,
) -> Option<PathBuf> {
    let name = file_name(agent_id, "jsonl")?;
    let folder = folder(session_transcript);
    match workflow {
        Some(run) if !is_plain(run) => None,
        Some(run) => Some(folder.join("workflows").join(run).join(name)),
        None => Some(folder.join(name)),
    }
}

fn folder(session_transcript: &str) -> PathBuf {
    Path::new(session_transcript).with_extension("").join("subagents")
}

fn file_name(agent_id: &str, extension: &str) -> Option<String> {
    is_plain(agent_id).then(|| format!("agent-{agent_id}.{extension}"))
}

/// Nothing that leads elsewhere.
fn is_plain(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    !name.is_empty() && name.bytes().all(plain)
}

fn read(path: &Path) -> Option<SideFile> {
    let bytes = files::head(path, 256 << 10)?;
    let fields = Object::parse(&bytes).ok()?;
    let background = fields.word("requestShape").and_then(|shape| match shape.as_str() {
        "background" => Some(true),
        "foreground" => Some(false),
        _ => None,
    });
    Some(SideFile {
        kind: fields.word("agentType"),
        description: fields.word("description"),
        tool_use_id: fields.word("toolUseId"),
        stopped_by_user: fields.flag("stoppedByUser"),
        background,
        parent_agent: fields.word("parentAgentId"),
        team: fields.word("teamName"),
        workflow: None,
    })
}
