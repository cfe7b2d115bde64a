//! What `status` shows of the work queue and of its loop.

use serde_json::json;

use crate::core::table::{Cell, Table, Tone};
use crate::core::text::clip;
use crate::core::time::Time;
use crate::loops::queue::document::{Item, Queue};
use crate::state::panel::{Detail, Panel, PanelContext, Section, severity};

/// With a loop behind the queue, and without one.
pub const TITLES: [&str; 2] = ["Loop", "Work queue"];

pub fn section(context: &PanelContext) -> Section {
    let queue = context.state.get::<Queue>().cloned();
    let all = context.all;
    Section::new([("work_queue", json!(queue))], move |now| panel(queue.as_ref()?, all, now))
}

fn panel(queue: &Queue, all: bool, now: Time) -> Option<Panel> {
    let open = queue.open();
    let row = |item: &&Item| {
        vec![
            Cell::new(severity(&item.priority), &item.priority),
            Cell::new(Tone::Id, &clip(&item.id, 12)),
            Cell::new(Tone::Plain, &item.title),
        ]
    };
    let progress = progress(queue).filter(|_| all || !queue.ending.is_old(now));
    if progress.is_none() && open.is_empty() && queue.ending.verdict.is_some() {
        return None;
    }
    let items = match queue.expired() {
        0 => format!("{} open", open.len()),
        expired => format!("{} open, {expired} expired", open.len()),
    };
    let (title, says) = match progress {
        // What is open beside a loop that has ended is not the loop's.
        Some(progress) if queue.ending.verdict.is_some() && !open.is_empty() => {
            (TITLES[0], format!("{progress}; in the queue: {items}"))
        }
        Some(progress) => (TITLES[0], format!("{progress}, {items}")),
        None => (TITLES[1], items),
    };
    let table = Table::new(&[0, 2, 1], open.iter().map(row).collect());
    let details = open.iter().map(|item| detail(item)).collect();
    Some(Panel { title, says, table, details, spare: 4, brief: 8, ..Panel::default() })
}

fn detail(item: &Item) -> Detail {
    Detail {
        title: format!("Work item {}", item.id),
        text: format!("{}\nPriority: {}\n", item.title, item.priority),
        ..Detail::default()
    }
}

/// `3/50 BUILDING`, with the verdict if there is one; `None` if no loop is behind the queue.
pub fn progress(queue: &Queue) -> Option<String> {
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
        assert_eq!(progress(&queue), None);
        queue.status = "BUILDING".into();
        assert_eq!(progress(&queue).as_deref(), Some("3 BUILDING"));
        queue.max_iterations = Some(50);
        assert_eq!(progress(&queue).as_deref(), Some("3/50 BUILDING"));
        queue.ending.verdict = Some("complete".into());
        assert_eq!(progress(&queue).as_deref(), Some("3/50 ended: complete"));
    }
}
