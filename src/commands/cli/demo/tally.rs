//! What a session came to, counted in the documents and the journal that it left.

use anyhow::Context as _;

use crate::cli::demo::stage::Stage;
use crate::core::journal::Entry;
use crate::core::text::plural;
use crate::core::time::Time;
use crate::history::sessions::{self, SessionSummary};
use crate::loops::queue::document::Queue;
use crate::store::journal;
use crate::store::journal::read::Order;
use crate::store::view::View;

pub struct Tally {
    events: usize,
    /// Microseconds.
    slowest: u64,
    session: SessionSummary,
    /// Of the loop, if there was one.
    iterations: Option<u64>,
}

impl Tally {
    pub fn read(stage: &Stage, session_id: &str, now: Time) -> anyhow::Result<Self> {
        let view = View::open(&stage.project(), Some(stage.top()))?;
        let view = view.context("the session has left no state")?;
        let journal = view.journal();
        let stem = journal::stem(session_id);
        let runs: Vec<Entry> =
            journal.of_stem(&stem, Order::OldestFirst).filter(Entry::is_run).collect();
        let queue = view.get::<Queue>();
        Ok(Self {
            events: runs.len(),
            slowest: runs.iter().filter_map(|run| run.us).max().unwrap_or(0),
            session: sessions::summarize(&view, &sessions::ended_sessions(&view), session_id, now),
            iterations: queue.filter(|queue| queue.started_at.is_some()).map(|it| it.iteration),
        })
    }

    /// In two lines.
    pub fn in_words(&self) -> [String; 2] {
        let count = |count: u64, thing: &str| plural(count as usize, thing);
        let errors = &self.session.errors;
        let happened = [
            plural(self.events, "event"),
            count(self.session.agents.spawned, "agent"),
            count(self.session.findings, "finding"),
            format!("{} ({} recovered)", count(errors.total, "error"), errors.recovered),
            count(self.session.compactions, "compaction"),
        ];
        let verdict = self.session.loop_verdict.as_deref();
        let of_loop = self.iterations.map_or_else(String::new, |iterations| match verdict {
            Some(verdict) => format!("loop {verdict} in {}; ", count(iterations, "iteration")),
            None => format!("loop in iteration {iterations}; "),
        });
        let slowest = self.slowest as f64 / 1000.0;
        [happened.join(", "), format!("{of_loop}slowest hook {slowest:.1} ms")]
    }
}
