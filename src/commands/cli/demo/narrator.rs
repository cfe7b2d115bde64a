//! What happens in the scratch project, told line by line, by the minutes and seconds of the session.
//!
//! Where there is no screen, these are the journal's new lines as they come.

use std::collections::BTreeMap;

use crate::cli::demo::stage::Stage;
use crate::console::style::{TextStyle, paint};
use crate::core::gate::Printed;
use crate::core::journal::{Entry, EntryKind};
use crate::core::table::{Tone, clean, cut_to_width};
use crate::core::time::{self, Time};
use crate::history::describe::describe;
use crate::store::view::View;

/// What stands before the words of a line.
const MARGIN: usize = 8;

pub struct Narrator<'a> {
    stage: &'a Stage,
    begins: String,
    style: TextStyle,
    /// How far the journal was read.
    known: BTreeMap<String, u64>,
}

impl<'a> Narrator<'a> {
    pub fn new(stage: &'a Stage, begins: Time, style: TextStyle) -> Self {
        Self { stage, begins: time::spell_millis(begins), style, known: BTreeMap::new() }
    }

    /// What the journal has told since it was last asked.
    pub fn tell(&mut self) -> Printed {
        let view = View::open(&self.stage.project(), Some(self.stage.top())).ok().flatten();
        let Some(view) = view else { return Printed::default() };
        let added = view.journal().added(&mut self.known);
        let told = added.iter().map(|(_, entry)| entry);
        told.filter(|entry| entry.kind != EntryKind::Run).map(|entry| self.line(entry)).collect()
    }

    fn line(&self, entry: &Entry) -> Printed {
        let seconds = time::seconds_between(&self.begins, &entry.time).unwrap_or(0);
        let clock = format!("{:>3}:{:02}  ", seconds / 60, seconds % 60);
        let (tone, words) = describe(entry);
        let words = cut_to_width(&clean(&words), self.style.width.saturating_sub(MARGIN));
        let mut line = paint(Tone::Dim, &clock, self.style.colour);
        line.push(paint(tone, &words, self.style.colour));
        line.push("\n");
        line
    }
}
