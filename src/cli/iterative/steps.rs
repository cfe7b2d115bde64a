//! What moves a task on.

use anyhow::{Context as _, bail};

use super::desk::{Desk, rule};
use crate::Outcome;
use crate::books::clip;
use crate::books::iterative::progress::{Entry, NONE};
use crate::books::iterative::{PHASES, Part};
use crate::cli::acting::the_session;
use crate::hooks::drive::iterative::adopted;
use crate::hooks::session_record::is_live;
use crate::loops::iterative::advance::{self, go_on};
use crate::loops::iterative::signal::Said;
use crate::loops::iterative::title;

const MOST: u64 = 1000;

#[derive(clap::Args)]
pub struct Log {
    slug: String,
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
    #[arg(long, value_name = "HASH")]
    commit: Option<String>,
    /// For the record only: `iterative signal`, or the tag in a message, moves the unit
    #[arg(long, value_name = "SIGNAL")]
    signal: Option<String>,
}

pub fn next(at: &Desk, slug: Option<&str>) -> anyhow::Result<Outcome> {
    at.change(slug, |here| {
        here.must_be_own(at.session.as_deref())?;
        rule(go_on(&mut here.book))?;
        Ok(here.now())
    })
}

pub fn log(at: &Desk, log: &Log) -> anyhow::Result<Outcome> {
    let redact = at.project.redactor()?;
    at.change(Some(&log.slug), |here| {
        let text = |text: &String| Some(redact.text(text));
        let entry = Entry {
            did: text(&log.did),
            remaining: text(&log.remaining),
            blockers: text(&log.blockers),
            commit: log.commit.clone(),
            signal: log.signal.as_ref().and_then(text),
            ..Entry::default()
        };
        rule(advance::note(&mut here.book, &log.unit, entry))?;
        Ok(format!("Noted in {}.", here.book.file(Part::Progress)))
    })
}

pub fn signal(at: &Desk, slug: &str, text: &str) -> anyhow::Result<Outcome> {
    let text = text.trim().trim_start_matches("<signal>").trim_end_matches("</signal>");
    let Some(said) = Said::parse(text) else {
        bail!(
            "`{}` is no signal; signals are T1_DONE, T1_VERIFIED, T1_GAPS and BLOCKED: why",
            clip(text, 80)
        );
    };
    at.change(Some(slug), |here| {
        here.must_run(at.session.as_deref())?;
        if here.book.state.phase != "execute" {
            bail!("the task {slug} is in its phase {}; signals count in execute", here.book.state.phase);
        }
        let driver = here.driver().filter(|live| at.session.as_ref() == Some(&live.session_id));
        if driver.is_some_and(|live| live.loop_signalled) {
            bail!("one signal in a turn: the last one was taken; end the turn, and go on with what comes then");
        }
        let changed = here.driver().is_some_and(|live| live.loop_edits > 0);
        rule(advance::signal(&mut here.book, &said, changed))?;
        rule(go_on(&mut here.book))?;
        here.signalled = at.session.is_some();
        Ok(here.now())
    })
}

pub fn phase(at: &Desk, slug: &str, name: &str) -> anyhow::Result<Outcome> {
    at.change(Some(slug), |here| {
        here.must_be_own(at.session.as_deref())?;
        match name {
            "complete" => bail!("`hookkeeper iterative archive {slug}` makes a task complete"),
            name if !PHASES.contains(&name) => {
                bail!("there is no phase `{}`; there are {}", clip(name, 40), PHASES.join(", "))
            }
            "execute" => {
                here.must_run(at.session.as_deref())?;
                if here.book.state.units().is_empty() {
                    let first = here.book.state.first_unit();
                    bail!("the task {slug} has no units; `hookkeeper iterative unit {slug} '{first}: title | criteria'` adds one");
                }
            }
            _ => {}
        }
        let mut entry = Entry::of_task("Phase");
        entry.phase = Some(name.to_owned());
        rule(here.book.record(entry))?;
        rule(go_on(&mut here.book))?;
        Ok(here.now())
    })
}

pub fn skip(at: &Desk, slug: &str, id: &str, reason: Option<&str>) -> anyhow::Result<Outcome> {
    let why = match reason {
        Some(why) => Some(at.project.redactor()?.text(why)),
        None => None,
    };
    at.change(Some(slug), |here| {
        here.must_run(at.session.as_deref())?;
        rule(advance::skip(&mut here.book, id, why))?;
        rule(go_on(&mut here.book))?;
        Ok(here.now())
    })
}

pub fn unblock(at: &Desk, slug: &str, id: &str) -> anyhow::Result<Outcome> {
    at.change(Some(slug), |here| {
        here.must_run(at.session.as_deref())?;
        rule(advance::unblock(&mut here.book, id))?;
        rule(go_on(&mut here.book))?;
        Ok(here.now())
    })
}

pub fn set(at: &Desk, slug: &str, id: &str, value: &str) -> anyhow::Result<Outcome> {
    let most = value.strip_prefix("max=").and_then(|n| n.parse::<u64>().ok());
    let most = most.filter(|n| (1..=MOST).contains(n));
    let most =
        most.with_context(|| format!("`{}`: say max=N, from 1 to {MOST}", clip(value, 40)))?;
    at.change(Some(slug), |here| {
        here.must_run(at.session.as_deref())?;
        rule(advance::limit(&mut here.book, id, most))?;
        rule(go_on(&mut here.book))?;
        Ok(format!("{id}: {most} iterations at most.\n{}", here.now()))
    })
}

pub fn resume(at: &Desk, slug: Option<&str>) -> anyhow::Result<Outcome> {
    let named = at.slug_of(slug, |task| {
        task.is_known() && task.phase != "complete" && task.verdict.as_deref() != Some("complete")
    })?;
    at.change(Some(named.as_str()), |here| {
        let slug = here.book.slug.clone();
        let owner = here.book.state.session_id.clone();
        let ended = owner.as_ref().filter(|id| !is_live(id, here.around));
        // A task whose session has ended goes on in the one that asks for it.
        let heir = at.session.as_ref().filter(|own| match (&owner, ended) {
            (Some(_), Some(ended)) => ended != *own,
            (owner, _) => owner.is_none(),
        });
        if heir.is_none() {
            here.must_be_own(at.session.as_deref())?;
        }
        let was = here.book.state.verdict.clone();
        if was.as_deref() == Some("complete") || here.book.state.phase == "complete" {
            bail!("the task {slug} is complete; make a new one");
        }
        if let Some(id) = heir.or(owner.as_ref()) {
            at.refuse_a_second(id, here.around, &slug)?;
        }
        if was.is_some() {
            let mut entry = Entry::of_task("Resumed");
            entry.verdict = Some(NONE.to_owned());
            rule(here.book.record(entry))?;
        }
        if owner.is_some() && here.driver().is_none() {
            rule(advance::confirm_anew(&mut here.book))?;
        }
        if let Some(id) = heir {
            rule(here.book.record(adopted(id)))?;
        }
        rule(go_on(&mut here.book))?;
        let mut lines = vec![format!("Goes on: {}.", title(&here.book))];
        lines.extend(ended.filter(|_| heir.is_none()).map(|id| {
            format!("Session {id}, which drives it, has ended; `hookkeeper iterative adopt {slug} --session ID` gives it to another one.")
        }));
        let current = here.book.state.current().and_then(|id| here.book.log.remaining(id));
        lines.extend(current.map(|left| format!("Remaining, by the log: {left}")));
        lines.push(here.now());
        Ok(lines.join("\n"))
    })
}

pub fn adopt(at: &Desk, slug: Option<&str>) -> anyhow::Result<Outcome> {
    at.change(slug, |here| {
        here.must_run(None)?;
        let id = the_session(at.session.clone(), here.around)?;
        at.refuse_a_second(&id, here.around, &here.book.slug)?;
        let owner = here.book.state.session_id.clone();
        let is_own = owner.as_ref() == Some(&id);
        if owner.is_some() && !(is_own && here.driver().is_some()) {
            rule(advance::confirm_anew(&mut here.book))?;
        }
        if !is_own {
            rule(here.book.record(adopted(&id)))?;
        }
        Ok(format!("{}: now driven by session {id}", title(&here.book)))
    })
}
