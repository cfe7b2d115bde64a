//! `agents/results/{agent-id}.json`: what an agent found, in the seed's schema.

use serde::{Deserialize, Serialize};

use crate::agents::agent::{Agent, RUNNING};
use crate::client::transcript::AgentWork;
use crate::core::id::FileStem;
use crate::core::journal::{Entry, EntryKind};
use crate::core::redaction::Redactor;
#[cfg(feature = "testing")]
use crate::core::schema_fields;
use crate::core::text::{Extra, clip, clip_bytes, is_zero};
use crate::core::time;
use crate::state::{Doc, Row, document};

pub const SUCCESS: &str = "success";
pub const INTERRUPTED: &str = "interrupted";
pub const FAILED: &str = "failed";
pub const LOST: &str = "lost";

/// Bytes of a prompt or a report that are kept.
const LONGEST_TEXT: usize = 64 << 10;
/// Bytes of a report that the journal keeps.
const LONGEST_IN_JOURNAL: usize = 16 << 10;

/// What an agent found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "testing", schemars(extend("required" = [
    "agent_id", "type", "task", "started", "completed", "duration_seconds", "status",
    "findings", "recommendations", "files_analyzed", "metrics"
])))]
pub struct AgentResult {
    pub agent_id: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub task: Option<String>,
    #[cfg_attr(feature = "testing", schemars(schema_with = "schema_fields::time"))]
    pub started: String,
    #[cfg_attr(feature = "testing", schemars(schema_with = "schema_fields::time"))]
    pub completed: String,
    pub duration_seconds: u64,
    #[cfg_attr(feature = "testing", schemars(extend("enum" = [SUCCESS, INTERRUPTED, FAILED, LOST])))]
    pub status: String,
    pub findings: Vec<Finding>,
    pub recommendations: Vec<String>,
    pub files_analyzed: Vec<String>,
    pub metrics: Metrics,
    pub session_id: String,
    pub parent_task: Option<String>,
    pub tool_use_id: Option<String>,
    pub background: Option<bool>,
    /// The agent that started it, the run of a workflow that it belongs to, its team.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_agent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workflow: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub team: Option<String>,
    /// Nobody said how it ended; if somebody does after all, that takes the place of this.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub provisional: bool,
    /// Those of its files that it changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files_modified: Vec<String>,
    /// The folder of the branch that it was started on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Which run of the agent this is the result of; 0 is the first one.
    #[serde(skip_serializing_if = "is_zero")]
    pub run: u64,
    /// What it was asked, and its last message: redacted, and not without end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report: Option<String>,
    /// The lines of the whole report.
    #[serde(skip_serializing_if = "is_zero")]
    pub report_lines: u64,
    #[serde(flatten)]
    pub extra: Extra,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "testing", schemars(extend("required" = [
    "severity", "category", "title", "details", "recommendation"
])))]
pub struct Finding {
    #[cfg_attr(feature = "testing", schemars(schema_with = "schema_fields::severity"))]
    pub severity: String,
    pub category: String,
    pub title: String,
    pub details: String,
    pub recommendation: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    #[serde(flatten)]
    pub extra: Extra,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "testing", schemars(extend("required" = ["files_read", "issues_found"])))]
pub struct Metrics {
    pub files_read: u64,
    pub issues_found: u64,
    #[serde(flatten)]
    pub extra: Extra,
}

impl AgentResult {
    /// The end of `agent` at `now`, with nothing found yet.
    pub fn from_agent(agent: Agent, status: &str, now: time::Time) -> Self {
        let completed = time::spell(now);
        Self {
            duration_seconds: time::seconds_between(&agent.started, &completed).unwrap_or(0),
            agent_id: agent.id,
            kind: agent.kind,
            task: agent.task,
            started: agent.started,
            completed,
            status: status.to_owned(),
            session_id: agent.session_id,
            parent_task: agent.parent_task,
            tool_use_id: agent.tool_use_id,
            background: agent.background,
            parent_agent: agent.parent_agent,
            workflow: agent.workflow,
            team: agent.team,
            branch: agent.branch,
            run: agent.run,
            ..Self::default()
        }
    }

    /// The agent as it ran: nobody knows any more how it ended.
    pub fn running_again(&self) -> Agent {
        Agent {
            id: self.agent_id.clone(),
            kind: self.kind.clone(),
            task: self.task.clone(),
            started: self.started.clone(),
            status: RUNNING.into(),
            parent_task: self.parent_task.clone(),
            session_id: self.session_id.clone(),
            tool_use_id: self.tool_use_id.clone(),
            background: self.background,
            parent_agent: self.parent_agent.clone(),
            workflow: self.workflow.clone(),
            team: self.team.clone(),
            last_seen: self.started.clone(),
            branch: self.branch.clone(),
            run: self.run,
            ..Agent::default()
        }
    }

    /// Whether its end was only guessed.
    pub fn is_guess(&self) -> bool {
        self.provisional || self.status == LOST
    }

    /// Keeps what it was asked.
    pub fn keep_prompt(&mut self, prompt: &str, redact: &Redactor) {
        self.prompt = Some(kept(prompt, redact));
    }

    /// Keeps its last message.
    pub fn keep_report(&mut self, report: &str, redact: &Redactor) {
        self.report_lines = report.lines().filter(|line| !line.trim().is_empty()).count() as u64;
        self.report = Some(kept(report, redact));
    }

    /// Takes in what its transcript says about its work.
    pub fn add_work(
        &mut self,
        work: &AgentWork,
        redact: &Redactor,
        relative: impl Fn(&str) -> String,
    ) {
        if let Some(prompt) = &work.prompt {
            self.keep_prompt(prompt, redact);
        }
        if let Some(tokens) = work.tokens {
            self.metrics.extra.insert("tokens".into(), tokens.into());
        }
        self.add_files(work.files.iter().rev().map(|file| relative(file)).collect());
        self.files_modified = work.changed.iter().rev().map(|file| relative(file)).collect();
        self.metrics.files_read = work.reads;
    }

    /// Adds files that it has looked at.
    pub fn add_files(&mut self, files: Vec<String>) {
        for file in files {
            if !self.files_analyzed.contains(&file) {
                self.files_analyzed.push(file);
            }
        }
    }

    /// Takes in what its call has answered, and when.
    pub fn add_answer(&mut self, answer: &Self) {
        self.completed.clone_from(&answer.completed);
        self.duration_seconds = answer.duration_seconds;
        self.report.clone_from(&answer.report);
        self.report_lines = answer.report_lines;
        self.recommendations.clone_from(&answer.recommendations);
        self.prompt = self.prompt.take().or_else(|| answer.prompt.clone());
        self.add_findings(answer.findings.clone());
        self.add_files(answer.files_analyzed.clone());
        for (name, figure) in &answer.metrics.extra {
            self.metrics.extra.entry(name).or_insert_with(|| figure.clone());
        }
    }

    /// What an earlier run of it reported stays, if this one reports nothing. `holds`: so does the
    /// way in which that one ended.
    pub fn keep_earlier_run(&mut self, earlier: &Self, holds: bool) {
        if holds {
            self.status.clone_from(&earlier.status);
            self.completed.clone_from(&earlier.completed);
            self.duration_seconds = earlier.duration_seconds;
            self.provisional = earlier.provisional;
        }
        self.add_findings(earlier.findings.clone());
        self.recommendations.clone_from(&earlier.recommendations);
        self.report.clone_from(&earlier.report);
        self.report_lines = earlier.report_lines;
        self.prompt = self.prompt.take().or_else(|| earlier.prompt.clone());
    }

    /// Adds findings that are not there yet.
    pub fn add_findings(&mut self, findings: Vec<Finding>) {
        for finding in findings {
            let is_same = |have: &Finding| have.title == finding.title && have.file == finding.file;
            if !self.findings.iter().any(is_same) {
                self.findings.push(finding);
            }
        }
        self.metrics.issues_found = self.findings.len() as u64;
    }

    /// What the journal says of its end: the result, with not all of a very long text.
    pub fn journal_line(&self) -> Entry {
        let short =
            |text: &Option<String>| text.as_ref().map(|text| clip_bytes(text, LONGEST_IN_JOURNAL));
        let kept =
            Self { prompt: short(&self.prompt), report: short(&self.report), ..self.clone() };
        let mut line = Entry::new(EntryKind::AgentEnd)
            .of_session(&self.session_id)
            .of_agent(self.agent_id.clone())
            .what(&self.status)
            .target(self.task.as_deref().unwrap_or_default())
            .record(&kept);
        line.failed = !self.succeeded();
        line.ms = Some(self.duration_seconds.saturating_mul(1000));
        line
    }

    pub fn succeeded(&self) -> bool {
        self.status == SUCCESS
    }
}

/// A text without secrets; what is not kept is not looked at.
fn kept(text: &str, redact: &Redactor) -> String {
    clip_bytes(&redact.head(text, LONGEST_TEXT), LONGEST_TEXT)
}

/// The result of an agent whose session has ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ArchivedResult(pub AgentResult);

document!(ArchivedResult by (String, String), Row {
    name: "archived-result",
    is_on: |systems| systems.agents,
    path: "state/agents/results-archive/{session-id}/{agent-id}.json",
    schema: "result",
    title: "Archived agent result",
    about: "what an agent of an ended session found",
    ..Row::EPHEMERAL
}, |row, (session_id, agent_id)| {
    Doc::new(row, format!("{}/{}", FileStem::from_id(session_id), FileStem::from_id(agent_id)))
}, schema: AgentResult);

document!(AgentResult by str, Row {
    name: "result",
    is_on: |systems| systems.agents,
    path: "state/agents/results/{agent-id}.json",
    schema: "result",
    title: "Agent result",
    about: "what an agent found",
    ..Row::EPHEMERAL
}, Doc::by_id, parse: |doc, bytes| {
    let result: Self = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    match Self::doc(&result.agent_id) == *doc {
        true => Ok(result),
        false => Err(format!("its agent_id is {:?}", clip(&result.agent_id, 80))),
    }
});
