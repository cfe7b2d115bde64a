//! What agents found, the worst first.

use maud::{Markup, html};

use crate::agents::result::Finding;
use crate::core::text::{file_and_line, plural};
use crate::report::session::Session;
use crate::report::text::line;

/// More are counted only.
const MOST: usize = 300;
const SEVERITIES: [&str; 4] = ["S0", "S1", "S2", "S3"];

pub fn count(sessions: &[Session]) -> usize {
    all(sessions).len()
}

/// Findings with the agents that found them.
fn all(sessions: &[Session]) -> Vec<(String, Finding)> {
    let mut found = Vec::new();
    for result in sessions.iter().flat_map(Session::results) {
        let who = result.task.as_deref().unwrap_or(&result.kind).to_owned();
        found.extend(result.findings.into_iter().map(|finding| (who.clone(), finding)));
    }
    found.sort_by(|(_, one), (_, other)| one.severity.cmp(&other.severity));
    found
}

pub fn section(sessions: &[Session]) -> Markup {
    let found = all(sessions);
    let count = |severity: &str| found.iter().filter(|(_, one)| one.severity == severity).count();
    html! {
        @if found.is_empty() { p.none { "No agent has reported a finding." } }
        @else {
            p.badges {
                @for severity in SEVERITIES {
                    span.severity.(severity) { b { (severity) } " " (count(severity)) }
                }
            }
            ul.findings {
                @for (who, finding) in found.iter().take(MOST) { (item(who, finding)) }
            }
            @if found.len() > MOST { p.none { (plural(found.len() - MOST, "finding")) " more." } }
        }
    }
}

fn item(who: &str, finding: &Finding) -> Markup {
    let known = SEVERITIES.iter().find(|known| **known == finding.severity);
    let place = file_and_line(finding.file.as_deref(), finding.line);
    html! {
        li {
            span.severity.(known.copied().unwrap_or("S3")) { b { (line(&finding.severity, 10)) } }
            div {
                strong { (line(&finding.title, 300)) }
                @if let Some(place) = place { " " code { (line(&place, 200)) } }
                @if !finding.details.is_empty() && finding.details != finding.title { p { (line(&finding.details, 700)) } }
                @if !finding.recommendation.is_empty() { p.advice { "→ " (line(&finding.recommendation, 400)) } }
                small { (line(&finding.category, 60)) @if !finding.category.is_empty() { " · " } (line(who, 120)) }
            }
        }
    }
}
