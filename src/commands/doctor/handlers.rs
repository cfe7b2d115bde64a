//! HK006 and HK007: what is often wrong with a handler, ours or another tool's. Other tools' are
//! only reported; nobody but their owner changes them.

use crate::client::settings::handler::{LONGEST_TIMEOUT, is_valid_timeout};
use crate::core::event::Kind;
use crate::core::text::{clip, plural};
use crate::doctor::facts::Facts;
use crate::doctor::finding::{Finding, Fix, or_ok};
use crate::doctor::settings::{ExaminedSettings, HookEntry};
use crate::doctor::wiring::install_hint;

pub fn timeouts(facts: &Facts) -> Vec<Finding> {
    let problems = facts.hooks().filter_map(|(file, hook)| check_timeout(file, hook));
    or_ok(problems.collect(), || match facts.hooks().count() {
        0 => "there are no hooks".into(),
        hooks => format!("{}, no time-out looks wrong", plural(hooks, "hook")),
    })
}

fn check_timeout(file: &ExaminedSettings, hook: &HookEntry) -> Option<Finding> {
    let ends = hook.event == Kind::SessionEnd.wire();
    let Some((seconds, line)) = hook.timeout else {
        return (hook.ours && ends).then(|| {
            Finding::warning(
                format!(
                    "{}: our SessionEnd hook has no time-out, so it gets 1.5 s",
                    file.with_line(hook.line)
                ),
                install_hint(file),
            )
            .fixed_by(Fix::Wiring(file.scope))
        });
    };
    let at = format!("{}: {}", file.with_line(line), clip(&hook.event, 60));
    let command = clip(&hook.command, 100);
    if seconds > LONGEST_TIMEOUT {
        let text = format!("{at} `{command}`: time-out of {seconds} s; were milliseconds meant?");
        return Some(match hook.ours {
            true => Finding::error(text, install_hint(file)).fixed_by(Fix::Wiring(file.scope)),
            false => Finding::warning(text, "Time-outs are in seconds. Change it in that file."),
        });
    }
    let limits = if ends { "between 2 and 60, which the client allows" } else { "above 0" };
    let odd = hook.ours && !is_valid_timeout(&hook.event, Some(seconds));
    odd.then(|| {
        Finding::warning(
            format!("{at}: our time-out of {seconds} s is not {limits}"),
            install_hint(file),
        )
        .fixed_by(Fix::Wiring(file.scope))
    })
}

pub fn programs(facts: &Facts) -> Vec<Finding> {
    let others = || facts.hooks().filter(|(_, hook)| !hook.ours);
    // A program that is missing is one problem, however many events want it.
    let mut troubles: Vec<(&str, Vec<(&ExaminedSettings, &HookEntry)>)> = Vec::new();
    for (file, hook) in others() {
        let Some(trouble) = hook.trouble.as_deref() else { continue };
        match troubles.iter_mut().find(|(known, _)| *known == trouble) {
            Some((_, hooks)) => hooks.push((file, hook)),
            None => troubles.push((trouble, vec![(file, hook)])),
        }
    }
    let problems = troubles.iter().filter_map(|(trouble, hooks)| missing(trouble, hooks));
    or_ok(problems.collect(), || match others().count() {
        0 => "there are none".into(),
        hooks => {
            format!("{} of other tools, no program is known to be missing", plural(hooks, "hook"))
        }
    })
}

fn missing(trouble: &str, hooks: &[(&ExaminedSettings, &HookEntry)]) -> Option<Finding> {
    // One that fails is named before one whose failure is passed over.
    let fails = hooks.iter().find(|(_, hook)| !hook.passes_over_failure());
    let (file, hook) = fails.or(hooks.first())?;
    let more = match hooks.len() {
        1 => String::new(),
        several => format!(" (and {} with it)", plural(several - 1, "other hook")),
    };
    let text = format!(
        "{}: {} `{}`: {trouble}{more}",
        file.with_line(hook.line),
        clip(&hook.event, 60),
        clip(&hook.command, 100)
    );
    let remedy = match hook.quoted_home() {
        Some(_) => "Take `~` out of the quotes, or write `$HOME` in its place.",
        None => "Install its program, or take the entry out.",
    };
    Some(match fails {
        None => Finding::note(
            text,
            "This hook belongs to another tool. It does nothing, and its failure is passed over.",
        ),
        Some(_) => Finding::warning(
            text,
            format!("This hook belongs to another tool and fails at every event. {remedy}"),
        ),
    })
}
