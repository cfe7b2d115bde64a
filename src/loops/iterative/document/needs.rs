//! Which units need which: as a plan writes it, and whether it can be done at all.

use crate::core::graph::find_cycle;
use crate::core::text::clip;
use crate::loops::iterative::document::Units;

const ARROW: &str = " → ";

/// Chains of units that need each other, one on each line.
pub fn dependencies(units: &Units) -> String {
    let mut edges: Vec<(&str, &str)> = Vec::new();
    for (id, unit) in units.iter() {
        edges.extend(unit.needs.iter().map(|need| (need.as_str(), id.as_str())));
    }
    let alone = |id: &&str| edges.iter().all(|(from, to)| from != id && to != id);
    let alone: Vec<&str> = units.ids().into_iter().filter(alone).collect();
    let mut lines = Vec::new();
    while !edges.is_empty() {
        let (from, to) = edges.remove(0);
        let mut chain = vec![from, to];
        while let Some(at) = edges.iter().position(|(from, _)| chain.last() == Some(from)) {
            chain.push(edges.remove(at).1);
        }
        lines.push(format!("{} (sequential)", chain.join(ARROW)));
    }
    lines.extend(alone.iter().map(|id| format!("{id} (independent)")));
    if lines.is_empty() {
        lines.push("None yet.".into());
    }
    format!("\n{}\n", lines.join("\n"))
}

/// `T1 → T2 (sequential)`
pub fn chain(line: &str) -> Vec<String> {
    let line = line.trim().trim_start_matches("- ");
    let line = line.split(" (").next().unwrap_or(line);
    line.split(['→', '>']).map(|id| id.trim().trim_end_matches('-').trim().to_owned()).collect()
}

/// Needs in the order of the plan, each once, and none that does not exist.
pub fn in_order(needs: &mut Vec<String>, ids: &[String]) {
    let wanted = std::mem::take(needs);
    needs.extend(ids.iter().filter(|id| wanted.contains(id)).cloned());
}

/// What is wrong with what units need: one that does not exist, or a circle.
pub fn wrong(units: &Units) -> Option<String> {
    let ids = units.ids();
    for (id, unit) in units.iter() {
        if let Some(odd) = unit.needs.iter().find(|need| !ids.contains(&need.as_str())) {
            let (odd, ids) = (clip(odd, 40), ids.join(", "));
            return Some(format!("unit {id} needs {odd}, which does not exist; there are {ids}"));
        }
    }
    let circle = circle(units);
    // Along what needs what, and back to where it began.
    let first = circle.first()?;
    Some(format!("units need each other in a circle: {} → {first}", circle.join(" → ")))
}

/// Units that need each other in a circle, in their order; empty if there are none.
pub fn circle(units: &Units) -> Vec<String> {
    let needs = |id: &str| units.get(id).map(|unit| unit.needs.as_slice()).unwrap_or_default();
    let cycle = find_cycle(units.ids(), needs);
    cycle.into_iter().map(str::to_owned).collect()
}
