//! What may run: layers in order, tasks whose dependencies are merged, so many at a time.

use crate::core::id::sha256_hex;
use crate::execute::document::{Execution, ExecutionStatus, SharedRemote, TaskRecord, TaskStatus};

pub const MAX_PARALLEL: u64 = 3;

/// Why a task may not be started now; `None` if it may.
pub fn start_obstacle(state: &Execution, id: &str) -> Option<String> {
    let task = state.tasks.get(id)?;
    match state.status {
        ExecutionStatus::Stopped => {
            return Some("the execution is stopped; `execute resume` goes on".into());
        }
        ExecutionStatus::Abandoned => return Some(explain_abandoned(state)),
        ExecutionStatus::Pending | ExecutionStatus::InProgress | ExecutionStatus::Completed => {}
    }
    match task.status {
        TaskStatus::Pending | TaskStatus::Failed => {}
        other => return Some(format!("it is {}", other)),
    }
    if task.layer != state.current_layer {
        let (own, current) = (task.layer.as_deref(), state.current_layer.as_deref());
        return Some(format!(
            "it is in layer {}, and layer {} is not complete",
            own.unwrap_or("?"),
            current.unwrap_or("?")
        ));
    }
    let open: Vec<&str> = unmerged_needs(state, task).collect();
    if !open.is_empty() {
        return Some(format!("it needs {}, not merged yet", open.join(", ")));
    }
    let running: Vec<&str> = running_tasks(state).collect();
    if running.len() as u64 >= parallel_limit(state) {
        return Some(format!(
            "{} of {} tasks are running already: {}",
            running.len(),
            parallel_limit(state),
            running.join(", ")
        ));
    }
    None
}

/// Brings the batch up to date: it stays as it is until one of its tasks is finished.
pub fn update_batch(state: &mut Execution) {
    let finished = |id: &String| {
        state.tasks.get(id).is_none_or(|task| task.status.is_finished() || task.is_elsewhere())
    };
    let is_current = !state.batch.is_empty() && !state.batch.iter().any(finished);
    if is_current {
        return;
    }
    let batch = choose_batch(state);
    if batch != state.batch {
        if !batch.is_empty() {
            state.current_batch = state.current_batch.saturating_add(1);
        }
        state.batch = batch;
    }
}

/// What is under way, then the first of what is ready.
fn choose_batch(state: &Execution) -> Vec<String> {
    if matches!(state.status, ExecutionStatus::Stopped | ExecutionStatus::Completed) {
        return Vec::new();
    }
    let stopped = state.status == ExecutionStatus::Abandoned;
    let mut candidates: Vec<(u8, u64, String, &String)> = Vec::new();
    for (id, task) in &state.tasks {
        let under_way = task.status.is_running()
            || matches!(task.status, TaskStatus::Verified | TaskStatus::Merging);
        if task.is_elsewhere() && task.status.is_running() {
            continue;
        }
        let waits = matches!(task.status, TaskStatus::Pending | TaskStatus::Failed)
            && !stopped
            && task.layer == state.current_layer
            && unmerged_needs(state, task).next().is_none();
        if under_way || waits {
            // A failed task has its worktree and its errors: it goes on before new ones begin.
            candidates.push((
                match () {
                    // What another clone has verified is merged when nothing else is left to do.
                    _ if task.is_elsewhere() => 2,
                    _ if !under_way && task.status == TaskStatus::Pending => 1,
                    _ => 0,
                },
                task.priority.unwrap_or(u64::MAX),
                own_order(state, id),
                id,
            ));
        }
    }
    candidates.sort();
    let most = usize::try_from(parallel_limit(state)).unwrap_or(usize::MAX);
    candidates.into_iter().take(most).map(|(_, _, _, id)| id.clone()).collect()
}

/// Clones that share an execution begin with different tasks of the same priority.
fn own_order(state: &Execution, id: &str) -> String {
    let of_clone =
        |remote: &SharedRemote| sha256_hex(format!("{} {id}", remote.clone_id).as_bytes());
    state.remote.as_ref().map(of_clone).unwrap_or_default()
}

pub fn parallel_limit(state: &Execution) -> u64 {
    state.max_parallel.unwrap_or(MAX_PARALLEL).clamp(1, 10)
}

pub fn explain_abandoned(state: &Execution) -> String {
    let is = |(_, task): &(&String, &TaskRecord)| task.status == TaskStatus::Abandoned;
    let ids: Vec<&str> = state.tasks.iter().filter(is).map(|(id, _)| id.as_str()).collect();
    format!(
        "{} failed five times and was abandoned, so its layer is stopped; `execute reset-task` gives it a new start",
        ids.join(", ")
    )
}

/// Why nothing can be begun although nothing is over: what each of the next tasks waits for.
pub fn explain_waiting(state: &Execution) -> String {
    let open = |(_, task): &(&String, &TaskRecord)| {
        task.layer == state.current_layer && !task.status.is_finished()
    };
    let open = state.tasks.iter().filter(open);
    let why = open.filter_map(|(id, _)| Some(format!("{id}: {}", start_obstacle(state, id)?)));
    let why: Vec<String> = why.take(5).collect();
    match why.is_empty() {
        true => "Nothing can be begun: there is no task left in this layer.".into(),
        false => format!("Nothing can be begun. {}.", why.join(". ")),
    }
}

fn running_tasks(state: &Execution) -> impl Iterator<Item = &str> {
    let running = state.tasks.iter().filter(|(_, task)| task.status.is_running());
    let running = running.filter(|(_, task)| !task.is_elsewhere());
    running.map(|(id, _)| id.as_str())
}

fn unmerged_needs<'a>(state: &'a Execution, task: &'a TaskRecord) -> impl Iterator<Item = &'a str> {
    let open = |need: &&String| {
        state.tasks.get(*need).is_none_or(|task| task.status != TaskStatus::Completed)
    };
    task.depends_on.iter().filter(open).map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(tasks: &[(&str, &str, u64, &[&str], TaskStatus)]) -> Execution {
        let mut state = Execution { max_parallel: Some(2), ..Execution::default() };
        for (id, layer, priority, needs, status) in tasks {
            let task = TaskRecord {
                status: *status,
                layer: Some((*layer).into()),
                priority: Some(*priority),
                depends_on: needs.iter().map(|need| (*need).to_owned()).collect(),
                ..TaskRecord::default()
            };
            state.tasks.insert((*id).into(), task);
        }
        state.recompute("2026-01-29T10:30:00Z");
        update_batch(&mut state);
        state
    }

    fn set(state: &mut Execution, id: &str, status: TaskStatus) {
        state.tasks.get_mut(id).unwrap().status = status;
        state.recompute("2026-01-29T10:31:00Z");
        update_batch(state);
    }

    #[test]
    fn batches_follow_layers_needs_and_priorities() {
        use TaskStatus::*;
        let mut s = state(&[
            ("a", "1-x", 2, &[], Pending),
            ("b", "1-x", 1, &[], Pending),
            ("c", "1-x", 1, &["a"], Pending),
            ("d", "2-y", 1, &[], Pending),
        ]);
        assert_eq!((s.current_batch, s.batch.join(" ")), (1, "b a".into()));
        assert!(start_obstacle(&s, "c").unwrap().contains("needs a"));
        assert!(start_obstacle(&s, "d").unwrap().contains("layer 1-x is not complete"));
        assert_eq!(start_obstacle(&s, "a"), None);
        set(&mut s, "a", InProgress);
        set(&mut s, "b", InProgress);
        set(&mut s, "b", Failed);
        assert_eq!((s.current_batch, s.batch.join(" ")), (1, "b a".into()), "nothing is finished");
        set(&mut s, "a", Completed);
        assert_eq!((s.current_batch, s.batch.join(" ")), (2, "b c".into()));
        set(&mut s, "b", Completed);
        set(&mut s, "c", Completed);
        assert_eq!((s.current_batch, s.batch.join(" ")), (4, "d".into()));
        assert_eq!(s.current_layer.as_deref(), Some("2-y"));
        set(&mut s, "d", Completed);
        assert_eq!((s.current_batch, s.batch.len()), (4, 0));
    }

    #[test]
    fn no_more_than_so_many_at_once_and_none_when_it_is_over() {
        use TaskStatus::*;
        let tasks = [("a", InProgress), ("b", Verifying), ("c", Pending), ("d", Abandoned)];
        let mut s = state(&tasks.map(|(id, status)| (id, "1-x", 1, &[][..], status)));
        assert!(start_obstacle(&s, "c").unwrap().contains("d failed five times"));
        assert_eq!(s.batch.join(" "), "a b", "what runs may end");
        set(&mut s, "d", Completed);
        assert!(
            start_obstacle(&s, "c").unwrap().contains("2 of 2 tasks are running already: a, b")
        );
        assert!(start_obstacle(&s, "a").unwrap().contains("in_progress"));
    }
}
