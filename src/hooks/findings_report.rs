//! What the parent is told of its agents' findings, once per synthesis.

use crate::agents::synthesis::{Merged, Synthesis};
use crate::core::gate::Words;
use crate::core::text::{in_parentheses, plural};
use crate::session::live::Live;

const SHOWN: usize = 10;

/// Whether there is something to tell: every agent has ended, and something new was found.
pub fn is_due(live: &Live) -> bool {
    live.agents.is_empty() && live.untold_findings > 0
}

/// The text, and the mark that it was given.
pub fn report(live: &mut Live, synthesis: &Synthesis) -> Option<Words> {
    live.untold_findings = 0;
    if synthesis.findings.is_empty() {
        return None;
    }
    Some(text(synthesis))
}

pub fn text(synthesis: &Synthesis) -> Words {
    let summary = &synthesis.summary;
    let counts = [("S0", summary.s0), ("S1", summary.s1), ("S2", summary.s2), ("S3", summary.s3)];
    let counts: Vec<String> = counts
        .iter()
        .filter(|(_, count)| *count > 0)
        .map(|(severity, count)| format!("{count} {severity}"))
        .collect();
    // What is not marked is not counted: how long the reports are says how much else there may be.
    let length: u64 = synthesis.agents.iter().map(|agent| agent.report_lines).sum();
    let length = plural(length as usize, "line");
    let whole = match synthesis.agents.len() {
        1 => format!("the report has {length}"),
        agents => format!("the reports of {agents} agents have {length}"),
    };
    let mut lines = vec![format!(
        "HookKeeper: {} ({}); {whole}.",
        plural(synthesis.findings.len(), "marked finding"),
        counts.join(", "),
    )];
    for Merged { finding, .. } in synthesis.findings.iter().take(SHOWN) {
        let place = in_parentheses(finding.file.as_deref(), finding.line);
        lines.push(format!("- {} {}{place}", finding.severity, finding.title));
    }
    let more = synthesis.findings.len().saturating_sub(SHOWN);
    if more > 0 {
        lines.push(format!("- and {more} more"));
    }
    lines.push("All of them, with sources: .claude/state/agents/results/synthesis.json".into());
    Words::lines(lines)
}
