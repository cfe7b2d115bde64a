//! What may run: layers in order, tasks whose dependencies are merged, so many at a time.

use crate::books::execute::{Execution, Global, Status, Task};

pub const MAX_PARALLEL: u64 = 3;

/// Why a task may not be started now; `None` if it may.
pub fn obstacle(state: &Execution, id: &str) -> Option<String> {
    let task = state.tasks.get(id)?;
    match state.status {
        Global::Stopped => {
            return Some("the execution is stopped; `execute resume` goes on".into());
        }
        Global::Abandoned => return Some(abandoned(state)),
        _ => {}
    }
    match task.status {
        Status::Pending | Status::Failed => {}
        other => return Some(format!("it is {}", other.word())),
    }
    if task.layer != state.current_layer {
        let (own, current) = (task.layer.as_deref(), state.current_layer.as_deref());
        return Some(format!(
            "it is in layer {}, and layer {} is not complete",
            own.unwrap_or("?"),
            current.unwrap_or("?")
        ));
    }
    let open: Vec<&str> = open_needs(state, task).collect();
    if !open.is_empty() {
        return Some(format!("it needs {}, not merged yet", open.join(", ")));
    }
    let running: Vec<&str> = running(state).collect();
    if running.len() as u64 >= limit(state) {
        return Some(format!(
            "{} of {} tasks are running already: {}",
            running.len(),
            limit(state),
            running.join(", ")
        ));
    }
    None
}

/// Brings the batch up to date: it stays as it is until one of its tasks is finished.
pub fn next_batch(state: &mut Execution) {
    let finished = |id: &String| state.tasks.get(id).is_none_or(|task| task.status.is_finished());
    let stands = !state.batch.is_empty() && !state.batch.iter().any(finished);
    if stands {
        return;
    }
    let batch = chosen(state);
    if batch != state.batch {
        if !batch.is_empty() {
            state.current_batch = state.current_batch.saturating_add(1);
        }
        state.batch = batch;
    }
}

/// What is under way, then the first of what is ready.
fn chosen(state: &Execution) -> Vec<String> {
    if matches!(state.status, Global::Stopped | Global::Completed) {
        return Vec::new();
    }
    let stopped = state.status == Global::Abandoned;
    let mut candidates: Vec<(bool, u64, &String)> = Vec::new();
    for (id, task) in &state.tasks {
        let under_way =
            task.status.is_running() || matches!(task.status, Status::Verified | Status::Merging);
        let waits = matches!(task.status, Status::Pending | Status::Failed)
            && !stopped
            && task.layer == state.current_layer
            && open_needs(state, task).next().is_none();
        if under_way || waits {
            // A failed task has its worktree and its errors: it goes on before new ones begin.
            candidates.push((
                !under_way && task.status == Status::Pending,
                task.priority.unwrap_or(u64::MAX),
                id,
            ));
        }
    }
    candidates.sort();
    let most = usize::try_from(limit(state)).unwrap_or(usize::MAX);
    candidates.into_iter().take(most).map(|(_, _, id)| id.clone()).collect()
}

pub fn limit(state: &Execution) -> u64 {
    state.max_parallel.unwrap_or(MAX_PARALLEL).clamp(1, 10)
}

pub fn abandoned(state: &Execution) -> String {
    let is = |(_, task): &(&String, &Task)| task.status == Status::Abandoned;
    let ids: Vec<&str> = state.tasks.iter().filter(is).map(|(id, _)| id.as_str()).collect();
    format!(
        "{} failed five times and was abandoned, so its layer is stopped; `execute reset-task` gives it a new start",
        ids.join(", ")
    )
}

/// Why nothing can be begun although nothing is over: what each of the next tasks waits for.
pub fn waits(state: &Execution) -> String {
    let open = |(_, task): &(&String, &Task)| {
        task.layer == state.current_layer && !task.status.is_finished()
    };
    let open = state.tasks.iter().filter(open);
    let why = open.filter_map(|(id, _)| Some(format!("{id}: {}", obstacle(state, id)?)));
    let why: Vec<String> = why.take(5).collect();
    match why.is_empty() {
        true => "Nothing can be begun: there is no task left in this layer.".into(),
        false => format!("Nothing can be begun. {}.", why.join(". ")),
    }
}

fn running(state: &Execution) -> impl Iterator<Item = &str> {
    let running = state.tasks.iter().filter(|(_, task)| task.status.is_running());
    running.map(|(id, _)| id.as_str())
}

fn open_needs<'a>(state: &'a Execution, task: &'a Task) -> impl Iterator<Item = &'a str> {
    let open =
        |need: &&String| state.tasks.get(*need).is_none_or(|task| task.status != Status::Completed);
    task.depends_on.iter().filter(open).map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(tasks: &[(&str, &str, u64, &[&str], Status)]) -> Execution {
        let mut state = Execution { max_parallel: Some(2), ..Execution::default() };
        for (id, layer, priority, needs, status) in tasks {
            let task = Task {
                status: *status,
                layer: Some((*layer).into()),
                priority: Some(*priority),
                depends_on: needs.iter().map(|need| (*need).to_owned()).collect(),
                ..Task::default()
            };
            state.tasks.insert((*id).into(), task);
        }
        state.settle("2026-01-29T10:30:00Z");
        next_batch(&mut state);
        state
    }

    fn set(state: &mut Execution, id: &str, status: Status) {
        state.tasks.get_mut(id).unwrap().status = status;
        state.settle("2026-01-29T10:31:00Z");
        next_batch(state);
    }

    #[test]
    fn batches_follow_layers_needs_and_priorities() {
        use Status::*;
        let mut s = state(&[
            ("a", "1-x", 2, &[], Pending),
            ("b", "1-x", 1, &[], Pending),
            ("c", "1-x", 1, &["a"], Pending),
            ("d", "2-y", 1, &[], Pending),
        ]);
        assert_eq!((s.current_batch, s.batch.join(" ")), (1, "b a".into()));
        assert!(obstacle(&s, "c").unwrap().contains("needs a"));
        assert!(obstacle(&s, "d").unwrap().contains("layer 1-x is not complete"));
        assert_eq!(obstacle(&s, "a"), None);
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
        use Status::*;
        let tasks = [("a", InProgress), ("b", Verifying), ("c", Pending), ("d", Abandoned)];
        let mut s = state(&tasks.map(|(id, status)| (id, "1-x", 1, &[][..], status)));
        assert!(obstacle(&s, "c").unwrap().contains("d failed five times"));
        assert_eq!(s.batch.join(" "), "a b", "what runs may end");
        set(&mut s, "d", Completed);
        assert!(obstacle(&s, "c").unwrap().contains("2 of 2 tasks are running already: a, b"));
        assert!(obstacle(&s, "a").unwrap().contains("in_progress"));
    }
}
