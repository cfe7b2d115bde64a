//! Whether a plan can be carried out at all. Everything that is wrong is named at once.

use std::collections::{BTreeMap, BTreeSet};

use crate::core::graph::find_cycle;
use crate::execute::document::layer_order;
use crate::execute::plan::{PlannedTask, TaskPlan};

/// What is wrong with a plan, one sentence for each thing; empty if it can be carried out.
pub fn find_problems(plan: &TaskPlan) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut seen = BTreeSet::new();
    for task in &plan.tasks {
        if let Err(why) = validate_task_id(&task.id) {
            wrong.push(why);
        }
        // On some file systems `a` and `A` are one directory.
        if !seen.insert(task.id.to_lowercase()) {
            wrong.push(format!("two tasks have the id {}", task.id));
        }
        if task.layer.is_none() {
            wrong.push(format!("{} has no layer", task.id));
        }
    }
    let tasks: BTreeMap<&str, &PlannedTask> =
        plan.tasks.iter().map(|task| (task.id.as_str(), task)).collect();
    for task in &plan.tasks {
        for need in &task.needs {
            match tasks.get(need.as_str()) {
                None => wrong.push(format!("{} needs {need}, which is no task", task.id)),
                Some(needed) if runs_later(needed, task) => wrong.push(format!(
                    "{} is in layer {} and needs {need} of layer {}, which runs later",
                    task.id,
                    task.layer.as_deref().unwrap_or_default(),
                    needed.layer.as_deref().unwrap_or_default(),
                )),
                Some(_) => {}
            }
        }
    }
    let needs = |id: &str| tasks.get(id).map(|task| task.needs.as_slice()).unwrap_or_default();
    let cycle = find_cycle(tasks.keys().copied(), needs);
    if let Some(first) = cycle.first() {
        wrong.push(format!("tasks need each other: {} → {first}", cycle.join(" → ")));
    }
    wrong
}

/// An id becomes the name of a branch and of a directory.
pub fn validate_task_id(id: &str) -> Result<(), String> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    let begins = id.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric());
    let fine = begins
        && id.len() <= 64
        && id.bytes().all(plain)
        && !id.contains("..")
        && !id.ends_with('.')
        && !id.to_lowercase().ends_with(".lock");
    match fine {
        true => Ok(()),
        false => Err(format!(
            "`{}` is no id for a task: letters, digits and -_. only, at most 64, beginning with a letter or digit",
            crate::core::text::clip(id, 80)
        )),
    }
}

fn runs_later(needed: &PlannedTask, task: &PlannedTask) -> bool {
    needed.layer.as_deref().map(layer_order) > task.layer.as_deref().map(layer_order)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(tasks: &[(&str, &str, &[&str])]) -> TaskPlan {
        let task = |(id, layer, needs): &(&str, &str, &[&str])| PlannedTask {
            id: (*id).into(),
            layer: Some((*layer).into()),
            needs: needs.iter().map(|need| (*need).to_owned()).collect(),
            ..PlannedTask::default()
        };
        TaskPlan { tasks: tasks.iter().map(task).collect(), ..TaskPlan::default() }
    }

    #[test]
    fn what_cannot_be_done_is_named() {
        let bad = plan(&[
            ("a", "1-x", &["b"]),
            ("b", "1-x", &["c"]),
            ("c", "1-x", &["b", "z"]),
            ("A", "1-x", &[]),
            ("d", "1-x", &["e"]),
            ("e", "2-y", &[]),
        ]);
        assert_eq!(
            find_problems(&bad),
            [
                "two tasks have the id A",
                "c needs z, which is no task",
                "d is in layer 1-x and needs e of layer 2-y, which runs later",
                "tasks need each other: b → c → b",
            ]
        );
        assert!(
            find_problems(&plan(&[
                ("a", "1-x", &[]),
                ("b", "1-x", &["a"]),
                ("c", "2-y", &["a", "b"])
            ]))
            .is_empty()
        );
        assert_eq!(find_problems(&plan(&[("a", "1-x", &["a"])])), ["tasks need each other: a → a"]);
        // Layers of the same number, or without one, run in the order of their names.
        for layers in [["alpha", "beta"], ["1-alpha", "1-beta"]] {
            let bad = plan(&[("a", layers[0], &["b"]), ("b", layers[1], &[])]);
            assert_eq!(find_problems(&bad).len(), 1, "{layers:?}");
            let good = plan(&[("a", layers[0], &[]), ("b", layers[1], &["a"])]);
            assert_eq!(find_problems(&good).len(), 0, "{layers:?}");
        }
    }

    #[test]
    fn ids_that_could_lead_elsewhere() {
        for id in
            ["../x", "a b", "", "-x", "a/b", "a..b", "a.lock", "é", "a.", "x\0", &"a".repeat(65)]
        {
            assert!(validate_task_id(id).is_err(), "{id}");
        }
        for id in ["L1-001", "a", "task_2.b", "0"] {
            assert!(validate_task_id(id).is_ok(), "{id}");
        }
    }

    #[test]
    fn a_long_chain_is_no_problem() {
        let ids: Vec<String> = (0..20_000).map(|n| format!("t{n}")).collect();
        let task = |n: usize| PlannedTask {
            id: ids[n].clone(),
            layer: Some("1-x".into()),
            needs: ids.get(n + 1).cloned().into_iter().collect(),
            ..PlannedTask::default()
        };
        let chain = TaskPlan { tasks: (0..ids.len()).map(task).collect(), ..TaskPlan::default() };
        assert!(find_problems(&chain).is_empty());
    }
}
