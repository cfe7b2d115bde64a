//! `hookkeeper loop`

use anyhow::{Context as _, bail};
use serde_json::{Value, json};

use super::{change, read};
use crate::Outcome;
use crate::books::clip;
use crate::books::queue::Queue;
use crate::cli::acting::{
    Who, absence, driver, must_act_for, must_be_free, take_over, the_session,
};
use crate::cli::{Project, said_json, said_with};
use crate::hooks::drive::Name;
use crate::loops::queue::{MAX_ITERATIONS, PHASES, end, end_iteration, reason, start, title};
use crate::loops::{Say, Verdict, render};
use crate::time;

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
    let stands = || Ok::<_, anyhow::Error>(stands(&read(project)?));
    match options.what {
        What::Status if options.json => said_json(&stands()?),
        _ if options.json => said_with(step(project, options)?, stands()?),
        _ => step(project, options),
    }
}

fn step(project: &Project, options: &Arguments) -> anyhow::Result<Outcome> {
    let now = project.process.now();
    let session = options.who.id(project.process);
    match &options.what {
        What::Start { task, max_iterations, max_minutes, gate, reset } => {
            let task = task.trim();
            if task.is_empty() {
                bail!("the task is empty");
            }
            let redact = project.redactor()?;
            change(project, |queue, state| {
                if let Some(id) = &session {
                    must_be_free(id, state, Name::Queue)?;
                }
                if queue.is_running() && !reset {
                    bail!(
                        "a {} is open: `hookkeeper loop cancel` ends it, `--reset` starts anew",
                        title(queue)
                    );
                }
                if queue.is_running() {
                    must_be_own(queue, session.as_deref())?;
                }
                if *reset {
                    *queue = Queue::default();
                }
                start(queue, &redact.text(task), session, now);
                queue.max_iterations = Some(*max_iterations);
                queue.max_minutes = *max_minutes;
                queue.gates.clone_from(gate);
                let owner = driver(queue.session_id.as_deref());
                Ok(Outcome::said(format!(
                    "Started: {}, driven by {owner}.\n{}",
                    title(queue),
                    reason(queue)
                )))
            })
        }
        What::Status => Ok(status(&read(project)?)),
        What::Phase { name } => change(project, |queue, _| {
            must_run(queue, session.as_deref())?;
            let phase = PHASES.iter().find(|(phase, _)| phase.eq_ignore_ascii_case(name));
            let names = || PHASES.map(|(phase, _)| phase).join(", ");
            let (phase, word) = phase
                .with_context(|| format!("there is no phase `{name}`; there are {}", names()))?;
            queue.phase = Some((*phase).into());
            queue.status = (*word).into();
            Ok(Outcome::said(format!("{}: {word}", title(queue))))
        }),
        What::Next => change(project, |queue, _| {
            must_run(queue, session.as_deref())?;
            Ok(Outcome::said(match end_iteration(queue, true, now) {
                Say::Go { reason, .. } | Say::Wait(reason) => reason,
                Say::End(verdict, why) => format!("The loop is {}: {why}.", verdict.name()),
            }))
        }),
        What::Adopt => change(project, |queue, state| {
            must_run(queue, None)?;
            let id = the_session(session, state)?;
            must_be_free(&id, state, Name::Queue)?;
            queue.session_id = Some(id.clone());
            Ok(Outcome::said(format!("{}: now driven by session {id}", title(queue))))
        }),
        What::Resume { max_iterations } => change(project, |queue, state| {
            take_over(&mut queue.session_id, session.as_deref(), state);
            must_be_own(queue, session.as_deref())?;
            if let Some(owner) = &queue.session_id {
                must_be_free(owner, state, Name::Queue)?;
            }
            resume(queue, *max_iterations)?;
            // Its time begins anew: what has passed since it ended is not its own.
            queue.started_at = Some(time::spell(now));
            let absence = absence(queue.session_id.as_deref(), state, "hookkeeper loop adopt");
            Ok(Outcome::said(format!("Goes on: {}.{absence}\n{}", title(queue), reason(queue))))
        }),
        What::Cancel => change(project, |queue, _| {
            must_run(queue, session.as_deref())?;
            end(queue, Verdict::Cancelled, "cancelled by a command".into(), now);
            Ok(Outcome::said(format!("Cancelled: {}", title(queue))))
        }),
    }
}

fn must_be_own(queue: &Queue, session: Option<&str>) -> anyhow::Result<()> {
    must_act_for(session, queue.session_id.as_deref(), || title(queue))
}

fn must_run(queue: &Queue, session: Option<&str>) -> anyhow::Result<()> {
    must_be_own(queue, session)?;
    match &queue.verdict {
        _ if queue.is_running() => Ok(()),
        Some(verdict) => bail!(
            "the loop has ended ({verdict}); `hookkeeper loop resume` goes on with one that is not complete"
        ),
        None => bail!("no loop is running; `hookkeeper loop start TASK` starts one"),
    }
}

fn resume(queue: &mut Queue, most: Option<u64>) -> anyhow::Result<()> {
    match queue.verdict.as_deref() {
        None if queue.is_running() => bail!("the loop is running"),
        None => bail!("there is no loop to resume"),
        Some("complete") => bail!("the loop is complete; start a new one"),
        Some(_) => {}
    }
    // An iteration that is in the history is over.
    if queue.history.last().is_some_and(|past| past.iteration >= queue.iteration) {
        queue.iteration += 1;
    }
    let before = queue.max_iterations.unwrap_or(MAX_ITERATIONS);
    let enough = before.max(queue.iteration + 10);
    let most = most.unwrap_or(if queue.iteration >= before { enough } else { before });
    if most <= queue.iteration {
        bail!("{} iterations are over already; give it more", queue.iteration);
    }
    queue.max_iterations = Some(most);
    (queue.verdict, queue.verdict_at, queue.verdict_reason) = (None, None, None);
    queue.stall = None;
    let phase = queue.phase.clone().unwrap_or_default();
    let word = PHASES.iter().find(|(name, _)| *name == phase).map_or("BUILDING", |(_, word)| word);
    queue.status = word.into();
    Ok(())
}

fn stands(queue: &Queue) -> Value {
    json!({"running": queue.is_running(), "loop": queue, "open": queue.open(), "failing": queue.failing()})
}

fn status(queue: &Queue) -> Outcome {
    if queue.status == "none" {
        return Outcome::said("No loop. Start one: hookkeeper loop start TASK");
    }
    let owner = queue.session_id.as_deref().unwrap_or("nobody yet");
    let mut out = format!("{}, {}, driven by {owner}\n", title(queue), queue.status);
    if let Some(verdict) = &queue.verdict {
        let why = queue.verdict_reason.as_deref().unwrap_or_default();
        out.push_str(&format!("ended: {verdict}, {}\n", clip(why, 200)));
    }
    out.push_str(&render::markdown(queue));
    Outcome::said(out)
}
