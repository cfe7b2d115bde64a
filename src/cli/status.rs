//! `hookkeeper status`: the books at a glance.

use std::fmt::Write;
use std::path::Path;

use anyhow::Context as _;
use serde_json::json;

use crate::books::errors::{Errors, PENDING, RECOVERED};
use crate::books::live::Live;
use crate::books::metrics::Metrics;
use crate::books::queue::Queue;
use crate::books::synthesis::Synthesis;
use crate::books::{active::Active, backup::Kept, clip, current, plural};
use crate::process::Process;
use crate::store::view::View;
use crate::time;

#[derive(clap::Args)]
pub struct Arguments {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

const EARLIER: usize = 5;
const ERRORS: usize = 8;

pub fn run(process: &Process, root: &Path, options: &Arguments) -> anyhow::Result<String> {
    let view = View::open(root, process.home().as_deref())
        .with_context(|| format!("the books of {} cannot be read", root.display()))?;
    let Some(view) = view else {
        if options.json {
            return Ok(json!({"project": root, "books": false}).to_string());
        }
        return Ok(format!(
            "{}: no books yet. They begin when Claude Code runs a hook here (README says how to wire it).",
            root.display()
        ));
    };
    let books = Books {
        lives: view.lives(),
        active: view.document("agents/active.json").unwrap_or_default(),
        errors: view.document("errors/classified.json").unwrap_or_default(),
        queue: view.document("loop/work_queue.json"),
        synthesis: view.document("agents/results/synthesis.json"),
        metrics: view.metrics().unwrap_or_default(),
        backups: view.backups(),
        spooled: view.count("spool"),
        rejected: view.count("rejected"),
        quarantined: view.count("quarantine"),
    };
    Ok(if options.json { as_json(root, &books) } else { as_text(process, root, &books) })
}

struct Books {
    lives: Vec<Live>,
    active: Active,
    errors: Errors,
    queue: Option<Queue>,
    synthesis: Option<Synthesis>,
    metrics: Metrics,
    backups: Vec<Kept>,
    spooled: usize,
    rejected: usize,
    quarantined: usize,
}

fn as_json(root: &Path, books: &Books) -> String {
    let backups: Vec<_> = books
        .backups
        .iter()
        .map(|kept| json!({"file": kept.file, "session_id": kept.session_id}))
        .collect();
    let value = json!({
        "project": root,
        "books": true,
        "current": current::latest(books.lives.iter()).map(|live| &live.session_id),
        "sessions": books.lives,
        "agents": books.active,
        "errors": books.errors,
        "work_queue": books.queue,
        "synthesis": books.synthesis.as_ref().map(|synthesis| &synthesis.summary),
        "earlier": books.metrics.newest(EARLIER),
        "backups": backups,
        "waiting": {"spool": books.spooled, "rejected": books.rejected, "quarantine": books.quarantined},
    });
    serde_json::to_string_pretty(&value).unwrap_or_default()
}

fn as_text(process: &Process, root: &Path, books: &Books) -> String {
    let now = process.now();
    let mut out = format!("{}\n", root.display());
    let mut section = |title: String, lines: Vec<String>| {
        let _ = writeln!(out, "\n{title}");
        for line in lines {
            let _ = writeln!(out, "  {line}");
        }
    };
    let sessions = books.lives.iter().flat_map(|live| session(live, now)).collect();
    section(format!("Sessions: {} live", books.lives.len()), sessions);
    let title = format!(
        "Agents: {} running, {} spawned, {} completed",
        books.active.agents.len(),
        books.active.total_spawned,
        books.active.total_completed
    );
    section(title, agents(books, now));
    let summary = &books.errors.summary;
    let title = format!(
        "Errors: {} in all, {} pending, {} recovered, {} escalated",
        summary.total, summary.pending, summary.recovered, summary.escalated
    );
    section(title, errors(&books.errors, now));
    if let Some(synthesis) = books.synthesis.as_ref().filter(|s| !s.findings.is_empty()) {
        let lines = synthesis.findings.iter().take(ERRORS);
        let lines = lines
            .map(|f| format!("{}  {}", f.finding.severity, clip(&f.finding.title, 90)))
            .collect();
        section(format!("Findings: {}", synthesis.findings.len()), lines);
    }
    if let Some(queue) = &books.queue {
        let open = queue.open();
        let lines = open.iter().take(ERRORS);
        let lines = lines.map(|i| format!("{}  {}  {}", i.id, i.priority, clip(&i.title, 80)));
        section(format!("Work queue: {} open", open.len()), lines.collect());
    }
    let newest = books.backups.last().map(|kept| kept.file.clone());
    section(format!("Backups: {}", books.backups.len()), newest.into_iter().collect());
    let earlier = earlier(&books.metrics);
    if !earlier.is_empty() {
        section("Earlier sessions".into(), earlier);
    }
    for (count, what) in [
        (books.spooled, "events wait in .claude/state/spool for the lock"),
        (books.rejected, "payloads could not be used: .claude/state/rejected"),
        (books.quarantined, "documents could not be read: .claude/state/quarantine"),
    ] {
        if count > 0 {
            section(format!("Note: {count} {what}"), Vec::new());
        }
    }
    out
}

fn session(live: &Live, now: time::Time) -> Vec<String> {
    let branch = live.git_branch.as_deref().unwrap_or("no branch");
    let seen = time::human(time::age(&live.last_seen, now));
    let mut lines = vec![format!(
        "{}  {branch}, for {}, seen {seen} ago, {} modified",
        live.session_id,
        time::human(time::age(&live.started, now)),
        plural(live.files_modified.len(), "file")
    )];
    lines.extend(live.task.as_ref().map(|task| format!("  task: {}", clip(task, 100))));
    lines
}

fn agents(books: &Books, now: time::Time) -> Vec<String> {
    let calls: Vec<&str> = books
        .lives
        .iter()
        .flat_map(|live| &live.calls)
        .filter_map(|call| call.task.as_deref())
        .collect();
    let running = books.active.agents.iter().map(|agent| {
        let task = match (&agent.task, calls.as_slice()) {
            (Some(task), _) => task.clone(),
            (None, []) => "task not known yet".into(),
            (None, calls) => format!("one of: {}", calls.join(" | ")),
        };
        let age = time::human(time::age(&agent.started, now));
        format!("{}  {}, for {age}: {}", agent.id, agent.kind, clip(&task, 80))
    });
    running.collect()
}

fn errors(errors: &Errors, now: time::Time) -> Vec<String> {
    let open = errors.errors.iter().rev().filter(|record| record.status != RECOVERED);
    let lines = open.take(ERRORS).map(|record| {
        let retry = match (&record.next_retry, record.status.as_str()) {
            (Some(at), PENDING) if time::parse(at).is_some_and(|at| at > now) => {
                format!(", retry {} of {} after {at}", record.retry_count, record.max_retries)
            }
            (Some(_), PENDING) => {
                format!(", retry {} of {} now", record.retry_count, record.max_retries)
            }
            _ => String::new(),
        };
        let status = record.status.replace('_', " ");
        format!("{:<10}  {}: {status}{retry}", record.classification, clip(&record.target, 70))
    });
    lines.collect()
}

fn earlier(metrics: &Metrics) -> Vec<String> {
    let lines = metrics.newest(EARLIER).into_iter().map(|entry| {
        format!(
            "{}  {}  {} min, {}, {}, ended: {}",
            entry.date,
            entry.session_id,
            entry.duration_minutes,
            plural(entry.agents.spawned as usize, "agent"),
            plural(entry.errors.total as usize, "error"),
            entry.ended
        )
    });
    lines.collect()
}
