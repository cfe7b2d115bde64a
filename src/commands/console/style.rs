//! How a text may look: how wide, and whether in colour. One table for all commands.

use crate::console::project::Project;
use crate::console::screen;
use crate::core::gate::Printed;
use crate::core::table::{Cell, Table, Tone, cut_to_width, wrapped};
use crate::process::Terminal;

/// How the text may look.
#[derive(Clone, Copy)]
pub struct TextStyle {
    pub width: usize,
    pub colour: bool,
}

/// Whether there are colours: `--color`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum ColourChoice {
    /// On a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    Always,
    Never,
}

/// Texts that go into a file or to a program are not cut to a width.
const WHOLE: usize = 1000;
const INDENT: usize = 2;

impl Project<'_> {
    /// What is on the other end of stdout, with the colours that are asked for.
    pub fn terminal(&self) -> Terminal {
        let found = self.process.terminal();
        let colour = match self.colour {
            ColourChoice::Auto => found.colour,
            ColourChoice::Always => true,
            ColourChoice::Never => false,
        };
        Terminal { colour, ..found }
    }

    pub fn style(&self) -> TextStyle {
        let terminal = self.terminal();
        let columns = terminal.is_terminal.then(screen::columns).flatten();
        TextStyle { width: columns.map_or(WHOLE, usize::from), colour: terminal.colour }
    }

    /// A table, as wide as the terminal; what there is no room for is named below it.
    pub fn print_table(&self, table: &Table) -> Printed {
        self.print_indented(table, 0)
    }

    /// A table below a title.
    pub fn print_table_below(&self, table: &Table) -> Printed {
        self.print_indented(table, INDENT)
    }

    /// Rows without a head, each with a line below it: whole, whatever the width, because it is there to
    /// be copied.
    pub fn print_table_with(&self, table: &Table, below: &[&str]) -> Printed {
        let style = self.style();
        let mut out = Printed::default();
        for (line, below) in table.lines(style.width).iter().zip(below) {
            out.push(paint_line(line, style.colour));
            out.push("    ");
            out.line(*below);
        }
        out
    }

    /// Rows of texts below a head; the first column names the thing.
    pub fn print_rows(&self, columns: &[(&str, u8)], rows: &[Vec<String>]) -> Printed {
        let cell = |(at, text): (usize, &String)| {
            Cell::new(if at == 0 { Tone::Id } else { Tone::Plain }, text)
        };
        let cells = |row: &Vec<String>| row.iter().enumerate().map(cell).collect();
        self.print_table(&Table::with_head(columns, rows.iter().map(cells).collect()))
    }

    /// A line of words, broken between them where the terminal is narrower; what is below its first line
    /// is indented.
    pub fn print_wrapped(&self, text: &str) -> Printed {
        let mut out = Printed::default();
        for (at, line) in wrapped(text, self.style().width, INDENT).iter().enumerate() {
            out.push(" ".repeat(if at == 0 { 0 } else { INDENT }));
            out.line(line);
        }
        out
    }

    fn print_indented(&self, table: &Table, indent: usize) -> Printed {
        let mut style = self.style();
        style.width = style.width.saturating_sub(indent);
        let blanks = " ".repeat(indent);
        let mut out = Printed::default();
        for line in table.lines(style.width) {
            out.push(blanks.as_str());
            out.push(paint_line(&line, style.colour));
        }
        let left_out = table.left_out(style.width);
        if !left_out.is_empty() {
            let text = format!("{blanks}No room for: {}.", left_out.join(", ").to_lowercase());
            out.push(paint(Tone::Dim, &cut_to_width(&text, style.width + indent), style.colour));
            out.push("\n");
        }
        out
    }
}

/// The pieces of a line of a table.
pub fn paint_line(pieces: &[(Tone, String)], colour: bool) -> Printed {
    let pieces = pieces.iter().map(|(tone, text)| paint(*tone, text, colour));
    let mut line = pieces.collect::<Printed>().trimmed();
    line.push("\n");
    line
}

/// Only what every terminal knows, and what can be read on light and on dark.
pub fn paint(tone: Tone, text: &str, colour: bool) -> Printed {
    let code = match tone {
        Tone::Plain => return text.into(),
        _ if !colour || text.trim().is_empty() => return text.into(),
        Tone::Dim => "2",
        Tone::Strong => "1",
        Tone::Id => "36",
        Tone::Good => "32",
        Tone::Warn => "1;33",
        Tone::Bad => "1;31",
    };
    // Padding stays outside, so that a line can be trimmed.
    let shown = text.trim_end();
    let mut painted = Printed::painted(code, shown);
    painted.push(text.strip_prefix(shown).unwrap_or_default());
    painted
}
