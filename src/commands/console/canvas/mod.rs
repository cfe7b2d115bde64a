//! A picture for the whole terminal: rows of cells, and how they differ from the picture before.

#[cfg(test)]
mod tests;

use std::mem;

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use crate::core::gate::Printed;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rect {
    pub x: u16,
    pub y: u16,
    pub width: u16,
    pub height: u16,
}

impl Rect {
    /// The first column behind it.
    pub fn right(&self) -> u16 {
        self.x.saturating_add(self.width)
    }

    /// The first row below it.
    pub fn bottom(&self) -> u16 {
        self.y.saturating_add(self.height)
    }
}

/// Colours that show on light and on dark.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Colour {
    /// The terminal's own.
    #[default]
    Own,
    Red,
    Green,
    Yellow,
    Cyan,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Style {
    pub colour: Colour,
    pub bold: bool,
    pub dim: bool,
    pub reversed: bool,
}

impl Style {
    const PLAIN: Self = Self { colour: Colour::Own, bold: false, dim: false, reversed: false };

    /// The numbers of its escape sequence.
    fn look(self) -> Vec<u8> {
        let mut look = Vec::new();
        for (is_on, number) in [(self.bold, 1), (self.dim, 2), (self.reversed, 7)] {
            if is_on {
                look.push(number);
            }
        }
        // By number: a terminal that makes bold colours brighter leaves these as they are.
        match self.colour {
            Colour::Own => {}
            Colour::Red => look.extend([38, 5, 1]),
            Colour::Green => look.extend([38, 5, 2]),
            Colour::Yellow => look.extend([38, 5, 3]),
            Colour::Cyan => look.extend([38, 5, 6]),
        }
        look
    }
}

/// One column of a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// A character with what joins it; empty if nothing was written.
    text: String,
    /// How many columns it takes; 0 is the second column of a wide one.
    width: usize,
    style: Style,
}

impl Cell {
    const BLANK: Self = Self { text: String::new(), width: 1, style: Style::PLAIN };

    pub fn text(&self) -> &str {
        match self.width {
            1 if self.text.is_empty() => " ",
            _ => &self.text,
        }
    }

    pub fn style(&self) -> Style {
        self.style
    }

    /// Terminals do not agree how wide it is.
    fn is_odd(&self) -> bool {
        self.width > 1 || self.text.chars().nth(1).is_some()
    }
}

pub struct Canvas {
    width: u16,
    rows: Vec<Vec<Cell>>,
}

impl Canvas {
    pub fn new(width: u16, height: u16) -> Self {
        let row = vec![Cell::BLANK; usize::from(width)];
        Self { width, rows: vec![row; usize::from(height)] }
    }

    pub fn area(&self) -> Rect {
        let height = u16::try_from(self.rows.len()).unwrap_or(u16::MAX);
        Rect { x: 0, y: 0, width: self.width, height }
    }

    pub fn rows(&self) -> &[Vec<Cell>] {
        &self.rows
    }

    /// Writes a text, cut to a width and to the row. The row has to be there.
    pub fn put(&mut self, x: u16, y: u16, text: &str, width: usize, style: Style) {
        debug_assert!(usize::from(y) < self.rows.len(), "{y} is below the picture");
        let Some(row) = self.rows.get_mut(usize::from(y)) else { return };
        let mut at = usize::from(x);
        let end = row.len().min(at.saturating_add(width));
        let mut rest = text;
        while !rest.is_empty() {
            let (cluster, behind) = rest.split_at(first_cluster(rest));
            rest = behind;
            let wide = cluster.width();
            if wide == 0 || cluster.contains(char::is_control) {
                continue;
            }
            if at + wide > end {
                return;
            }
            let text = if cluster == " " { String::new() } else { cluster.to_owned() };
            write(row, at, Cell { text, width: wide, style });
            at += wide;
        }
    }

    /// Turns foreground and background round, whatever is written there.
    pub fn reverse(&mut self, area: Rect) {
        let (from, height) = (usize::from(area.y), usize::from(area.height));
        for row in self.rows.iter_mut().skip(from).take(height) {
            for cell in row.iter_mut().skip(usize::from(area.x)).take(usize::from(area.width)) {
                cell.style.reversed = true;
            }
        }
    }

    /// What a terminal has to be told that shows the picture before; all of it if there is none, or one
    /// of another size.
    pub fn changes(&self, before: Option<&Self>) -> Printed {
        let known = before.filter(|before| before.area() == self.area());
        let mut out = Printed::default();
        if known.is_none() {
            out.push(Printed::empty_screen());
        }
        let blank = vec![Cell::BLANK; usize::from(self.width)];
        for (y, row) in (0..).zip(&self.rows) {
            let old = known.and_then(|known| known.rows.get(usize::from(y)));
            if old.unwrap_or(&blank) != row {
                out.push(printed(row, y));
            }
        }
        out
    }
}

/// Writes one cell. A wide one that loses a column for that is a blank in the other.
fn write(row: &mut [Cell], at: usize, cell: Cell) {
    let (mut from, mut end) = (at, at + cell.width);
    while from > 0 && is_behind(row, from) {
        from -= 1;
    }
    while is_behind(row, end) {
        end += 1;
    }
    for part in row.iter_mut().take(end).skip(from) {
        *part = Cell::BLANK;
    }
    for part in row.iter_mut().take(at + cell.width).skip(at) {
        *part = Cell { text: String::new(), width: 0, style: cell.style };
    }
    if let Some(first) = row.get_mut(at) {
        *first = cell;
    }
}

fn is_behind(row: &[Cell], at: usize) -> bool {
    row.get(at).is_some_and(|cell| cell.width == 0)
}

/// How many bytes of a text are its first character and what joins it: marks on it, the colour of its
/// skin, and signs that are joined to one.
fn first_cluster(text: &str) -> usize {
    if let [first, second, ..] = text.as_bytes()
        && first.is_ascii()
        && second.is_ascii()
    {
        return 1;
    }
    let (mut length, mut wide, mut is_joined) = (0, 0, false);
    for (at, c) in text.char_indices() {
        let end = at + c.len_utf8();
        let with = text.get(..end).unwrap_or_default().width();
        let joins = is_joined || ('\u{1f3fb}'..='\u{1f3ff}').contains(&c);
        if at > 0 && c.width() != Some(0) && !(joins && with <= wide) {
            break;
        }
        (length, wide, is_joined) = (end, with, c == '\u{200d}');
    }
    length
}

/// A whole row.
fn printed(row: &[Cell], y: u16) -> Printed {
    let mut out = Printed::go_to(0, y);
    if row.iter().any(Cell::is_odd) {
        out.push(Printed::empty_rest());
    }
    let used = row.iter().rposition(|cell| *cell != Cell::BLANK).map_or(0, |last| last + 1);
    let (mut run, mut style) = (String::new(), Style::default());
    for (x, cell) in row.iter().enumerate().take(used).filter(|(_, cell)| cell.width > 0) {
        if cell.style != style {
            out.push(Printed::run(&style.look(), &mem::take(&mut run)));
            style = cell.style;
        }
        run.push_str(cell.text());
        if cell.is_odd() {
            out.push(Printed::run(&style.look(), &mem::take(&mut run)));
            out.push(Printed::go_to(u16::try_from(x + cell.width).unwrap_or(u16::MAX), y));
        }
    }
    out.push(Printed::run(&style.look(), &run));
    if used < row.len() {
        out.push(Printed::empty_rest());
    }
    out
}
