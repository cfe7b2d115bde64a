//! `iterative guardrail`: lessons for later iterations.

use anyhow::{Context as _, bail};

use crate::commands::loops::iterative::task_command::TaskCommand;
use crate::console::usage::usage;
use crate::core::outcome::Outcome;
use crate::core::text::{clip, plural};
use crate::loops::iterative::document::guardrails::{self, HEAD, Lesson};
use crate::loops::iterative::document::{Part, Task, TaskText};
use crate::loops::iterative::folder::archived_guardrails;
use crate::state::plan::Plan;

#[derive(clap::Args)]
pub struct Guardrail {
    /// The task
    slug: String,
    /// What the lesson is called
    #[arg(required_unless_present = "from", requires_all = ["when", "problem", "solution"])]
    name: Option<String>,
    /// Where it applies
    #[arg(long, value_name = "TEXT")]
    when: Option<String>,
    /// What went wrong
    #[arg(long, value_name = "TEXT")]
    problem: Option<String>,
    /// How to avoid it
    #[arg(long, value_name = "TEXT")]
    solution: Option<String>,
    /// Take over the lessons of this archived task
    #[arg(long, value_name = "ARCHIVED", conflicts_with = "name")]
    from: Option<String>,
}

pub fn run(at: &TaskCommand, options: &Guardrail) -> anyhow::Result<Outcome> {
    let redact = at.command.project.redactor()?;
    let slug = at.slug(Some(&options.slug))?;
    at.command.project.change(|store, around| {
        let read = around.read::<TaskText>(&(slug.clone(), Part::Guardrails));
        let now = read.value.map(|text| text.0.as_str());
        if read.is_frozen() {
            bail!("{} was not changed: it is no text", read.doc().path());
        }
        let mut new = String::new();
        let said = if let Some(from) = &options.from {
            let known = guardrails::parse(now.unwrap_or_default());
            let archived = archived_guardrails(store)?;
            let found = archived.iter().find(|(name, _)| name == from);
            let (_, text) = found.with_context(|| {
                let names: Vec<&str> = archived.iter().map(|(name, _)| name.as_str()).collect();
                format!(
                    "there is no archived task `{}` with guardrails; there are: {}",
                    clip(from, 80),
                    names.join(", ")
                )
            })?;
            let mut fresh = guardrails::parse(text);
            fresh.retain(|lesson| !known.contains(lesson));
            new.extend(fresh.iter().map(guardrails::Guardrail::markdown));
            format!("Taken over from {from}: {}.", plural(fresh.len(), "guardrail"))
        } else {
            let text =
                |text: &Option<String>| redact.line(text.as_deref().unwrap_or_default(), 500);
            let state = around.get_by::<Task>(&slug).cloned().unwrap_or_default();
            let learned = match state.current() {
                Some(id) => format!("{id} iteration {}", state.current_iteration),
                None => format!("phase {}", state.phase),
            };
            let name = text(&options.name);
            if name.is_empty() {
                bail!(usage("the guardrail has no name"));
            }
            let (when, problem, solution) =
                (text(&options.when), text(&options.problem), text(&options.solution));
            let lesson = Lesson {
                name: &name,
                when: &when,
                problem: &problem,
                solution: &solution,
                learned: &learned,
            };
            new = lesson.markdown();
            format!("Noted in {}: {name}.", read.doc().path())
        };
        if now.is_none() {
            new.insert_str(0, HEAD);
        }
        if !new.is_empty() {
            let mut plan = Plan::default();
            plan.append(&read, new);
            store.commit(&plan.changes, around)?;
        }
        at.answer(said, &slug, None)
    })
}
