//! HK010 to HK017: the state itself.

use crate::core::text::{clip, plural};
use crate::doctor::facts::Facts;
use crate::doctor::finding::{Finding, Fix, or_ok};
use crate::doctor::survey::{LockFile, StatePlace};
use crate::validate::SETTINGS;

pub fn place(facts: &Facts) -> Vec<Finding> {
    let path = facts.show(&facts.root.join(".claude/state"));
    let problem = match &facts.state.place {
        StatePlace::NotYet { can_make: true } | StatePlace::Unknown => None,
        StatePlace::NotYet { can_make: false } => Some(Finding::error(
            format!("{path} does not exist and cannot be made: no permission to write there"),
            "Make the project's directory writable for the user who runs Claude Code.",
        )),
        StatePlace::Bad(why) => Some(Finding::error(
            clip(why, 300),
            "HookKeeper only writes to a plain directory of its own. Move away what is there.",
        )),
        StatePlace::TrackedLink(why) => Some(Finding::error(
            clip(why, 300),
            "If the link is yours, take it out of git: `git rm --cached .claude`. Else somebody else's commit made it: delete it.",
        )),
        StatePlace::There { ours: false, .. } => Some(Finding::error(
            format!("{path} belongs to another user"),
            "Give it to the user who runs Claude Code (`chown -R`).",
        )),
        StatePlace::There { writable: false, .. } => Some(Finding::error(
            format!("{path} cannot be written to"),
            format!("`chmod u+rwx {path}`"),
        )),
        StatePlace::There { open: true, .. } => Some(Finding::warning(
            format!("{path} can be written to by other users"),
            format!("`chmod go-w {path}`"),
        )),
        StatePlace::There { .. } if facts.state.is_foreign => Some(Finding::warning(
            format!("what is in {path} was not made on this machine, so it is not read"),
            "`hookkeeper trust` in a terminal shows it and takes it up; the next hook moves it away.",
        )),
        StatePlace::There { .. } => facts.state.rooms.last().map(|room| {
            Finding::warning(
                format!("{path}/{room} has what was not made on this machine and is not read"),
                "`hookkeeper trust` in a terminal shows it and takes it up; or delete it.",
            )
        }),
    };
    or_ok(problem.into_iter().collect(), || match facts.state.place {
        StatePlace::There { .. } => format!("{path} can be used"),
        _ => format!("{path} does not exist yet; the first hook makes it"),
    })
}

pub fn lock(facts: &Facts) -> Vec<Finding> {
    vec![match &facts.state.lock {
        LockFile::None => Finding::ok("there is none yet"),
        LockFile::Free => Finding::ok("it can be taken"),
        LockFile::Held => Finding::error(
            ".claude/state/.lock is held by a process for more than a second: events wait in the spool",
            "See who holds it: `lsof .claude/state/.lock` or `fuser .claude/state/.lock`. It is free \
             when that process ends; do not delete the file.",
        ),
        LockFile::Bad(why) => Finding::error(
            clip(why, 300),
            "If it is no file, the next event or `hookkeeper validate --repair` moves it away; else see to it that you may write to it.",
        ),
    }]
}

pub fn git(facts: &Facts) -> Vec<Finding> {
    let mut problems = Vec::new();
    if !facts.tracked.is_empty() {
        problems.push(Finding::warning(
            format!(
                "git tracks {} in .claude/state: sessions get into commits",
                plural(facts.tracked.len(), "file")
            ),
            "Start a session first: what git brought is then moved to .claude/state/untrusted-N, and `hookkeeper trust` shows it. Then run `git rm -r --cached .claude/state` and commit. The other way round, what somebody else wrote would count as yours.",
        ));
    }
    let there = matches!(facts.state.place, StatePlace::There { .. });
    if there && !facts.state.hidden {
        problems.push(
            Finding::warning(
                ".claude/state has no .gitignore: git shows the documents as new files",
                "Run `hookkeeper doctor --fix`: it writes one.",
            )
            .fixed_by(Fix::Ignore),
        );
    }
    or_ok(problems, || match there {
        true => "git does not see the state".into(),
        false => "there is no state for git to see".into(),
    })
}

pub fn documents(facts: &Facts) -> Vec<Finding> {
    // The settings have a check of their own.
    let problems = facts.documents.problems.iter().filter(|problem| problem.file != SETTINGS);
    let problems = problems.map(|problem| {
        let place = match problem.pointer.is_empty() {
            true => format!(".claude/state/{}", problem.file),
            false => format!(".claude/state/{}: {}", problem.file, problem.pointer),
        };
        Finding::error(
            format!("{place}: {}", clip(&problem.message, 200)),
            "`hookkeeper validate` shows all of it; `hookkeeper validate --repair` moves it to .claude/state/quarantine.",
        )
    });
    or_ok(problems.collect(), || match facts.documents.documents {
        0 => "there are none yet".into(),
        documents => format!("{} checked, all as they should be", plural(documents, "document")),
    })
}

pub fn quarantine(facts: &Facts) -> Vec<Finding> {
    let waiting = newest(&facts.state.quarantine, "quarantine").map(|(count, newest)| {
        Finding::warning(
            format!(
                "{} could not be read and moved away; the newest is {newest}",
                plural(count, "document")
            ),
            "Look whether something in them is worth keeping, then delete them.",
        )
    });
    or_ok(waiting.into_iter().collect(), || "empty".into())
}

pub fn rejected(facts: &Facts) -> Vec<Finding> {
    let waiting = newest(&facts.state.rejected, "rejected").map(|(count, newest)| {
        Finding::warning(
            format!("{} could not be used; the newest is {newest}", plural(count, "payload")),
            ".claude/state/journal/no-session.jsonl says why. If Claude Code sent them, please report it; then delete the files.",
        )
    });
    or_ok(waiting.into_iter().collect(), || "empty".into())
}

pub fn spool(facts: &Facts) -> Vec<Finding> {
    let waiting = newest(&facts.state.spool, "spool").map(|(count, newest)| {
        Finding::warning(
            format!("{} waiting for the lock; the newest is {newest}", plural(count, "event")),
            "The next hook enters them. If they stay: see HK011.",
        )
        .fixed_by(Fix::Spool)
    });
    or_ok(waiting.into_iter().collect(), || "empty".into())
}

/// How many there are, and the newest: their names begin with the time.
fn newest(names: &[String], room: &str) -> Option<(usize, String)> {
    let last = names.last()?;
    Some((names.len(), format!(".claude/state/{room}/{}", clip(last, 200))))
}

pub fn sessions(facts: &Facts) -> Vec<Finding> {
    let gone = facts.gone.first().map(|first| {
        Finding::note(
            format!(
                "{} whose client is gone without a word (the first is {})",
                plural(facts.gone.len(), "live session"),
                clip(first, 80)
            ),
            "The next session that starts here closes them.",
        )
    });
    or_ok(gone.into_iter().collect(), || match facts.state.lives.len() {
        0 => "none is live".into(),
        lives => format!("{}, no client is known to be gone", plural(lives, "live session")),
    })
}
