//! What has to pass: `hookkeeper gate` records it by hand, `hookkeeper run-gate` by running it. What
//! runs commands has a word of its own, so that a permission for the other does not cover it.

use std::path::Path;

use anyhow::{Context as _, bail};
use serde_json::json;

use crate::commands::loops::Who;
use crate::commands::loops::queue::{change, read};
use crate::console::project::{Project, said_with};
use crate::console::usage::usage;
use crate::core::gate::shell_word;
use crate::core::journal::{Entry, EntryKind};
use crate::core::outcome::Outcome;
use crate::core::text::{clip, plural};
use crate::core::time;
use crate::loops::queue::document::Gate;
use crate::loops::queue::output;
use crate::loops::queue::phase::{self, Step};
use crate::loops::queue::render::label;
use crate::process::child;

#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    who: Who,
    /// The gate
    name: String,
    /// pass, fail or warn
    status: String,
    #[command(flatten)]
    measured: Measured,
    /// Print one JSON object: what was recorded, and all gates
    #[arg(long)]
    json: bool,
    /// What it was called with before there was `run-gate`
    #[arg(last = true, value_name = "CMD", hide = true)]
    command: Vec<String>,
}

#[derive(clap::Args)]
pub struct RunArguments {
    #[command(flatten)]
    who: Who,
    /// The gate
    name: String,
    #[command(flatten)]
    measured: Measured,
    /// What to run, after `--`
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<String>,
}

/// What else is known of a gate.
#[derive(clap::Args)]
struct Measured {
    /// How many issues it found (`run-gate`: else as its output says)
    #[arg(long, value_name = "N")]
    issues: Option<u64>,
    /// Test coverage in per cent (`run-gate`: else as its output says)
    #[arg(long, value_name = "PCT")]
    coverage: Option<f64>,
    /// A word about it
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    note: Option<String>,
}

pub fn run(project: &Project, options: &Arguments) -> anyhow::Result<Outcome> {
    let is_status = matches!(options.status.as_str(), "pass" | "fail" | "warn");
    if !options.command.is_empty() || (options.name == "run" && !is_status) {
        let name = if options.name == "run" { &options.status } else { &options.name };
        bail!(usage(format!(
            "`gate` runs nothing: hookkeeper run-gate {} -- CMD…",
            shell_word(name)
        )));
    }
    if !is_status {
        bail!(usage(format!("`{}` is no status; there are pass, fail and warn", options.status)));
    }
    let gate = Gate { status: options.status.clone(), ..given(project, &options.measured)? };
    record(project, &options.name, gate)?;
    let done = Outcome::printed(format!("{}: {}", label(&options.name), options.status));
    match options.json {
        true => said_with(done, json!({"gates": read(project)?.gate_results})),
        false => Ok(done),
    }
}

/// Runs the command where it was called, its output passed through, and gives its exit code back.
pub fn execute(project: &Project, options: &RunArguments) -> anyhow::Result<Outcome> {
    let (program, args) = options.command.split_first().context("there is nothing to run")?;
    let dir = project.process.cwd().context("there is no working directory")?;
    let ran = child::pass_through(Path::new(program), args, &dir)
        .with_context(|| format!("{program} cannot be run"))?;
    let redact = project.redactor()?;
    let status = if ran.code == 0 { "pass" } else { "fail" };
    let read = output::read(&ran.tail);
    let given = given(project, &options.measured)?;
    let gate = Gate {
        status: status.into(),
        issues: given.issues.or(read.issues),
        coverage: given.coverage.or(read.coverage),
        command: Some(redact.line(&options.command.join(" "), 300)),
        exit_code: Some(i64::from(ran.code)),
        duration_ms: Some(ran.millis),
        last_line: ran.last_line.map(|line| redact.line(&line, 300)),
        ..given
    };
    let issues = gate.issues.map(|n| format!(", {}", plural(n as usize, "issue")));
    let coverage = gate.coverage.map(|part| format!(", {part}% covered"));
    let counted = issues.unwrap_or_default() + &coverage.unwrap_or_default();
    record(project, &options.name, gate)?;
    let seconds = ran.millis as f64 / 1000.0;
    let text =
        format!("{}: {status} (exit {}, {seconds:.1} s{counted})", label(&options.name), ran.code);
    Ok(Outcome { stdout: Some(text.into()), stderr: None, code: ran.code })
}

/// What the flags say, and when.
fn given(project: &Project, measured: &Measured) -> anyhow::Result<Gate> {
    let redact = project.redactor()?;
    Ok(Gate {
        timestamp: time::spell(project.process.now()),
        issues: measured.issues,
        coverage: measured.coverage,
        note: measured.note.as_ref().map(|note| redact.line(note, 300)),
        ..Gate::default()
    })
}

fn record(project: &Project, name: &str, mut gate: Gate) -> anyhow::Result<()> {
    let name = name.trim();
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ':');
    if name.is_empty() || name.chars().count() > 40 || !name.chars().all(plain) {
        bail!(usage(format!(
            "`{}` is no name for a gate: letters, digits and -_.: only",
            clip(name, 60)
        )));
    }
    change(project, |queue, plan| {
        gate.iteration = Some(queue.iteration);
        // What is not measured again stays as it was measured.
        let before = queue.gate(name).unwrap_or_default();
        gate.coverage = gate.coverage.or(before.coverage);
        gate.coverage_first = before.coverage_first.or(before.coverage).or(gate.coverage);
        let is_test = phase::is_test(name);
        let step = if gate.is_good() { Step::Passes { is_test } } else { Step::Fails };
        phase::step(queue, step);
        queue.gate_results.insert(name.to_owned(), serde_json::to_value(&gate)?);
        let mut line = Entry::new(EntryKind::Gate).target(name).what(&gate.status).record(&gate);
        line.failed = gate.status == "fail";
        line.ms = gate.duration_ms;
        let caller = project.process.env("CLAUDE_CODE_SESSION_ID");
        let session = queue.session_id.as_deref().or(caller.as_deref());
        plan.tell(line.of_session(session.unwrap_or_default()));
        Ok(())
    })
}
