//! `agents/results/synthesis.json`: all findings of one session's agents, folded in result by
//! result, most severe first, each with the agents that found it.

use serde::{Deserialize, Serialize};

use crate::agents::panel;
use crate::agents::result::{AgentResult, ArchivedResult, Finding};
use crate::core::id::FileStem;
#[cfg(feature = "testing")]
use crate::core::schema_fields;
use crate::core::text::{Extra, is_zero};
use crate::state::panel::StatusPart;
use crate::state::{Doc, Document as _, Row, document};

const FINDINGS: usize = 200;
const AGENTS: usize = 200;
const RECOMMENDATIONS: usize = 100;
/// Agents that are named for one finding.
const SOURCES: usize = 20;

/// All findings of one session's agents, most severe first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "testing", schemars(extend("required" = [
    "session_id", "updated", "complete", "agents", "summary", "findings", "recommendations"
])))]
pub struct Synthesis {
    pub session_id: String,
    #[cfg_attr(feature = "testing", schemars(schema_with = "schema_fields::time"))]
    pub updated: String,
    /// False while agents of the session still run.
    pub complete: bool,
    pub agents: Vec<Source>,
    pub summary: Summary,
    pub findings: Vec<Merged>,
    pub recommendations: Vec<String>,
    #[serde(flatten)]
    pub extra: Extra,
}

/// An agent whose result is in here.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "testing", schemars(extend("required" = ["id", "type", "task", "status", "findings"])))]
pub struct Source {
    pub id: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub task: Option<String>,
    pub status: String,
    /// How many.
    pub findings: u64,
    /// The lines of its report.
    #[serde(skip_serializing_if = "is_zero")]
    pub report_lines: u64,
    #[serde(flatten)]
    pub extra: Extra,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "testing", schemars(extend("required" = ["total", "S0", "S1", "S2", "S3"])))]
pub struct Summary {
    pub total: u64,
    #[serde(rename = "S0")]
    pub s0: u64,
    #[serde(rename = "S1")]
    pub s1: u64,
    #[serde(rename = "S2")]
    pub s2: u64,
    #[serde(rename = "S3")]
    pub s3: u64,
    #[serde(flatten)]
    pub extra: Extra,
}

/// A finding, and the agents that found it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "testing", schemars(extend("required" = [
    "severity", "category", "title", "details", "recommendation", "agents"
])))]
pub struct Merged {
    #[serde(flatten)]
    pub finding: Finding,
    pub agents: Vec<String>,
}

impl Synthesis {
    pub fn new(session_id: &str) -> Self {
        Self { session_id: session_id.to_owned(), ..Self::default() }
    }

    /// Where the synthesis of an ended session is, for reading: among its archived results.
    pub fn archived(session_id: &str) -> Option<Doc> {
        let row = ArchivedResult::ROWS.first()?;
        Some(Doc::new(row, format!("{}/synthesis", FileStem::from_id(session_id))))
    }

    /// Takes a result in, in place of an earlier one of the same agent.
    pub fn fold(&mut self, result: &AgentResult) {
        self.forget(&result.agent_id);
        self.agents.push(Source {
            id: result.agent_id.clone(),
            kind: result.kind.clone(),
            task: result.task.clone(),
            status: result.status.clone(),
            findings: result.findings.len() as u64,
            report_lines: result.report_lines,
            ..Source::default()
        });
        crate::core::text::keep_newest(&mut self.agents, AGENTS);
        for finding in &result.findings {
            self.merge(finding, &result.agent_id);
        }
        for text in &result.recommendations {
            if !self.recommendations.iter().any(|have| same_title(have, text)) {
                self.recommendations.push(text.clone());
            }
        }
        self.recommendations.truncate(RECOMMENDATIONS);
        self.findings.sort_by(|a, b| a.finding.severity.cmp(&b.finding.severity));
        self.findings.truncate(FINDINGS);
        self.count();
    }

    /// Fills in what became certain about an agent after its result was folded in.
    pub fn name_task(&mut self, agent_id: &str, task: &str) {
        if let Some(source) = self.agents.iter_mut().find(|source| source.id == agent_id) {
            source.task = Some(task.to_owned());
        }
    }

    fn forget(&mut self, agent_id: &str) {
        self.agents.retain(|source| source.id != agent_id);
        for merged in &mut self.findings {
            merged.agents.retain(|id| id != agent_id);
        }
        self.findings.retain(|merged| !merged.agents.is_empty());
    }

    fn merge(&mut self, finding: &Finding, agent_id: &str) {
        let same = |merged: &&mut Merged| {
            let have = &merged.finding;
            have.file == finding.file && same_title(&have.title, &finding.title)
        };
        if let Some(merged) = self.findings.iter_mut().find(same) {
            let have = &mut merged.finding;
            have.severity = have.severity.clone().min(finding.severity.clone());
            if have.recommendation.is_empty() {
                have.recommendation.clone_from(&finding.recommendation);
            }
            if !merged.agents.iter().any(|id| id == agent_id) {
                merged.agents.push(agent_id.to_owned());
                crate::core::text::keep_newest(&mut merged.agents, SOURCES);
            }
            return;
        }
        self.findings.push(Merged { finding: finding.clone(), agents: vec![agent_id.to_owned()] });
    }

    fn count(&mut self) {
        let of = |severity: &str| {
            self.findings.iter().filter(|merged| merged.finding.severity == severity).count() as u64
        };
        self.summary = Summary {
            total: self.findings.len() as u64,
            s0: of("S0"),
            s1: of("S1"),
            s2: of("S2"),
            s3: of("S3"),
            extra: std::mem::take(&mut self.summary.extra),
        };
    }
}

fn same_title(a: &str, b: &str) -> bool {
    a.trim_end_matches('.').eq_ignore_ascii_case(b.trim_end_matches('.'))
}

document!(
    Synthesis,
    Row {
        name: "synthesis",
        is_on: |systems| systems.agents,
        path: "state/agents/results/synthesis.json",
        also_at: &["state/agents/results-archive/{session-id}/synthesis.json"],
        schema: "synthesis",
        title: "Synthesis",
        about: "all findings of a session",
        status: Some(StatusPart { place: 40, read: panel::section }),
        ..Row::EPHEMERAL
    }
);

/// The synthesis of a live session while another's is in its place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ParkedSynthesis(pub Synthesis);

document!(ParkedSynthesis by str, Row {
    name: "parked-synthesis",
    is_on: |systems| systems.agents,
    path: "state/agents/synthesis/{session-id}.json",
    schema: "synthesis",
    title: "Parked synthesis",
    about: "the findings of a session while another's are in their place",
    ..Row::EPHEMERAL
}, Doc::by_id, schema: Synthesis);

#[cfg(test)]
mod tests {
    use super::*;

    fn result(id: &str, findings: &[(&str, &str)]) -> AgentResult {
        AgentResult {
            agent_id: id.into(),
            findings: findings
                .iter()
                .map(|&(severity, title)| Finding {
                    severity: severity.into(),
                    title: title.into(),
                    ..Finding::default()
                })
                .collect(),
            ..AgentResult::default()
        }
    }

    #[test]
    fn folding_twice_changes_nothing_and_duplicates_share_their_sources() {
        let mut synthesis = Synthesis::new("s");
        synthesis.fold(&result("a", &[("S2", "No tests"), ("S3", "Typo")]));
        synthesis.fold(&result("b", &[("S1", "no tests.")]));
        let once = synthesis.clone();
        synthesis.fold(&result("b", &[("S1", "no tests.")]));
        assert_eq!(synthesis.summary, once.summary);
        assert_eq!(synthesis.findings[0].finding.severity, "S1");
        assert_eq!(synthesis.findings[0].agents, ["a", "b"]);
        assert_eq!(synthesis.summary.total, 2);
    }
}
