//! HK018 and HK019: what the journal says about the hooks that ran here.

use crate::core::journal::Entry;
use crate::core::text::{clip, plural};
use crate::doctor::facts::Facts;
use crate::doctor::finding::{Finding, or_ok};
pub fn failures(facts: &Facts) -> Vec<Finding> {
    let runs = &facts.state.runs;
    let failed: Vec<&Entry> = runs.iter().filter(|run| run.has_failed()).collect();
    let last = failed.first().map(|run| {
        let time = clip(&run.time, 40);
        Finding::warning(
            format!(
                "{} of the last {} hook runs failed; the last one was {} at {}: {}",
                failed.len(),
                runs.len(),
                name_event(&run.event),
                time,
                clip(&run.outcome, 200)
            ),
            "`hookkeeper log --runs` shows them.",
        )
        .with_time(time)
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
    vec![match facts.state.runs.first() {
        Some(run) => {
            let time = clip(&run.time, 40);
            let text = format!("the last hook was {} at {time}", name_event(&run.event));
            Finding::ok(text).with_time(time)
        }
        None => Finding::note(
            "no hook has run here yet",
            "Start Claude Code in this project and give it a prompt. If nothing comes: see HK001, HK002 \
             and HK008.",
        ),
    }]
}
