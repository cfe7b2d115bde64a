//! HK018 and HK019: what our own log says about the hooks that ran here.

use crate::core::text::{clip, plural};
use crate::doctor::facts::Facts;
use crate::doctor::finding::{Finding, or_ok};
use crate::store::log::{LoggedRun, parse_newest};

/// How many of the newest lines are looked at.
const NEWEST: usize = 1000;

pub fn failures(facts: &Facts) -> Vec<Finding> {
    let runs = parse_newest(&facts.state.log, NEWEST);
    let failed: Vec<&LoggedRun> = runs.iter().filter(|run| run.has_failed()).collect();
    let last = failed.first().map(|run| {
        Finding::warning(
            format!(
                "{} of the last {} hook runs failed; the last one was {} at {}: {}",
                failed.len(),
                runs.len(),
                name_event(&run.event),
                clip(&run.time, 40),
                clip(&run.outcome, 200)
            ),
            "All of them are in .claude/state/log/hooks.jsonl.",
        )
    });
    or_ok(last.into_iter().collect(), || match runs.len() {
        0 => "nothing has run yet".into(),
        runs => format!("none of the last {} failed", plural(runs, "hook run")),
    })
}

/// A payload that cannot be read says no event.
fn name_event(event: &str) -> String {
    if event.is_empty() { "of an unknown event".into() } else { clip(event, 60) }
}

pub fn activity(facts: &Facts) -> Vec<Finding> {
    vec![match parse_newest(&facts.state.log, 1).first() {
        Some(run) => Finding::ok(format!(
            "the last hook was {} at {}",
            name_event(&run.event),
            clip(&run.time, 40)
        )),
        None => Finding::note(
            "no hook has run here yet",
            "Start Claude Code in this project and give it a prompt. If nothing comes: see HK001, HK002 \
             and HK008.",
        ),
    }]
}
