//! What the screen shows of the panels, and in which order: what waits for a person first, then
//! what goes on, then what is over or empty.

use crate::agents::panel as findings;
use crate::core::table::Tone;
use crate::core::text::plural;
use crate::loops::queue::panel as queue;
use crate::state::panel::{Detail, Panel};

/// The panels of the screen, with only the rows that have this text in them.
pub fn arrange_panels(panels: Vec<Panel>, filter: &str) -> Vec<Panel> {
    let mut panels = with_work_merged(panels);
    let filter = filter.trim().to_lowercase();
    if !filter.is_empty() {
        panels.iter_mut().for_each(|panel| keep_matching(panel, &filter));
    }
    // What only a person can mend comes before who waits for an answer.
    let is_mild = |panel: &Panel| panel.urgent == 0 || panel.tone != Tone::Bad;
    panels.sort_by_key(|panel| (panel.urgent == 0, is_mild(panel), is_one_line(panel)));
    panels
}

/// Whether a panel is shown by its title alone.
pub fn is_one_line(panel: &Panel) -> bool {
    panel.is_past || panel.table.is_empty()
}

/// What was found and what there is to do are one list, the worst first.
fn with_work_merged(mut panels: Vec<Panel>) -> Vec<Panel> {
    let place = |panels: &[Panel], titles: &[&str]| {
        panels.iter().position(|panel| titles.contains(&panel.title))
    };
    let Some(found) = place(&panels, &[findings::TITLE]) else { return panels };
    if place(&panels, &queue::TITLES).is_none() {
        return panels;
    }
    let mut found = panels.remove(found);
    let Some(work) = place(&panels, &queue::TITLES).and_then(|at| panels.get_mut(at)) else {
        return panels;
    };
    let count = found.table.len();
    // What is to be done already is there once. The title is the first line of a detail.
    let title = |detail: &Detail| detail.text.lines().next().unwrap_or_default().to_owned();
    let to_do: Vec<String> = work.details.iter().map(title).collect();
    let is_new = |at: &usize| found.details.get(*at).is_none_or(|it| !to_do.contains(&title(it)));
    let places: Vec<usize> = (0..count).filter(is_new).collect();
    select(&mut found, &places);
    work.says = format!("{}; {}", work.says, plural(count, "finding"));
    work.tone = found.tone;
    work.table.append(found.table);
    work.details.extend(found.details);
    // Severities are spelled in their order, and stand first.
    let texts = work.table.texts();
    let mut order: Vec<usize> = (0..texts.len()).collect();
    order.sort_by_key(|at| texts.get(*at).map(|text| text.get(..2).unwrap_or_default().to_owned()));
    select(work, &order);
    panels
}

fn keep_matching(panel: &mut Panel, filter: &str) {
    let texts = panel.table.texts();
    let has = |(at, text): (usize, &String)| text.to_lowercase().contains(filter).then_some(at);
    let places: Vec<usize> = texts.iter().enumerate().filter_map(has).collect();
    panel.says = format!("{} of {}", places.len(), texts.len());
    // What is looked for is not over.
    panel.is_past = false;
    select(panel, &places);
}

fn select(panel: &mut Panel, places: &[usize]) {
    let detail = |at: &usize| panel.details.get(*at).cloned().unwrap_or_default();
    let details: Vec<Detail> = places.iter().map(detail).collect();
    panel.urgent = places.iter().filter(|at| **at < panel.urgent).count();
    panel.table = panel.table.select(places);
    panel.details = details;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::table::{Cell, Table};

    fn panel(title: &'static str, rows: &[&str]) -> Panel {
        let cells = |text: &&str| {
            text.splitn(3, ' ').map(|cell| Cell::new(Tone::Plain, cell)).collect::<Vec<_>>()
        };
        let detail = |text: &&str| Detail {
            title: (*text).to_owned(),
            text: text.rsplit(' ').next().unwrap_or_default().to_owned(),
            ..Detail::default()
        };
        Panel {
            title,
            table: Table::new(&[0, 2, 1], rows.iter().map(cells).collect()),
            details: rows.iter().map(detail).collect(),
            ..Panel::default()
        }
    }

    fn titles(panels: &[Panel]) -> Vec<&str> {
        panels.iter().map(|panel| panel.title).collect()
    }

    #[test]
    fn what_waits_comes_first_and_what_is_over_last() {
        let past = Panel { is_past: true, ..panel("Earlier", &["a b c"]) };
        let urgent = Panel { urgent: 1, ..panel("Errors", &["a b c"]) };
        let all = vec![panel("Empty", &[]), past, panel("Agents", &["x y z"]), urgent];
        assert_eq!(titles(&arrange_panels(all, "")), ["Errors", "Agents", "Empty", "Earlier"]);
    }

    #[test]
    fn what_is_escalated_comes_before_sessions_of_which_one_waits() {
        let sessions = Panel { urgent: 1, ..panel("Sessions", &["a waits b", "c works d"]) };
        let errors = Panel { urgent: 1, tone: Tone::Bad, ..panel("Errors", &["a b c"]) };
        assert_eq!(titles(&arrange_panels(vec![sessions, errors], "")), ["Errors", "Sessions"]);
    }

    #[test]
    fn findings_and_queue_are_one_list() {
        let all = vec![
            panel("Findings", &["S0 a.rs worst", "S1 c.rs middle", "S3 b.rs least"]),
            panel("Loop", &["S1 work-1 middle"]),
        ];
        let shown = arrange_panels(all, "");
        assert_eq!(titles(&shown), ["Loop"]);
        assert_eq!(shown[0].table.texts(), ["S0 a.rs worst", "S1 work-1 middle", "S3 b.rs least"]);
        assert_eq!(shown[0].details[1].title, "S1 work-1 middle");
        assert_eq!(shown[0].says, "; 3 findings");
    }

    #[test]
    fn a_filter_keeps_rows_with_their_details() {
        let urgent = Panel { urgent: 1, ..panel("Errors", &["a b c", "network curl X", "d e f"]) };
        let shown = arrange_panels(vec![urgent], " CURL ");
        assert_eq!((shown[0].table.len(), shown[0].urgent), (1, 0));
        assert_eq!(shown[0].details[0].title, "network curl X");
        assert_eq!(shown[0].says, "1 of 3");
    }
}
