//! What `status` shows of executions: those that are not complete.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::json;

use crate::core::table::{Cell, Table, Tone};
use crate::core::text::{clip, plural};
use crate::execute::registry::Executions;
use crate::execute::unfinished::{Unfinished, silent_holders, unfinished};
use crate::state::panel::{Panel, PanelContext, Section};

pub fn section(context: &PanelContext) -> Section {
    let known = context.state.get::<Executions>().map(|all| all.executions.as_slice());
    let newest_first = known.unwrap_or_default().iter().rev();
    let open = newest_first.filter_map(|known| {
        let tasks = Path::new(&known.tasks_path);
        // A state that was not made here is not read on.
        let found = unfinished(tasks)?;
        Some(Unfinished { silent: silent_holders(tasks), ..found })
    });
    let open: Vec<Unfinished> = open.collect();
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
    let silent: BTreeSet<&str> =
        open.iter().flat_map(|execution| &execution.silent).map(String::as_str).collect();
    let silent = silent.into_iter().map(|who| format!(", {who} is silent"));
    let panel = Panel {
        title: "Executions",
        says: clip(&format!("{} unfinished{}", open.len(), silent.collect::<String>()), 200),
        table: Table::new(&[0, 0, 1, 2, 3], open.iter().map(row).collect()),
        ..Panel::default()
    };
    panel.unless_empty()
}
