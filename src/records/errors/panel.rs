//! What `status` shows of errors: those that have not recovered, and what becomes of them.

use serde_json::json;

use crate::core::table::{Cell, Table, Tone};
use crate::core::time::{self, Time};
use crate::errors::document::{ESCALATED, Errors, RECOVERED, Record, Tally};
use crate::errors::standing;
use crate::state::panel::{Detail, Panel, PanelContext, Section, since};

pub fn section(context: &PanelContext) -> Section {
    let errors = context.state.get::<Errors>().cloned().unwrap_or_default();
    let earlier = context.had_errors;
    Section::new([("errors", json!(errors))], move |now| Some(panel(&errors, earlier, now)))
}

/// `earlier`: sessions that have ended had errors.
fn panel(errors: &Errors, earlier: bool, now: Time) -> Panel {
    let row = |record: &Record| {
        let (tone, becomes) = match record.status.as_str() {
            _ if is_due(record, now) => (Tone::Warn, retry(record, "now")),
            _ if standing::is_pending(record) => {
                let at = record.next_retry.as_deref().unwrap_or_default();
                let wait = time::seconds_between(&time::spell(now), at).unwrap_or(0);
                (Tone::Warn, retry(record, &format!("in {}", time::human(wait))))
            }
            ESCALATED => (Tone::Bad, standing::word(record)),
            _ => (Tone::Plain, standing::word(record)),
        };
        vec![
            Cell::new(Tone::Strong, &record.classification.replace('_', " ")),
            Cell::new(tone, &becomes),
            Cell::new(Tone::Dim, &format!("{} ago", since(&record.last_seen, now))),
            Cell::new(Tone::Plain, &record.target),
        ]
    };
    let records = errors.records();
    let open = records.iter().rev().filter(|record| record.status != RECOVERED);
    let mut open: Vec<&Record> = open.collect();
    open.sort_by_key(|record| record.status != ESCALATED);
    let summary = &errors.summary;
    Panel {
        title: "Errors",
        says: match summary.total {
            0 if earlier => "none open".into(),
            0 => "none".into(),
            total => {
                let (recovered, escalated) = (summary.recovered, summary.escalated);
                let counted = Tally { total, recovered, escalated, ..Tally::default() };
                standing::totals(&records, &counted, "in all")
            }
        },
        tone: if summary.escalated > 0 { Tone::Bad } else { Tone::Plain },
        table: Table::new(&[2, 0, 3, 0], open.iter().copied().map(row).collect()),
        urgent: open.iter().filter(|record| record.status == ESCALATED).count(),
        details: open.iter().copied().map(detail).collect(),
        spare: 3,
        brief: 8,
        due: records.iter().filter(|record| is_due(record, now)).count(),
        ..Panel::default()
    }
}

fn detail(record: &Record) -> Detail {
    let Record { target, message, last_seen, .. } = record;
    let status = standing::word(record);
    Detail {
        title: format!("{} error", record.classification.replace('_', " ")),
        text: format!("Call: {target}\nStatus: {status}\n\n{message}\n"),
        time: Some(("Last seen", last_seen.clone())),
        ..Detail::default()
    }
}

/// Whether a retry is granted and its time has come.
fn is_due(record: &Record, now: Time) -> bool {
    let at = record.next_retry.as_deref().and_then(time::parse);
    standing::is_pending(record) && at.is_none_or(|at| at <= now)
}

fn retry(record: &Record, when: &str) -> String {
    format!("retry {} of {} {when}", record.retry_count, record.max_retries)
}
