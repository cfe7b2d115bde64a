//! Where a state and what the log makes of it differ, in words.

use crate::loops::iterative::document::progress::NONE;
use crate::loops::iterative::document::{Task, Unit, lifecycle};

/// Where a state and what the log makes of it differ, for people.
pub fn differences(state: &Task, log: &Task) -> Vec<String> {
    let (mut found, mut rules) = (Vec::new(), Vec::new());
    let mut differ = |what: &str, is: &str, should: &str| {
        if is != should {
            found.push(format!("{what}: {is} in state.json, {should} by progress.md"));
        }
    };
    differ("phase", &state.phase, &log.phase);
    let word = |text: &Option<String>| text.clone().unwrap_or_else(|| NONE.into());
    differ("verdict", &word(&state.ending.verdict), &word(&log.ending.verdict));
    differ("session", &word(&state.session_id), &word(&log.session_id));
    for (id, unit) in log.units().iter() {
        let Some(is) = state.unit(id) else {
            differ(id, "missing", &unit.status);
            continue;
        };
        differ(id, &is.status, &unit.status);
        rules.extend(broken_rule(id, is, unit));
        let counts = |unit: &Unit| {
            format!(
                "{} iterations, {} confirmations",
                unit.iterations_used, unit.confirmations_used
            )
        };
        differ(id, &counts(is), &counts(unit));
        let passed = |unit: &Unit| match unit.verification_passed {
            Some(true) => "verified",
            _ => "not verified",
        };
        differ(id, passed(is), passed(unit));
    }
    for id in state.units().ids() {
        if log.unit(id).is_none() {
            differ(id, "there", "unknown");
        }
    }
    found.extend(rules);
    found
}

/// The rule that a state breaks which says more of a unit than the log allows.
fn broken_rule(id: &str, is: &Unit, log: &Unit) -> Option<String> {
    let (from, to) = (log.stands()?, is.stands()?);
    let rule = lifecycle::allowed(from, to).err().filter(|_| from != to)?;
    Some(format!("{id}: {} → {} is refused: {rule}", from.name(), to.name()))
}
