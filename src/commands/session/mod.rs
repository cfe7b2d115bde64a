//! `hookkeeper sessions`: those that live, and those that have ended.

pub mod show;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::console::project::{Project, print_json};
use crate::console::projects::known_projects;
use crate::core::gate::Printed;
use crate::core::outcome::Outcome;
use crate::core::spelling::{short_count, short_id};
use crate::core::table::{Cell, Table, Tone};
use crate::core::time;
use crate::history::ledger::Sum;
use crate::history::sessions::{SessionSummary, ended_sessions, live_summary};
use crate::session::ending::ending_in_words;
use crate::session::live::Live;
use crate::session::metrics::Metrics;
use crate::session::record::lives;
use crate::turn::root;

#[derive(clap::Args)]
pub struct Arguments {
    /// How many of those that have ended
    #[arg(long, default_value_t = 20, value_name = "N")]
    limit: usize,
    /// All that have ended, the archive too
    #[arg(long)]
    all: bool,
    /// Of all projects where HookKeeper has kept state; linked worktrees behind their checkout
    #[arg(long)]
    all_projects: bool,
    /// Print one JSON object
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(clap::Subcommand)]
enum What {
    /// The story of a session: what it was about, what happened, how it ended
    #[command(after_help = "Example:\n  hookkeeper sessions show 0f3e")]
    Show(show::Arguments),
}

pub fn run(project: &Project, options: &Arguments) -> anyhow::Result<Outcome> {
    if let Some(What::Show(which)) = &options.what {
        return show::run(project, which, options.json);
    }
    if options.all_projects {
        return of_all_projects(project, options);
    }
    // One that cannot be read is said.
    let metrics: Metrics = project.document()?.unwrap_or_default();
    let Some(view) = project.view()? else {
        return match options.json {
            true => print_json(&json!({"live": [], "ended": []})),
            false => Ok(Outcome::printed(project.nothing_here(NONE)?)),
        };
    };
    let lives = lives(&view);
    let ended = match options.all {
        true => ended_sessions(&view),
        false => metrics.newest(options.limit),
    };
    let (now, journal) = (project.process.now(), view.journal());
    let live: Vec<SessionSummary> =
        lives.iter().map(|live| live_summary(&view, live, &metrics, now)).collect();
    if options.json {
        let live: Vec<Value> = lives.iter().zip(&live).map(with_used).collect();
        return print_json(&json!({"live": live, "ended": ended}));
    }
    // A session that goes on is told once.
    let is_live = |id: &str| lives.iter().any(|live| live.session_id == id);
    let ended = ended.iter().filter(|entry| !is_live(&entry.session_id));
    let ended = ended.map(|entry| SessionSummary::from_entry(entry, &journal));
    let sessions: Vec<SessionSummary> = live.into_iter().chain(ended).collect();
    Ok(match sessions.is_empty() {
        true => Outcome::printed(project.nothing_here(NONE)?),
        false => Outcome::printed(project.print_table(&table(project, &sessions)).trimmed()),
    })
}

/// The record of a session that lives, with what it used in the fields of those that have ended.
fn with_used((live, summary): (&Live, &SessionSummary)) -> Value {
    let mut value = json!(live);
    if let (Value::Object(fields), true) = (&mut value, summary.used().is_some()) {
        fields.insert("tokens".to_owned(), json!(summary.tokens));
        fields.insert("cost_usd".to_owned(), json!(summary.cost_usd));
        fields.insert("cost_estimated".to_owned(), json!(summary.cost_estimated));
    }
    value
}

/// The sessions of each project, under its path.
fn of_all_projects(project: &Project, options: &Arguments) -> anyhow::Result<Outcome> {
    let (mut texts, mut values) = (Vec::new(), Vec::new());
    let here = Arguments { all_projects: false, what: None, ..*options };
    for known in known_projects(project) {
        let one = Project { named: Some(&known.root), ..*project };
        let said = match run(&one, &here) {
            Ok(outcome) => outcome.stdout.unwrap_or_default(),
            Err(_) if options.json => "null".into(),
            Err(error) => format!("its state cannot be read: {error:#}").into(),
        };
        if options.json {
            let value: Value = serde_json::from_str(&said)?;
            values.push(
                json!({"project": known.root, "repository": known.repository, "sessions": value}),
            );
        }
        let worktree = if known.is_worktree() { "+ " } else { "" };
        let place = root::from_home(&known.root, project.process.home().as_deref());
        let mut text = Printed::default();
        text.line(format!("{worktree}{place}"));
        text.push(said.trimmed());
        text.push("\n");
        texts.push(text);
    }
    if options.json {
        return print_json(&json!({"projects": values}));
    }
    let mut all = Printed::default();
    for (n, text) in texts.into_iter().enumerate() {
        all.push(if n == 0 { "" } else { "\n" });
        all.push(text);
    }
    Ok(Outcome::printed(match all.is_empty() {
        true => "No project with state is known yet.".into(),
        false => all,
    }))
}

const NONE: &str = "No session is known yet.";
const COLUMNS: [(&str, u8); 10] = [
    ("SESSION", 0),
    ("STARTED", 2),
    ("TOOK", 4),
    ("ENDED", 1),
    ("AGENTS", 6),
    ("ERRORS", 3),
    ("FINDINGS", 7),
    ("TOKENS", 8),
    ("COST", 5),
    ("TASK", 0),
];

fn table(project: &Project, sessions: &[SessionSummary]) -> Table {
    // Only ids with the same beginning have to be told apart.
    let mut alike: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for session in sessions {
        let begin = short_id(&session.session_id, &[]);
        alike.entry(begin).or_default().push(&session.session_id);
    }
    // A column of nothing but zeros says nothing.
    let some =
        |count: u64, of: fn(&SessionSummary) -> u64| match sessions.iter().any(|one| of(one) > 0) {
            true => count.to_string(),
            false => String::new(),
        };
    let row = |session: &SessionSummary| {
        let others = alike.get(&short_id(&session.session_id, &[]));
        let id = short_id(&session.session_id, others.map(Vec::as_slice).unwrap_or_default());
        let (tone, ended) = match (session.is_live, session.reason.as_deref()) {
            (true, _) => (Tone::Good, "live".to_owned()),
            (false, reason @ Some("abandoned")) => {
                (Tone::Warn, ending_in_words(reason.unwrap_or_default()))
            }
            (false, reason) => (Tone::Plain, ending_in_words(reason.unwrap_or_default())),
        };
        let errors = if session.errors.escalated > 0 { Tone::Bad } else { Tone::Warn };
        let used = session.used();
        let tokens = used.as_ref().and_then(Sum::tokens).map(short_count);
        vec![
            Cell::new(Tone::Id, &id),
            Cell::new(Tone::Dim, &project.short_moment(&session.started)),
            Cell::new(Tone::Plain, &took(session)),
            Cell::new(tone, &ended),
            Cell::new(Tone::Plain, &some(session.agents.spawned, |one| one.agents.spawned)),
            Cell::new(errors, &some(session.errors.total, |one| one.errors.total)),
            Cell::new(Tone::Plain, &some(session.findings, |one| one.findings)),
            Cell::new(Tone::Dim, &tokens.unwrap_or_default()),
            Cell::new(Tone::Dim, &used.as_ref().map(Sum::spelled).unwrap_or_default()),
            Cell::new(Tone::Plain, session.title().unwrap_or_default()),
        ]
    };
    Table::with_head(&COLUMNS, sessions.iter().map(row).collect())
}

fn took(session: &SessionSummary) -> String {
    session.seconds.map(time::duration_of_seconds).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::transcript::Tokens;
    use crate::console::style::ColourChoice;
    use crate::process::Process;
    use crate::session::locked_store::Played;
    use crate::session::metrics::Agents;

    fn full() -> SessionSummary {
        SessionSummary {
            session_id: "0f3e8a2c-1111-4222-8333-444455556666".into(),
            started: "2025-12-29T10:30:00Z".into(),
            seconds: Some(240),
            task: Some("Review the shop and its authentication".into()),
            reason: Some("bypass_permissions_disabled".into()),
            agents: Agents { spawned: 12, ..Agents::default() },
            findings: 3,
            tokens: Some(Tokens { input: 1_234_567, ..Tokens::default() }),
            cost_usd: Some(1.239),
            ..SessionSummary::default()
        }
    }

    fn lines(width: usize) -> Vec<String> {
        let process = Process::given(&[], &[("HOOKKEEPER_FIXED_TIME", "2026-01-29T10:30:00Z")]);
        let project = Project {
            process: &process,
            named: None,
            colour: ColourChoice::Never,
            play_spool: |_, _, _| Ok(Played::All),
        };
        let other = SessionSummary { session_id: "0f3e8a2c-2222".into(), ..full() };
        let lines = table(&project, &[full(), other]).lines(width).into_iter();
        lines.map(|line| line.into_iter().map(|(_, text)| text).collect()).collect()
    }

    #[test]
    fn eighty_columns_have_whole_words() {
        let narrow = lines(80);
        assert!(narrow.iter().all(|line| line.chars().count() <= 80), "{narrow:#?}");
        assert!(narrow[1].starts_with("0f3e8a2c-1  2025-12-29  4 min"), "{narrow:#?}");
        assert!(narrow[1].contains("permissions off"), "{narrow:#?}");
        assert!(narrow[1].ends_with(" Review the shop and its…"), "{narrow:#?}");
        let wide = lines(200);
        assert!(wide[0].ends_with("AGENTS  FINDINGS  TOKENS  COST   TASK"), "{wide:#?}");
        assert!(wide[1].contains("12      3         1.2M    $1.24  Review"), "{wide:#?}");
    }
}
