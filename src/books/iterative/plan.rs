//! `tasks.md` (development) and `plan.md` (knowledge): what the units are about. Written once from a
//! template; afterwards only what follows from the state is renewed in it (checkboxes, counts,
//! limits), because people and models write their notes there.

use super::lifecycle::Status;
use super::needs::{chain, dependencies, in_order};
use super::{Task, Unit, Units};
use crate::books::plural;

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
    let heading = if task.is_knowledge() { "## Phases" } else { "## Tasks" };
    let known = Planned::parse(text).units;
    let missing: Vec<&(String, Unit)> =
        task.units().iter().filter(|(id, _)| known.get(id).is_none()).collect();
    if !missing.is_empty() && !text.lines().any(|line| line.trim() == heading) {
        return render(task);
    }
    let mut out = Vec::new();
    let mut section = "";
    let mut unit: Option<&Unit> = None;
    for line in text.lines() {
        if line.starts_with("## ") {
            if section == heading {
                add_items(&mut out, &missing, task);
            }
            section = line.trim();
            unit = None;
        }
        if let Some((id, rest)) = item(line) {
            unit = task.unit(id);
            if let Some(unit) = unit {
                out.push(format!("- {} **{id}**{rest}", checkbox(unit)));
                continue;
            }
        }
        let limit = line.trim_start().strip_prefix("- Max iterations:");
        match (unit, limit) {
            (Some(unit), Some(_)) => {
                out.push(format!("  - Max iterations: {}", unit.max_iterations))
            }
            _ if section.is_empty() && line.starts_with("**Total:**") => {
                out.push(format!("**Total:** {}", total(task)));
            }
            _ if section.is_empty() && line.starts_with("**Status:**") => {
                out.push(format!("**Status:** {}", status_line(task)));
            }
            _ => out.push(line.to_owned()),
        }
    }
    if section == heading {
        add_items(&mut out, &missing, task);
    }
    let mut text = out.join("\n") + "\n";
    if !missing.is_empty() {
        text = renew_dependencies(&text, task);
    }
    text
}

fn add_items(out: &mut Vec<String>, missing: &[&(String, Unit)], task: &Task) {
    while out.last().is_some_and(|line| line.trim().is_empty()) {
        out.pop();
    }
    for (id, unit) in missing {
        if item(out.last().map_or("", String::as_str)).is_none() {
            out.push(String::new());
        }
        out.extend(one(id, unit, task).trim_end().lines().map(str::to_owned));
    }
    out.push(String::new());
}

fn renew_dependencies(text: &str, task: &Task) -> String {
    let Some((before, rest)) = text.split_once("## Dependencies\n") else { return text.to_owned() };
    let after = rest.find("\n## ").and_then(|at| rest.get(at..)).unwrap_or_default();
    format!("{before}## Dependencies\n{}{after}", dependencies(task.units()))
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
    let items = task.units().iter().map(|(id, unit)| format!("\n{}", one(id, unit, task)));
    items.collect()
}

fn one(id: &str, unit: &Unit, task: &Task) -> String {
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

/// What a plan says of its units.
#[derive(Debug, Default, PartialEq)]
pub struct Planned {
    pub units: Units,
}

impl Planned {
    pub fn parse(text: &str) -> Self {
        let mut units = Units::default();
        let mut chains = Vec::new();
        let mut section = "";
        let mut explicit = Vec::new();
        for line in text.lines() {
            if let Some(heading) = line.strip_prefix("## ") {
                section = heading.trim();
            } else if section == "Dependencies" {
                chains.push(chain(line));
            } else if let Some((id, rest)) = item(line) {
                let title = rest.strip_prefix(':').unwrap_or(rest).trim();
                let unit = Unit { title: title.to_owned(), ..Unit::default() };
                if units.get(id).is_none() {
                    units.0.push((id.to_owned(), unit));
                }
            } else if let Some((key, value)) = detail(line)
                && matches!(section, "Tasks" | "Phases")
                && let Some((id, unit)) = units.0.last_mut()
            {
                if key == "Depends" {
                    explicit.push(id.clone());
                }
                learn(unit, key, value);
            }
        }
        let ids: Vec<String> = units.iter().map(|(id, _)| id.clone()).collect();
        for pair in chains.iter().flat_map(|chain| chain.windows(2)) {
            let [from, to] = pair else { continue };
            if let Some(unit) = units.get_mut(to)
                && !explicit.contains(to)
            {
                unit.needs.push(from.clone());
            }
        }
        for (_, unit) in units.iter_mut() {
            in_order(&mut unit.needs, &ids);
        }
        Self { units }
    }
}

/// `- [x] **T1**: title`: the unit, and what follows it.
fn item(line: &str) -> Option<(&str, &str)> {
    let rest = line.strip_prefix("- [")?;
    let rest = [" ] ", "x] ", "X] "].iter().find_map(|mark| rest.strip_prefix(mark))?;
    let (id, rest) = rest.strip_prefix("**")?.split_once("**")?;
    (!id.is_empty()).then_some((id, rest))
}

/// `  - Key: value`
fn detail(line: &str) -> Option<(&str, &str)> {
    if !line.starts_with([' ', '\t']) {
        return None;
    }
    let (key, value) = line.trim_start().strip_prefix("- ")?.split_once(':')?;
    Some((key.trim(), value.trim()))
}

fn learn(unit: &mut Unit, key: &str, value: &str) {
    let list = || value.split(',').map(|part| part.trim().trim_matches('`').to_owned());
    match key {
        "Files" => unit.files = list().filter(|file| !file.is_empty()).collect(),
        "Criteria" => unit.criteria = value.to_owned(),
        "Output" => unit.output = value.trim_matches('`').to_owned(),
        "Max iterations" => {
            unit.max_iterations =
                value.parse().ok().filter(|n| *n > 0).unwrap_or(unit.max_iterations);
        }
        "Depends" => unit.needs = list().collect(),
        "Model" => unit.model = value.to_owned(),
        _ => {}
    }
}
