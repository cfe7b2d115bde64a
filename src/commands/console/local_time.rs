//! Times for people: in their own time zone (`Process::local`). Files and `--json` have UTC.
//!
//! That is chrono's `clock` feature, which brings iana-time-zone: reading the time zone files
//! correctly (`TZ` as a name, a path or a rule, transitions to come) is not ours to write again.
//! Only commands call it; the hook path does not.

use chrono::Datelike as _;

use crate::console::project::Project;
use crate::core::time;

const SHORT: &str = "%m-%d %H:%M";

impl Project<'_> {
    /// On the same day only the clock, else the date too.
    pub fn moment(&self, spelled: &str) -> String {
        self.local_time(spelled, "%H:%M:%S", "%Y-%m-%d %H:%M")
    }

    /// A local time in few columns: `10:30` today, `01-29 10:30` this year.
    pub fn short_moment(&self, spelled: &str) -> String {
        self.local_time(spelled, "%H:%M", SHORT)
    }

    /// Date and clock.
    pub fn date_and_time(&self, spelled: &str) -> String {
        self.local_time(spelled, "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M:%S")
    }

    /// For what stands under its day: the clock if all of these are of one day, else the date too.
    pub fn moments(&self, spelled: &[&str]) -> Vec<String> {
        let day = |text: &&str| time::parse(text).map(|time| self.process.local(time).date_naive());
        let first = spelled.first().map(day);
        let is_one_day = spelled.iter().all(|text| Some(day(text)) == first);
        let format = if is_one_day { "%H:%M:%S" } else { "%Y-%m-%d %H:%M:%S" };
        spelled.iter().map(|text| self.local_time(text, format, format)).collect()
    }

    /// What is no time is given as it is.
    fn local_time(&self, spelled: &str, today: &str, this_year: &str) -> String {
        let Some(time) = time::parse(spelled) else { return spelled.to_owned() };
        let (time, now) = (self.process.local(time), self.process.local(self.process.now()));
        let format = match (time.date_naive() == now.date_naive(), time.year() == now.year()) {
            (true, _) => today,
            (false, true) => this_year,
            (false, false) if this_year == SHORT => "%Y-%m-%d",
            (false, false) => this_year,
        };
        time.format(format).to_string()
    }
}
