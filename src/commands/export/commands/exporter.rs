//! What the commands of this room share: the settings, the way to the endpoint, one project's flush.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail};

use crate::agents::agent::RUNNING;
use crate::console::project::Project;
use crate::core::error::Result;
use crate::core::gate::one_line;
use crate::core::settings::export::Endpoint;
use crate::core::text::clip;
use crate::core::time;
use crate::export::batch::Source;
use crate::export::clean;
use crate::export::commands::http::Http;
use crate::export::counters::gauge;
use crate::export::cursor::{Cursor, Trouble};
use crate::export::faults::{self, Faults};
use crate::export::flush::{Flush, Flushed, Keep};
use crate::export::headers::{self, Headers};
use crate::export::ids;
use crate::export::otlp::{Attributes, Metric, Signal};
use crate::export::settings::ExportSettings;
use crate::export::standing;
use crate::history::commands::ensure_readable;
use crate::process::child::{self, Input};
use crate::process::deadline::Deadline;
use crate::process::files;
use crate::session::record::lives;
use crate::store::export::{self, LockedExport};
use crate::store::view::View;

/// Of what is noted of a fault.
const LONGEST_WHY: usize = 300;
/// A command that gives headers.
const COMMAND_LIMIT: Duration = Duration::from_secs(10);

/// Where things go, or why they do not.
pub fn endpoint(settings: &ExportSettings) -> anyhow::Result<Endpoint> {
    match (settings.why_off(), &settings.endpoint) {
        (None, Some(endpoint)) => Ok(endpoint.clone()),
        (why, _) => bail!(why.unwrap_or_default()),
    }
}

/// The way to the endpoint, with the user's headers.
pub fn connect(project: &Project, settings: &ExportSettings) -> anyhow::Result<Http> {
    let endpoint = endpoint(settings)?;
    let headers = fetch_headers(project, settings)?;
    let ca = settings.ca.as_ref().map(|path| in_home(project, path));
    Http::new(settings, &endpoint, headers, ca.as_deref())
}

/// Headers from where the user keeps them. No value is ever in a message.
fn fetch_headers(project: &Project, settings: &ExportSettings) -> anyhow::Result<Headers> {
    let mut all = settings.headers.clone();
    if let Some(path) = &settings.headers_file {
        let path = in_home(project, path);
        let text = files::small(&path)
            .with_context(|| format!("export.headers_file: {} cannot be read", path.display()))?;
        let found = headers::from_lines(&text);
        all.extend(found.map_err(|why| anyhow::anyhow!("export.headers_file: {why}"))?);
    }
    if let Some(line) = &settings.headers_command {
        let ended = child::run(&child::Run {
            program: Path::new("sh"),
            args: &[OsStr::new("-c"), OsStr::new(line)],
            dir: project.process.home().as_deref(),
            env: &[],
            input: Input::Nothing,
            limit: COMMAND_LIMIT,
        });
        let ended = ended.context("export.headers_command cannot be started")?;
        if ended.code != Some(0) {
            bail!("export.headers_command failed or took longer than 10 seconds");
        }
        let found = headers::from_lines(&String::from_utf8_lossy(&ended.stdout));
        all.extend(found.map_err(|why| anyhow::anyhow!("export.headers_command: {why}"))?);
    }
    Ok(all)
}

/// A path of the user's; `~/` is their home.
fn in_home(project: &Project, path: &Path) -> PathBuf {
    match (path.strip_prefix("~"), project.process.home()) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => path.to_owned(),
    }
}

/// What all records of a project on this machine have in common.
pub fn resource(project: &Project, root: &Path, settings: &ExportSettings) -> Attributes {
    let host = project.process.host();
    let name = root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let own = [
        ("service.name", "hookkeeper".to_owned()),
        ("service.version", env!("CARGO_PKG_VERSION").to_owned()),
        ("service.instance.id", ids::hex(&[&host, &root.to_string_lossy()], 16)),
        ("host.name", host),
        ("os.type", std::env::consts::OS.to_owned()),
        ("hookkeeper.project", clean::name(&name)),
    ];
    let mut resource = Attributes::default();
    for (key, value) in own {
        if !settings.resource.contains_key(key) {
            resource.text(key, value);
        }
    }
    for (key, value) in &settings.resource {
        resource.text(key.clone(), clean::value(key, value));
    }
    resource
}

/// What of a flush is asked for.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    /// How long to wait for another one who sends.
    pub patience: Duration,
    /// Also while it is too early after a failure.
    pub is_urgent: bool,
    /// Metrics also if nothing else is to be sent.
    pub with_metrics: bool,
    pub limit: Duration,
    /// Lines again from this time on, instead of what was not sent yet.
    pub again_since: Option<&'a str>,
}

pub enum Done {
    Flushed(Flushed),
    /// There is no state of this machine's.
    NoState,
    /// `systems.export` is off in the project.
    Off,
    /// Somebody else sends.
    Busy,
    /// After a failure; not before this time.
    TooEarly(String),
}

struct KeepIn<'a>(&'a LockedExport);

impl Keep for KeepIn<'_> {
    fn keep(&self, cursor: &Cursor) -> Result<()> {
        self.0.replace(&serde_json::to_vec(cursor).unwrap_or_default())
    }
}

/// The cursor is not kept: what is sent again leaves no trace.
struct KeepNothing;

impl Keep for KeepNothing {
    fn keep(&self, _: &Cursor) -> Result<()> {
        Ok(())
    }
}

/// Sends what a project has not sent yet.
pub fn flush(
    project: &Project,
    root: &Path,
    settings: &ExportSettings,
    asked: Asked,
) -> anyhow::Result<Done> {
    if !settings.is_on() {
        endpoint(settings)?;
    }
    let home = project.process.home();
    let view = View::open(root, home.as_deref())
        .with_context(|| format!("the state of {} cannot be read", root.display()))?;
    let Some(view) = view else { return Ok(Done::NoState) };
    if !view.settings().systems.export {
        return Ok(Done::Off);
    }
    let Some(locked) = export::enter(&view, asked.patience)? else { return Ok(Done::Busy) };
    let now = project.process.now();
    let mut cursor = standing::read_cursor(&view, locked.read()?.as_deref(), now);
    cursor.note_lost(&locked.lost()?);
    let keep = KeepIn(&locked);
    keep.keep(&cursor)?;
    locked.forget_lost()?;
    let dice = u64::from_str_radix(project.process.fresh_id("export").get(..8).unwrap_or("0"), 16);
    let dice = dice.unwrap_or(0);
    let trouble =
        cursor.trouble.as_ref().filter(|it| !asked.is_urgent && is_too_early(&it.next, project));
    let resting = trouble.map(resting).unwrap_or_default();
    if let Some(trouble) =
        trouble.filter(|_| settings.send.signals().all(|it| resting.contains(&it)))
    {
        return Ok(Done::TooEarly(trouble.next.clone()));
    }
    let mut http = match connect(project, settings) {
        Ok(http) => http,
        Err(error) => {
            // Beside the client's turn nobody hears of it but by this.
            faults::note_here(
                &mut cursor,
                clip(&one_line(&format!("{error:#}")), LONGEST_WHY),
                dice,
                now,
            );
            keep.keep(&cursor)?;
            return Err(error);
        }
    };
    let journal = view.journal();
    // What cannot be read is not gone: its place stays.
    ensure_readable(&journal)?;
    let mut sessions = journal.sessions();
    let stems: Vec<&str> = sessions.iter().map(|session| session.stem.as_str()).collect();
    let behind = cursor.behind.as_mut().map(|behind| &mut behind.sessions);
    for sessions in [Some(&mut cursor.sessions), behind].into_iter().flatten() {
        sessions.retain(|stem, _| stems.contains(&stem.as_str()));
    }
    sessions.reverse();
    let resource = resource(project, root, settings);
    let deadline = Deadline::after(asked.limit);
    // What is sent again moves no cursor and is not counted twice.
    let is_new = asked.again_since.is_none();
    let mut flush = Flush {
        source: Source {
            journal: &journal,
            sessions,
            since: asked.again_since,
            send: settings.send,
            counts: is_new,
            now,
        },
        transport: &mut http,
        keep: if is_new { &keep } else { &KeepNothing },
        resource: &resource,
        deadline,
        dice,
        now,
        resting,
        faults: Faults::default(),
    };
    let mut again = Cursor::default();
    let moved = if is_new { &mut cursor } else { &mut again };
    let mut done = flush.run(moved)?;
    let is_due = is_new && settings.send.metrics && (done.lines > 0 || asked.with_metrics);
    if is_due && flush.may_send(Signal::Metrics) {
        let mut metrics = moved.counters.metrics(now);
        metrics.extend(gauges(&view, moved, now));
        flush.metrics(moved, &metrics, &mut done);
    }
    flush.settle(moved, &mut done)?;
    done.sent = http.sent;
    let has_all = done.trouble.is_none() && !done.is_cut;
    if !is_new && has_all && cursor.lost_place.take().is_some() {
        keep.keep(&cursor)?;
    }
    Ok(Done::Flushed(done))
}

/// What is left alone until later.
fn resting(trouble: &Trouble) -> Vec<Signal> {
    match trouble.signals.is_empty() {
        true => Signal::ALL.to_vec(),
        false => trouble.signals.clone(),
    }
}

fn is_too_early(next: &str, project: &Project) -> bool {
    crate::export::answer::is_too_early(next, project.process.now())
}

/// How things stand now.
fn gauges(view: &View, cursor: &Cursor, now: time::Time) -> Vec<Metric> {
    let lives = lives(view);
    let agents = lives.iter().flat_map(|live| &live.agents);
    let running = agents.filter(|agent| agent.status == RUNNING).count() as u64;
    let waiting = lives.iter().filter(|live| live.waiting.is_some()).count() as u64;
    let dropped = cursor.dropped.bytes;
    vec![
        gauge(
            "hookkeeper.sessions.live",
            "{session}",
            "Sessions that go on",
            lives.len() as u64,
            now,
        ),
        gauge(
            "hookkeeper.sessions.waiting",
            "{session}",
            "Sessions that wait for a person",
            waiting,
            now,
        ),
        gauge("hookkeeper.agents.running", "{agent}", "Agents that run", running, now),
        gauge(
            "hookkeeper.export.dropped",
            "By",
            "Bytes of journals that went unsent",
            dropped,
            now,
        ),
    ]
}
