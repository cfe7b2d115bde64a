//! `status --all-projects`: a line for each project where HookKeeper has kept state.

use serde_json::{Value, json};

use crate::agents::synthesis::Synthesis;
use crate::console::project::{Project, print_json};
use crate::console::projects::{KnownProject, known_projects};
use crate::core::outcome::Outcome;
use crate::core::table::{Cell, Table, Tone};
use crate::core::text::plural;
use crate::core::time::Time;
use crate::errors::document::Errors;
use crate::git::refs;
use crate::session::record::lives;
use crate::state::panel::since;
use crate::view::text;

const COLUMNS: [(&str, u8); 7] = [
    ("PROJECT", 0),
    ("BRANCH", 4),
    ("SESSIONS", 1),
    ("AGENTS", 2),
    ("ERRORS", 1),
    ("FINDINGS", 3),
    ("SEEN", 5),
];

pub fn run(project: &Project, as_json: bool) -> anyhow::Result<Outcome> {
    let all: Vec<Counts> = known_projects(project).iter().map(Counts::read).collect();
    if as_json {
        return print_json(&json!({"projects": all.iter().map(Counts::json).collect::<Vec<_>>()}));
    }
    if all.is_empty() {
        return Ok(Outcome::printed("No project with state is known yet."));
    }
    let home = project.process.home();
    let now = project.process.now();
    let rows = all.iter().map(|counts| {
        let place = text::place(&counts.root, home.as_deref());
        let place = if counts.is_worktree { format!("+ {place}") } else { place };
        counts.row(&place, now)
    });
    let table = Table::with_head(&COLUMNS, rows.collect());
    Ok(Outcome::printed(project.print_table(&table)))
}

/// What one line says of a project.
struct Counts {
    root: std::path::PathBuf,
    repository: std::path::PathBuf,
    is_worktree: bool,
    /// As the folder of its state is called after it.
    branch: Option<String>,
    live: usize,
    waiting: usize,
    agents: usize,
    pending: u64,
    escalated: u64,
    findings: usize,
    /// When something was last seen there.
    last_seen: Option<String>,
}

impl Counts {
    fn read(known: &KnownProject) -> Self {
        let lives = lives(&known.view);
        let errors = known.view.get::<Errors>().unwrap_or_default().summary;
        let git = refs::read(&known.root);
        let seen = known.view.journal().newest_first().next().map(|entry| entry.time);
        Self {
            root: known.root.clone(),
            repository: known.repository.clone(),
            is_worktree: known.is_worktree(),
            branch: git.branch.is_some().then(|| refs::branch_name(&git)),
            live: lives.len(),
            waiting: lives.iter().filter(|live| live.waiting.is_some()).count(),
            agents: lives.iter().map(|live| live.agents.len()).sum(),
            pending: errors.pending,
            escalated: errors.escalated,
            findings: known.view.get::<Synthesis>().map_or(0, |all| all.findings.len()),
            last_seen: seen,
        }
    }

    fn json(&self) -> Value {
        json!({
            "project": self.root, "repository": self.repository, "branch": self.branch,
            "live_sessions": self.live, "waiting": self.waiting, "agents": self.agents,
            "errors_pending": self.pending, "errors_escalated": self.escalated,
            "findings": self.findings, "last_seen": self.last_seen,
        })
    }

    fn row(&self, place: &str, now: Time) -> Vec<Cell> {
        let some = |count: usize, thing: &str| match count {
            0 => String::new(),
            count => plural(count, thing),
        };
        let (tone, sessions) = match (self.live, self.waiting) {
            (0, _) => (Tone::Dim, "no session".to_owned()),
            (live, 0) => (Tone::Good, format!("{live} live")),
            (live, waiting) => (Tone::Warn, format!("{live} live, {waiting} waiting")),
        };
        let (error_tone, errors) = match (self.escalated, self.pending) {
            (0, 0) => (Tone::Dim, String::new()),
            (0, pending) => (Tone::Warn, format!("{pending} to retry")),
            (escalated, _) => (Tone::Bad, format!("{escalated} escalated")),
        };
        let seen = self.last_seen.as_deref().map(|seen| format!("{} ago", since(seen, now)));
        vec![
            Cell::new(Tone::Strong, place),
            Cell::new(Tone::Good, self.branch.as_deref().unwrap_or_default()),
            Cell::new(tone, &sessions),
            Cell::new(Tone::Plain, &some(self.agents, "agent")),
            Cell::new(error_tone, &errors),
            Cell::new(Tone::Plain, &some(self.findings, "finding")),
            Cell::new(Tone::Dim, &seen.unwrap_or_default()),
        ]
    }
}
