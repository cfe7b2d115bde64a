//! `session/current.json`: the most recently started live session, in the seed's schema.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

#[cfg(feature = "testing")]
use crate::core::schema_fields;
use crate::core::text::Extra;
use crate::process::client::Client;
use crate::session::live::{HOOKS_VERSION, Lineage, Live};
use crate::state::{Row, document};

/// The live session that started last: a copy of its record.
#[derive(Serialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "testing", schemars(extend("required" = [
    "session_id", "started", "git_branch", "git_commit_start", "working_directory",
    "hooks_version", "commands_executed", "agents_spawned", "files_modified",
    "errors_encountered", "errors_recovered"
])))]
pub struct Current<'a> {
    session_id: &'a str,
    #[cfg_attr(feature = "testing", schemars(schema_with = "schema_fields::time"))]
    started: &'a str,
    git_branch: &'a Option<String>,
    git_commit_start: &'a Option<String>,
    working_directory: &'a str,
    hooks_version: &'a str,
    commands_executed: &'a [String],
    agents_spawned: u64,
    files_modified: &'a [String],
    errors_encountered: u64,
    errors_recovered: u64,
    source: &'a str,
    client: Client,
    transcript_path: &'a Option<String>,
    /// What the session is about.
    task: &'a Option<String>,
    /// The last prompt that a person typed.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_prompt: &'a Option<String>,
    lineage: &'a Option<Lineage>,
    #[cfg_attr(feature = "testing", schemars(schema_with = "schema_fields::time_or_empty"))]
    last_seen: &'a str,
    /// What the document had that we do not know.
    #[serde(flatten)]
    extra: Extra,
}

const FIELDS: [&str; 18] = [
    "session_id",
    "started",
    "git_branch",
    "git_commit_start",
    "working_directory",
    "hooks_version",
    "commands_executed",
    "agents_spawned",
    "files_modified",
    "errors_encountered",
    "errors_recovered",
    "source",
    "client",
    "transcript_path",
    "task",
    "last_prompt",
    "lineage",
    "last_seen",
];

impl<'a> Current<'a> {
    /// The copy of `live`; `before` is what the document held until now.
    pub fn from_record(live: &'a Live, before: Option<&Map<String, Value>>) -> Self {
        let unknown = |(key, _): &(&String, &Value)| !FIELDS.contains(&key.as_str());
        let extra = before.into_iter().flatten().filter(unknown);
        Self {
            session_id: &live.session_id,
            started: &live.started,
            git_branch: &live.git_branch,
            git_commit_start: &live.git_commit_start,
            working_directory: &live.working_directory,
            // Ours, not the record's: a copy of a newer record is still a copy of our making.
            hooks_version: HOOKS_VERSION,
            commands_executed: &live.commands_executed,
            agents_spawned: live.agents_spawned,
            files_modified: &live.files_modified,
            errors_encountered: live.errors_encountered,
            errors_recovered: live.errors_recovered,
            source: &live.source,
            client: client(live, before),
            transcript_path: &live.transcript_path,
            task: &live.task,
            last_prompt: &live.last_prompt,
            lineage: &live.lineage,
            last_seen: &live.last_seen,
            extra: extra.map(|(key, value)| (key.clone(), value.clone())).collect(),
        }
    }
}

/// With what the copy itself had beside the fields that we know.
fn client(live: &Live, before: Option<&Map<String, Value>>) -> Client {
    let mut client = live.client.clone();
    let noted = before.and_then(|before| before.get("client")).and_then(Value::as_object);
    for (key, value) in noted.into_iter().flatten() {
        if !["pid", "started", "host"].contains(&key.as_str()) {
            client.extra.entry(key.clone()).or_insert_with(|| value.clone());
        }
    }
    client
}

/// The live session that started last.
pub fn latest<'a>(lives: impl Iterator<Item = &'a Live>) -> Option<&'a Live> {
    lives.max_by(|a, b| (&a.started, &a.session_id).cmp(&(&b.started, &b.session_id)))
}

/// The document as it was found, with what we do not know of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CurrentFile(pub Map<String, Value>);

document!(
    CurrentFile,
    Row {
        name: "current",
        path: "state/session/current.json",
        schema: "current",
        title: "Current session",
        about: "the live session that started last",
        ..Row::EPHEMERAL
    },
    schema: Current<'static>
);
