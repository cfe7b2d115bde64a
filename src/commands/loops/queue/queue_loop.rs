//! `hookkeeper loop`

use anyhow::bail;
use serde_json::{Value, json};

use crate::commands::loops::queue::{evidence_at_start, load, read};
use crate::commands::loops::{Who, existing, headline};
use crate::console::project::{Project, print_json, said_with};
use crate::console::usage::usage;
use crate::core::outcome::Outcome;
use crate::core::time;
use crate::loops::queue::document::Queue;
use crate::loops::queue::drive;
use crate::loops::queue::page::LoopStateText;
use crate::loops::queue::phase::PHASES;
use crate::loops::queue::rules::{MAX_ITERATIONS, QueueLoop, start, title};
use crate::loops::queue::{progress, recover, render};
use crate::loops::{Loop, LoopKind, Say};
use crate::state::State;
use crate::turn::world::World;

/// What is said of a loop that another tool keeps in the queue's file.
const FOREIGN: &str = "is a loop of another tool in .claude/state/loop/work_queue.json: \
    `hookkeeper loop adopt` goes on with it";

#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    who: Who,
    /// Print one JSON object: what was done, and where it stands now
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// Start a loop; items that wait in the queue are inherited
    #[command(
        after_help = "Examples:\n  hookkeeper loop start 'Add login' --gate test --gate lint\n  hookkeeper loop start 'Add login' --max-iterations 20 --max-minutes 90"
    )]
    Start {
        /// What has to be done
        task: String,
        /// Iterations at most
        #[arg(long, value_name = "N", default_value_t = MAX_ITERATIONS, value_parser = clap::value_parser!(u64).range(1..))]
        max_iterations: u64,
        /// Minutes at most
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
        max_minutes: Option<u64>,
        /// A gate that has to pass; can be given several times
        #[arg(long, value_name = "NAME")]
        gate: Vec<String>,
        /// End what is running, and start with an empty queue
        #[arg(long)]
        reset: bool,
    },
    /// Where the loop stands
    #[command(after_help = "Example:\n  hookkeeper loop status --json")]
    Status,
    /// Say which phase the loop is in
    #[command(after_help = "Example:\n  hookkeeper loop phase BUILD")]
    Phase {
        /// CONTEXTUALIZE, ASSESS, PLAN, BUILD, TEST, QUALITY, EVALUATE or RECOVER
        name: String,
    },
    /// End this iteration and begin the next one
    #[command(after_help = "Example:\n  hookkeeper loop next")]
    Next,
    /// Make a session drive the loop
    #[command(after_help = "Example:\n  hookkeeper loop adopt --session 0f3e8a2c-…")]
    Adopt,
    /// Go on with a loop that ended before it was complete
    #[command(after_help = "Example:\n  hookkeeper loop resume --max-iterations 80")]
    Resume {
        /// Iterations at most, in all
        #[arg(long, value_name = "N")]
        max_iterations: Option<u64>,
    },
    /// End the loop at once
    #[command(after_help = "Example:\n  hookkeeper loop cancel")]
    Cancel,
}

pub fn run(project: &Project, options: &Arguments) -> anyhow::Result<Outcome> {
    let json_state = || Ok::<_, anyhow::Error>(json_state(&read(project)?));
    match options.what {
        What::Status if options.json => print_json(&json_state()?),
        _ if options.json => said_with(step(project, options)?, json_state()?),
        _ => step(project, options),
    }
}

fn step(project: &Project, options: &Arguments) -> anyhow::Result<Outcome> {
    let command = options.who.command(project)?;
    let load = |_: &_, state: &State| load(project, state);
    let change = |work: &dyn Fn(&mut QueueLoop, &State) -> anyhow::Result<String>| {
        command.change(load, |the_loop, state| {
            work(existing(the_loop, LoopKind::Queue, "loop")?, state)
        })
    };
    match &options.what {
        What::Start { task, max_iterations, max_minutes, gate, reset } => {
            let task = task.trim();
            if task.is_empty() {
                bail!(usage("the task is empty"));
            }
            let (redact, command) = (project.redactor()?, command.starting());
            command.change(load, |the_loop, state| {
                if let Some(open) = the_loop.as_ref().filter(|_| *reset) {
                    command.ensure_own(open, state)?;
                }
                let open = the_loop.as_ref().filter(|_| !reset).map(|open| open as &dyn Loop);
                command.ensure_none(open, LoopKind::Queue, "", state)?;
                if !reset && drive::is_foreign(state) {
                    bail!("here {FOREIGN}, `--reset` starts anew");
                }
                let known = state.get::<Queue>().filter(|_| !reset);
                let mut queue = known.cloned().unwrap_or_default();
                queue.gates.clone_from(gate);
                let evidence = evidence_at_start(project)?;
                let session = command.starter(state)?;
                start(&mut queue, &redact.text(task), session, &evidence, command.now);
                queue.max_iterations = Some(*max_iterations);
                queue.max_minutes = *max_minutes;
                let the_loop = the_loop.insert(QueueLoop { queue, evidence, lost: None });
                Ok(command.started(the_loop, state))
            })
        }
        What::Status => Ok(status(project, &read(project)?)),
        What::Phase { name } => change(&|the_loop, state| {
            command.ensure_running(the_loop, state)?;
            let phase = PHASES.iter().find(|(phase, _)| phase.eq_ignore_ascii_case(name));
            let names = || PHASES.map(|(phase, _)| phase).join(", ");
            let (phase, word) = phase.ok_or_else(|| {
                usage(format!("there is no phase `{name}`; there are {}", names()))
            })?;
            // One that nobody knows too: that is what it is for.
            the_loop.queue.phase = Some((*phase).into());
            the_loop.queue.status = (*word).into();
            Ok(format!("{}: {word}", title(&the_loop.queue)))
        }),
        What::Next => change(&|the_loop, state| {
            command.ensure_running(the_loop, state)?;
            let root = project.root()?;
            the_loop.look(&World::new(project.process, &root), &root);
            Ok(match the_loop.end_iteration(true, true, command.now) {
                Say::Go { reason, .. } => reason.to_string(),
                Say::Wait(reason) | Say::Rest(reason) => reason,
                Say::End(verdict, why) => format!("The loop is {}: {why}.", verdict.name()),
            })
        }),
        What::Adopt => command.change(
            |store, state| match drive::is_foreign(state) {
                true => taken_up(project, state, &time::spell(command.now)).map(Some),
                false => load(store, state),
            },
            |the_loop, state| command.adopt(existing(the_loop, LoopKind::Queue, "loop")?, state),
        ),
        What::Resume { max_iterations } => change(&|the_loop, state| {
            the_loop.evidence.tree = evidence_at_start(project)?.tree;
            command.resume(the_loop, *max_iterations, state)
        }),
        What::Cancel => change(&|the_loop, state| command.cancel(the_loop, state)),
    }
}

/// The loop of another tool that is in the queue, as one of ours.
fn taken_up(project: &Project, state: &State, now: &str) -> anyhow::Result<QueueLoop> {
    let mut queue = state.get::<Queue>().cloned().unwrap_or_default();
    recover::take_up(&mut queue, state.get::<LoopStateText>(), now);
    let evidence = evidence_at_start(project)?;
    progress::begin(&mut queue, &evidence);
    Ok(QueueLoop { queue, evidence, lost: None })
}

fn json_state(queue: &Queue) -> Value {
    json!({"running": queue.is_running(), "loop": queue, "open": queue.open(), "failing": queue.failing(), "not_run": queue.not_run()})
}

fn status(project: &Project, queue: &Queue) -> Outcome {
    if queue.is_foreign_loop() {
        let title = title(queue);
        return Outcome::printed(format!("{title}, driven by nobody.\nHere {FOREIGN}."));
    }
    if queue.status == "none" {
        return Outcome::printed("No loop. Start one: hookkeeper loop start TASK");
    }
    let the_loop = QueueLoop { queue: queue.clone(), ..QueueLoop::default() };
    let mut out = project.print_wrapped(&headline(&the_loop));
    out.push(render::markdown(queue));
    Outcome::printed(out)
}
