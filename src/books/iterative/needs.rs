//! Which units need which: as a plan writes it, and whether it can be done at all.

use super::{Unit, Units};
use crate::books::clip;

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
    let mut left: Vec<&(String, Unit)> = units.iter().collect();
    loop {
        let ids: Vec<&str> = left.iter().map(|(id, _)| id.as_str()).collect();
        let free = |unit: &Unit| unit.needs.iter().all(|need| !ids.contains(&need.as_str()));
        let before = left.len();
        let stuck: Vec<bool> = left.iter().map(|(_, unit)| !free(unit)).collect();
        let mut keep = stuck.into_iter();
        left.retain(|_| keep.next().unwrap_or(false));
        if left.len() == before || left.is_empty() {
            break;
        }
    }
    // What only hangs on the circle is not in it: go along needs until something comes again.
    let Some(mut at) = left.first().map(|(id, _)| id.as_str()) else { return Vec::new() };
    let mut way: Vec<&str> = Vec::new();
    while !way.contains(&at) {
        way.push(at);
        let unit = left.iter().find(|(id, _)| id == at).map(|(_, unit)| unit);
        let is_left = |need: &&String| left.iter().any(|(id, _)| id == *need);
        let Some(next) = unit.and_then(|unit| unit.needs.iter().find(is_left)) else { break };
        at = next;
    }
    let from = way.iter().position(|id| *id == at).unwrap_or(0);
    way.into_iter().skip(from).map(str::to_owned).collect()
}
