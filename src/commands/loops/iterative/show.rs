//! Views of tasks, for people and as JSON.

use anyhow::bail;
use serde_json::json;

use crate::commands::loops::iterative::task_command::TaskCommand;
use crate::console::project::print_json;
use crate::core::gate::Printed;
use crate::core::id::TaskSlug;
use crate::core::outcome::Outcome;
use crate::core::table::row;
use crate::core::text::{clip, plural};
use crate::core::time;
use crate::loops::iterative::document::lifecycle::Status;
use crate::loops::iterative::document::plan::status_line;
use crate::loops::iterative::document::progress::Log;
use crate::loops::iterative::document::task_documents::TaskDocuments;
use crate::loops::iterative::document::{Task, TaskText, Unit};
use crate::loops::iterative::drive::try_open_book;
use crate::loops::iterative::folder::TASKS;
use crate::loops::iterative::recover;
use crate::loops::iterative::rules::prompt;
use crate::state::Frozen;

pub fn list(at: &TaskCommand) -> anyhow::Result<Outcome> {
    let mut tasks = Vec::new();
    let mut broken = Vec::new();
    for slug in at.slugs()? {
        match at.state(&slug)?.filter(Task::is_known) {
            Some(task) => tasks.push((slug, task)),
            None => broken.push(slug.as_str().to_owned()),
        }
    }
    let archived = format!("{TASKS}/{}", TaskSlug::ARCHIVE);
    let archived = at.command.project.view()?.map(|view| view.names(&archived)).unwrap_or_default();
    if at.json {
        let tasks: Vec<&Task> = tasks.iter().map(|(_, task)| task).collect();
        return print_json(&json!({"tasks": tasks, "unreadable": broken, "archived": archived}));
    }
    let columns =
        [("TASK", 0), ("PHASE", 1), ("DONE", 2), ("AT WORK", 3), ("DRIVEN BY", 4), ("WHAT", 0)];
    let rows: Vec<_> = tasks
        .iter()
        .map(|(slug, task)| {
            let (done, all) = task.done();
            let phase = task.ending.verdict.clone().unwrap_or_else(|| task.phase.clone());
            let by = task.session_id.as_deref().map_or("nobody", |id| id.get(..8).unwrap_or(id));
            row![
                slug,
                phase,
                format!("{done} of {all}"),
                task.current().unwrap_or("-"),
                by,
                task.task
            ]
        })
        .collect();
    let mut out = match tasks.is_empty() {
        true => "No task. `hookkeeper iterative new SLUG --task T --mode development --unit 'T1: …'` makes one.\n".into(),
        false => at.command.project.print_rows(&columns, &rows),
    };
    if !broken.is_empty() {
        out.push(format!("Without a state that can be read: {}\n", broken.join(", ")));
    }
    if let Some(view) = at.command.project.view()? {
        let lost = recover::without_state(&view.state());
        lost.iter().for_each(|slug| out.push(format!("{}.\n", recover::hint(slug))));
    }
    if !archived.is_empty() {
        out.push(format!(
            "{} in .claude/iterative/archive\n",
            plural(archived.len(), "archived task")
        ));
    }
    Ok(Outcome::printed(out))
}

pub fn status(at: &TaskCommand, named: Option<&str>) -> anyhow::Result<Outcome> {
    let slug = at.slug(named)?;
    let (documents, trouble) = read(at, &slug)?;
    if at.json {
        let task = &documents.state;
        let next = task.current().or_else(|| task.workable());
        return print_json(&json!({
            "slug": slug.as_str(), "open": task.is_open(), "task": task, "next": next,
            "conflicts": documents.conflicts, "trouble": trouble,
        }));
    }
    Ok(Outcome::printed(page(at, &documents, trouble.as_deref())))
}

/// A task without the lock, and what is wrong with its log.
fn read(at: &TaskCommand, slug: &TaskSlug) -> anyhow::Result<(TaskDocuments, Option<String>)> {
    let (now, word) = (at.command.now, slug.word());
    let missing = || {
        anyhow::anyhow!(
            ".claude/iterative/{slug}/state.json is missing; `hookkeeper iterative rebuild {word}` makes it anew"
        )
    };
    let view = at.command.project.view()?.ok_or_else(missing)?;
    let around = view.state();
    let read = around.read::<Task>(slug);
    around.check()?;
    let Some(state) = read.value else {
        return Err(match read.frozen() {
            Some(Frozen::Unreadable(why)) => anyhow::anyhow!(
                ".claude/iterative/{slug}/state.json cannot be read ({why}); `hookkeeper iterative rebuild {word}` makes it anew"
            ),
            Some(why) => anyhow::anyhow!(".claude/iterative/{slug}/state.json {why}"),
            None => missing(),
        });
    };
    match try_open_book(slug, &around, now) {
        Ok(Some(documents)) => Ok((documents, None)),
        Ok(None) => Err(missing()),
        Err(why) if state.is_known() => {
            let part = state.plan_part();
            let plan = around.get_by::<TaskText>(&(slug.clone(), part)).map(|text| text.0.clone());
            let documents =
                TaskDocuments::with(slug.clone(), state.clone(), Log::default(), plan, now);
            Ok((documents, Some(why.to_string())))
        }
        Err(why) => bail!(".claude/iterative/{slug}/state.json: {why}"),
    }
}

fn page(at: &TaskCommand, documents: &TaskDocuments, trouble: Option<&str>) -> Printed {
    let (slug, task) = (&documents.slug, &documents.state);
    let domain = task.domain.as_deref().map(|domain| format!(", {domain}")).unwrap_or_default();
    let mut out = Printed::default();
    out.line(format!("{slug}: {} ({}{domain})", clip(&task.task, 100), task.mode));
    let end = match (&task.ending.verdict, &task.ending.verdict_reason) {
        (Some(verdict), Some(why)) => format!(", {verdict}: {}", clip(why, 200)),
        (Some(verdict), None) => format!(", {verdict}"),
        _ => String::new(),
    };
    let driver =
        task.session_id.as_deref().map_or("nobody yet".into(), |id| format!("session {id}"));
    let age = time::human(time::age(&task.updated, at.command.now));
    out.line(format!("phase {}{end}, driven by {driver}, updated {age} ago", task.phase));
    out.line("");
    if task.units().is_empty() {
        out.line("No units yet.");
    } else {
        let columns = [
            ("", 0),
            ("UNIT", 0),
            ("STATUS", 0),
            ("ITERATIONS", 2),
            ("CONFIRMED", 3),
            ("NEEDS", 4),
            ("TITLE", 0),
            ("BLOCKED BY", 1),
        ];
        let units = task.units();
        let rows: Vec<_> = units.iter().map(|(id, unit)| unit_row(id, unit, task)).collect();
        out.push(at.command.project.print_rows(&columns, &rows));
    }
    let (done, all) = task.done();
    out.line("");
    out.line(format!("{done} of {all} done ({})", status_line(task)));
    if let Some(next) = next(documents) {
        out.line(next);
    }
    if let Some(last) = documents.log.entries.iter().rev().find(|entry| entry.did.is_some()) {
        let did = clip(last.did.as_deref().unwrap_or_default(), 160);
        out.line(format!("Last entry: {} - {} - {}: {did}", last.subject, last.what, last.at));
    }
    if !task.commits.is_empty() {
        let newest = task.commits.last().map(|commit| clip(commit, 100)).unwrap_or_default();
        out.line(format!("{}, the newest {newest}", plural(task.commits.len(), "commit")));
    }
    let word = slug.word();
    for conflict in &documents.conflicts {
        out.line(format!(
            "Conflict: {conflict}. `hookkeeper iterative rebuild {word}` settles it."
        ));
    }
    if let Some(why) = trouble {
        out.line(format!(
            "Trouble: {why}. `hookkeeper iterative rebuild {word} --new-log` begins a new log with the state as it is."
        ));
    }
    out
}

fn unit_row(id: &str, unit: &Unit, task: &Task) -> Vec<String> {
    let mark = if task.current() == Some(id) { "▸" } else { "" };
    let status = match unit.skipped {
        true => "skipped".to_owned(),
        false => unit.status.replace('_', " "),
    };
    let confirmed = match (unit.confirmations_used, unit.is(Status::Done)) {
        (0, _) => "-".to_owned(),
        (n, true) => format!("{n}, verified"),
        (n, false) => n.to_string(),
    };
    let needs = if unit.needs.is_empty() { "-".to_owned() } else { unit.needs.join(", ") };
    row![
        mark,
        id,
        status,
        format!("{} of {}", unit.iterations_used, unit.max_iterations),
        confirmed,
        needs,
        clip(&unit.title, 60),
        clip(unit.reason.as_deref().unwrap_or(""), 80),
    ]
}

fn next(documents: &TaskDocuments) -> Option<String> {
    let (task, word) = (&documents.state, documents.slug.word());
    if !task.is_open() {
        return match task.ending.verdict.as_deref() {
            Some("complete") => Some(format!("Next: `hookkeeper iterative archive {word}`")),
            Some(_) => Some(format!("To go on: `hookkeeper iterative resume {word}`")),
            None => None,
        };
    }
    Some(match task.current().or_else(|| task.workable()) {
        Some(id) => {
            let unit = task.unit(id).cloned().unwrap_or_default();
            let what = match unit.status() {
                Some(Status::Confirming) => "confirm".to_owned(),
                Some(Status::Verifying) => "verify".to_owned(),
                Some(Status::InProgress) => {
                    format!("iteration {} of {}", unit.iterations_used, unit.max_iterations)
                }
                _ => "start".to_owned(),
            };
            let left =
                documents.log.remaining(id).map(|left| format!("; remaining: {}", clip(left, 160)));
            format!("Next: {id}, {what}{}", left.unwrap_or_default())
        }
        None if task.units().is_empty() => {
            let first = task.first_unit();
            format!("Next: `hookkeeper iterative unit {word} '{first}: title | criteria'`")
        }
        None => format!("Next: {}", prompt::question(documents).trim_start_matches("HookKeeper: ")),
    })
}
