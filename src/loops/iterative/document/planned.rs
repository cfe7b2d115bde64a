//! What a plan says of its units. Units are what stands under `## Tasks` or `## Phases`: people
//! keep check lists of their own in the same file.

use crate::loops::iterative::document::needs::chain;
use crate::loops::iterative::document::unit::is_id;
use crate::loops::iterative::document::{Unit, Units};

/// Units with what they need as it is written: whether that exists is for the reader to see.
pub fn parse(text: &str) -> Units {
    let mut units = Units::default();
    let mut chains = Vec::new();
    let mut explicit: Vec<String> = Vec::new();
    let mut section = "";
    // Whether the lines that follow are about the last unit.
    let mut inside = false;
    for line in text.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            section = heading.trim();
            inside = false;
        } else if section == "Dependencies" {
            chains.push(chain(line));
        } else if !matches!(section, "Tasks" | "Phases") {
            continue;
        } else if line.starts_with("- ") {
            let found = item(line).filter(|(id, _)| is_id(id) && units.get(id).is_none());
            inside = found.is_some();
            units.0.extend(found.map(|(id, rest)| {
                let title = rest.strip_prefix(':').unwrap_or(rest).trim();
                (id.to_owned(), Unit { title: title.to_owned(), ..Unit::default() })
            }));
        } else if let (true, Some((key, value))) = (inside, detail(line))
            && let Some((id, unit)) = units.0.last_mut()
        {
            if key == "Depends" {
                explicit.push(id.clone());
            }
            learn(unit, key, value);
        }
    }
    for pair in chains.iter().flat_map(|chain| chain.windows(2)) {
        let [from, to] = pair else { continue };
        if let Some(unit) = units.get_mut(to)
            && is_id(from)
            && !explicit.contains(to)
        {
            unit.needs.push(from.clone());
        }
    }
    units
}

/// The units that are ticked off.
pub fn ticked(text: &str) -> Vec<String> {
    let mut section = "";
    let mut found = Vec::new();
    for line in text.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            section = heading.trim();
        } else if matches!(section, "Tasks" | "Phases") && !line.starts_with("- [ ]") {
            found.extend(item(line).map(|(id, _)| id.to_owned()));
        }
    }
    found
}

/// `- [x] **T1**: title`: the unit, and what follows it.
pub fn item(line: &str) -> Option<(&str, &str)> {
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
    let list = || {
        let parts = value.split(',').map(|part| part.trim().trim_matches('`').to_owned());
        parts.filter(|part| !part.is_empty())
    };
    match key {
        "Files" => unit.files = list().collect(),
        "Criteria" => unit.criteria = value.to_owned(),
        "Output" => unit.output = value.trim_matches('`').to_owned(),
        "Max iterations" => {
            unit.max_iterations =
                value.parse().ok().filter(|n| *n > 0).unwrap_or(unit.max_iterations);
        }
        "Depends" => {
            let none = |need: &String| need.eq_ignore_ascii_case("none") || need == "-";
            unit.needs = list().filter(|need| !none(need)).collect();
        }
        "Model" => unit.model = value.to_owned(),
        _ => {}
    }
}
