//! The panels of what goes on over many turns: loops, tasks, executions.

use crate::branch::document::BranchLoop;
use crate::console::table::{Cell, Table, Tone};
use crate::core::text::{clip, plural};
use crate::execute::unfinished::Unfinished;
use crate::loops::autonomous::document::Autonomous;
use crate::loops::iterative::document::Task;
use crate::loops::queue::document::Queue;
use crate::view::overview::Overview;
use crate::view::panels::{Panel, severity};

pub fn loop_panels(overview: &Overview) -> impl Iterator<Item = Panel> {
    let panels = [
        work(overview),
        autonomous(overview),
        branch_loops(overview),
        tasks(overview),
        executions(overview),
    ];
    panels.into_iter().flatten()
}

fn work(overview: &Overview) -> Option<Panel> {
    let queue = overview.queue.as_ref()?;
    let open = queue.open();
    let row = |item: &&crate::loops::queue::document::Item| {
        vec![
            Cell::new(severity(&item.priority), &item.priority),
            Cell::new(Tone::Id, &clip(&item.id, 12)),
            Cell::new(Tone::Plain, &item.title),
        ]
    };
    let rows = open.iter().map(row).collect();
    let looping = looping(queue);
    let (title, says) = match &looping {
        Some(looping) => ("Loop", format!("{looping}, {} open", open.len())),
        None => ("Work queue", format!("{} open", open.len())),
    };
    let table = Table::new(&[0, 2, 1], rows);
    Some(Panel { title, says, tone: Tone::Plain, table, spare: 4, brief: 8 })
}

/// The phases that are over, and the one that goes on.
fn autonomous(overview: &Overview) -> Option<Panel> {
    let state = overview.autonomous.as_ref()?;
    let done = state.phases_completed.join(", ");
    let mut rows =
        vec![vec![Cell::new(Tone::Strong, "feature"), Cell::new(Tone::Plain, &state.feature)]];
    if !done.is_empty() {
        rows.push(vec![Cell::new(Tone::Dim, "done"), Cell::new(Tone::Plain, &done)]);
    }
    if let Some(last) = state.errors.last() {
        rows.push(vec![Cell::new(Tone::Warn, "error"), Cell::new(Tone::Plain, &last.message)]);
    }
    let says = phasing(state);
    let tone = if state.awaiting_approval { Tone::Warn } else { Tone::Plain };
    let table = Table::new(&[0, 1], rows);
    Some(Panel { title: "Autonomous loop", says, tone, table, spare: 4, brief: 3 })
}

/// `work 12/50`, with the verdict if there is one, or that a person is waited for.
pub fn phasing(state: &Autonomous) -> String {
    let phase = clip(&state.phase, 24);
    let (now, most) = (state.global_iteration, state.max_iterations);
    match &state.ending.verdict {
        Some(verdict) => format!("{phase} {now}/{most} ended: {}", clip(verdict, 24)),
        None if state.awaiting_approval => format!("{phase} {now}/{most} awaits your approval"),
        None => format!("{phase} {now}/{most}"),
    }
}

/// The loops of branches, those that run first.
fn branch_loops(overview: &Overview) -> Option<Panel> {
    let mut loops: Vec<_> = overview
        .branches
        .iter()
        .filter_map(|state| Some((state.branch.as_str(), state.the_loop.as_ref()?)))
        .collect();
    if loops.is_empty() {
        return None;
    }
    loops.sort_by_key(|(_, the_loop)| !the_loop.is_running());
    let running = loops.iter().filter(|(_, the_loop)| the_loop.is_running()).count();
    let row = |(branch, the_loop): &(&str, &BranchLoop)| {
        let ended = the_loop.ending.verdict.as_deref().map(|verdict| format!("ended: {verdict}"));
        vec![
            Cell::new(Tone::Good, &clip(branch, 24)),
            Cell::new(Tone::Plain, &format!("{}/{}", the_loop.iteration, the_loop.max_iterations)),
            Cell::new(Tone::Dim, &ended.unwrap_or_else(|| "running".into())),
            Cell::new(Tone::Plain, &the_loop.prompt),
        ]
    };
    let rows = loops.iter().map(row).collect();
    let says = format!("{running} running");
    let table = Table::new(&[0, 0, 0, 1], rows);
    Some(Panel { title: "Branch loops", says, tone: Tone::Plain, table, spare: 5, brief: 4 })
}

/// Iterative tasks that are not done yet.
fn tasks(overview: &Overview) -> Option<Panel> {
    let row = |(slug, task): &(String, Task)| {
        let at = task.current().and_then(|id| Some((id, task.unit(id)?)));
        let now = match at {
            Some((id, unit)) => format!("{id} {}", unit.title),
            None => task.task.clone(),
        };
        vec![
            Cell::new(Tone::Good, &clip(slug, 24)),
            Cell::new(Tone::Plain, &tasking(task)),
            Cell::new(Tone::Dim, &clip(&task.phase, 24)),
            Cell::new(Tone::Plain, &now),
        ]
    };
    let rows: Vec<_> = overview.tasks.iter().map(row).collect();
    let says = format!("{} open", rows.len());
    let table = Table::new(&[0, 0, 1, 2], rows);
    let panel =
        Panel { title: "Iterative tasks", says, tone: Tone::Plain, table, spare: 5, brief: 4 };
    (!panel.table.is_empty()).then_some(panel)
}

/// `1/3 units`
pub fn tasking(task: &Task) -> String {
    let (done, all) = task.done();
    format!("{done}/{}", plural(all, "unit"))
}

/// Executions that are not complete.
fn executions(overview: &Overview) -> Option<Panel> {
    let row = |execution: &Unfinished| {
        vec![
            Cell::new(Tone::Good, &clip(&execution.slug, 24)),
            Cell::new(
                Tone::Plain,
                &format!(
                    "{}/{} merged",
                    execution.completed,
                    plural(execution.total as usize, "task")
                ),
            ),
            Cell::new(Tone::Dim, &clip(&execution.status, 24)),
            Cell::new(Tone::Plain, &format!("layer {}", clip(&execution.layer, 40))),
            Cell::new(Tone::Dim, &execution.tasks_path),
        ]
    };
    let rows: Vec<_> = overview.executions.iter().map(row).collect();
    let says = format!("{} unfinished", rows.len());
    let table = Table::new(&[0, 0, 1, 2, 3], rows);
    let panel = Panel { title: "Executions", says, tone: Tone::Plain, table, spare: 5, brief: 4 };
    (!panel.table.is_empty()).then_some(panel)
}

/// `3/50 BUILDING`, with the verdict if there is one; `None` if no loop is behind the queue.
pub fn looping(queue: &Queue) -> Option<String> {
    if queue.status == "none" {
        return None;
    }
    let most = queue.max_iterations;
    let most = most.map(|most| format!("/{most}")).unwrap_or_default();
    let verdict = queue.ending.verdict.as_deref();
    let status = clip(verdict.unwrap_or(&queue.status), 24);
    let ended = if verdict.is_some() { "ended: " } else { "" };
    Some(format!("{}{most} {ended}{status}", queue.iteration))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_says_how_far_it_is() {
        let mut queue = Queue { iteration: 3, ..Queue::default() };
        assert_eq!(looping(&queue), None);
        queue.status = "BUILDING".into();
        assert_eq!(looping(&queue).as_deref(), Some("3 BUILDING"));
        queue.max_iterations = Some(50);
        assert_eq!(looping(&queue).as_deref(), Some("3/50 BUILDING"));
        queue.ending.verdict = Some("complete".into());
        assert_eq!(looping(&queue).as_deref(), Some("3/50 ended: complete"));
    }
}
