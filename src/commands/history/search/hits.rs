//! What a line of the journal, a result or a hand-off says of a text, and where to look on.

use serde_json::{Value, json};

use crate::agents::result::AgentResult;
use crate::core::gate::shell_word;
use crate::core::journal::{Entry, EntryKind};
use crate::core::text::in_parentheses;
use crate::errors::document::Record;
use crate::history::search::needle::Needle;

/// What is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HitKind {
    Prompt,
    Report,
    Error,
    Finding,
    Handoff,
    /// Tool calls, messages, summaries, loops, gates.
    Other,
}

impl HitKind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Prompt => "prompt",
            Self::Report => "report",
            Self::Error => "error",
            Self::Finding => "finding",
            Self::Handoff => "handoff",
            Self::Other => "other",
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// As journals spell it.
    pub time: String,
    pub kind: HitKind,
    pub session: String,
    pub agent: Option<String>,
    /// The id of a tool call or an error, the title of a finding: what tells it from others.
    pub id: String,
    pub text: String,
    /// A command or a file.
    pub look: String,
}

impl Hit {
    pub fn to_json(&self) -> Value {
        json!({"time": self.time, "kind": self.kind.name(), "session": self.session,
            "agent": self.agent, "text": self.text, "look": self.look})
    }
}

/// What a line of the journal says of it.
pub fn in_entry(entry: &Entry, needle: &Needle) -> Vec<Hit> {
    let session_word = shell_word(&entry.session);
    let hit = |kind, id: &str, text: String, look: String| Hit {
        time: entry.time.clone(),
        kind,
        session: entry.session.clone(),
        agent: entry.agent.clone(),
        id: id.to_owned(),
        text,
        look,
    };
    let of_session = || format!("hookkeeper sessions show {session_word}");
    let fields = [&entry.text, &entry.target, &entry.what];
    let in_fields = || fields.into_iter().flatten().find_map(|text| needle.excerpt(text));
    let kind = match entry.kind {
        EntryKind::AgentEnd => {
            let result = entry.record.as_ref().and_then(|record| record.read::<AgentResult>());
            return result
                .map(|result| in_result(&result, &entry.time, needle))
                .unwrap_or_default();
        }
        EntryKind::Error => {
            let record = entry.record.as_ref().and_then(|record| record.read::<Record>());
            let record = record.unwrap_or_default();
            let text = needle.excerpt(&record.message).or_else(in_fields);
            let id_word = shell_word(&record.id);
            let look = match record.id.is_empty() {
                true => of_session(),
                false => format!("hookkeeper errors show {id_word}"),
            };
            return text
                .map(|text| hit(HitKind::Error, &record.id, text, look))
                .into_iter()
                .collect();
        }
        EntryKind::Handoff => {
            let file = entry.target.clone().unwrap_or_default();
            let text = in_fields();
            return text
                .map(|text| hit(HitKind::Handoff, &file, text, file.clone()))
                .into_iter()
                .collect();
        }
        EntryKind::Prompt | EntryKind::Command | EntryKind::Call => HitKind::Prompt,
        EntryKind::Stop if entry.failed => HitKind::Error,
        EntryKind::Stop => HitKind::Report,
        // Runs say only what we did, and an end what the first prompts said.
        EntryKind::Run | EntryKind::Spooled | EntryKind::Other | EntryKind::End => {
            return Vec::new();
        }
        EntryKind::Start
        | EntryKind::Tool
        | EntryKind::AgentStart
        | EntryKind::Recovered
        | EntryKind::Compact
        | EntryKind::Compacted
        | EntryKind::Loop
        | EntryKind::Gate
        | EntryKind::Model
        | EntryKind::Notification
        | EntryKind::Rejected => HitKind::Other,
    };
    let id = entry.call.as_deref().unwrap_or_default();
    in_fields().map(|text| hit(kind, id, text, of_session())).into_iter().collect()
}

/// What an agent's result says of it.
pub fn in_result(result: &AgentResult, time: &str, needle: &Needle) -> Vec<Hit> {
    let agent_word = shell_word(&result.agent_id);
    let hit = |kind, id: &str, text: String| Hit {
        // It was asked at its beginning.
        time: match kind {
            HitKind::Prompt if !result.started.is_empty() => result.started.clone(),
            _ => time.to_owned(),
        },
        kind,
        session: result.session_id.clone(),
        agent: Some(result.agent_id.clone()),
        id: id.to_owned(),
        text,
        look: format!("hookkeeper agents show {agent_word}"),
    };
    let mut hits = Vec::new();
    let asked = [&result.prompt, &result.task].into_iter().flatten();
    let run = format!("{} {}", result.agent_id, result.run);
    let call = result.tool_use_id.as_ref().unwrap_or(&run);
    hits.extend(
        asked
            .clone()
            .find_map(|text| needle.excerpt(text))
            .map(|text| hit(HitKind::Prompt, call, text)),
    );
    let said = result.report.iter().chain(&result.recommendations);
    hits.extend(
        said.into_iter()
            .find_map(|text| needle.excerpt(text))
            .map(|text| hit(HitKind::Report, &run, text)),
    );
    for finding in &result.findings {
        let place = in_parentheses(finding.file.as_deref(), finding.line);
        let title = format!("{} {}{place}", finding.severity, finding.title);
        let texts = [&title, &finding.details, &finding.recommendation, &finding.category];
        let found = texts.into_iter().find_map(|text| needle.excerpt(text));
        hits.extend(found.map(|text| hit(HitKind::Finding, &title, text)));
    }
    hits
}
