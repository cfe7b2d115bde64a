//! `fleet status`: executions that several machines work on, from what their remote alone knows.

use serde_json::json;

use crate::console::project::{Project, print_json};
use crate::core::outcome::Outcome;
use crate::core::table::{align, clean};
use crate::core::text::plural;
use crate::core::time;
use crate::execute::Repository;
use crate::execute::document::holder;
use crate::execute::remote::fleet::{self, Machine, SharedExecution, ShownClaim};
use crate::execute::remote::remote_name::ensure_remote;

#[derive(clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    subcommand: Subcommand,
}

#[derive(clap::Subcommand)]
enum Subcommand {
    /// Machines, claims, ages and progress of the executions that a remote has
    #[command(
        after_help = "Example:\n  hookkeeper fleet status --json | jq '.executions[].machines'"
    )]
    Status(StatusArguments),
}

#[derive(clap::Args)]
pub struct StatusArguments {
    /// The remote that they are shared over
    #[arg(long, value_name = "NAME", default_value = "origin")]
    remote: String,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Clocks that differ by so many seconds are nothing to speak of.
const DRIFT: u64 = 60;
/// So many claims of an execution are shown; the rest is counted.
const MAX_SHOWN: usize = 40;

pub fn run(project: &Project, options: &Arguments) -> anyhow::Result<Outcome> {
    let Subcommand::Status(options) = &options.subcommand;
    let repository = Repository::open(&project.root()?, "`git remote`".into())?;
    ensure_remote(&repository, &options.remote)?;
    let found = fleet::read_all(&repository, &options.remote)?;
    let all = found.map_err(|trouble| anyhow::anyhow!(trouble.explain(&options.remote)))?;
    if options.json {
        return print_json(&json!({"remote": options.remote, "executions": all}));
    }
    if all.is_empty() {
        return Ok(Outcome::printed(format!("{} has no execution.", options.remote)));
    }
    let texts = all.iter().map(|execution| describe(project, execution));
    Ok(Outcome::printed(texts.collect::<Vec<_>>().join("\n")))
}

fn describe(project: &Project, execution: &SharedExecution) -> String {
    let now = project.process.now();
    let age = |at: &str| match time::parse(at) {
        Some(time) if time::age(&time::spell(now), time) > DRIFT => {
            format!("its clock is ahead ({})", time::spell(time))
        }
        Some(_) => format!("{} ago", time::human(time::age(at, now))),
        None => String::new(),
    };
    let mut text = format!(
        "{}  {}/{} merged to {}  {} held, {} verified, {} failed  {}, lease {}\n",
        clean(&execution.name),
        execution.merged,
        execution.total,
        clean(&execution.base_branch),
        execution.held,
        execution.verified,
        execution.failed,
        plural(usize::try_from(execution.attempts).unwrap_or(0), "attempt"),
        time::human(execution.lease_seconds),
    );
    if let Some(who) = &execution.merging {
        text.push_str(&format!("  {} is merging\n", clean(who)));
    }
    let machine = |machine: &Machine| {
        let did = format!("{} merged, {} held", machine.merged, machine.held);
        let more = format!("{} verified, {} failed", machine.verified, machine.failed);
        vec![holder(&machine.user, &machine.host), did, more, age(&machine.last_at)]
    };
    text.push_str(&indented(execution.machines.iter().map(machine).collect()));
    let claim = |claim: &ShownClaim| {
        let attempt = format!("attempt {}", claim.attempts);
        let who = holder(&claim.user, &claim.host);
        vec![claim.task.clone(), claim.state.to_owned(), attempt, who, age(&claim.at)]
    };
    let shown = execution.claims.iter().take(MAX_SHOWN).map(claim);
    text.push_str(&indented(shown.collect()));
    let rest = execution.claims.len().saturating_sub(MAX_SHOWN);
    if rest > 0 {
        text.push_str(&format!("  … and {rest} more\n"));
    }
    text
}

fn indented(rows: Vec<Vec<String>>) -> String {
    align(&rows).lines().map(|line| format!("  {line}\n")).collect()
}
