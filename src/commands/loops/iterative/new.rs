//! `iterative new`, and units that are added later.

use anyhow::{Context as _, ensure};

use crate::commands::loops::iterative::task_command::{TaskCommand, rule};
use crate::commands::loops::iterative::unit::{self, one_line};
use crate::commands::loops::{driver, unseen};
use crate::console::usage::usage;
use crate::core::id::TaskSlug;
use crate::core::outcome::Outcome;
use crate::core::text::{clip, plural};
use crate::core::time;
use crate::loops::iterative::document::brief::{self, Brief};
use crate::loops::iterative::document::progress::{self, CREATED, Entry, Log};
use crate::loops::iterative::document::task_documents::TaskDocuments;
use crate::loops::iterative::document::{
    DEVELOPMENT, KNOWLEDGE, Part, Task, TaskText, context, guardrails,
};
use crate::loops::iterative::folder::archived_guardrails;
use crate::loops::iterative::folder::has_task;
use crate::loops::iterative::folder::make_task_folder;
use crate::loops::iterative::rules::IterativeLoop;
use crate::loops::iterative::rules::advance::go_on;
use crate::loops::{Loop as _, LoopKind};
use crate::state::plan::Plan;
use crate::store::Store;

const DOMAINS: [&str; 7] =
    ["feature", "bug", "refactor", "research", "writing", "analysis", "planning"];

#[derive(clap::Args)]
pub struct New {
    /// Its folder in .claude/iterative: lower-case letters, digits, - and _
    slug: String,
    /// What it is called
    #[arg(long, value_name = "TEXT")]
    task: String,
    /// Whether something is built, or something is found out
    #[arg(long, value_parser = [DEVELOPMENT, KNOWLEDGE])]
    mode: String,
    /// What kind of work it is (default: feature, or research)
    #[arg(long, value_parser = DOMAINS)]
    domain: Option<String>,
    /// What is wanted in the end
    #[arg(long, value_name = "TEXT", default_value = "")]
    outcome: String,
    /// What has to hold; can be given several times
    #[arg(long, value_name = "TEXT")]
    done_when: Vec<String>,
    /// Can be given several times
    #[arg(long, value_name = "TEXT")]
    constraint: Vec<String>,
    /// How to go about it
    #[arg(long, value_name = "TEXT", default_value = "")]
    approach: String,
    /// ID: title | criteria | max N | needs IDS | files PATHS | output PATH | model NAME; can be given several times
    #[arg(long, value_name = "UNIT")]
    unit: Vec<String>,
    /// Take over the lessons of this archived task; can be given several times
    #[arg(long, value_name = "ARCHIVED")]
    guardrails_from: Vec<String>,
}

pub fn run(at: &TaskCommand, new: &New) -> anyhow::Result<Outcome> {
    let slug = TaskSlug::new(&new.slug).map_err(usage)?;
    let redact = at.command.project.redactor()?;
    let now = at.command.now;
    let line = |text: &str, what: &str| one_line(&redact, text, what);
    let lines = |texts: &[String], what: &str| {
        texts.iter().map(|text| line(text, what)).collect::<anyhow::Result<Vec<_>>>()
    };
    let name = line(&new.task, "the task")?;
    ensure!(!name.is_empty(), usage("the task is empty"));
    let brief = Brief {
        outcome: redact.text(new.outcome.trim()),
        done_when: lines(&new.done_when, "--done-when")?,
        constraints: lines(&new.constraint, "--constraint")?,
        approach: redact.text(new.approach.trim()),
    };
    let knowledge = new.mode == KNOWLEDGE;
    let domain =
        new.domain.clone().unwrap_or_else(|| if knowledge { "research" } else { "feature" }.into());
    let mut task = Task {
        task: name,
        slug: slug.as_str().to_owned(),
        mode: new.mode.clone(),
        domain: Some(domain),
        created: time::spell(now),
        phase: "discover".into(),
        ..Task::default()
    };
    // Nothing is there yet that they could disagree with.
    unit::put(&mut task, &new.unit, &redact).map_err(|why| usage(format!("{why:#}")))?;
    let seen = at.look_at(&slug, &task, &Log::default())?;
    let base = seen.head.clone();
    at.command.project.change(|store, around| {
        let folder = format!(".claude/iterative/{slug}");
        ensure!(!has_task(store, &slug)?, "{folder} is there already; choose another name");
        at.command.ensure_none(None, LoopKind::Iterative, slug.as_str(), around)?;
        let (lessons, offer) = inherited(store, &new.guardrails_from)?;
        let mut plan = Plan::default();
        let mut text = |part, text: &str| {
            let read = around.read::<TaskText>(&(slug.clone(), part));
            plan.put(&read, &TaskText(text.to_owned()));
        };
        text(Part::Brief, &brief::render(&task, &brief));
        text(Part::Context, &context::render(&task, &brief));
        text(Part::Guardrails, &format!("{}{lessons}", guardrails::HEAD));
        text(Part::Progress, progress::HEAD);
        let mut documents = TaskDocuments::with(slug.clone(), task, Log::default(), None, now);
        documents.seen = seen;
        let session = at.command.starter(around)?;
        rule(documents.record(created(&documents.state, session.as_deref(), base)))?;
        rule(go_on(&mut documents))?;
        store.commit(&plan.changes, around)?;
        if knowledge {
            make_task_folder(store, &slug, "sources")?;
            make_task_folder(store, &slug, "outputs")?;
        }
        let task = IterativeLoop::new(documents, around);
        let units = plural(task.documents.state.units().iter().count(), "unit");
        let (owner, next) = (driver(session.as_deref()), task.reason());
        let unseen = unseen(session.as_deref(), around);
        let said = format!("Created: {folder}, {units}, driven by {owner}.{unseen}\n{offer}{next}");
        at.command.write(&task, None, store, around)?;
        at.answer(said, &slug, Some(&task.documents))
    })
}

fn created(task: &Task, session: Option<&str>, base: Option<String>) -> Entry {
    let mut entry = Entry::of_task(CREATED);
    let units = task.units().iter().count();
    entry.did = Some(format!("{}: {}", plural(units, "unit"), task.task));
    entry.phase = Some(if units > 0 { "execute" } else { "discover" }.into());
    entry.session = session.map(str::to_owned);
    entry.commit = base;
    entry
}

/// The lessons that are taken over, and those that could be.
fn inherited(store: &Store, from: &[String]) -> anyhow::Result<(String, String)> {
    let archived = archived_guardrails(store)?;
    let mut lessons: Vec<guardrails::Guardrail> = Vec::new();
    for name in from {
        let found = archived.iter().find(|(archived, _)| archived == name);
        let (_, text) =
            found.with_context(|| format!("there is no archived task `{}`", clip(name, 80)))?;
        for lesson in guardrails::parse(text) {
            if !lessons.contains(&lesson) {
                lessons.push(lesson);
            }
        }
    }
    let offers =
        archived.iter().filter(|(name, _)| !from.contains(name)).filter_map(|(name, text)| {
            let names: Vec<String> =
                guardrails::parse(text).into_iter().map(|lesson| lesson.name).collect();
            (!names.is_empty()).then(|| format!("{name} ({})", clip(&names.join(", "), 160)))
        });
    let offers: Vec<String> = offers.take(5).collect();
    let offer = match offers.as_slice() {
        [] => String::new(),
        offers => format!(
            "Guardrails of earlier tasks: {}. `hookkeeper iterative guardrail SLUG --from NAME` takes them over.\n",
            offers.join("; ")
        ),
    };
    Ok((lessons.iter().map(guardrails::Guardrail::markdown).collect(), offer))
}
