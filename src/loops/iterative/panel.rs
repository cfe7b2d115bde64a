//! What `status` shows of iterative tasks: those that are not done yet.

use std::collections::BTreeMap;

use serde_json::json;

use crate::core::table::{Cell, Table, Tone};
use crate::core::text::{clip, plural};
use crate::loops::iterative::document::Task;
use crate::loops::iterative::folder::all_tasks;
use crate::state::State;
use crate::state::panel::{Panel, PanelContext, Section};

pub fn section(context: &PanelContext) -> Section {
    let tasks = open_tasks(context.state);
    Section::new([("iterative", json!(tasks))], move |_| panel(&tasks))
}

fn open_tasks(state: &State) -> BTreeMap<String, Task> {
    let open = all_tasks(state.source()).unwrap_or_default().into_iter().filter_map(|slug| {
        let task = state.get_by::<Task>(&slug).filter(|task| task.is_open())?;
        Some((slug.as_str().to_owned(), task.clone()))
    });
    open.collect()
}

fn panel(tasks: &BTreeMap<String, Task>) -> Option<Panel> {
    let row = |(slug, task): (&String, &Task)| {
        let at = task.current().and_then(|id| Some((id, task.unit(id)?)));
        let now = match at {
            Some((id, unit)) => format!("{id} {}", unit.title),
            None => task.task.clone(),
        };
        vec![
            Cell::new(Tone::Good, &clip(slug, 24)),
            Cell::new(Tone::Plain, &progress(task)),
            Cell::new(Tone::Dim, &clip(&task.phase, 24)),
            Cell::new(Tone::Plain, &now),
        ]
    };
    let panel = Panel {
        title: "Iterative tasks",
        says: format!("{} open", tasks.len()),
        table: Table::new(&[0, 0, 1, 2], tasks.iter().map(row).collect()),
        ..Panel::default()
    };
    panel.unless_empty()
}

/// `1/3 units`
pub fn progress(task: &Task) -> String {
    let (done, all) = task.done();
    format!("{done}/{}", plural(all, "unit"))
}
