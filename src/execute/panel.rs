//! What `status` shows of executions: those that are not complete.

use std::path::Path;

use serde_json::json;

use crate::core::table::{Cell, Table, Tone};
use crate::core::text::{clip, plural};
use crate::execute::registry::Executions;
use crate::execute::unfinished::{Unfinished, unfinished};
use crate::state::panel::{Panel, PanelContext, Section};

pub fn section(context: &PanelContext) -> Section {
    let known = context.state.get::<Executions>().map(|all| all.executions.as_slice());
    let newest_first = known.unwrap_or_default().iter().rev();
    let open: Vec<Unfinished> =
        newest_first.filter_map(|known| unfinished(Path::new(&known.tasks_path))).collect();
    Section::new([("executions", json!(open))], move |_| panel(&open))
}

fn panel(open: &[Unfinished]) -> Option<Panel> {
    let row = |execution: &Unfinished| {
        let tasks = plural(execution.total as usize, "task");
        vec![
            Cell::new(Tone::Good, &clip(&execution.slug, 24)),
            Cell::new(Tone::Plain, &format!("{}/{tasks} merged", execution.completed)),
            Cell::new(Tone::Dim, &clip(&execution.status, 24)),
            Cell::new(Tone::Plain, &format!("layer {}", clip(&execution.layer, 40))),
            Cell::new(Tone::Dim, &execution.tasks_path),
        ]
    };
    let panel = Panel {
        title: "Executions",
        says: format!("{} unfinished", open.len()),
        table: Table::new(&[0, 0, 1, 2, 3], open.iter().map(row).collect()),
        ..Panel::default()
    };
    panel.unless_empty()
}
