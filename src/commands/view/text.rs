//! The printed text: every panel under its title, cut to the terminal if there is one.

use std::path::Path;

use crate::console::project::{NOT_BELIEVED, STATE_BEGINS};
use crate::console::style::{TextStyle, paint, paint_line};
use crate::core::gate::Printed;
use crate::core::table::{Tone, clean};
use crate::core::time::Time;
use crate::state::panel::Panel;
use crate::turn::root;
use crate::view::overview::Observed;

const INDENT: usize = 2;

pub fn render(seen: &Observed, place: &str, now: Time, look: TextStyle) -> Printed {
    let overview = match seen {
        Observed::State(overview) => overview,
        Observed::NoState { is_left_out: true } => {
            return format!("{place}: {NOT_BELIEVED}").into();
        }
        Observed::NoState { is_left_out: false } => {
            return format!("{place}: no state yet. {STATE_BEGINS}").into();
        }
        Observed::Unreadable(why) => {
            return format!("{place}: the state cannot be read: {}", clean(why)).into();
        }
    };
    let mut out = paint(Tone::Strong, place, look.colour);
    out.push("\n");
    for panel in overview.panels(now) {
        out.push("\n");
        out.push(render_panel(&panel, look));
    }
    out
}

fn render_panel(panel: &Panel, look: TextStyle) -> Printed {
    let mut out = paint(Tone::Strong, panel.title, look.colour);
    out.push(": ");
    out.push(paint(panel.tone, &clean(&panel.says), look.colour));
    out.push("\n");
    let lines = panel.table.lines(look.width.saturating_sub(INDENT));
    for line in lines.iter().take(panel.brief) {
        out.push(" ".repeat(INDENT));
        out.push(paint_line(line, look.colour));
    }
    if let Some(more) = lines.len().checked_sub(panel.brief).filter(|more| *more > 0) {
        out.push(paint(Tone::Dim, &format!("  and {more} more (--json has all)\n"), look.colour));
    }
    out
}

/// A project's path as people write it.
pub fn place(project: &Path, home: Option<&Path>) -> String {
    clean(&root::from_home(project, home))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_home_is_a_tilde() {
        let home = Some(Path::new("/home/dev"));
        assert_eq!(place(Path::new("/home/dev/shop"), home), "~/shop");
        assert_eq!(place(Path::new("/home/dev"), home), "~");
        assert_eq!(place(Path::new("/home/developer"), home), "/home/developer");
        assert_eq!(place(Path::new("/srv/a\u{1b}[2Jb"), None), "/srv/a [2Jb");
    }
}
