//! How times are spelled in the state: UTC, whole seconds, `2026-01-29T10:30:00Z`.

use chrono::{DateTime, SecondsFormat, Utc};

pub type Time = DateTime<Utc>;

pub fn spell(time: Time) -> String {
    time.to_rfc3339_opts(SecondsFormat::Secs, true)
}

/// With milliseconds, for what has to keep its order within a second.
pub fn spell_millis(time: Time) -> String {
    time.to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// For file names: `20260129T103000000Z`.
pub fn stamp(time: Time) -> String {
    time.format("%Y%m%dT%H%M%S%3fZ").to_string()
}

/// Whether a part of a file's name is what [`stamp`] makes.
pub fn is_stamp(text: &str) -> bool {
    let fits = |(at, c): (usize, char)| match at {
        8 => c == 'T',
        18 => c == 'Z',
        _ => c.is_ascii_digit(),
    };
    text.len() == 19 && text.chars().enumerate().all(fits)
}

pub fn parse(text: &str) -> Option<Time> {
    DateTime::parse_from_rfc3339(text).ok().map(|time| time.with_timezone(&Utc))
}

/// Seconds since 1970, as git prints them, spelled; what is no number is the beginning.
pub fn from_seconds(text: &str) -> String {
    spell(DateTime::from_timestamp(text.trim().parse().unwrap_or(0), 0).unwrap_or_default())
}

/// Whole seconds from one spelled time to another, never negative; `None` if either is not a time.
pub fn seconds_between(from: &str, to: &str) -> Option<u64> {
    let seconds = parse(to)?.signed_duration_since(parse(from)?).num_seconds();
    Some(u64::try_from(seconds).unwrap_or(0))
}

/// Seconds since a spelled time. What is not a time was long ago.
pub fn age(of: &str, now: Time) -> u64 {
    parse(of).map_or(u64::MAX, |then| {
        u64::try_from(now.signed_duration_since(then).num_seconds()).unwrap_or(0)
    })
}

/// `95` → `1m 35s`: how long ago, or how long still. What has taken its time is a [`duration`].
pub fn human(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        3600..86_400 => format!("{}h {:02}m", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{}d {:02}h", seconds / 86_400, seconds % 86_400 / 3600),
    }
}

/// How long something took, in milliseconds: `30 ms`, `1.2 s`, `12 s`, `4 min`, `2.5 h`, `3.2 days`.
pub fn duration(ms: u64) -> String {
    let seconds = ms as f64 / 1000.0;
    match ms {
        0..1000 => format!("{ms} ms"),
        1000..10_000 if !ms.is_multiple_of(1000) => format!("{seconds:.1} s"),
        1000..120_000 => format!("{seconds:.0} s"),
        120_000..7_200_000 => format!("{:.0} min", seconds / 60.0),
        7_200_000..172_800_000 => format!("{:.1} h", seconds / 3600.0),
        _ => format!("{:.1} days", seconds / 86_400.0),
    }
}

/// How long something took, of whole seconds: `0 s`, `12 s`, `4 min`.
pub fn duration_of_seconds(seconds: u64) -> String {
    match seconds {
        0 => "0 s".to_owned(),
        seconds => duration(seconds.saturating_mul(1000)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_as_exact_as_people_need_them() {
        for (ms, text) in [
            (30, "30 ms"),
            (1234, "1.2 s"),
            (12_000, "12 s"),
            (240_000, "4 min"),
            (9_000_000, "2.5 h"),
            (259_200_000, "3.0 days"),
        ] {
            assert_eq!(duration(ms), text);
        }
        let seconds = [0, 5, 119, 120].map(duration_of_seconds);
        assert_eq!(seconds, ["0 s", "5 s", "119 s", "2 min"]);
        assert!(duration_of_seconds(u64::MAX).ends_with(" days"));
    }

    #[test]
    fn spelling_round_trips() {
        let time = parse("2026-01-29T10:30:00Z").unwrap();
        assert_eq!(spell(time), "2026-01-29T10:30:00Z");
        assert_eq!(stamp(time), "20260129T103000000Z");
        assert_eq!(seconds_between("2026-01-29T10:30:00Z", "2026-01-29T10:35:00+00:00"), Some(300));
        assert_eq!(seconds_between("2026-01-29T10:35:00Z", "2026-01-29T10:30:00Z"), Some(0));
        assert_eq!(age("yesterday", time), u64::MAX);
    }
}
