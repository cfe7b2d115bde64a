//! What the views of `status` are made of: the state as they are at one moment.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use crate::agents::agent::Agent;
use crate::agents::synthesis::Synthesis;
use crate::branch::document::BranchState;
use crate::branch::witness::is_stuck;
use crate::compaction::backup::{Kept, kept_backups};
use crate::core::time::{self, Time};
use crate::errors::document::{Errors, PENDING, RECOVERED, Record};
use crate::execute::unfinished::{self, Unfinished};
use crate::loops::autonomous::document::Autonomous;
use crate::loops::iterative::document::Task;
use crate::loops::iterative::folder::all_tasks;
use crate::loops::queue::document::Queue;
use crate::process::files;
use crate::session::active::Active;
use crate::session::current;
use crate::session::live::Live;
use crate::session::metrics::Metrics;
use crate::session::notifications::Notifications;
use crate::state::Doc;
use crate::store::view::View;

pub const EARLIER: usize = 5;

/// What one look at a project found.
#[derive(Clone, Debug, PartialEq)]
pub enum Seen {
    State(Box<Overview>),
    /// There are none yet, or none any more.
    NoState,
    /// They are there, and cannot be opened.
    Unreadable(String),
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overview {
    pub lives: Vec<Live>,
    pub active: Active,
    pub errors: Errors,
    pub queue: Option<Queue>,
    pub synthesis: Option<Synthesis>,
    pub autonomous: Option<Autonomous>,
    pub branches: Vec<BranchState>,
    /// Those that are open, by name.
    pub tasks: Vec<(String, Task)>,
    pub executions: Vec<Unfinished>,
    pub metrics: Metrics,
    pub notifications: Notifications,
    pub backups: Vec<Kept>,
    pub spooled: usize,
    pub rejected: usize,
    pub quarantined: usize,
    /// Documents that are there and cannot be read.
    pub unreadable: Vec<String>,
    /// An agent that is silent for longer looks stuck.
    pub quiet_after_minutes: u64,
}

impl Seen {
    pub fn look(root: &Path, home: Option<&Path>) -> Self {
        View::open(root, home)
            .map_or_else(|error| Self::Unreadable(error.to_string()), Self::through)
    }

    pub fn through(view: Option<View>) -> Self {
        view.map_or(Self::NoState, |view| Self::State(Box::new(Overview::read(&view))))
    }

    pub fn json(&self, root: &Path) -> Value {
        match self {
            Self::State(overview) => overview.json(root),
            Self::NoState => json!({"project": root, "books": false}),
            Self::Unreadable(why) => json!({"project": root, "books": null, "error": why}),
        }
    }

    /// What the clock alone changes: how many agents look stuck, how many retries are due.
    pub fn by_the_clock(&self, now: Time) -> (usize, usize) {
        let Self::State(overview) = self else { return (0, 0) };
        let quiet =
            overview.active.agents.iter().filter(|agent| overview.is_quiet(agent, now)).count();
        let due = overview.errors.records().iter().filter(|record| is_due(record, now)).count();
        (quiet, due)
    }
}

impl Overview {
    fn read(view: &View) -> Self {
        let state = view.state();
        let mut lives: Vec<Live> = state.all::<Live>().cloned().collect();
        lives.sort_by(|a, b| a.started.cmp(&b.started));
        let active = Active::from_records(lives.iter(), state.get::<Active>());
        Self {
            active,
            lives,
            errors: state.get::<Errors>().cloned().unwrap_or_default(),
            queue: state.get::<Queue>().cloned(),
            synthesis: state.get::<Synthesis>().cloned(),
            notifications: state.get::<Notifications>().cloned().unwrap_or_default(),
            branches: view.branches(),
            tasks: open_tasks(view),
            executions: unfinished(view),
            metrics: state.get::<Metrics>().cloned().unwrap_or_default(),
            unreadable: state.unreadable().iter().map(Doc::name).collect(),
            // After that: another tool may have a file by that name.
            autonomous: state.get::<Autonomous>().cloned(),
            backups: kept_backups(&state),
            spooled: view.count("state/spool"),
            rejected: view.count("state/rejected"),
            quarantined: view.count("state/quarantine"),
            quiet_after_minutes: view.settings().stuck_after_minutes,
        }
    }

    /// Whether an agent is stuck, as `agents stuck` says it.
    pub fn is_quiet(&self, agent: &Agent, now: Time) -> bool {
        is_quiet(agent, &self.lives, self.quiet_after_minutes, now)
    }

    /// Errors that have not recovered, newest first.
    pub fn open_errors(&self) -> impl Iterator<Item = Record> {
        self.errors.records().into_iter().rev().filter(|record| record.status != RECOVERED)
    }

    /// All that is known, ids and texts whole.
    fn json(&self, root: &Path) -> Value {
        let backups = self.backups.iter();
        let backups: Vec<_> =
            backups.map(|kept| json!({"file": kept.file, "session_id": kept.session_id})).collect();
        json!({
            "project": root,
            "books": true,
            "current": current::latest(self.lives.iter()).map(|live| &live.session_id),
            "sessions": self.lives,
            "agents": self.active,
            "errors": self.errors,
            "work_queue": self.queue,
            "autonomous": self.autonomous,
            "branches": self.branches,
            "iterative": self.tasks.iter().cloned().collect::<BTreeMap<_, _>>(),
            "executions": self.executions,
            "synthesis": self.synthesis.as_ref().map(|synthesis| &synthesis.summary),
            "findings": self.synthesis.as_ref().map(|synthesis| &synthesis.findings),
            "notifications": self.notifications,
            "earlier": self.metrics.newest(EARLIER),
            "backups": backups,
            "waiting": {"spool": self.spooled, "rejected": self.rejected, "quarantine": self.quarantined},
            "unreadable": self.unreadable,
        })
    }
}

fn open_tasks(view: &View) -> Vec<(String, Task)> {
    let state = view.state();
    let open = all_tasks(view).unwrap_or_default().into_iter().filter_map(|slug| {
        let task = state.get_by::<Task>(&slug).filter(|task| task.is_open())?;
        Some((slug.as_str().to_owned(), task.clone()))
    });
    open.collect()
}

fn unfinished(view: &View) -> Vec<Unfinished> {
    let known = view.executions();
    let newest_first = known.iter().rev();
    newest_first.filter_map(|known| unfinished::unfinished(Path::new(&known.tasks_path))).collect()
}

/// Whether an agent of one of these sessions is stuck.
pub fn is_quiet<'a>(
    agent: &Agent,
    lives: impl IntoIterator<Item = &'a Live>,
    after_minutes: u64,
    now: Time,
) -> bool {
    // Without its session nobody knows where its transcript is.
    let unknown = Live::default();
    let live = lives.into_iter().find(|live| live.session_id == agent.session_id);
    let threshold = after_minutes.saturating_mul(60);
    is_stuck(agent, live.unwrap_or(&unknown), threshold, now, files::modified).0
}

/// Whether a retry is granted and its time has come.
pub fn is_due(record: &Record, now: Time) -> bool {
    let at = record.next_retry.as_deref().and_then(time::parse);
    record.status == PENDING && at.is_none_or(|at| at <= now)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::agent::RUNNING;

    #[test]
    fn only_a_running_agent_that_is_silent_for_long_is_quiet() {
        let now = time::parse("2026-01-29T10:30:00Z").unwrap();
        let agent = |status: &str, last_seen: &str| Agent {
            status: status.into(),
            last_seen: last_seen.into(),
            ..Agent::default()
        };
        let lives = [Live::default()];
        let is_quiet = |agent: &Agent| is_quiet(agent, &lives, 5, now);
        assert!(is_quiet(&agent(RUNNING, "2026-01-29T10:24:59Z")));
        assert!(!is_quiet(&agent(RUNNING, "2026-01-29T10:25:00Z")));
        assert!(!is_quiet(&agent("answered", "2026-01-29T09:00:00Z")));
    }
}
