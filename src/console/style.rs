//! How a text may look: how wide, and whether in colour. One table for all commands.

use crate::console::project::Project;
use crate::console::screen;
use crate::core::gate::Printed;
use crate::core::table::{Table, Tone};
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
        let style = self.style();
        let lines = table.lines(style.width);
        let mut out: Printed = lines.iter().map(|line| paint_line(line, style.colour)).collect();
        let left_out = table.left_out(style.width);
        if !left_out.is_empty() {
            let text = format!("No room for: {}.", left_out.join(", "));
            out.push(paint(Tone::Dim, &text, style.colour));
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
