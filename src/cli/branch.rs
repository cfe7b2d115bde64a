//! `hookkeeper branch`: what belongs to a branch. Its loop is here, the rest beside it.

mod handoff;
mod show;
mod standing;

use anyhow::{Context as _, bail};
use serde_json::json;

use super::work::{Who, driver, must_be_free, the_session};
use super::{Project, said_json};
use crate::Outcome;
use crate::books::branch::{BranchLoop, BranchState};
use crate::gather;
use crate::hooks::desk;
use crate::hooks::drive::Name;
use crate::loops::Verdict;
use crate::loops::branch::{Driven, MAX_ITERATIONS, PROMISE};
use crate::loops::governor::Loop as _;
use crate::plan::Plan;
use crate::snapshot::Snapshot;
use crate::store::layout::Doc;
use crate::time;

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
    /// Write down where the work stands, for whoever goes on with it
    #[command(
        after_help = "Examples:\n  hookkeeper branch handoff --type session\n  hookkeeper branch handoff --type task --title 'Login form' --next 'Write the tests'\n  hookkeeper branch handoff --type blocked --note 'No access to the staging database'"
    )]
    Handoff(handoff::Arguments),
    /// A prompt that is given again until a promise is made
    #[command(
        after_help = "Examples:\n  hookkeeper branch loop start 'Make all tests pass' --promise 'ALL GREEN' --max 20\n  hookkeeper branch loop cancel"
    )]
    Loop {
        #[command(subcommand)]
        what: Step,
    },
}

#[derive(clap::Subcommand)]
enum Step {
    /// Start it
    #[command(
        after_help = "Example:\n  hookkeeper branch loop start 'Make all tests pass' --promise 'ALL GREEN'"
    )]
    Start {
        /// What the model is asked to do
        prompt: String,
        /// Iterations at most
        #[arg(long, value_name = "N", default_value_t = MAX_ITERATIONS, value_parser = clap::value_parser!(u64).range(1..))]
        max: u64,
        /// Minutes at most
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
        max_minutes: Option<u64>,
        /// What the model says between <promise> tags when it is done
        #[arg(long, value_name = "TEXT", default_value = PROMISE)]
        promise: String,
    },
    /// Where it stands
    #[command(after_help = "Example:\n  hookkeeper branch loop status --json")]
    Status {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Make a session drive it
    #[command(after_help = "Example:\n  hookkeeper branch loop adopt --session 0f3e8a2c-…")]
    Adopt,
    /// Go on with one that ended before it was complete
    #[command(after_help = "Example:\n  hookkeeper branch loop resume --max 30")]
    Resume {
        /// Iterations at most, in all
        #[arg(long, value_name = "N")]
        max: Option<u64>,
    },
    /// End it at once
    #[command(after_help = "Example:\n  hookkeeper branch loop cancel")]
    Cancel,
}

pub fn run(project: &Project, options: &Arguments) -> anyhow::Result<Outcome> {
    let session = options.who.id(project.process);
    let (named, of) = (options.branch.as_deref(), session.as_deref());
    let what = match &options.what {
        What::Show { json } => return show::run(project, named, of, *json),
        What::Plan { json } => return show::plan(project, named, *json),
        What::Handoff(handoff) => return handoff::run(project, handoff, named, of),
        What::Loop { what } => what,
    };
    let now = project.process.now();
    let redact = project.redactor()?;
    change(project, options, |here| match what {
        Step::Start { prompt, max, max_minutes, promise } => {
            if prompt.trim().is_empty() || promise.trim().is_empty() {
                bail!("the prompt and the promise must not be empty");
            }
            if here.state.running().is_some() {
                bail!(
                    "a {} is open: `hookkeeper branch loop cancel` ends it",
                    here.driven()?.title()
                );
            }
            if let Some(id) = &session {
                here.refuse_a_second(id)?;
            }
            here.state.the_loop = Some(BranchLoop {
                active: true,
                iteration: 1,
                max_iterations: *max,
                completion_promise: promise.trim().to_owned(),
                prompt: redact.text(prompt),
                started_at: time::spell(now),
                session_id: session,
                max_minutes: *max_minutes,
                ..BranchLoop::default()
            });
            let driven = here.driven()?;
            let owner = driver(driven.the_loop.session_id.as_deref());
            Ok(Outcome::said(format!(
                "Started: {}, driven by {owner}.\n{}",
                driven.title(),
                driven.reason()
            )))
        }
        Step::Status { json } => {
            if *json {
                let value = json!({"branch": here.state.branch, "loop": here.state.the_loop});
                return said_json(&value);
            }
            let Some(the_loop) = &here.state.the_loop else {
                return Ok(Outcome::said(format!("Branch {} has no loop.", here.state.branch)));
            };
            let owner = the_loop.session_id.as_deref().unwrap_or("nobody yet");
            let end = match (&the_loop.verdict, &the_loop.verdict_reason) {
                (Some(verdict), Some(why)) => format!("\nended: {verdict}, {why}"),
                (Some(verdict), None) => format!("\nended: {verdict}"),
                _ => String::new(),
            };
            Ok(Outcome::said(format!("{}, driven by {owner}{end}", here.driven()?.title())))
        }
        Step::Adopt => {
            here.must_run()?;
            let id = the_session(session, &here.snapshot)?;
            here.refuse_a_second(&id)?;
            let the_loop = here.state.the_loop.as_mut().context("there is no loop")?;
            the_loop.session_id = Some(id.clone());
            Ok(Outcome::said(format!("{}: now driven by session {id}", here.driven()?.title())))
        }
        Step::Resume { max } => {
            let the_loop = here.state.the_loop.as_mut().context("there is no loop to resume")?;
            match the_loop.verdict.as_deref() {
                None if the_loop.active => bail!("the loop is running"),
                Some("complete") => bail!("the loop is complete; start a new one"),
                _ => {}
            }
            let most = max.unwrap_or(the_loop.max_iterations.max(the_loop.iteration + 10));
            if most <= the_loop.iteration {
                bail!("{} iterations are over already; give it more", the_loop.iteration);
            }
            the_loop.active = true;
            the_loop.max_iterations = most;
            the_loop.started_at = time::spell(now);
            (the_loop.verdict, the_loop.verdict_at, the_loop.verdict_reason) = (None, None, None);
            let driven = here.driven()?;
            Ok(Outcome::said(format!("Goes on: {}.\n{}", driven.title(), driven.reason())))
        }
        Step::Cancel => {
            here.must_run()?;
            let mut driven = here.driven()?;
            driven.end(Verdict::Cancelled, "cancelled by a command", now);
            let title = driven.title();
            here.state.the_loop = Some(driven.the_loop);
            Ok(Outcome::said(format!("Cancelled: {title}")))
        }
    })
}

/// A branch and the sessions around it, under the lock.
struct Here {
    state: BranchState,
    file: String,
    snapshot: Snapshot,
}

impl Here {
    fn driven(&self) -> anyhow::Result<Driven> {
        Ok(Driven {
            the_loop: self.state.the_loop.clone().context("there is no loop")?,
            branch: self.state.branch.clone(),
            file: self.file.clone(),
            elsewhere: None,
        })
    }

    fn must_run(&self) -> anyhow::Result<()> {
        match &self.state.the_loop {
            _ if self.state.running().is_some() => Ok(()),
            Some(_) => bail!(
                "the loop of branch {} has ended; `hookkeeper branch loop resume` goes on with one that is not complete",
                self.state.branch
            ),
            None => bail!(
                "branch {} has no loop; `hookkeeper branch loop start PROMPT` starts one",
                self.state.branch
            ),
        }
    }

    /// One session drives one loop.
    fn refuse_a_second(&self, session: &str) -> anyhow::Result<()> {
        must_be_free(session, &self.snapshot, Name::Branch)
    }
}

fn change(
    project: &Project,
    options: &Arguments,
    work: impl FnOnce(&mut Here) -> anyhow::Result<Outcome>,
) -> anyhow::Result<Outcome> {
    let root = project.root()?;
    let name = standing::name(project, options.branch.as_deref())?;
    project.change(|store| {
        let mut snapshot = Snapshot::default();
        gather::copies(&mut snapshot, store)?;
        gather::loops(&mut snapshot, store)?;
        let key = store.branch_key(&name, &root)?;
        let doc = Doc::Branch(key.clone());
        let before: Option<BranchState> = store.load(&doc, gather::json)?;
        if store.frozen.contains(&doc) {
            bail!("{} cannot be changed: it cannot be read, or is of a newer version", doc.path());
        }
        let fresh = BranchState { branch: name, ..BranchState::default() };
        let state = before.clone().unwrap_or(fresh);
        let mut here = Here { state, file: doc.path(), snapshot };
        let done = work(&mut here)?;
        let Here { state, mut snapshot, .. } = here;
        if before.as_ref() == Some(&state) || (before.is_none() && state.the_loop.is_none()) {
            return Ok(done);
        }
        let mut plan = Plan::default();
        plan.put(doc, &state);
        // The session that drives it knows where it is, and one that does not any more forgets it.
        let owner = state.running().and_then(|the_loop| the_loop.session_id.clone());
        for live in snapshot.lives.values_mut() {
            let drives = owner.as_ref() == Some(&live.session_id);
            let had = live.loop_branch.as_deref() == Some(key.as_str());
            if drives != had {
                live.loop_branch = drives.then(|| key.as_str().to_owned());
                if had {
                    let ended =
                        state.the_loop.as_ref().and_then(|the_loop| the_loop.verdict.clone());
                    live.loop_verdict = ended.or(live.loop_verdict.take());
                }
                plan.put(Doc::live(&live.session_id), live);
            }
        }
        desk::put_copies(&mut plan, &snapshot, snapshot.lives.values());
        store.commit(&plan.changes)?;
        Ok(done)
    })
}
