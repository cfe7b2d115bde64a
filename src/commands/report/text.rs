//! Values as a report spells them. Texts pass the gate, then the template escapes them.

use chrono::{DateTime, FixedOffset};
use maud::{Markup, html};

use crate::core::gate::one_line;
use crate::core::text::clip;
use crate::core::time::{self, Time};
use crate::process::Process;

/// A text on one line, without what cannot be seen, not longer than this.
pub fn line(text: &str, most: usize) -> String {
    clip(&one_line(text), most)
}

/// How times are shown: as the clock on this person's wall has them.
#[derive(Clone, Copy)]
pub struct Clock<'a> {
    pub process: &'a Process,
}

impl Clock<'_> {
    fn local(self, millis: i64) -> Option<(Time, DateTime<FixedOffset>)> {
        let time = DateTime::from_timestamp_millis(millis)?;
        Some((time, self.process.local(time)))
    }

    pub fn spell(self, millis: i64, format: &str) -> String {
        self.local(millis).map(|(_, time)| time.format(format).to_string()).unwrap_or_default()
    }

    /// A time for people, with the one for programs beside it.
    pub fn element(self, millis: i64, format: &str) -> Markup {
        let utc = self.local(millis).map(|(time, _)| time::spell_millis(time));
        html! { time datetime=(utc.unwrap_or_default()) { (self.spell(millis, format)) } }
    }
}

/// How long something took; a clock that was set back counts as nothing.
pub fn duration(millis: i64) -> String {
    time::duration(u64::try_from(millis).unwrap_or(0))
}

/// A place in hundredths of the width.
pub fn percent(place: f64) -> String {
    format!("{place:.2}%")
}
