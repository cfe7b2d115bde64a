//! Rows of cells in aligned columns, and how they are cut to a width. No escape sequence, control
//! or invisible character gets into a cell, whatever the state holds.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::core::gate::one_line;
use crate::core::text::clip;

/// What a cell means; the views give it a colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    Plain,
    Dim,
    Strong,
    Id,
    Good,
    Warn,
    Bad,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    pub tone: Tone,
    text: String,
}

impl Cell {
    pub fn new(tone: Tone, text: &str) -> Self {
        Self { tone, text: clean(text) }
    }
}

/// The last column takes what is left of the width; the others are as wide as they have to be.
#[derive(Debug, Default, PartialEq)]
pub struct Table {
    /// The names of the columns; none if the rows stand alone.
    head: Vec<Cell>,
    /// For each column how dispensable it is; 0 stays.
    spare: Vec<u8>,
    rows: Vec<Vec<Cell>>,
    /// So much room the last column has, before another one has to go; 0 is the usual.
    least: usize,
}

const GAP: usize = 2;
/// What is longer is a path or an address, and may be cut anywhere.
const LONGEST_WORD: usize = 20;
/// So much of one cell.
const LONGEST: usize = 400;
/// Below this the last column says nothing, and another one has to go.
const LEAST: usize = 20;

impl Table {
    pub fn new(spare: &[u8], rows: Vec<Vec<Cell>>) -> Self {
        Self { head: Vec::new(), spare: spare.to_vec(), rows, least: 0 }
    }

    /// Columns with a name each, and how dispensable they are; 0 stays.
    pub fn with_head(columns: &[(&str, u8)], rows: Vec<Vec<Cell>>) -> Self {
        let head = columns.iter().map(|(name, _)| Cell::new(Tone::Strong, name)).collect();
        let spare = columns.iter().map(|(_, spare)| *spare).collect();
        Self { head, spare, rows, least: 0 }
    }

    /// A table with more room for its last column.
    pub fn with_least(self, least: usize) -> Self {
        Self { least, ..self }
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// The rows at these places, in this order.
    pub fn select(&self, places: &[usize]) -> Self {
        let rows = places.iter().filter_map(|at| self.rows.get(*at).cloned()).collect();
        Self { head: self.head.clone(), spare: self.spare.clone(), rows, least: self.least }
    }

    /// With the rows of another table of as many columns behind its own.
    pub fn append(&mut self, other: Self) {
        self.rows.extend(other.rows);
    }

    /// What each row says, without its columns.
    pub fn texts(&self) -> Vec<String> {
        let text = |row: &Vec<Cell>| {
            row.iter().map(|cell| cell.text.as_str()).collect::<Vec<_>>().join(" ")
        };
        self.rows.iter().map(text).collect()
    }

    /// The rows, below their head if they have one, as pieces of text of one tone each, no wider
    /// together than `width`.
    pub fn lines(&self, width: usize) -> Vec<Vec<(Tone, String)>> {
        let columns = self.columns(width);
        let head = (!self.head.is_empty() && !self.rows.is_empty()).then_some(&self.head);
        head.into_iter().chain(&self.rows).map(|row| line(row, &columns, width)).collect()
    }

    /// The names of the columns that say something and that there is no room for.
    pub fn left_out(&self, width: usize) -> Vec<&str> {
        let shown = self.columns(width);
        let is_left_out = |(at, _): &(usize, usize)| shown.iter().all(|(other, _)| other != at);
        let all = self.columns(usize::MAX).into_iter().filter(is_left_out);
        all.filter_map(|(at, _)| self.head.get(at)).map(|cell| cell.text.as_str()).collect()
    }

    /// The columns that there is room for, with their widths.
    fn columns(&self, width: usize) -> Vec<(usize, usize)> {
        let wide = |at: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(at));
            let widest = cells.map(|cell| cell.text.width()).max().unwrap_or(0);
            // A column that says nothing has no head either.
            let head = self.head.get(at).map_or(0, |cell| cell.text.width());
            if widest == 0 { 0 } else { widest.max(head) }
        };
        let mut columns: Vec<(usize, usize)> =
            (0..self.spare.len()).map(|at| (at, wide(at))).filter(|(_, wide)| *wide > 0).collect();
        loop {
            let last = columns.last().map_or(0, |(_, wide)| (*wide).min(self.least.max(LEAST)));
            let others = columns.iter().rev().skip(1).map(|(_, wide)| wide + GAP).sum::<usize>();
            let dispensable = |(at, _): &(usize, usize)| self.spare.get(*at).copied().unwrap_or(0);
            let most = columns.iter().map(dispensable).max().unwrap_or(0);
            if others + last <= width || most == 0 {
                return columns;
            }
            columns.retain(|column| dispensable(column) != most);
        }
    }
}

fn line(row: &[Cell], columns: &[(usize, usize)], width: usize) -> Vec<(Tone, String)> {
    let mut left = width;
    let mut pieces = Vec::new();
    for (n, (at, wide)) in columns.iter().enumerate() {
        let Some(cell) = row.get(*at) else { continue };
        let is_last = n + 1 == columns.len();
        let mut text = cut_between_words(&cell.text, left);
        let padding = if is_last { 0 } else { (wide + GAP).saturating_sub(text.width()) };
        text.extend(std::iter::repeat_n(' ', padding.min(left.saturating_sub(text.width()))));
        left = left.saturating_sub(text.width());
        pieces.push((cell.tone, text));
    }
    pieces
}

/// A text in at most so many columns.
pub fn cut_to_width(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut cut = head_below(text, width).to_owned();
    if width > 0 {
        cut.push('…');
    }
    cut
}

/// A text cut to a width, between two words if there is such a place near the end.
pub fn cut_between_words(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let head = head_below(text, width);
    let is_inside_word = text.get(head.len()..).is_some_and(|rest| !rest.starts_with(' '));
    let shorter = head.rsplit_once(' ').filter(|(before, word)| {
        is_inside_word && word.width() <= LONGEST_WORD && before.width() >= width / 2
    });
    let mut cut = shorter.map_or(head, |(before, _)| before).trim_end().to_owned();
    if width > 0 {
        cut.push('…');
    }
    cut
}

/// The beginning of a text that leaves a column for the mark of a cut.
fn head_below(text: &str, width: usize) -> &str {
    let mut used = 0;
    let fits = |(_, c): &(usize, char)| {
        used += c.width().unwrap_or(0);
        used < width
    };
    let end = text.char_indices().take_while(fits).last().map_or(0, |(at, c)| at + c.len_utf8());
    text.get(..end).unwrap_or_default()
}

/// A text in lines of at most so many columns, broken between words; a word that is longer stays
/// whole.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.width() + 1 + word.width() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// A line in lines that leave so many columns free, broken between words. One that fits stays as it is.
pub fn wrapped(text: &str, width: usize, indent: usize) -> Vec<String> {
    let (text, room) = (one_line(text), width.saturating_sub(indent));
    match text.width() <= room {
        true => vec![text.into_owned()],
        false => wrap(&text, room),
    }
}

/// A text for a cell: through the gate, and without blanks that would be lost in a column.
pub fn clean(text: &str) -> String {
    clip(&one_line(text), LONGEST)
}

/// A list for people: rows of texts, each column as wide as its widest cell.
pub fn align(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let cell = |text: &String| Cell::new(Tone::Plain, text);
    let rows = rows.iter().map(|row| row.iter().map(cell).collect()).collect();
    let lines = Table::new(&vec![0; columns], rows).lines(usize::MAX);
    let line = |pieces: Vec<(Tone, String)>| {
        let text: String = pieces.into_iter().map(|(_, text)| text).collect();
        format!("{}\n", text.trim_end())
    };
    lines.into_iter().map(line).collect()
}

/// A row from what is at hand.
#[macro_export]
macro_rules! row {
    ($($cell:expr),* $(,)?) => { vec![$($cell.to_string()),*] };
}
pub use row;

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(table: &Table, width: usize) -> Vec<String> {
        let join = |line: Vec<(Tone, String)>| line.into_iter().map(|(_, text)| text).collect();
        table.lines(width).into_iter().map(join).collect()
    }

    fn table() -> Table {
        let row = |cells: [&str; 3]| cells.map(|text| Cell::new(Tone::Plain, text)).to_vec();
        let rows =
            vec![row(["a", "10s", "Read it"]), row(["bcd", "5m", "漢字漢字漢字漢字漢字漢字"])];
        Table::new(&[0, 2, 1], rows)
    }

    #[test]
    fn a_line_is_broken_between_words_only_where_it_has_to_be() {
        let text = "3 in .claude/state/recorded; play them: hookkeeper replay";
        assert_eq!(wrapped(text, 80, 6), [text]);
        let lines = wrapped(text, 40, 6);
        assert_eq!(lines, ["3 in .claude/state/recorded; play", "them: hookkeeper replay"]);
        assert_eq!(wrapped("", 40, 6), [""]);
    }

    #[test]
    fn columns_are_aligned_by_what_is_seen() {
        assert_eq!(texts(&table(), 30), ["a    10s  Read it", "bcd  5m   漢字漢字漢字漢字漢…"][..]);
    }

    #[test]
    fn columns_go_before_the_text_does() {
        assert_eq!(texts(&table(), 25)[0], "a    Read it");
        assert_eq!(texts(&table(), 10)[1], "bcd");
        assert_eq!(texts(&table(), 2)[1], "b…");
        assert_eq!(texts(&table(), 0)[1], "");
    }

    #[test]
    fn a_cut_is_between_words() {
        assert_eq!(cut_between_words("Review the authentication", 16), "Review the…");
        assert_eq!(cut_between_words("Review the authentication", 11), "Review the…");
        assert_eq!(cut_between_words("src/a/very/long/path/to/a/file.rs", 10), "src/a/ver…");
        assert_eq!(cut_between_words("a bcdefghijklmnop", 8), "a bcdef…");
    }

    #[test]
    fn lines_are_broken_between_words() {
        assert_eq!(wrap("Review the  shop", 10), ["Review the", "shop"]);
        assert_eq!(wrap("a/very/long/path and", 5), ["a/very/long/path", "and"]);
        assert_eq!(wrap(" ", 5), [""; 0]);
    }

    #[test]
    fn a_head_goes_with_its_column() {
        let row = |cells: [&str; 3]| cells.map(|text| Cell::new(Tone::Plain, text)).to_vec();
        let columns = [("id", 0), ("errors", 2), ("task", 0)];
        let rows = vec![row(["a", "", "Read it"]), row(["b", "", "Write"])];
        let table = Table::with_head(&columns, rows);
        assert_eq!(texts(&table, 30), ["id  task", "a   Read it", "b   Write"]);
        let table = Table::with_head(&columns, vec![row(["a", "3", "Read it twice"])]);
        assert_eq!(texts(&table, 30), ["id  errors  task", "a   3       Read it twice"]);
        assert_eq!(texts(&table, 20), ["id  task", "a   Read it twice"]);
        assert_eq!(table.left_out(20), ["errors"]);
        assert_eq!(texts(&Table::with_head(&columns, Vec::new()), 30), [""; 0]);
    }

    #[test]
    fn nothing_is_wider_than_it_may_be() {
        for width in 0..60 {
            assert!(texts(&table(), width).iter().all(|line| line.width() <= width));
        }
    }

    #[test]
    fn what_a_terminal_obeys_is_taken_out() {
        let hostile = "a\u{1b}[2Jb\u{9b}31mc\r\n\tt\u{202e}d\u{200b}\u{7}";
        assert_eq!(clean(hostile), "a [2Jb 31mc td");
    }
}
