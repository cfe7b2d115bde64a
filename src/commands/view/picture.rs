//! One picture of the screen: a function of the state, the time and the room that there is.

use unicode_width::UnicodeWidthStr;

use crate::console::canvas::{Canvas, Colour, Rect, Style};
use crate::core::gate::one_line;
use crate::core::table::{Tone, clean, cut_to_width};
use crate::state::panel::Panel;
use crate::view::controls::Controls;
use crate::view::detail::{self, Line};
use crate::view::layout::{self, Slot};
use crate::view::overview::Observed;

pub struct Scene<'a> {
    pub place: &'a str,
    /// The time, for people.
    pub clock: &'a str,
    /// Tokens and dollars of the live sessions.
    pub spent: Option<&'a str>,
    pub seen: &'a Observed,
    /// In the order of the screen.
    pub panels: &'a [Panel],
    pub controls: &'a Controls,
    /// What is open, line by line.
    pub detail: &'a [Line],
    pub colour: bool,
}

const HELP: [&str; 10] = [
    "Tab, Shift-Tab   the next panel, the one before; it gets more room",
    "↑ ↓, k j         the next row, the one before",
    "PageUp PageDown  the same, ten rows at a time",
    "g, Home          back to the top",
    "Enter            more of the row: a session's journal, a report, a message",
    "/                only rows with some text; Esc drops it",
    "r                read the state now",
    "Esc              back; with nothing open it leaves, as q and Ctrl-C do",
    "Ctrl-Z           stop; fg goes on",
    "?                this help",
];
const KEYS: &str = "q quit  Tab panel  Enter more  / filter  ? help";
const DETAIL_KEYS: &str = "Esc back  ↑↓ scroll  q quit";
/// From here on there is a line for what was spent.
const WITH_SPENT: u16 = 12;
/// From here on a title says which rows are shown.
const PARTS: usize = 36;

/// Draws the scene; gives how far the detail can be scrolled.
pub fn draw(canvas: &mut Canvas, scene: &Scene) -> usize {
    let area = canvas.area();
    let spent = scene.spent.filter(|_| area.height >= WITH_SPENT);
    let header = u16::from(area.height > 2) + u16::from(spent.is_some());
    let footer = u16::from(area.height > 6);
    let body =
        Rect { y: area.y + header, height: area.height.saturating_sub(header + footer), ..area };
    if header > 0 {
        draw_head(canvas, area, scene);
    }
    if let Some(spent) = spent {
        let at = (area.x, area.y + 1);
        put(canvas, at, usize::from(area.width), style(Tone::Dim, scene.colour), spent);
    }
    let most = match scene.seen {
        _ if scene.controls.has_help => draw_message(canvas, body, Style::default(), &HELP),
        _ if scene.controls.detail.is_some() => draw_detail(canvas, body, scene),
        Observed::State(_) => draw_panels(canvas, body, scene),
        Observed::NoState { is_left_out: true } => draw_message(
            canvas,
            body,
            style(Tone::Strong, scene.colour),
            &[
                "There is state that was not",
                "made on this machine.",
                "`hookkeeper trust` shows it.",
            ],
        ),
        Observed::NoState { is_left_out: false } => draw_message(
            canvas,
            body,
            style(Tone::Strong, scene.colour),
            &["No state yet.", "It begins when Claude Code", "runs a hook here."],
        ),
        Observed::Unreadable(why) => draw_message(
            canvas,
            body,
            style(Tone::Bad, scene.colour),
            &["The state cannot be read:", &clean(why)],
        ),
    };
    if footer > 0 {
        let last = area.bottom().saturating_sub(1);
        let (tone, keys) = foot(scene.controls);
        put(canvas, (area.x, last), usize::from(area.width), style(tone, scene.colour), &keys);
    }
    most
}

fn foot(controls: &Controls) -> (Tone, String) {
    let filter = &controls.filter;
    match () {
        () if controls.is_typing => {
            (Tone::Strong, format!("/{filter}▏ Enter keeps it, Esc drops it"))
        }
        () if controls.detail.is_some() => (Tone::Dim, DETAIL_KEYS.into()),
        () if !filter.is_empty() => {
            (Tone::Warn, format!("only rows with `{filter}`  Esc drops that"))
        }
        () => (Tone::Dim, KEYS.into()),
    }
}

/// The lines of the detail that fit; gives how many do not.
fn draw_detail(canvas: &mut Canvas, area: Rect, scene: &Scene) -> usize {
    let width = usize::from(area.width);
    let lines = detail::wrapped(scene.detail, width);
    let most = lines.len().saturating_sub(usize::from(area.height));
    let from = scene.controls.scroll.min(most);
    for ((tone, line), y) in lines.iter().skip(from).zip(area.y..area.bottom()) {
        put(canvas, (area.x, y), width, style(*tone, scene.colour), line);
    }
    most
}

/// The project on the left, the clock on the right.
fn draw_head(canvas: &mut Canvas, area: Rect, scene: &Scene) {
    let width = usize::from(area.width);
    let clock = scene.clock;
    let room = width.saturating_sub(clock.width() + 2);
    let strong = style(Tone::Strong, scene.colour);
    if room < 8 {
        put(canvas, (area.x, area.y), width, strong, scene.place);
        return;
    }
    put(canvas, (area.x, area.y), room, strong, scene.place);
    let at = area.right().saturating_sub(u16::try_from(clock.width()).unwrap_or(0));
    put(canvas, (at, area.y), clock.width(), style(Tone::Dim, scene.colour), clock);
}

fn draw_panels(canvas: &mut Canvas, area: Rect, scene: &Scene) -> usize {
    for slot in layout::arrange(area, scene.panels, scene.controls.focus) {
        let Some(panel) = scene.panels.get(slot.panel) else { continue };
        draw_panel(canvas, &slot, panel, scene.controls.row_in(panel), scene.colour);
    }
    0
}

/// `── Agents 2 running ───── 3-7 of 12 ─`, and the rows that fit.
/// `row` is the one that somebody looks at.
fn draw_panel(canvas: &mut Canvas, slot: &Slot, panel: &Panel, row: Option<usize>, colour: bool) {
    let Rect { x, y, width, height } = slot.area;
    let (width, rows) = (usize::from(width), usize::from(height).saturating_sub(1));
    let from = row.map_or(0, |row| (row + 1).saturating_sub(rows));
    put(canvas, (x, y), width, style(Tone::Dim, colour), &"─".repeat(width));
    let all = panel.table.len();
    let part = match all > rows && rows > 0 && width >= PARTS {
        true => format!(" {}-{} of {all} ", from + 1, from + rows),
        false => String::new(),
    };
    let at = x + u16::from(width >= PARTS) * 2;
    let room = width.saturating_sub(usize::from(at - x) + part.width() + 1);
    let mark = if row.is_some() { "▸" } else { "" };
    let title = format!(" {mark}{} ", panel.title);
    let used = put(canvas, (at, y), room, style(Tone::Strong, colour), &title);
    let left = room.saturating_sub(used);
    let after = at + u16::try_from(used).unwrap_or(0);
    if left > 4 {
        let says = format!("{} ", panel.says);
        put(canvas, (after, y), left, style(panel.tone, colour), &says);
    }
    if !part.is_empty() {
        let at = slot.area.right().saturating_sub(u16::try_from(part.width()).unwrap_or(0) + 1);
        put(canvas, (at, y), part.width(), style(Tone::Dim, colour), &part);
    }
    let lines = panel.table.lines(width);
    for ((at, line), y) in lines.iter().enumerate().skip(from).take(rows).zip(y + 1..) {
        let mut x = x;
        for (tone, text) in line {
            canvas.put(x, y, text, text.width(), style(*tone, colour));
            x = x.saturating_add(u16::try_from(text.width()).unwrap_or(u16::MAX));
        }
        if row == Some(at) {
            canvas.reverse(Rect { y, height: 1, ..slot.area });
        }
    }
}

fn draw_message(canvas: &mut Canvas, area: Rect, style: Style, lines: &[&str]) -> usize {
    for (line, y) in lines.iter().zip(area.y..area.bottom()) {
        put(canvas, (area.x, y), usize::from(area.width), style, line);
    }
    0
}

/// Writes a text, cut to a width; gives how much of it was used.
fn put(canvas: &mut Canvas, at: (u16, u16), width: usize, style: Style, text: &str) -> usize {
    let text = cut_to_width(&one_line(text), width);
    canvas.put(at.0, at.1, &text, width, style);
    text.width()
}

/// The terminal's own foreground and background, and colours that show on light and on dark.
fn style(tone: Tone, colour: bool) -> Style {
    let (name, bold) = match tone {
        Tone::Plain | Tone::Dim => (Colour::Own, false),
        Tone::Strong => (Colour::Own, true),
        Tone::Id => (Colour::Cyan, false),
        Tone::Good => (Colour::Green, false),
        Tone::Warn => (Colour::Yellow, true),
        Tone::Bad => (Colour::Red, true),
    };
    let colour = if colour { name } else { Colour::Own };
    Style { colour, bold, dim: tone == Tone::Dim, reversed: false }
}
