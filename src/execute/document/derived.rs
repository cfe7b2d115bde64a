//! What is computed from the tasks: the state and the counts of layers and of the whole, and whose
//! turn it is in the queue.

use serde::{Deserialize, Deserializer};

use crate::core::text::Extra;
use crate::core::time;
use crate::execute::document::{
    Execution, ExecutionMetrics, ExecutionStatus, Layer, LayerStatus, QueueStatus, TaskStatus,
};

/// The names that other tools have for the same counts.
const OTHER_NAMES: [(&str, &str); 10] = [
    ("tasks_total", "total_tasks"),
    ("tasks_completed", "completed_tasks"),
    ("tasks_failed", "failed_tasks"),
    ("attempts", "total_attempts"),
    ("attempts_total", "total_attempts"),
    ("commits", "total_commits"),
    ("commits_total", "total_commits"),
    ("elapsed_seconds", "elapsed_time_seconds"),
    ("elapsed_time", "elapsed_time_seconds"),
    ("duration_seconds", "elapsed_time_seconds"),
];

/// Metrics under any of their names. A name of ours holds against another one; a count that is none
/// is left out, because all of them are computed anyway.
pub fn read_metrics<'de, D: Deserializer<'de>>(from: D) -> Result<ExecutionMetrics, D::Error> {
    let mut fields = Extra::deserialize(from)?;
    for (theirs, ours) in OTHER_NAMES {
        if let Some(value) = fields.remove(theirs) {
            fields.entry(ours).or_insert(value);
        }
    }
    let mut count = |name: &str| {
        let value = fields.remove(name);
        value.and_then(|value| value.as_f64()).map_or(0, |count| count.max(0.0) as u64)
    };
    Ok(ExecutionMetrics {
        total_tasks: count("total_tasks"),
        completed_tasks: count("completed_tasks"),
        failed_tasks: count("failed_tasks"),
        total_attempts: count("total_attempts"),
        total_commits: count("total_commits"),
        elapsed_time_seconds: count("elapsed_time_seconds"),
        extra: fields,
    })
}

impl Execution {
    /// Computes everything anew that follows from the tasks.
    pub fn recompute(&mut self, now: &str) {
        self.count_layers(now);
        self.set_status(now);
        self.set_queue_order();
        self.updated_at = Some(now.to_owned());
        self.count_tasks();
    }

    fn count_layers(&mut self, now: &str) {
        let mut counts: std::collections::BTreeMap<&str, [u64; 4]> = Default::default();
        for task in self.tasks.values() {
            let Some(layer) = &task.layer else { continue };
            let [total, completed, failed, begun] = counts.entry(layer).or_default();
            *total += 1;
            *completed += u64::from(task.status == TaskStatus::Completed);
            *failed += u64::from(task.status.is_failed());
            *begun += u64::from(task.status != TaskStatus::Pending);
        }
        let mut layers = std::mem::take(&mut self.layers);
        // One without tasks would never be complete, and nothing after it could run.
        layers.retain(|name, _| counts.contains_key(name.as_str()));
        for (name, [total, completed, failed, begun]) in counts {
            let layer: &mut Layer = layers.entry(name.to_owned()).or_default();
            (layer.tasks_total, layer.tasks_completed, layer.tasks_failed) =
                (total, completed, failed);
            layer.status = match (completed == total, begun > 0) {
                (true, _) => LayerStatus::Completed,
                (_, true) => LayerStatus::InProgress,
                _ => LayerStatus::Pending,
            };
            let started = (layer.status != LayerStatus::Pending).then(|| now.to_owned());
            layer.started_at = started.map(|now| layer.started_at.take().unwrap_or(now));
            let done = (layer.status == LayerStatus::Completed).then(|| now.to_owned());
            layer.completed_at = done.map(|now| layer.completed_at.take().unwrap_or(now));
        }
        self.layers = layers;
    }

    fn set_status(&mut self, now: &str) {
        let any = |status: TaskStatus| self.tasks.values().any(|task| task.status == status);
        let all_done = self.tasks.values().all(|task| task.status == TaskStatus::Completed);
        let begun = self.tasks.values().any(|task| task.status != TaskStatus::Pending);
        self.status = match self.status {
            _ if all_done && !self.tasks.is_empty() => ExecutionStatus::Completed,
            ExecutionStatus::Stopped => ExecutionStatus::Stopped,
            _ if any(TaskStatus::Abandoned) => ExecutionStatus::Abandoned,
            _ if begun => ExecutionStatus::InProgress,
            _ => ExecutionStatus::Pending,
        };
        if begun && self.started_at.is_none() {
            self.started_at = Some(now.to_owned());
        }
        let done = (self.status == ExecutionStatus::Completed).then(|| now.to_owned());
        self.completed_at = done.map(|now| self.completed_at.take().unwrap_or(now));
        let open = |name: &&str| {
            self.layers.get(*name).is_some_and(|layer| layer.status != LayerStatus::Completed)
        };
        let names = self.layer_names();
        let current = names.iter().find(|name| open(name)).or(names.last());
        self.current_layer = current.map(|name| (*name).to_owned());
    }

    /// Who is first is ready; who is merged stays as it was.
    fn set_queue_order(&mut self) {
        let mut first = true;
        for queued in &mut self.merge_queue {
            match queued.status {
                QueueStatus::Merged => {}
                QueueStatus::Merging => first = false,
                QueueStatus::Pending | QueueStatus::Ready => {
                    queued.status = if first { QueueStatus::Ready } else { QueueStatus::Pending };
                    first = false;
                }
            }
        }
    }

    fn count_tasks(&mut self) {
        let with = |wanted: fn(TaskStatus) -> bool| {
            self.tasks.values().filter(|task| wanted(task.status)).count() as u64
        };
        let end = self.completed_at.as_ref().or(self.updated_at.as_ref());
        let elapsed = self.started_at.as_ref().zip(end);
        let elapsed = elapsed.and_then(|(from, to)| time::seconds_between(from, to));
        self.metrics = ExecutionMetrics {
            total_tasks: self.tasks.len() as u64,
            completed_tasks: with(|status| status == TaskStatus::Completed),
            failed_tasks: with(|status| status.is_failed()),
            // An edited file may say anything.
            total_attempts: self.tasks.values().map(|t| t.attempts).fold(0, u64::saturating_add),
            total_commits: self.tasks.values().map(|task| task.commits.len() as u64).sum(),
            elapsed_time_seconds: elapsed.unwrap_or(0),
            extra: std::mem::take(&mut self.metrics.extra),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Execution, ExecutionMetrics, QueuedMerge, TaskRecord};
    use super::*;

    const NOW: &str = "2026-01-29T10:30:00Z";

    fn with(tasks: &[(&str, &str, TaskStatus)]) -> Execution {
        let mut state = Execution::default();
        for (id, layer, status) in tasks {
            let (status, layer) = (*status, Some((*layer).into()));
            let task = TaskRecord { status, layer, ..TaskRecord::default() };
            state.tasks.insert((*id).into(), task);
        }
        state.recompute(NOW);
        state
    }

    #[test]
    fn the_whole_follows_the_tasks() {
        use TaskStatus::*;
        let stands = |s: &Execution| (s.status, s.current_layer.clone().unwrap_or_default());
        let state = with(&[("a", "2-x", Pending), ("b", "10-y", Pending)]);
        assert_eq!(stands(&state), (ExecutionStatus::Pending, "2-x".into()));
        let state = with(&[("a", "2-x", Completed), ("b", "10-y", Failed)]);
        assert_eq!(stands(&state), (ExecutionStatus::InProgress, "10-y".into()));
        assert_eq!(state.layers["2-x"].status, LayerStatus::Completed);
        assert_eq!((state.metrics.completed_tasks, state.metrics.failed_tasks), (1, 1));
        let mut state = with(&[("a", "2-x", Completed), ("b", "2-x", Abandoned)]);
        assert_eq!(
            (state.status, state.layers["2-x"].status),
            (ExecutionStatus::Abandoned, LayerStatus::InProgress)
        );
        state.status = ExecutionStatus::Stopped;
        state.recompute(NOW);
        assert_eq!(state.status, ExecutionStatus::Stopped, "until it is resumed");
        let state = with(&[("a", "2-x", Completed)]);
        assert_eq!(stands(&state), (ExecutionStatus::Completed, "2-x".into()));
        assert_eq!(state.completed_at.as_deref(), Some(NOW));
    }

    #[test]
    fn one_is_ready_and_the_others_wait() {
        use QueueStatus::*;
        let queued = |status| QueuedMerge { status, ..QueuedMerge::default() };
        let merge_queue = [Merged, Pending, Ready].map(queued).to_vec();
        let mut state = Execution { merge_queue, ..Execution::default() };
        state.recompute(NOW);
        let order = state.merge_queue.iter().map(|queued| queued.status);
        assert_eq!(order.collect::<Vec<_>>(), [Merged, Ready, Pending]);
    }

    #[test]
    fn counts_are_read_under_other_names() {
        let text = r#"{"metrics": {"tasks_total": 15, "total_tasks": 16, "elapsed_seconds": 9.5, "commits": "many", "agents": 3}}"#;
        let state: Execution = serde_json::from_str(text).unwrap();
        let ExecutionMetrics { total_tasks, total_commits, elapsed_time_seconds, extra, .. } =
            state.metrics;
        assert_eq!((total_tasks, total_commits, elapsed_time_seconds), (16, 0, 9));
        assert_eq!(extra["agents"], 3);
    }
}
