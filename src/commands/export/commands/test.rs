//! `hookkeeper export test`: one record of each kind, and what becomes of it.

use crate::console::project::Project;
use crate::core::outcome::Outcome;
use crate::export::answer::{self, Verdict};
use crate::export::commands::exporter;
use crate::export::counters::gauge;
use crate::export::flush::Transport as _;
use crate::export::ids;
use crate::export::otlp::{
    Attributes, INTERNAL, LogRecord, Request, Signal, Span, Status, Value, nanos,
};
use crate::export::standing;

#[derive(clap::Args)]
pub struct Arguments {}

pub fn run(project: &Project, _: &Arguments) -> anyhow::Result<Outcome> {
    let root = project.root()?;
    let settings = standing::settings(project.process, &root);
    let mut http = exporter::connect(project, &settings)?;
    let now = project.process.now();
    let id = project.process.fresh_id("export test");
    let resource = exporter::resource(project, &root, &settings);
    let mut lines: Vec<String> =
        settings.faults.iter().map(|fault| format!("Note: {fault}")).collect();
    let mut failed = 0;
    for signal in Signal::ALL {
        if !settings.send.has(signal) {
            lines.push(format!("{}: off", signal.name()));
            continue;
        }
        let body = match signal {
            Signal::Logs => {
                Request { signal, resource: &resource, records: &[log(&id, now)] }.to_bytes()
            }
            Signal::Traces => {
                Request { signal, resource: &resource, records: &[span(&id, now)] }.to_bytes()
            }
            Signal::Metrics => {
                let test = gauge("hookkeeper.test", "1", "A test", 1, now);
                Request { signal, resource: &resource, records: &[test] }.to_bytes()
            }
        };
        let began = project.process.elapsed();
        let answer = http.post(signal, &body);
        let ms = (project.process.elapsed() - began).as_millis();
        let said = match answer::judge(signal, &answer, now) {
            Verdict::Taken { refused: 0, .. } => format!("taken ({ms} ms)"),
            Verdict::Taken { why, .. } => {
                failed += 1;
                format!("not taken: {}", why.unwrap_or_else(|| "it does not say why".into()))
            }
            Verdict::Refused(why) | Verdict::Later { why, .. } => {
                failed += 1;
                format!("not taken: {why}")
            }
            Verdict::TooLarge | Verdict::NotCompressed => {
                failed += 1;
                "not taken: it reads no JSON, or not so much of it".into()
            }
        };
        lines.push(format!("{}: {said}", signal.name()));
    }
    let stdout = Some(lines.join("\n").into());
    let stderr = (failed > 0).then(|| "the endpoint does not take everything".into());
    Ok(Outcome { stdout, stderr, code: u8::from(failed > 0) })
}

fn log(id: &str, now: crate::core::time::Time) -> LogRecord {
    let mut attributes = Attributes::default();
    attributes.text(crate::export::names::RECORD_UID, ids::hex(&["test", id], 16));
    LogRecord {
        time_unix_nano: nanos(now),
        observed_time_unix_nano: nanos(now),
        severity_number: 9,
        severity_text: "INFO",
        event_name: "hookkeeper.test".into(),
        body: Value::Text("a test of hookkeeper export".into()),
        attributes,
        trace_id: ids::trace(id),
        span_id: ids::session_span(id),
    }
}

fn span(id: &str, now: crate::core::time::Time) -> Span {
    Span {
        trace_id: ids::trace(id),
        span_id: ids::session_span(id),
        parent_span_id: String::new(),
        name: "hookkeeper test".into(),
        kind: INTERNAL,
        start_time_unix_nano: nanos(now),
        end_time_unix_nano: nanos(now),
        attributes: Attributes::default(),
        status: Status::default(),
    }
}
