//! `tasks.md` (development) and `plan.md` (knowledge): what the units are about. Written once from a
//! template; afterwards only what follows from the state is renewed in it (checkboxes, counts,
//! limits), because people and models write their notes there.

use crate::core::text::plural;
use crate::loops::iterative::document::lifecycle::Status;
use crate::loops::iterative::document::needs::dependencies;
use crate::loops::iterative::document::planned::item;
use crate::loops::iterative::document::{MAX_ITERATIONS, Task, Unit};

/// The whole file.
pub fn render(task: &Task) -> String {
    match task.is_knowledge() {
        true => format!(
            "# {} - Phases\n\n**Created:** {}\n**Domain:** {}\n**Total:** {}\n\n## Phases\n{}\n## Dependencies\n{}",
            task.task,
            task.created,
            task.domain.as_deref().unwrap_or("research"),
            total(task),
            items(task),
            dependencies(task.units()),
        ),
        false => format!(
            "# {} - Tasks\n\n**Created:** {}\n**Total:** {}\n**Status:** {}\n\n## Dependencies\n{}\n## Tasks\n{}\n## Notes\n\nNothing yet.\n",
            task.task,
            task.created,
            total(task),
            status_line(task),
            dependencies(task.units()),
            items(task),
        ),
    }
}

/// The file as it is, with what the state says; units that it does not have are added.
pub fn update(text: &str, task: &Task) -> String {
    if text.trim().is_empty() {
        return render(task);
    }
    let heading = if task.is_knowledge() { "## Phases" } else { "## Tasks" };
    let mut out: Vec<String> = Vec::new();
    let mut section = "";
    let mut known: Vec<&str> = Vec::new();
    let mut at: Option<UnitLines> = None;
    // What was written in another form stays, with the section that it lacks below it.
    let has_section = text.lines().any(|line| line.trim() == heading);
    let added = if has_section || task.units().is_empty() { vec![] } else { vec!["", heading] };
    for line in text.lines().chain(added) {
        if line.starts_with("## ") {
            leave(&mut out, at.take());
            if section == heading {
                add_missing(&mut out, &known, task);
            }
            section = line.trim();
        }
        if section == heading && line.starts_with("- ") {
            leave(&mut out, at.take());
            let found = item(line).and_then(|(id, rest)| Some((id, rest, task.unit(id)?)));
            if let Some((id, rest, unit)) = found {
                known.push(id);
                out.push(format!("- {} **{id}**{rest}", checkbox(unit)));
                at = Some(UnitLines { unit, has_limit: false, end: out.len() });
                continue;
            }
        }
        if let (Some(place), true) = (&mut at, line.trim_start().starts_with("- Max iterations:")) {
            place.has_limit = true;
            out.push(limit(place.unit));
        } else if section.is_empty() && line.starts_with("**Total:**") {
            out.push(format!("**Total:** {}", total(task)));
        } else if section.is_empty() && line.starts_with("**Status:**") {
            out.push(format!("**Status:** {}", status_line(task)));
        } else {
            out.push(line.to_owned());
        }
        if let (Some(place), false) = (&mut at, line.trim().is_empty()) {
            place.end = out.len();
        }
    }
    leave(&mut out, at);
    if section == heading {
        add_missing(&mut out, &known, task);
    }
    let text = out.join("\n") + "\n";
    match missing(&known, task).next() {
        Some(_) => renew_dependencies(&text, task),
        None => text,
    }
}

/// A unit in the file, and where its lines end.
struct UnitLines<'a> {
    unit: &'a Unit,
    has_limit: bool,
    end: usize,
}

fn limit(unit: &Unit) -> String {
    format!("  - Max iterations: {}", unit.max_iterations)
}

/// A limit that cannot be guessed has to be there when the unit's lines are over.
fn leave(out: &mut Vec<String>, place: Option<UnitLines>) {
    let lacking = place.filter(|at| !at.has_limit && at.unit.max_iterations != MAX_ITERATIONS);
    if let Some(place) = lacking {
        out.insert(place.end, limit(place.unit));
    }
}

fn missing<'a>(known: &[&str], task: &'a Task) -> impl Iterator<Item = &'a (String, Unit)> {
    task.units().iter().filter(move |(id, _)| !known.contains(&id.as_str()))
}

fn add_missing(out: &mut Vec<String>, known: &[&str], task: &Task) {
    if missing(known, task).next().is_none() {
        return;
    }
    while out.last().is_some_and(|line| line.trim().is_empty()) {
        out.pop();
    }
    for (id, unit) in missing(known, task) {
        out.push(String::new());
        out.extend(render_unit(id, unit, task).trim_end().lines().map(str::to_owned));
    }
    out.push(String::new());
}

/// In knowledge mode this section is all that says what a unit needs, so it is made if it is gone.
fn renew_dependencies(text: &str, task: &Task) -> String {
    const HEADING: &str = "\n## Dependencies\n";
    let chains = dependencies(task.units());
    match text.split_once(HEADING) {
        Some((before, rest)) => {
            let after = rest.find("\n## ").and_then(|at| rest.get(at..)).unwrap_or_default();
            format!("{before}{HEADING}{chains}{after}")
        }
        None if task.is_knowledge() => format!("{}\n{HEADING}{chains}", text.trim_end()),
        None => text.to_owned(),
    }
}

fn total(task: &Task) -> String {
    plural(task.units().iter().count(), task.unit_word())
}

/// `1 done, 1 in progress, 2 pending`, and what has stopped, if anything has.
pub fn status_line(task: &Task) -> String {
    let count = |is: fn(&Unit) -> bool| task.units().iter().filter(|(_, unit)| is(unit)).count();
    let blocked = count(|unit| unit.is(Status::Blocked) && !unit.skipped);
    let more = [
        (blocked, "blocked"),
        (count(|unit| unit.is(Status::Timeout)), "out of iterations"),
        (count(|unit| unit.is(Status::Blocked) && unit.skipped), "skipped"),
    ];
    let more = more.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!(", {n} {what}"));
    format!(
        "{} done, {} in progress, {} pending{}",
        count(|unit| unit.is(Status::Done)),
        count(Unit::is_at_work),
        count(|unit| unit.is(Status::Pending)),
        more.collect::<String>()
    )
}

fn checkbox(unit: &Unit) -> &'static str {
    if unit.is(Status::Done) { "[x]" } else { "[ ]" }
}

fn items(task: &Task) -> String {
    let items = task.units().iter().map(|(id, unit)| format!("\n{}", render_unit(id, unit, task)));
    items.collect()
}

fn render_unit(id: &str, unit: &Unit, task: &Task) -> String {
    let mut out = format!("- {} **{id}**: {}\n", checkbox(unit), unit.title);
    let mut line = |key: &str, value: &str| {
        if !value.is_empty() {
            out.push_str(&format!("  - {key}: {value}\n"));
        }
    };
    let code = |text: &String| format!("`{text}`");
    line("Files", &unit.files.iter().map(code).collect::<Vec<_>>().join(", "));
    line("Criteria", &unit.criteria);
    if !unit.output.is_empty() {
        line("Output", &code(&unit.output));
    }
    if !task.is_knowledge() {
        line("Completion", &format!("`<signal>{id}_DONE</signal>`"));
    }
    line("Max iterations", &unit.max_iterations.to_string());
    if !task.is_knowledge() {
        let needs = unit.needs.join(", ");
        line("Depends", if needs.is_empty() { "none" } else { &needs });
    }
    line("Model", &unit.model);
    out
}
