//! `hookkeeper report`: one HTML file about a session, or about all since a time.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use crate::client::hook_runs::{self, HookRun};
use crate::console::project::Project;
use crate::core::gate::shell_word;
use crate::core::outcome::Outcome;
use crate::core::text::plural;
use crate::core::time;
use crate::doctor::gather::transcripts_dir;
use crate::history::commands::{session_stem, since};
use crate::process::{browser, output};
use crate::report::page::{MARKER, Report};
use crate::report::session::Session;
use crate::report::text::Clock;
use crate::session::metrics::Metrics;
use crate::store::journal::{self, Journal, read::Order};
use crate::store::view::View;

/// Transcripts that are searched for hook runs, the newest ones.
const TRANSCRIPTS: usize = 200;

#[derive(clap::Args)]
pub struct Arguments {
    /// One session, by its id or the beginning of it (default: the newest)
    #[arg(conflicts_with = "since")]
    session: Option<String>,
    /// All sessions since then: 2h, 7d, or a date
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// Where to write it (default: hookkeeper-report-….html, here)
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace a file that is no report
    #[arg(long)]
    force: bool,
    /// Show it in the browser
    #[arg(long)]
    open: bool,
}

pub fn run(project: &Project, options: &Arguments) -> anyhow::Result<Outcome> {
    let since = since(project, options.since.as_deref())?;
    let Some(view) = project.view()? else { bail!("there is no session here yet to report on") };
    let journal = view.journal();
    let stems = stems(&journal, options.session.as_deref(), since.as_deref())?;
    let metrics: Metrics = project.document()?.unwrap_or_default();
    let mut sessions: Vec<Session> = stems
        .iter()
        .map(|stem| read_session(&journal, stem, since.as_deref(), &metrics))
        .filter(|session| since.is_none() || !session.entries.is_empty())
        .collect();
    if sessions.is_empty() {
        bail!("nothing has happened since {}", options.since.as_deref().unwrap_or("then"));
    }
    sessions.sort_by_key(|session| std::cmp::Reverse(session.span()));
    let now = project.process.now();
    let file = match (&options.output, stems.as_slice()) {
        (Some(file), _) => file.clone(),
        (None, [stem]) if since.is_none() => file_name(stem.get(..8).unwrap_or(stem)),
        _ => file_name(&project.process.local(now).format("%Y-%m-%d").to_string()),
    };
    let cwd = project.process.cwd().context("there is no working directory")?;
    let file = cwd.join(file);
    let root = project.root()?;
    let report = Report {
        project: root.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        hook_runs: noted_runs(project, &view, &root, &sessions),
        sessions,
        since: since.as_deref().and_then(time::parse).map(|time| time.timestamp_millis()),
        made: now.timestamp_millis(),
        clock: Clock { process: project.process },
    };
    let page = report.html();
    output::write(&file, page.as_bytes(), MARKER.as_bytes(), options.force)
        .with_context(|| format!("the report cannot be written: {}", file.display()))?;
    if options.open {
        browser::open(project.process, &file).with_context(|| {
            format!("the report is written, but no browser shows it: {}", file.display())
        })?;
    }
    let shown = match file.strip_prefix(&cwd) {
        Ok(relative) => relative.to_owned(),
        Err(_) => file.clone(),
    };
    Ok(Outcome::printed(format!(
        "{}: {}, {} KB",
        shell_word(&shown.to_string_lossy()),
        plural(report.sessions.len(), "session"),
        page.len().div_ceil(1024)
    )))
}

/// The journals that are asked for.
fn stems(
    journal: &Journal,
    named: Option<&str>,
    since: Option<&str>,
) -> anyhow::Result<Vec<String>> {
    if let Some(named) = named {
        return Ok(vec![session_stem(journal, named)?]);
    }
    let mut files = journal.sessions();
    files.retain(|files| files.stem != journal::stem(""));
    match since.and_then(time::parse) {
        Some(since) => files.retain(|files| files.modified >= since.timestamp()),
        None => files.truncate(1),
    }
    if files.is_empty() && since.is_none() {
        bail!("there is no session here yet to report on");
    }
    Ok(files.into_iter().map(|files| files.stem).collect())
}

fn read_session(journal: &Journal, stem: &str, since: Option<&str>, metrics: &Metrics) -> Session {
    let mut all = journal.of_stem(stem, Order::OldestFirst);
    let is_new = |time: &str| since.is_none_or(|since| time >= since);
    let mut entries: Vec<_> = all.by_ref().filter(|entry| is_new(&entry.time)).collect();
    // What waited in the spool stands where it was played.
    entries.sort_by(|one, other| one.time.cmp(&other.time));
    let id = entries.first().map_or(stem, |entry| entry.session.as_str()).to_owned();
    let metrics = metrics.find(&id);
    let passed_over = all.passed_over();
    Session { passed_over, ..Session::new(id, entries, metrics) }
}

/// `hookkeeper-report-0f3e8a2c.html`
fn file_name(part: &str) -> PathBuf {
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let part: String = part.chars().filter(is_plain).collect();
    format!("hookkeeper-report-{part}.html").into()
}

/// Hook runs in the transcripts of these sessions and their agents.
fn noted_runs(project: &Project, view: &View, root: &Path, sessions: &[Session]) -> Vec<HookRun> {
    let dir = project.process.client_dir().map(|dir| transcripts_dir(&dir, root));
    let mut found = dir.and_then(|dir| hook_runs::transcripts(&dir).ok()).unwrap_or_default();
    for live in view.lives() {
        let transcript = live.transcript_path.as_deref().map(Path::new);
        found.extend(transcript.map(hook_runs::of_session).unwrap_or_default());
    }
    let is_asked_for = |path: &Path| {
        let is_part =
            |id: &str| path.iter().any(|part| Path::new(part).file_stem() == Some(id.as_ref()));
        sessions.iter().any(|session| is_part(&session.id))
    };
    found.retain(|(_, path)| is_asked_for(path));
    found.sort_by(|one, other| other.cmp(one));
    found.dedup_by(|one, other| one.1 == other.1);
    found.iter().take(TRANSCRIPTS).flat_map(|(_, path)| hook_runs::read(path)).collect()
}
