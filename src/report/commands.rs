//! `hookkeeper report`: one HTML file about a session, or about all since a time.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use crate::client::hook_runs::{self, HookRun};
use crate::console::project::Project;
use crate::console::projects::{KnownProject, known_projects};
use crate::core::gate::shell_word;
use crate::core::outcome::Outcome;
use crate::core::spelling::short_id;
use crate::core::text::plural;
use crate::core::time;
use crate::doctor::gather::transcripts_dir;
use crate::history::commands::{session_stem, since};
use crate::history::ledger;
use crate::process::{browser, output};
use crate::report::page::{MARKER, Report};
use crate::report::session::Session;
use crate::report::text::Clock;
use crate::session::live::Live;
use crate::session::metrics::Metrics;
use crate::store::journal::{self, Journal, read::Order};
use crate::store::view::View;
use crate::turn::root;

/// Transcripts that are searched for hook runs, the newest ones.
const TRANSCRIPTS: usize = 200;

const NONE: &str = "there is no session here yet to report on";

/// How far a report on all projects goes back if nobody says.
const ALL_SINCE: &str = "7d";

#[derive(clap::Args)]
pub struct Arguments {
    /// One session, by its id or the beginning of it (default: the newest)
    #[arg(conflicts_with = "since")]
    session: Option<String>,
    /// All sessions since then: 2h, 7d, or a local date
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// All sessions of all projects where HookKeeper has kept state (default: of seven days)
    #[arg(long, conflicts_with = "session")]
    all_projects: bool,
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
    let default = options.all_projects.then_some(ALL_SINCE);
    let asked = options.since.as_deref().or(default);
    let since = since(project, asked)?;
    let progress = project.progress("writing the report");
    let places = places(project, options.all_projects)?;
    let (mut sessions, mut hook_runs) = (Vec::new(), Vec::new());
    for place in &places {
        let found = place.sessions(project, options.session.as_deref(), since.as_deref())?;
        hook_runs.extend(noted_runs(project, &place.view, &place.root, &found));
        sessions.extend(found);
    }
    if sessions.is_empty() {
        bail!("nothing has happened since {}", asked.unwrap_or("then"));
    }
    sessions.sort_by_key(|session| std::cmp::Reverse(session.span()));
    let now = project.process.now();
    let today = project.process.local(now).format("%Y-%m-%d").to_string();
    let file = match (&options.output, sessions.as_slice()) {
        (Some(file), _) => file.clone(),
        (None, [session]) if since.is_none() => {
            file_name(&short_id(&journal::stem(&session.id), &[]))
        }
        (None, _) if options.all_projects => file_name(&format!("all-{today}")),
        _ => file_name(&today),
    };
    let cwd = project.process.cwd().context("there is no working directory")?;
    let file = cwd.join(file);
    let root = project.root()?;
    let report = Report {
        project: match options.all_projects {
            true => "All projects".to_owned(),
            false => root.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        },
        hook_runs,
        sessions,
        since: since.as_deref().and_then(time::parse).map(|time| time.timestamp_millis()),
        made: now.timestamp_millis(),
        clock: Clock { process: project.process },
    };
    let page = report.html();
    output::write(&file, page.as_bytes(), MARKER.as_bytes(), options.force)
        .with_context(|| format!("the report cannot be written: {}", file.display()))?;
    drop(progress);
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

/// A project that is reported on.
struct Place {
    root: PathBuf,
    view: View,
    lives: Vec<Live>,
    metrics: Metrics,
    /// As a report on all projects names it: a linked worktree with its checkout.
    name: Option<String>,
}

fn places(project: &Project, all: bool) -> anyhow::Result<Vec<Place>> {
    if !all {
        let Some(view) = project.view()? else { bail!("{}", project.nothing_here(NONE)?) };
        let metrics = project.document()?.unwrap_or_default();
        return Ok(vec![Place {
            root: project.root()?,
            lives: view.lives(),
            view,
            metrics,
            name: None,
        }]);
    }
    let home = project.process.home();
    let place = |known: KnownProject| {
        let mut name = root::from_home(&known.repository, home.as_deref());
        if known.is_worktree() {
            let own = known.root.file_name().unwrap_or_default().to_string_lossy();
            name = format!("{name} + {own}");
        }
        // What happened there is told, whatever has become of its metrics.
        let metrics = known.view.get::<Metrics>().unwrap_or_default();
        let lives = known.view.lives();
        Place { root: known.root, view: known.view, lives, metrics, name: Some(name) }
    };
    Ok(known_projects(project).into_iter().map(place).collect())
}

impl Place {
    fn sessions(
        &self,
        project: &Project,
        named: Option<&str>,
        since: Option<&str>,
    ) -> anyhow::Result<Vec<Session>> {
        let journal = self.view.journal();
        let stems = stems(project, &journal, named, since)?;
        let sessions = stems.iter().map(|stem| self.session(&journal, stem, since, project));
        Ok(sessions.filter(|session| since.is_none() || !session.entries.is_empty()).collect())
    }

    fn session(
        &self,
        journal: &Journal,
        stem: &str,
        since: Option<&str>,
        project: &Project,
    ) -> Session {
        let mut all = journal.of_stem(stem, Order::OldestFirst);
        let is_new = |time: &str| since.is_none_or(|since| time >= since);
        let mut entries: Vec<_> = all.by_ref().filter(|entry| is_new(&entry.time)).collect();
        // What waited in the spool stands where it was played.
        entries.sort_by(|one, other| one.time.cmp(&other.time));
        let id = entries.first().map_or(stem, |entry| entry.session.as_str()).to_owned();
        // Whole days, as `cost` counts them.
        let day = since.and_then(|since| since.get(..10));
        let now = project.process.now();
        let known = ledger::session(&self.view, &self.lives, &self.metrics, &id, day, now);
        let (passed_over, project) = (all.passed_over(), self.name.clone());
        Session { passed_over, project, ..Session::new(id, entries, known, day) }
    }
}

/// The journals that are asked for.
fn stems(
    project: &Project,
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
        bail!("{}", project.nothing_here(NONE)?);
    }
    Ok(files.into_iter().map(|files| files.stem).collect())
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
