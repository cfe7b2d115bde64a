//! `hookkeeper reset`: clears a part of the state. What was there is set aside, not deleted.

use crate::console::project::Project;
use crate::core::outcome::Outcome;
use crate::session::live::{Earlier, Live};
use crate::session::record;
use crate::state::State;
use crate::state::plan::Plan;
use crate::store::{Store, home, set_aside, untrusted};

#[derive(clap::Args)]
pub struct Arguments {
    /// The part
    #[arg(value_enum)]
    what: What,
}

#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
enum What {
    /// The loop and the work queue
    Loop,
    /// Agents, their results and counts
    Agents,
    /// Classified errors and their counts
    Errors,
    /// All state in .claude/state; branches, tasks and the autonomous loop stay
    All,
}

/// The live records.
const LIVE: &str = "session/live";

pub fn run(project: &Project, options: &Arguments) -> anyhow::Result<Outcome> {
    if project.view()?.is_none() {
        return Ok(Outcome::printed("There is no state here, so there is nothing to reset."));
    }
    let aside = project.change_unplayed(|store, _| {
        let names = store.state_dir().names()?;
        let has = |name: &str| names.iter().any(|have| have == name);
        let part = match options.what {
            What::Loop => "loop",
            What::Agents => "agents",
            What::Errors => "errors",
            What::All => {
                // Not the state: the lock that we hold, and how to give the settings back.
                let stays = [home::LOCK, ".gitignore", "settings", set_aside::ROOM];
                let stays = |name: &&str| {
                    stays.contains(name) || *name == untrusted::TRUSTED || untrusted::is_room(name)
                };
                let goes = names.iter().map(String::as_str).filter(|name| !stays(name));
                let goes: Vec<&str> = goes.collect();
                return match goes.is_empty() {
                    true => Ok(None),
                    false => Ok(Some(store.set_aside(&[], &goes)?)),
                };
            }
        };
        if !has(part) {
            return Ok(None);
        }
        let aside = match options.what {
            What::All => store.set_aside(&[], &[part])?,
            What::Loop | What::Agents | What::Errors => store.set_aside(&[LIVE], &[part])?,
        };
        match options.what {
            What::Agents => change_lives(store, forget_agents)?,
            What::Errors => change_lives(store, forget_errors)?,
            What::Loop => change_lives(store, forget_queue)?,
            What::All => {}
        }
        Ok(Some(aside))
    })?;
    Ok(Outcome::printed(match aside {
        Some(aside) => format!("Reset. What was there is in {}", project.shown(&aside)),
        None => "There was nothing to reset.".into(),
    }))
}

/// Changes every live record and derives the copies anew.
fn change_lives(store: &Store, change: fn(&mut Live)) -> anyhow::Result<()> {
    let state = State::new(store);
    let mut plan = Plan::default();
    let mut lives: Vec<Live> = state.all::<Live>().cloned().collect();
    for live in &mut lives {
        change(live);
        plan.put(&state.read::<Live>(&live.session_id), live);
    }
    record::put_copies(&mut plan, lives.iter(), &state);
    store.commit(&plan.changes, &state)?;
    store.take_over_remarks(&state);
    Ok(())
}

fn forget_queue(live: &mut Live) {
    if live.loop_queue.take().is_some() {
        live.loop_iterations.clear();
    }
}

fn forget_agents(live: &mut Live) {
    live.agents.clear();
    live.calls.clear();
    (live.agents_spawned, live.agents_completed, live.agents_failed) = (0, 0, 0);
    (live.findings, live.untold_findings) = (0, 0);
}

fn forget_errors(live: &mut Live) {
    live.open_targets.clear();
    (live.errors_encountered, live.errors_recovered, live.errors_escalated) = (0, 0, 0);
    let Earlier { errors, .. } = &mut live.earlier;
    *errors = Default::default();
}
