//! What keys do to the screen: which panel and row somebody looks at, what is typed, what is open.

use crate::core::gate::keys::Input;
use crate::state::panel::{Detail, Panel};

const PAGE: usize = 10;
/// Nobody looks for more.
const LONGEST_FILTER: usize = 60;

#[derive(Default)]
pub struct Controls {
    /// The panel that somebody looks at, by its title: panels come and go.
    pub focus: Option<&'static str>,
    /// In that panel.
    pub row: usize,
    pub filter: String,
    /// What is typed goes into the filter.
    pub is_typing: bool,
    pub has_help: bool,
    pub detail: Option<Detail>,
    /// Lines of the detail that are scrolled away.
    pub scroll: usize,
}

#[derive(Debug, PartialEq)]
pub enum Action {
    Quit,
    Reload,
    Nothing,
}

impl Controls {
    /// `most` is how far the detail can be scrolled.
    pub fn press(&mut self, input: Input, panels: &[Panel], most: usize) -> Action {
        match input {
            Input::Interrupt => return Action::Quit,
            _ if self.is_typing => self.type_filter(input),
            Input::Char('q') => return Action::Quit,
            Input::Escape => return self.leave(),
            Input::Char('r') => return Action::Reload,
            Input::Char('?' | 'h') => self.has_help = !self.has_help,
            _ if self.detail.is_some() => self.scroll_detail(input, most),
            Input::Char('/') => (self.is_typing, self.has_help) = (true, false),
            Input::Tab | Input::Char('\t') => self.turn_to(panels, 1),
            Input::BackTab => self.turn_to(panels, panels.len().saturating_sub(1)),
            Input::Enter => return self.open(panels),
            _ => self.move_row(input, panels),
        }
        Action::Nothing
    }

    /// The row that is looked at, in this panel.
    pub fn row_in(&self, panel: &Panel) -> Option<usize> {
        let rows = panel.table.len();
        (self.focus == Some(panel.title)).then(|| self.row.min(rows.saturating_sub(1)))
    }

    /// Out of what was opened last; out of everything at the end.
    fn leave(&mut self) -> Action {
        match () {
            () if self.has_help => self.has_help = false,
            () if self.detail.is_some() => self.detail = None,
            () if !self.filter.is_empty() => self.filter.clear(),
            () if self.focus.is_some() => self.focus = None,
            () => return Action::Quit,
        }
        Action::Nothing
    }

    fn type_filter(&mut self, input: Input) {
        match input {
            Input::Escape => (self.is_typing, self.filter) = (false, String::new()),
            Input::Enter | Input::Tab => self.is_typing = false,
            Input::Backspace => drop(self.filter.pop()),
            Input::Char(typed) if self.filter.chars().count() < LONGEST_FILTER => {
                self.filter.push(typed);
            }
            _ => {}
        }
        self.row = 0;
    }

    fn turn_to(&mut self, panels: &[Panel], by: usize) {
        let now = panels.iter().position(|panel| Some(panel.title) == self.focus);
        let next = match now {
            Some(now) => (now + by) % panels.len().max(1),
            None if by == 1 => 0,
            None => panels.len().saturating_sub(1),
        };
        self.focus = panels.get(next).map(|panel| panel.title);
        self.row = 0;
    }

    fn move_row(&mut self, input: Input, panels: &[Panel]) {
        let Some(panel) = panels.iter().find(|panel| Some(panel.title) == self.focus) else {
            if matches!(input, Input::Up | Input::Down | Input::Char('j' | 'k')) {
                self.focus = panels.iter().find(|p| !p.table.is_empty()).map(|p| p.title);
                self.row = 0;
            }
            return;
        };
        let last = panel.table.len().saturating_sub(1);
        self.row = moved(self.row.min(last), input).min(last);
    }

    fn scroll_detail(&mut self, input: Input, most: usize) {
        self.scroll = moved(self.scroll.min(most), input).min(most);
        if input == Input::Enter {
            self.detail = None;
        }
    }

    fn open(&mut self, panels: &[Panel]) -> Action {
        let panel = panels.iter().find(|panel| Some(panel.title) == self.focus);
        let row = panel.and_then(|panel| self.row_in(panel));
        self.detail = panel.zip(row).and_then(|(panel, row)| panel.details.get(row).cloned());
        (self.scroll, self.has_help) = (0, false);
        // Its journal has to be read.
        if self.detail.is_some() { Action::Reload } else { Action::Nothing }
    }
}

fn moved(from: usize, input: Input) -> usize {
    match input {
        Input::Up | Input::Char('k') => from.saturating_sub(1),
        Input::Down | Input::Char('j') => from + 1,
        Input::PageUp => from.saturating_sub(PAGE),
        Input::PageDown | Input::Char(' ') => from + PAGE,
        Input::Home | Input::Char('g') => 0,
        _ => from,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::table::{Cell, Table, Tone};

    fn panels() -> Vec<Panel> {
        let panel = |title: &'static str, rows: &[&str]| Panel {
            title,
            table: Table::new(
                &[0],
                rows.iter().map(|row| vec![Cell::new(Tone::Plain, row)]).collect(),
            ),
            details: rows
                .iter()
                .map(|row| Detail { title: (*row).to_owned(), ..Detail::default() })
                .collect(),
            ..Panel::default()
        };
        vec![panel("Errors", &["one", "two"]), panel("Empty", &[])]
    }

    fn press(controls: &mut Controls, inputs: &[Input]) -> Action {
        let panels = panels();
        let pressed = inputs.iter().map(|input| controls.press(*input, &panels, 3));
        pressed.last().unwrap_or(Action::Nothing)
    }

    #[test]
    fn tab_goes_round_and_enter_opens_the_row() {
        let mut controls = Controls::default();
        press(&mut controls, &[Input::Tab, Input::Tab]);
        assert_eq!(controls.focus, Some("Empty"));
        assert_eq!(press(&mut controls, &[Input::Enter]), Action::Nothing);
        press(&mut controls, &[Input::Tab, Input::Down, Input::Down]);
        assert_eq!((controls.focus, controls.row), (Some("Errors"), 1));
        assert_eq!(press(&mut controls, &[Input::Enter]), Action::Reload);
        assert_eq!(controls.detail.as_ref().map(|detail| detail.title.as_str()), Some("two"));
        press(&mut controls, &[Input::PageDown]);
        assert_eq!(controls.scroll, 3);
        press(&mut controls, &[Input::BackTab]);
        assert_eq!(controls.focus, Some("Errors"));
    }

    #[test]
    fn escape_goes_out_step_by_step() {
        let mut controls = Controls::default();
        press(&mut controls, &[Input::Char('/'), Input::Char('q'), Input::Enter]);
        assert_eq!(controls.filter, "q");
        press(&mut controls, &[Input::Down, Input::Enter, Input::Char('?')]);
        assert!(controls.has_help && controls.detail.is_some());
        press(&mut controls, &[Input::Escape, Input::Escape, Input::Escape, Input::Escape]);
        assert!(
            controls.detail.is_none() && controls.filter.is_empty() && controls.focus.is_none()
        );
        assert_eq!(press(&mut controls, &[Input::Escape]), Action::Quit);
        press(&mut controls, &[Input::Char('/'), Input::Char('x')]);
        assert_eq!(press(&mut controls, &[Input::Interrupt]), Action::Quit);
        press(&mut controls, &[Input::Backspace, Input::Backspace, Input::Escape]);
        assert!(!controls.is_typing && controls.filter.is_empty());
    }
}
