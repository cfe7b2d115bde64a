//! The plan and the state: which tasks there are, in which layer, and what each needs is the plan's to
//! say.

use crate::execute::document::{Execution, TaskRecord};
use crate::execute::plan::{PlannedTask, TaskPlan};
use crate::execute::{Correction, GitFacts};

/// A task of the plan, with nothing done yet.
pub fn new_task(planned: &PlannedTask) -> TaskRecord {
    TaskRecord {
        layer: planned.layer.clone(),
        name: planned.name.clone(),
        priority: planned.priority,
        file: planned.file.clone(),
        depends_on: planned.needs.clone(),
        ..TaskRecord::default()
    }
}

/// Puts in what the plan has and the state lacks, and says what that was.
pub fn add_planned(state: &mut Execution, plan: &TaskPlan) -> Vec<Correction> {
    let mut corrections = Vec::new();
    for planned in &plan.tasks {
        let mut correct =
            |text: String| corrections.push(Correction { id: planned.id.clone(), text });
        let Some(have) = state.tasks.get_mut(&planned.id) else {
            state.tasks.insert(planned.id.clone(), new_task(planned));
            correct("was missing, is pending".into());
            continue;
        };
        let wanted = have.clone().with_plan_of(new_task(planned));
        let differs = [
            ("layer", have.layer != wanted.layer),
            ("name", have.name != wanted.name),
            ("priority", have.priority != wanted.priority),
            ("file", have.file != wanted.file),
            ("depends_on", have.depends_on != wanted.depends_on),
        ];
        let names: Vec<&str> =
            differs.iter().filter(|(_, differs)| *differs).map(|(name, _)| *name).collect();
        if !names.is_empty() {
            let are = if names.len() == 1 { "is" } else { "are" };
            correct(format!("its {} {are} now as in the plan", names.join(", ")));
            *have = wanted;
        }
    }
    corrections
}

/// Takes out what is neither in the plan nor in git, and says what that was.
pub fn remove_unplanned(
    state: &mut Execution,
    plan: &TaskPlan,
    facts: &GitFacts,
) -> Vec<Correction> {
    let planned: std::collections::BTreeSet<&str> =
        plan.tasks.iter().map(|task| task.id.as_str()).collect();
    let in_git = |id: &String| {
        facts.branches.contains_key(id)
            || facts.worktrees.contains_key(id)
            || facts.merged.iter().any(|merged| merged.id == *id)
    };
    let unknown = state.tasks.keys().filter(|id| !planned.contains(id.as_str()) && !in_git(id));
    let unknown: Vec<String> = unknown.cloned().collect();
    let remove = |id: String| {
        state.tasks.remove(&id);
        state.dequeue(&id);
        Correction { id, text: "is neither in the plan nor in git, and is taken out".into() }
    };
    unknown.into_iter().map(remove).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plan_says_which_tasks_there_are() {
        let planned = |id: &str, needs: &[&str]| PlannedTask {
            id: id.into(),
            layer: Some("1-x".into()),
            needs: needs.iter().map(|need| (*need).to_owned()).collect(),
            ..PlannedTask::default()
        };
        let tasks = vec![planned("a", &[]), planned("b", &["a"]), planned("c", &[])];
        let plan = TaskPlan { tasks, ..TaskPlan::default() };
        let mut state = Execution::default();
        let layer = Some("1-x".to_owned());
        let has = |attempts| TaskRecord { attempts, layer: layer.clone(), ..TaskRecord::default() };
        for (id, task) in [
            ("a", TaskRecord { layer: None, ..has(2) }),
            ("b", has(1)),
            ("y", has(0)),
            ("z", has(0)),
        ] {
            state.tasks.insert(id.into(), task);
        }
        state.enqueue("z");
        let facts = GitFacts { branches: [("y".into(), "t".into())].into(), ..GitFacts::default() };
        let texts: Vec<String> = add_planned(&mut state, &plan)
            .into_iter()
            .chain(remove_unplanned(&mut state, &plan, &facts))
            .map(|c| format!("{} {}", c.id, c.text))
            .collect();
        assert_eq!(
            texts,
            [
                "a its layer is now as in the plan",
                "b its depends_on is now as in the plan",
                "c was missing, is pending",
                "z is neither in the plan nor in git, and is taken out",
            ]
        );
        let ids: Vec<&String> = state.tasks.keys().collect();
        assert_eq!(ids, ["a", "b", "c", "y"]);
        assert_eq!((state.tasks["a"].attempts, state.merge_queue.len()), (2, 0));
        assert_eq!(add_planned(&mut state, &plan), []);
    }
}
