//! HK018 and HK019: what our own log says about the hooks that ran here.

use super::facts::Facts;
use super::finding::{Finding, or_ok};
use crate::books::{clip, plural};
use crate::json::Object;

/// How many of the newest lines are looked at.
const LATELY: usize = 1000;

struct Run {
    time: String,
    event: String,
    outcome: String,
}

pub fn failures(facts: &Facts) -> Vec<Finding> {
    let runs = runs(&facts.state.log);
    let failed =
        |run: &&Run| run.outcome.starts_with("error") || run.outcome.starts_with("rejected");
    let count = runs.iter().filter(failed).count();
    let last = runs.iter().rfind(failed).map(|run| {
        Finding::warning(
            format!(
                "{} of the last {} hook runs failed; the last one was {} at {}: {}",
                count,
                runs.len(),
                named(&run.event),
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
fn named(event: &str) -> String {
    if event.is_empty() { "of an unknown event".into() } else { clip(event, 60) }
}

pub fn activity(facts: &Facts) -> Vec<Finding> {
    let last = runs(&facts.state.log).pop();
    vec![match last {
        Some(run) => Finding::ok(format!(
            "the last hook was {} at {}",
            named(&run.event),
            clip(&run.time, 40)
        )),
        None => Finding::note(
            "no hook has run here yet",
            "Start Claude Code in this project and give it a prompt. If nothing comes: see HK001, HK002 \
             and HK008.",
        ),
    }]
}

fn runs(log: &[u8]) -> Vec<Run> {
    let lines = log.rsplit(|byte| *byte == b'\n').filter(|line| !line.is_empty()).take(LATELY);
    let mut runs: Vec<Run> = lines
        .filter_map(|line| {
            let line = Object::parse(line).ok()?;
            let text = |key| line.text(key).unwrap_or_default();
            Some(Run { time: text("time"), event: text("event"), outcome: line.text("outcome")? })
        })
        .collect();
    runs.reverse();
    runs
}
