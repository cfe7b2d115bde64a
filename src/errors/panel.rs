//! What `status` shows of errors: those that have not recovered, and what becomes of them.

use serde_json::json;

use crate::core::table::{Cell, Table, Tone};
use crate::core::time::{self, Time};
use crate::errors::document::{ESCALATED, Errors, PENDING, RECOVERED, Record};
use crate::state::panel::{Detail, Panel, PanelContext, Section, since};

pub fn section(context: &PanelContext) -> Section {
    let errors = context.state.get::<Errors>().cloned().unwrap_or_default();
    Section::new([("errors", json!(errors))], move |now| Some(panel(&errors, now)))
}

fn panel(errors: &Errors, now: Time) -> Panel {
    let row = |record: &Record| {
        let (tone, becomes) = match record.status.as_str() {
            PENDING if is_due(record, now) => (Tone::Warn, retry(record, "now")),
            PENDING => {
                let at = record.next_retry.as_deref().unwrap_or_default();
                let wait = time::seconds_between(&time::spell(now), at).unwrap_or(0);
                (Tone::Warn, retry(record, &format!("in {}", time::human(wait))))
            }
            ESCALATED => (Tone::Bad, "escalated".to_owned()),
            other => (Tone::Plain, other.replace('_', " ")),
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
            0 => "none".into(),
            total => format!(
                "{total} in all, {} pending, {} recovered, {} escalated",
                summary.pending, summary.recovered, summary.escalated
            ),
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
    let Record { target, message, status, last_seen, .. } = record;
    let status = status.replace('_', " ");
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
    record.status == PENDING && at.is_none_or(|at| at <= now)
}

fn retry(record: &Record, when: &str) -> String {
    format!("retry {} of {} {when}", record.retry_count, record.max_retries)
}
