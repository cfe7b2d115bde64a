//! `hookkeeper report`: one HTML file about a session, or about all since a time.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use crate::client::hook_runs::{self, HookRun};
use crate::console::project::{Project, one_of};
use crate::console::projects::{KnownProject, known_projects};
use crate::console::usage::usage;
use crate::core::gate::shell_word;
use crate::core::outcome::Outcome;
use crate::core::spelling::{distinct, short_id};
use crate::core::text::plural;
use crate::core::time;
use crate::doctor::gather::transcripts_dir;
use crate::history::commands::{ensure_readable, since};
use crate::history::ledger::{self, Ledger};
use crate::process::{browser, output};
use crate::report::page::{MARKER, Report};
use crate::report::session::Session;
use crate::report::text::Clock;
use crate::session::live::Live;
use crate::session::metrics::Metrics;
use crate::session::record::archived_metrics;
use crate::session::record::lives;
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
    /// The same, as other commands have it
    #[arg(long = "session", value_name = "ID", conflicts_with_all = ["session", "since"])]
    by_flag: Option<String>,
    /// All sessions since then: 2h, 7d, or a local date
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// All sessions of all projects where HookKeeper has kept state (default: of seven days)
    #[arg(long, conflicts_with_all = ["session", "by_flag"])]
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
    if options.output.as_deref() == Some(Path::new("-")) {
        bail!(usage("a report is written to a file, not to stdout: `-o FILE`"));
    }
    let default = options.all_projects.then_some(ALL_SINCE);
    let asked = options.since.as_deref().or(default);
    let since = since(project, asked)?;
    let named = options.session.as_deref().or(options.by_flag.as_deref());
    let progress = project.progress("writing the report");
    let places = places(project, options.all_projects)?;
    let (mut sessions, mut hook_runs) = (Vec::new(), Vec::new());
    for place in &places {
        let found = place.sessions(project, named, since.as_deref())?;
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
        (None, [session]) if since.is_none() => file_name(&session.short_id),
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

/// A session that is reported on.
struct Asked {
    /// That of its journal, as far as it has one.
    stem: String,
    /// Its id; of one with a journal the same as the stem, until its lines say more.
    id: String,
}

impl Asked {
    fn new(stems: &[String], id: String) -> Self {
        let stem = if stems.binary_search(&id).is_ok() { id.clone() } else { journal::stem(&id) };
        Self { stem, id }
    }
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
            lives: lives(&view),
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
        let lives = lives(&known.view);
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
        ensure_readable(&journal)?;
        let known = self.known_ids(&journal);
        let ids: Vec<&str> = known.iter().map(String::as_str).collect();
        let asked = self.asked(project, &journal, &known, named, since)?;
        let sessions = asked.iter().map(|one| self.session(&journal, one, since, project));
        let is_asked_for = |session: &Session| {
            let is_unreadable = session.passed_over.unreadable > 0;
            since.is_none() || !session.entries.is_empty() || is_unreadable && session.is_untold()
        };
        let mut sessions: Vec<Session> = sessions.filter(is_asked_for).collect();
        if named.is_none() && since.is_some() {
            sessions.extend(self.without_journal(&journal, since, project));
        }
        for session in &mut sessions {
            session.short_id = short_id(&session.id, &ids);
        }
        Ok(sessions)
    }

    /// The ids of all sessions that have a journal or are in the metrics.
    fn known_ids(&self, journal: &Journal) -> Vec<String> {
        let stems = journal.stems();
        let ended =
            self.metrics.newest(usize::MAX).into_iter().chain(archived_metrics(&self.view).0);
        let gone = ended.map(|entry| entry.session_id);
        let gone = gone.filter(|id| stems.binary_search(&journal::stem(id)).is_err());
        let own = stems.iter().filter(|stem| **stem != journal::stem("")).cloned();
        distinct(gone.chain(own).collect())
    }

    /// The sessions that are asked for: the stems of journals, or the ids of those that have none.
    fn asked(
        &self,
        project: &Project,
        journal: &Journal,
        known: &[String],
        named: Option<&str>,
        since: Option<&str>,
    ) -> anyhow::Result<Vec<Asked>> {
        if let Some(named) = named {
            let whole = journal::stem(named);
            let is_stem = journal.stems().contains(&whole);
            let id = if is_stem { whole } else { one_of(named, known, "session", "")? };
            return Ok(vec![Asked::new(&journal.stems(), id)]);
        }
        let mut files = journal.sessions();
        files.retain(|files| files.stem != journal::stem(""));
        match since.and_then(time::parse) {
            Some(since) => files.retain(|files| files.modified >= since.timestamp()),
            None => files.truncate(1),
        }
        let asked: Vec<String> = files.into_iter().map(|files| files.stem).collect();
        if asked.is_empty() && since.is_none() {
            match self.known_ids(journal).len() {
                0 => bail!("{}", project.nothing_here(NONE)?),
                gone => bail!(
                    "{NONE} with a journal; of {} the figures are known: name one, or `--since 30d`",
                    plural(gone, "session")
                ),
            }
        }
        let stems = journal.stems();
        Ok(asked.into_iter().map(|id| Asked::new(&stems, id)).collect())
    }

    /// Sessions since a time that no journal tells of any more, as `cost` counts them.
    fn without_journal(
        &self,
        journal: &Journal,
        since: Option<&str>,
        project: &Project,
    ) -> Vec<Session> {
        let stems = journal.stems();
        let day = since.and_then(|since| since.get(..10));
        let asked = ledger::Asked { since: day, agents: false };
        let ledger = Ledger::read(&self.view, &self.metrics, asked, project.process.now());
        let is_gone = |known: &ledger::Session| {
            stems.binary_search(&journal::stem(&known.entry.session_id)).is_err()
        };
        let untold = |known: ledger::Session| {
            let id = known.entry.session_id.clone();
            let project = self.name.clone();
            Session { project, ..Session::new(id, Vec::new(), Some(known), day) }
        };
        ledger.sessions.into_iter().filter(is_gone).map(untold).collect()
    }

    fn session(
        &self,
        journal: &Journal,
        asked: &Asked,
        since: Option<&str>,
        project: &Project,
    ) -> Session {
        let mut all = journal.of_stem(&asked.stem, Order::OldestFirst);
        let is_new = |time: &str| since.is_none_or(|since| time >= since);
        let mut entries: Vec<_> = all.by_ref().filter(|entry| is_new(&entry.time)).collect();
        // What waited in the spool stands where it was played.
        entries.sort_by(|one, other| one.time.cmp(&other.time));
        let id = entries.first().map_or(&*asked.id, |entry| entry.session.as_str()).to_owned();
        // Whole days, as `cost` counts them.
        let day = since.and_then(|since| since.get(..10));
        let now = project.process.now();
        let known = ledger::session(&self.view, &self.lives, &self.metrics, &id, day, now);
        let (passed_over, project) = (all.passed_over(), self.name.clone());
        Session { passed_over, project, ..Session::new(id, entries, known, day) }
    }
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
    for live in lives(view) {
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
