//! What `status` shows of findings.

use serde_json::json;

use crate::agents::synthesis::{Merged, Synthesis};
use crate::core::table::{Cell, Table, Tone};
use crate::core::text::{clip, file_and_line};
use crate::state::panel::{Detail, Panel, PanelContext, Section, severity};

/// On a screen it is merged with what there is to do.
pub const TITLE: &str = "Findings";

pub fn section(context: &PanelContext) -> Section {
    let synthesis = context.state.get::<Synthesis>().cloned();
    let summary = synthesis.as_ref().map(|synthesis| &synthesis.summary);
    let findings = synthesis.as_ref().map(|synthesis| &synthesis.findings);
    let json = [("synthesis", json!(summary)), ("findings", json!(findings))];
    Section::new(json, move |_| panel(synthesis.as_ref()?))
}

fn panel(synthesis: &Synthesis) -> Option<Panel> {
    let rows = synthesis.findings.iter().map(|merged| {
        let finding = &merged.finding;
        let tone = severity(&finding.severity);
        let title = Cell::new(Tone::Plain, &finding.title);
        let place = file_and_line(finding.file.as_deref(), finding.line).unwrap_or_default();
        vec![Cell::new(tone, &finding.severity), Cell::new(Tone::Dim, &clip(&place, 28)), title]
    });
    let count = &synthesis.summary;
    let counts = [("S0", count.s0), ("S1", count.s1), ("S2", count.s2), ("S3", count.s3)];
    let counts = counts.iter().filter(|(_, count)| *count > 0);
    let counts: Vec<_> = counts.map(|(name, count)| format!("{count} {name}")).collect();
    let panel = Panel {
        title: TITLE,
        details: synthesis.findings.iter().map(|found| detail(synthesis, found)).collect(),
        says: format!("{} ({})", synthesis.findings.len(), counts.join(", ")),
        tone: if count.s0 > 0 { Tone::Bad } else { Tone::Plain },
        table: Table::new(&[0, 2, 1], rows.collect()),
        brief: 8,
        ..Panel::default()
    };
    panel.unless_empty()
}

/// What was found, and the journal of who found it: its report is there.
fn detail(synthesis: &Synthesis, merged: &Merged) -> Detail {
    let finding = &merged.finding;
    let place = file_and_line(finding.file.as_deref(), finding.line).unwrap_or_default();
    let parts = [finding.title.as_str(), &place, &finding.details, &finding.recommendation];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    Detail {
        title: format!("Finding {}", finding.severity),
        text: format!("{}\nFound by: {}\n", parts.join("\n"), merged.agents.join(", ")),
        session: Some(synthesis.session_id.clone()),
        agent: merged.agents.first().cloned(),
        ..Detail::default()
    }
}
