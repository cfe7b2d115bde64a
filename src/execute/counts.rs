//! Counts that a file has wrong. They are computed before every write, so this is only for people.

use crate::execute::Correction;
use crate::execute::document::{Execution, ExecutionMetrics, Layer};

/// The counts that `before` has wrong, by its own tasks, with what they are now.
pub fn stale_counts(before: &Execution, after: &Execution, now: &str) -> Option<Correction> {
    let recomputed = |state: &Execution| {
        let mut state = state.clone();
        state.recompute(now);
        state
    };
    if differences(before, &recomputed(before)).is_empty() {
        return None;
    }
    let text = differences(before, &recomputed(after)).join("; ");
    (!text.is_empty()).then(|| Correction { id: "counts".into(), text })
}

fn differences(was: &Execution, is: &Execution) -> Vec<String> {
    let mut found = Vec::new();
    let complete = |m: &ExecutionMetrics| (m.completed_tasks, m.total_tasks);
    let (had, has) = (complete(&was.metrics), complete(&is.metrics));
    if had != has {
        found.push(format!(
            "said {} of {} tasks complete, there are {} of {}",
            had.0, had.1, has.0, has.1
        ));
    }
    let (had, has) = (&was.metrics, &is.metrics);
    for (what, had, has) in [
        ("failed tasks", had.failed_tasks, has.failed_tasks),
        ("attempts", had.total_attempts, has.total_attempts),
        ("commits", had.total_commits, has.total_commits),
    ] {
        if had != has {
            found.push(format!("said {had} {what}, there are {has}"));
        }
    }
    for name in was.layer_names() {
        if !is.layers.contains_key(name) {
            found.push(format!("layer {name} has no task"));
        }
    }
    for (name, has) in &is.layers {
        let counts = |l: &Layer| (l.tasks_completed, l.tasks_total, l.tasks_failed, l.status);
        match was.layers.get(name) {
            None => found.push(format!("layer {name} was missing")),
            Some(had) if counts(had) != counts(has) => found.push(format!(
                "layer {name} said {} of {}, has {} of {}",
                had.tasks_completed, had.tasks_total, has.tasks_completed, has.tasks_total
            )),
            Some(_) => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::document::{TaskRecord, TaskStatus};
    use super::*;

    const NOW: &str = "2026-01-29T10:30:00Z";

    #[test]
    fn only_what_differs_is_named() {
        let mut state = Execution::default();
        let layer = Some("1-x".to_owned());
        state.tasks.insert("a".into(), TaskRecord { layer, attempts: 2, ..TaskRecord::default() });
        state.recompute(NOW);
        let mut after = state.clone();
        after.tasks.get_mut("a").unwrap().status = TaskStatus::Completed;
        assert_eq!(stale_counts(&state, &after, NOW), None, "that follows from the task");
        state.metrics.total_attempts = 7;
        let mut made_up = state.clone();
        made_up.layers.insert("9-z".into(), Layer::default());
        let text = |before: &Execution| stale_counts(before, &state, NOW).unwrap().text;
        assert_eq!(text(&state), "said 7 attempts, there are 2");
        assert_eq!(text(&made_up), "said 7 attempts, there are 2; layer 9-z has no task");
    }
}
