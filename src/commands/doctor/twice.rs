//! HK004: identical handlers run once, whatever files they are in. Different ones, and a plugin's,
//! run each, and then every event is counted twice.

use crate::core::event::Kind;
use crate::core::text::clip;
use crate::doctor::facts::Facts;
use crate::doctor::finding::{Finding, or_ok};

pub fn twice(facts: &Facts) -> Vec<Finding> {
    let mut problems = Vec::new();
    problems.extend(by_plugin(facts));
    problems.extend(by_settings(facts));
    or_ok(problems, || "no event calls HookKeeper twice".into())
}

fn by_plugin(facts: &Facts) -> Option<Finding> {
    let (file, line, name) = facts.plugins().next()?;
    let (wired, hook) = facts.ours().next()?;
    Some(Finding::error(
        format!(
            "{}: the plugin {} is enabled, and {} calls HookKeeper too: every event is handled twice",
            file.with_line(line),
            clip(name, 80),
            wired.with_line(hook.line)
        ),
        format!(
            "Keep one: `hookkeeper uninstall --scope {}`, or disable the plugin.",
            wired.scope.name()
        ),
    ))
}

/// One finding for all events: they are usually wired by the same hand.
fn by_settings(facts: &Facts) -> Option<Finding> {
    let mut events = Vec::new();
    let mut places = None;
    for event in Kind::ALL.map(Kind::wire) {
        let mut ours = facts.ours().filter(|(_, hook)| hook.event == event);
        let Some((file, first)) = ours.next() else { continue };
        let differs = |words: &[String], exec: bool| words != first.words || exec != first.exec;
        if let Some((other, second)) = ours.find(|(_, hook)| differs(&hook.words, hook.exec)) {
            events.push(event);
            places.get_or_insert((file, first, other, second));
        }
    }
    let (file, first, other, second) = places?;
    let command = |words: &[String]| clip(&words.join(" "), 100);
    let hint = match file.scope == other.scope {
        true => format!("Run `hookkeeper install --scope {}`: it leaves one.", file.scope.name()),
        false => format!("Keep one: `hookkeeper uninstall --scope {}`.", other.scope.name()),
    };
    Some(Finding::error(
        format!(
            "{} runs `{}` and {} runs `{}`: handled twice: {}",
            file.with_line(first.line),
            command(&first.words),
            other.with_line(second.line),
            command(&second.words),
            events.join(", ")
        ),
        hint,
    ))
}
