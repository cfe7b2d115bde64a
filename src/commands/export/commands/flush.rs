//! `hookkeeper export flush` and `backfill`.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use crate::console::project::{Project, print_json};
use crate::console::projects::known_projects;
use crate::core::journal::EntryKind;
use crate::core::json::Object;
use crate::core::outcome::Outcome;
use crate::core::text::plural;
use crate::core::time;
use crate::export::commands::exporter::{self, Asked, Done};
use crate::export::flush::Flushed;
use crate::export::standing;
use crate::history::commands::since;
use crate::process::deadline::Deadline;
use crate::process::stdin::{self, Payload};
use crate::store::journal;
use crate::store::journal::read::Order;
use crate::store::view::View;

#[derive(clap::Args)]
pub struct Arguments {
    /// All projects of this user, not only this one
    #[arg(long)]
    all_projects: bool,
    /// As an async hook: the payload comes on stdin, nothing is printed, nothing ever fails
    #[arg(long, conflicts_with_all = ["all_projects", "json"])]
    hook: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
pub struct BackfillArguments {
    /// Not what is older: 7d, 30d, or a local date
    #[arg(long, value_name = "WHEN")]
    since: String,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Somebody who sends is waited for so long.
const PATIENCE: Duration = Duration::from_secs(10);
const HOOK_PATIENCE: Duration = Duration::from_secs(5);
const LIMIT: Duration = Duration::from_secs(600);
const HOOK_LIMIT: Duration = Duration::from_secs(20);
/// The hook that writes the line runs at the same time.
const AFTER_THE_HOOK: Duration = Duration::from_millis(200);
/// A session's last line is waited for so long.
const LAST_LINE: Duration = Duration::from_secs(3);

pub fn run(project: &Project, options: &Arguments) -> anyhow::Result<Outcome> {
    if options.hook {
        // Whatever is wrong is in the cursor, for `status` and `doctor`.
        let _ = as_hook(project);
        return Ok(Outcome::quiet());
    }
    let roots: Vec<PathBuf> = match options.all_projects {
        true => known_projects(project).into_iter().map(|known| known.root).collect(),
        false => vec![project.root()?],
    };
    let asked = Asked {
        patience: PATIENCE,
        is_urgent: true,
        with_metrics: true,
        limit: LIMIT,
        again_since: None,
    };
    let mut lines = Vec::new();
    let mut all = Vec::new();
    let mut failed = Vec::new();
    for root in roots {
        let settings = standing::settings(project.process, &root);
        let name = match options.all_projects {
            true => format!("{}: ", project.shown(&root)),
            false => String::new(),
        };
        // One project does not stand in the way of the others.
        let done = match exporter::flush(project, &root, &settings, asked) {
            Ok(done) => done,
            Err(error) if options.all_projects => {
                let why = format!("{error:#}");
                all.push(json!({"project": project.shown(&root), "flushed": null, "why": why}));
                failed.push(format!("{name}{why}"));
                continue;
            }
            Err(error) => return Err(error),
        };
        failed.extend(trouble(&done).map(|why| format!("{name}{why}")));
        let mut told = flush_as_json(&done);
        if let (true, Some(told)) = (options.all_projects, told.as_object_mut()) {
            told.insert("project".into(), project.shown(&root).into());
        }
        all.push(told);
        lines.push(format!("{name}{}", flush_in_words(&done)));
    }
    let code = u8::from(!failed.is_empty());
    let stderr = (code > 0).then(|| failed.join("\n").into());
    let stdout = match (options.json, options.all_projects) {
        (true, true) => print_json(&json!({"projects": all}))?.stdout,
        (true, false) => print_json(&all.into_iter().next().unwrap_or_default())?.stdout,
        (false, _) => Some(lines.join("\n").into()),
    };
    Ok(Outcome { stdout, stderr, code })
}

/// Why not all of it arrived.
fn trouble(done: &Done) -> Option<String> {
    match done {
        Done::Flushed(Flushed { trouble: Some(why), .. }) => {
            Some(format!("not all was sent: {why}"))
        }
        _ => None,
    }
}

pub fn backfill(project: &Project, options: &BackfillArguments) -> anyhow::Result<Outcome> {
    let since = since(project, Some(&options.since))?.unwrap_or_default();
    let root = project.root()?;
    let settings = standing::settings(project.process, &root);
    let asked = Asked {
        patience: PATIENCE,
        is_urgent: true,
        with_metrics: false,
        limit: LIMIT,
        again_since: Some(&since),
    };
    let done = exporter::flush(project, &root, &settings, asked)?;
    let failed = trouble(&done);
    let code = u8::from(failed.is_some());
    let stdout = match options.json {
        true => print_json(&flush_as_json(&done))?.stdout,
        false => Some(flush_in_words(&done).into()),
    };
    Ok(Outcome { stdout, stderr: failed.map(Into::into), code })
}

fn flush_in_words(done: &Done) -> String {
    match done {
        Done::Flushed(flushed) => {
            let count =
                |count: u64, what: &str| plural(usize::try_from(count).unwrap_or(usize::MAX), what);
            let mut text = format!(
                "Sent {} and {} of {}",
                count(flushed.logs, "log record"),
                count(flushed.spans, "span"),
                count(flushed.lines, "line"),
            );
            if flushed.points > 0 {
                text.push_str(&format!(", {}", count(flushed.points, "metric")));
            }
            if flushed.refused > 0 {
                text.push_str(&format!("; {} not taken", count(flushed.refused, "record")));
            }
            if flushed.is_cut {
                text.push_str("; there is more, and the time was over");
            }
            text + "."
        }
        Done::NoState => "There is no state here yet.".into(),
        Done::Off => "`systems.export` is off in this project: nothing is sent.".into(),
        Done::Busy => "Somebody else is sending; nothing was done.".into(),
        Done::TooEarly(next) => format!("After a failure it waits until {next}."),
    }
}

/// What a flush came to, for programs.
fn flush_as_json(done: &Done) -> Value {
    match done {
        Done::Flushed(flushed) => json!({"flushed": flushed, "bytes_on_the_wire": flushed.sent}),
        other => json!({"flushed": null, "why": flush_in_words(other)}),
    }
}

/// Beside the client's turn. At a session's end its last line is waited for: that hook runs at the
/// same time, and nobody else would send it.
fn as_hook(project: &Project) -> anyhow::Result<()> {
    let (Payload::Whole(bytes) | Payload::Refused(bytes, _)) = stdin::read();
    let payload = Object::parse(&bytes).ok();
    let root = project.root()?;
    let settings = standing::settings(project.process, &root);
    if !settings.is_on() {
        return Ok(());
    }
    let text = |key: &str| payload.as_ref().and_then(|payload| payload.word(key));
    let session =
        text("session_id").filter(|_| text("hook_event_name").as_deref() == Some("SessionEnd"));
    match session {
        Some(session) => wait_for_end(project, &root, &session),
        None => std::thread::sleep(AFTER_THE_HOOK),
    }
    let asked = Asked {
        patience: HOOK_PATIENCE,
        is_urgent: false,
        with_metrics: false,
        limit: HOOK_LIMIT,
        again_since: None,
    };
    exporter::flush(project, &root, &settings, asked)?;
    Ok(())
}

fn wait_for_end(project: &Project, root: &std::path::Path, session: &str) {
    let deadline = Deadline::after(LAST_LINE);
    let began = time::spell_millis(project.process.now() - chrono::TimeDelta::seconds(5));
    loop {
        std::thread::sleep(AFTER_THE_HOOK / 2);
        let view = View::open_quickly(root, project.process.home().as_deref()).ok().flatten();
        let has_ended = view.is_some_and(|view| {
            let journal = view.journal();
            let newest = journal.of_stem(&journal::stem(session), Order::NewestFirst);
            newest.take(10).any(|line| line.kind == EntryKind::End && line.time >= began)
        });
        if has_ended || deadline.is_over() {
            return;
        }
    }
}
