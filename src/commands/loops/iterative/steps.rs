//! What moves a task on.

use anyhow::bail;

use crate::commands::loops::iterative::task_command::{TaskCommand, rule};
use crate::console::usage::usage;
use crate::core::gate::shell_word;
use crate::core::outcome::Outcome;
use crate::core::text::clip;
use crate::loops::Loop as _;
use crate::loops::iterative::document::progress::Entry;
use crate::loops::iterative::document::{DELIVER, PHASES, Part, VERIFY};
use crate::loops::iterative::rules::advance::{self, go_on};
use crate::loops::iterative::rules::review;
use crate::loops::iterative::rules::signal::UnitSignal;

const MOST: u64 = 1000;

#[derive(clap::Args)]
pub struct Log {
    /// The task
    slug: String,
    /// The unit, by its id
    unit: String,
    /// What was done
    #[arg(long, value_name = "TEXT")]
    did: String,
    /// What is left; "None" if nothing is
    #[arg(long, value_name = "TEXT")]
    remaining: String,
    /// What is in the way
    #[arg(long, value_name = "TEXT", default_value = "None")]
    blockers: String,
    /// The commit that it is in
    #[arg(long, value_name = "HASH")]
    commit: Option<String>,
    /// For the record only: `iterative signal`, or the tag in a message, moves the unit
    #[arg(long, value_name = "SIGNAL")]
    signal: Option<String>,
}

pub fn next(at: &TaskCommand, slug: Option<&str>) -> anyhow::Result<Outcome> {
    at.change(slug, |task, state| {
        at.command.ensure_own(task, state)?;
        rule(go_on(&mut task.documents))?;
        Ok(task.reason().to_string())
    })
}

pub fn log(at: &TaskCommand, log: &Log) -> anyhow::Result<Outcome> {
    let redact = at.command.project.redactor()?;
    at.change(Some(&log.slug), |task, _| {
        let text = |text: &String| Some(redact.text(text));
        let entry = Entry {
            did: text(&log.did),
            remaining: text(&log.remaining),
            blockers: text(&log.blockers),
            commit: log.commit.as_ref().and_then(text),
            signal: log.signal.as_ref().and_then(text),
            ..Entry::default()
        };
        rule(advance::note(&mut task.documents, &log.unit, entry))?;
        Ok(format!("Noted in {}.", task.documents.file(Part::Progress)))
    })
}

pub fn signal(at: &TaskCommand, slug: &str, text: &str) -> anyhow::Result<Outcome> {
    let text = text.trim().trim_start_matches("<signal>").trim_end_matches("</signal>");
    let Some(said) = UnitSignal::parse(text) else {
        bail!(usage(format!(
            "`{}` is no signal; signals are T1_DONE, T1_VERIFIED, T1_GAPS and BLOCKED: why",
            clip(text, 80)
        )));
    };
    at.change(Some(slug), |task, state| {
        at.command.ensure_running(task, state)?;
        if review::is_on(&task.documents) {
            rule(review::record_verdict(&mut task.documents, &[said]))?;
            task.signals = at.command.session.is_some();
            return Ok(task.reason().to_string());
        }
        if task.documents.state.phase != "execute" {
            bail!("the task {slug} is in its phase {}; signals count in execute", task.documents.state.phase);
        }
        let is_driver = at.command.session.is_some() && at.command.session.as_deref() == task.owner();
        if is_driver && task.signalled {
            bail!("one signal in a turn: the last one was taken; end the turn, and go on with what comes then");
        }
        rule(advance::signal(&mut task.documents, &said, task.changed))?;
        rule(go_on(&mut task.documents))?;
        task.signals = at.command.session.is_some();
        Ok(task.reason().to_string())
    })
}

pub fn phase(at: &TaskCommand, slug: &str, name: &str) -> anyhow::Result<Outcome> {
    at.change(Some(slug), |task, state| {
        at.command.ensure_own(task, state)?;
        let word = shell_word(slug);
        match name {
            "complete" => bail!("`hookkeeper iterative archive {word}` makes a task complete"),
            name if !PHASES.contains(&name) => {
                bail!(usage(format!("there is no phase `{}`; there are {}", clip(name, 40), PHASES.join(", "))))
            }
            "execute" => {
                at.command.ensure_running(task, state)?;
                if task.documents.state.units().is_empty() {
                    let first = task.documents.state.first_unit();
                    bail!("the task {slug} has no units; `hookkeeper iterative unit {word} '{first}: title | criteria'` adds one");
                }
            }
            VERIFY if !task.documents.state.all_closed() => bail!(
                "the task {slug} has open units; it is reviewed when all of them are done or skipped"
            ),
            DELIVER => bail!(
                "a task is delivered when its review has passed: `hookkeeper iterative signal {word} {}_VERIFIED`",
                review::WHOLE
            ),
            _ => {}
        }
        let mut entry = Entry::of_task("Phase");
        entry.phase = Some(name.to_owned());
        rule(task.documents.record(entry))?;
        rule(go_on(&mut task.documents))?;
        Ok(task.reason().to_string())
    })
}

pub fn skip(
    at: &TaskCommand,
    slug: &str,
    id: &str,
    reason: Option<&str>,
) -> anyhow::Result<Outcome> {
    let why = match reason {
        Some(why) => Some(at.command.project.redactor()?.text(why)),
        None => None,
    };
    at.change(Some(slug), |task, state| {
        at.command.ensure_running(task, state)?;
        rule(advance::skip(&mut task.documents, id, why))?;
        rule(go_on(&mut task.documents))?;
        Ok(task.reason().to_string())
    })
}

pub fn unblock(at: &TaskCommand, slug: &str, id: &str) -> anyhow::Result<Outcome> {
    at.change(Some(slug), |task, state| {
        at.command.ensure_running(task, state)?;
        rule(advance::unblock(&mut task.documents, id))?;
        rule(go_on(&mut task.documents))?;
        Ok(task.reason().to_string())
    })
}

pub fn set(at: &TaskCommand, slug: &str, id: &str, value: &str) -> anyhow::Result<Outcome> {
    let most = value.strip_prefix("max=").and_then(|n| n.parse::<u64>().ok());
    let most = most.filter(|n| (1..=MOST).contains(n));
    let most =
        most.ok_or_else(|| usage(format!("`{}`: say max=N, from 1 to {MOST}", clip(value, 40))))?;
    at.change(Some(slug), |task, state| {
        at.command.ensure_running(task, state)?;
        rule(advance::limit(&mut task.documents, id, most))?;
        rule(go_on(&mut task.documents))?;
        Ok(format!("{id}: {most} iterations at most.\n{}", task.reason()))
    })
}

pub fn resume(at: &TaskCommand, slug: Option<&str>) -> anyhow::Result<Outcome> {
    let named = at.slug_of(slug, |task| {
        task.is_known() && task.phase != "complete" && !task.ending.is_complete()
    })?;
    at.change(Some(named.as_str()), |task, state| {
        let said = at.command.resume(task, None, state)?;
        let current =
            task.documents.state.current().and_then(|id| task.documents.log.remaining(id));
        let left = current.map(|left| format!("\nRemaining, by the log: {left}"));
        Ok(said + &left.unwrap_or_default())
    })
}

pub fn adopt(at: &TaskCommand, slug: Option<&str>) -> anyhow::Result<Outcome> {
    at.change(slug, |task, state| at.command.adopt(task, state))
}
