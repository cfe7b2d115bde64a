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

/// `950 ms`, `12 s`, `4 min`, `2 h 05 min`.
pub fn duration(millis: i64) -> String {
    let seconds = millis / 1000;
    match millis {
        ..1_000 => format!("{} ms", millis.max(0)),
        1_000..10_000 => format!("{:.1} s", millis as f64 / 1000.0),
        10_000..120_000 => format!("{seconds} s"),
        120_000..7_200_000 => format!("{} min", (seconds + 30) / 60),
        7_200_000..172_800_000 => format!("{} h {:02} min", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{} days", seconds / 86_400),
    }
}

/// `1 234 567` with thin blanks.
pub fn number(count: u64) -> String {
    let digits = count.to_string();
    let mut spelled = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            spelled.push('\u{202f}');
        }
        spelled.push(digit);
    }
    spelled
}

/// `12.3 k`, `4.5 M`.
pub fn short_number(count: u64) -> String {
    let value = count as f64;
    match count {
        0..10_000 => number(count),
        10_000..1_000_000 => format!("{:.1} k", value / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} M", value / 1e6),
        _ => format!("{:.1} G", value / 1e9),
    }
}

pub fn dollars(usd: f64) -> String {
    if usd != 0.0 && usd.abs() < 0.1 { format!("${usd:.4}") } else { format!("${usd:.2}") }
}

/// A place in hundredths of the width.
pub fn percent(place: f64) -> String {
    format!("{place:.2}%")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_short_and_exact_enough() {
        assert_eq!(
            [950, 1_500, 12_000, 600_000, 7_500_000].map(duration),
            ["950 ms", "1.5 s", "12 s", "10 min", "2 h 05 min"]
        );
        assert_eq!(number(1_234_567), "1\u{202f}234\u{202f}567");
        assert_eq!(number(999), "999");
        assert_eq!(short_number(123_456), "123.5 k");
        assert_eq!((dollars(0.0123), dollars(4.5)), ("$0.0123".into(), "$4.50".into()));
    }
}
