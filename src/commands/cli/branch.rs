//! `hookkeeper branch`: what belongs to a branch, from three features.

use crate::commands::branch::show;
use crate::commands::handoff;
use crate::commands::loops::Who;
use crate::commands::loops::branch::loop_steps;
use crate::console::project::Project;
use crate::core::outcome::Outcome;

#[derive(clap::Args)]
pub struct Arguments {
    /// The branch (default: the one that is checked out)
    #[arg(long, value_name = "NAME", global = true, allow_hyphen_values = true)]
    branch: Option<String>,
    #[command(flatten)]
    who: Who,
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// Where it stands: plan, todos, loop, agents, hand-offs, and what is next
    #[command(
        after_help = "Examples:\n  hookkeeper branch show\n  hookkeeper branch show --branch feat/login --json | jq .stats"
    )]
    Show {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Its plan: .claude/plans/BRANCH.md, BRANCH.plan.md, else the newest
    #[command(after_help = "Example:\n  hookkeeper branch plan")]
    Plan {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Write down where the work stands, for whoever goes on with it; list and close what was written
    #[command(
        after_help = "Examples:\n  hookkeeper branch handoff --type session\n  hookkeeper branch handoff --type task --title 'Login' --next 'Write tests'\n  hookkeeper branch handoff --type blocked --note 'No access to staging'\n  hookkeeper branch handoff list\n  hookkeeper branch handoff close task-2026-01-29"
    )]
    Handoff(handoff::Arguments),
    /// A prompt that is given again until a promise is made
    #[command(
        after_help = "Examples:\n  hookkeeper branch loop start 'Make all tests pass' \\\n    --promise 'ALL GREEN' --max-iterations 20\n  hookkeeper branch loop cancel"
    )]
    Loop {
        /// Print one JSON object: what was done, and where it stands now
        #[arg(long, global = true)]
        json: bool,
        #[command(subcommand)]
        what: loop_steps::LoopStep,
    },
}

pub fn run(project: &Project, options: &Arguments) -> anyhow::Result<Outcome> {
    let session = options.who.id(project)?;
    let (named, of) = (options.branch.as_deref(), session.as_deref());
    match &options.what {
        What::Show { json } => show::run(project, named, of, *json),
        What::Plan { json } => show::plan(project, named, *json),
        What::Handoff(handoff) => handoff::run(project, handoff, named, of),
        What::Loop { what, json } => {
            loop_steps::run(&options.who.command(project)?, what, named, *json)
        }
    }
}
