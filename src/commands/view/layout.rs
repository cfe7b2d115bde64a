//! Which panels there is room for, where, and how high: the important ones first.

use crate::console::canvas::Rect;
use crate::state::panel::{Column, Panel};
use crate::view::board::is_one_line;

/// The place of one panel, its title line included.
pub struct Slot {
    pub panel: usize,
    pub area: Rect,
}

/// From here on there are two columns.
const WIDE: u16 = 120;
const BETWEEN: u16 = 2;
/// As many lines as a panel has at least that somebody looks at, if it has them.
const FOCUSED: usize = 9;
/// So many of the rows that wait for a person are shown before other panels have one.
const URGENT: usize = 5;
/// From here on there is an empty line between two panels.
const ROOMY: u16 = 36;

/// `focus` is the title of the panel that somebody looks at: it comes before the others.
pub fn arrange(area: Rect, panels: &[Panel], focus: Option<&str>) -> Vec<Slot> {
    if area.width < WIDE {
        return column(area, panels, focus, |_| true);
    }
    let half = (area.width - BETWEEN) / 2;
    let left = Rect { width: half, ..area };
    let right = Rect { x: area.x + half + BETWEEN, width: area.width - half - BETWEEN, ..area };
    // What somebody has to see to stands where people begin to read.
    let is_left = |panel: &Panel| panel.column == Column::Left || panel.urgent > 0;
    let mut slots = column(left, panels, focus, is_left);
    slots.extend(column(right, panels, focus, |panel| !is_left(panel)));
    slots
}

fn column(
    area: Rect,
    panels: &[Panel],
    focus: Option<&str>,
    belongs: impl Fn(&Panel) -> bool,
) -> Vec<Slot> {
    let is_focus = |panel: &Panel| focus == Some(panel.title);
    let wanted = |panel: &Panel| match is_one_line(panel) && !is_focus(panel) {
        true => 1,
        false => 1 + panel.table.len(),
    };
    let mine = panels.iter().enumerate().filter(|(_, panel)| belongs(panel));
    let mut mine: Vec<(usize, &Panel)> = mine.collect();
    mine.sort_by_key(|(_, panel)| (!is_focus(panel), panel.urgent == 0, panel.spare));
    let gap = u16::from(area.height >= ROOMY);
    let gaps = usize::from(gap) * mine.len().saturating_sub(1);
    let room = usize::from(area.height).saturating_sub(gaps);
    let mut heights = vec![0; panels.len()];
    let mut used = 0;
    // First a title and a row for each, as far as it goes; then a title alone.
    for (at, panel) in &mine {
        // Whoever looks at one wants to see more than a row of it; what waits for a person is seen
        // whoever looks.
        let rows = if is_focus(panel) { FOCUSED } else { 2.max(1 + panel.urgent.min(URGENT)) };
        let least = wanted(panel).min(rows).min(room - used);
        used += least;
        raise(&mut heights, *at, least);
    }
    // Then a row for each in turn, until everything is shown or the room is full.
    while used < room {
        let short = |(at, panel): &&(usize, &Panel)| {
            let has = heights.get(*at).copied().unwrap_or(0);
            has < wanted(panel)
        };
        let waiting: Vec<usize> = mine.iter().filter(short).map(|(at, _)| *at).collect();
        if waiting.is_empty() {
            break;
        }
        for at in waiting.into_iter().take(room - used) {
            raise(&mut heights, at, 1);
            used += 1;
        }
    }
    stacked(area, &heights, gap)
}

fn raise(heights: &mut [usize], at: usize, by: usize) {
    if let Some(height) = heights.get_mut(at) {
        *height += by;
    }
}

fn stacked(area: Rect, heights: &[usize], gap: u16) -> Vec<Slot> {
    let mut y = area.y;
    let mut slots = Vec::new();
    for (panel, height) in heights.iter().enumerate().filter(|(_, height)| **height > 0) {
        let height = u16::try_from(*height).unwrap_or(u16::MAX);
        slots.push(Slot { panel, area: Rect { y, height, ..area } });
        y = y.saturating_add(height + gap);
    }
    slots
}
