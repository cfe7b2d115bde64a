//! One picture of the screen: a function of the state, the time and the room that there is.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use unicode_width::UnicodeWidthStr;

use crate::core::gate::one_line;
use crate::core::journal::Entry;
use crate::core::table::{Tone, clean, cut_to_width};
use crate::core::time::Time;
use crate::state::panel::Panel;
use crate::view::layout::{self, Slot};
use crate::view::notes;
use crate::view::overview::Observed;

pub struct Scene<'a> {
    pub place: &'a str,
    pub seen: &'a Observed,
    pub log: &'a [Entry],
    pub now: Time,
    pub colour: bool,
    /// Rows that are scrolled away, in every panel that has more than it can show.
    pub scroll: usize,
    pub help: bool,
}

const HELP: [&str; 7] = [
    "q, Esc, Ctrl-C   leave",
    "↑ ↓, k j         scroll the panels that do not fit",
    "PageUp PageDown  the same, ten rows at a time",
    "g, Home          back to the top",
    "r                read the state now",
    "Ctrl-Z           stop; fg goes on",
    "?                this help",
];
const KEYS: &str = "q quit  r reload  ? help";
const SCROLLS: &str = "  ↑↓ scroll";
/// From here on a title says which rows are shown.
const PARTS: usize = 36;

/// Draws the scene; gives how far it can be scrolled.
pub fn draw(buffer: &mut Buffer, scene: &Scene) -> usize {
    let area = buffer.area;
    let (header, footer) = (u16::from(area.height > 2), u16::from(area.height > 6));
    let body =
        Rect { y: area.y + header, height: area.height.saturating_sub(header + footer), ..area };
    if header > 0 {
        draw_head(buffer, area, scene);
    }
    let most = match scene.seen {
        _ if scene.help => draw_message(buffer, body, Style::new(), &HELP),
        Observed::State(overview) => {
            let mut all = overview.panels(scene.now);
            all.push(notes::hooks(scene.log, scene.now));
            draw_panels(buffer, body, &all, scene)
        }
        Observed::NoState => draw_message(
            buffer,
            body,
            style(Tone::Strong, scene.colour),
            &["No state yet.", "It begins when Claude Code", "runs a hook here."],
        ),
        Observed::Unreadable(why) => draw_message(
            buffer,
            body,
            style(Tone::Bad, scene.colour),
            &["The state cannot be read:", &clean(why)],
        ),
    };
    if footer > 0 {
        let keys = if most > 0 { format!("{KEYS}{SCROLLS}") } else { KEYS.to_owned() };
        let last = area.bottom().saturating_sub(1);
        put(buffer, (area.x, last), usize::from(area.width), style(Tone::Dim, scene.colour), &keys);
    }
    most
}

/// The project on the left, the clock on the right.
fn draw_head(buffer: &mut Buffer, area: Rect, scene: &Scene) {
    let width = usize::from(area.width);
    let clock = scene.now.format("%H:%M:%S UTC").to_string();
    let room = width.saturating_sub(clock.width() + 2);
    let strong = style(Tone::Strong, scene.colour);
    if room < 8 {
        put(buffer, (area.x, area.y), width, strong, scene.place);
        return;
    }
    put(buffer, (area.x, area.y), room, strong, scene.place);
    let at = area.right().saturating_sub(u16::try_from(clock.width()).unwrap_or(0));
    put(buffer, (at, area.y), clock.width(), style(Tone::Dim, scene.colour), &clock);
}

fn draw_panels(buffer: &mut Buffer, area: Rect, all: &[Panel], scene: &Scene) -> usize {
    let mut most = 0;
    for slot in layout::arrange(area, all) {
        let Some(panel) = all.get(slot.panel) else { continue };
        let rows = usize::from(slot.area.height).saturating_sub(1);
        let hidden = panel.table.len().saturating_sub(rows);
        most = most.max(hidden);
        draw_panel(buffer, &slot, panel, scene.scroll.min(hidden), scene.colour);
    }
    most
}

/// `── Agents 2 running ───── 3-7 of 12 ─`, and the rows that fit.
fn draw_panel(buffer: &mut Buffer, slot: &Slot, panel: &Panel, from: usize, colour: bool) {
    let Rect { x, y, width, height } = slot.area;
    let (width, rows) = (usize::from(width), usize::from(height).saturating_sub(1));
    put(buffer, (x, y), width, style(Tone::Dim, colour), &"─".repeat(width));
    let all = panel.table.len();
    let part = match all > rows && rows > 0 && width >= PARTS {
        true => format!(" {}-{} of {all} ", from + 1, from + rows),
        false => String::new(),
    };
    let at = x + u16::from(width >= PARTS) * 2;
    let room = width.saturating_sub(usize::from(at - x) + part.width() + 1);
    let title = format!(" {} ", panel.title);
    let used = put(buffer, (at, y), room, style(Tone::Strong, colour), &title);
    let left = room.saturating_sub(used);
    let after = at + u16::try_from(used).unwrap_or(0);
    if left > 4 {
        let says = format!("{} ", panel.says);
        put(buffer, (after, y), left, style(panel.tone, colour), &says);
    }
    if !part.is_empty() {
        let at = slot.area.right().saturating_sub(u16::try_from(part.width()).unwrap_or(0) + 1);
        put(buffer, (at, y), part.width(), style(Tone::Dim, colour), &part);
    }
    let lines = panel.table.lines(width);
    for (line, y) in lines.iter().skip(from).take(rows).zip(y + 1..) {
        let mut x = x;
        for (tone, text) in line {
            buffer.set_stringn(x, y, text, text.width(), style(*tone, colour));
            x = x.saturating_add(u16::try_from(text.width()).unwrap_or(u16::MAX));
        }
    }
}

fn draw_message(buffer: &mut Buffer, area: Rect, style: Style, lines: &[&str]) -> usize {
    for (line, y) in lines.iter().zip(area.y..area.bottom()) {
        put(buffer, (area.x, y), usize::from(area.width), style, line);
    }
    0
}

/// Writes a text, cut to a width; gives how much of it was used.
fn put(buffer: &mut Buffer, at: (u16, u16), width: usize, style: Style, text: &str) -> usize {
    let text = cut_to_width(&one_line(text), width);
    buffer.set_stringn(at.0, at.1, &text, width, style);
    text.width()
}

/// The terminal's own foreground and background, and colours that show on light and on dark.
fn style(tone: Tone, colour: bool) -> Style {
    // What is written over has a style too: nothing of that may stay.
    let plain = Style::new().fg(Color::Reset).remove_modifier(Modifier::all());
    let coloured = |name: Color| if colour { plain.fg(name) } else { plain };
    match tone {
        Tone::Plain => plain,
        Tone::Dim => plain.add_modifier(Modifier::DIM),
        Tone::Strong => plain.add_modifier(Modifier::BOLD),
        Tone::Id => coloured(Color::Cyan),
        Tone::Good => coloured(Color::Green),
        Tone::Warn => coloured(Color::Yellow).add_modifier(Modifier::BOLD),
        Tone::Bad => coloured(Color::Red).add_modifier(Modifier::BOLD),
    }
}
