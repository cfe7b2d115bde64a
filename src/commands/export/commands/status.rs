//! `hookkeeper export status`: where it goes, how far it is, what waits, what was lost.

use serde_json::json;

use crate::console::project::{Project, print_json};
use crate::core::gate::Printed;
use crate::core::outcome::Outcome;
use crate::core::text::plural;
use crate::export::cursor::{LOST_PLACE, SEND_AGAIN};
use crate::export::settings::ExportSettings;
use crate::export::standing;

#[derive(clap::Args)]
pub struct Arguments {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub fn run(project: &Project, options: &Arguments) -> anyhow::Result<Outcome> {
    let settings = standing::settings(project.process, &project.root()?);
    let view = project.view()?;
    let (cursor, backlog) = match &view {
        Some(view) => standing::standing(view, project.process.now())?,
        None => Default::default(),
    };
    let lines_waiting = cursor.lines_in(backlog.bytes);
    if options.json {
        return print_json(&json!({
            "on": settings.is_on(),
            "endpoint": settings.endpoint.as_ref().map(|endpoint| &endpoint.url),
            "faults": settings.faults,
            "blocked": settings.blocked,
            "headers": settings.has_headers(),
            "send": what_is_sent(&settings),
            "waiting": {"bytes": backlog.bytes, "sessions": backlog.sessions, "lines_about": lines_waiting},
            "sent": cursor.sent, "dropped": cursor.dropped, "last_success": cursor.last_success,
            "trouble": cursor.trouble, "lost_place": cursor.lost_place,
        }));
    }
    let mut out = Printed::default();
    match &settings.endpoint {
        Some(endpoint) => {
            out.line(format!("Endpoint: {}", endpoint.url));
            out.line(format!("Sent are {}", what_is_sent(&settings).join(", ")));
            if settings.has_headers() && !endpoint.is_https && !endpoint.is_loopback {
                out.line("Warning: headers go over the network without https.");
            }
        }
        None if settings.is_off => {
            out.line("Export is off: `export.off` or HOOKKEEPER_OTLP_OFF says so.");
        }
        None => out.line("Export is off: no endpoint is set."),
    }
    if let Some(why) = &settings.blocked {
        out.line(format!("Nothing is sent: {why}"));
    }
    settings.faults.iter().for_each(|fault| out.line(format!("Warning: {fault}")));
    if let Some(last) = &cursor.last_success {
        let count = |count: u64, what: &str| plural(usize::try_from(count).unwrap_or(0), what);
        let (logs, spans) =
            (count(cursor.sent.logs, "log record"), count(cursor.sent.spans, "span"));
        out.line(format!("So far: {logs}, {spans}; the last time {}", project.moment(last)));
    }
    if settings.is_on() {
        let sessions = plural(backlog.sessions, "session");
        out.line(match backlog.bytes {
            0 if cursor.last_success.is_none() => "Nothing was sent yet. Who sends: the hook that \
                `hookkeeper install` wires (not into a shared file), `hookkeeper export follow`, or \
                `hookkeeper export flush`. \
                What ended before is sent by `hookkeeper export backfill`."
                .to_owned(),
            0 => "Nothing waits.".to_owned(),
            _ => format!("Waiting: about {} of {sessions}", lines(lines_waiting)),
        });
    }
    if let Some(trouble) = &cursor.trouble {
        let (since, next) = (project.moment(&trouble.since), project.moment(&trouble.next));
        let tries = plural(usize::try_from(trouble.tries).unwrap_or(0), "try");
        out.line(format!("Not sent since {since} ({tries}): {}", trouble.what));
        out.line(format!(
            "The next try is not before {next}; `hookkeeper export flush` does not wait."
        ));
    }
    let dropped = &cursor.dropped;
    if dropped.bytes > 0 {
        let lines = lines(cursor.lines_in(dropped.bytes));
        let files = plural(usize::try_from(dropped.sessions).unwrap_or(0), "journal");
        out.line(format!("Lost: about {lines} of {files} that went before they were sent"));
    }
    if let Some(when) = &cursor.lost_place {
        let when = project.moment(when);
        out.line(format!("Since {when} {LOST_PLACE}; {SEND_AGAIN}"));
    }
    if dropped.refused > 0 {
        let why = dropped.why.as_deref().unwrap_or("it does not say why");
        out.line(format!("Not taken by the endpoint: {} records ({why})", dropped.refused));
    }
    Ok(Outcome::printed(out.trimmed()))
}

fn lines(count: u64) -> String {
    plural(usize::try_from(count).unwrap_or(usize::MAX), "line")
}

fn what_is_sent(settings: &ExportSettings) -> Vec<&'static str> {
    let send = settings.send;
    let all = [
        (send.logs, "logs"),
        (send.traces, "traces"),
        (send.metrics, "metrics"),
        (send.prompts, "prompts"),
        (send.reports, "reports"),
    ];
    all.into_iter().filter(|(is_sent, _)| *is_sent).map(|(_, name)| name).collect()
}
