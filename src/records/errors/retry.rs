//! When an error message itself says that a retry makes sense.

use chrono::{NaiveTime, TimeDelta};

use crate::core::time::{self, Time};
use crate::core::words::{find_phrase, words};

/// When the message itself says that a retry makes sense.
pub fn retry_time(message: &str, now: Time) -> Option<Time> {
    after(message, &["retry-after", "retry after", "try again in", "retry in", "wait"])
        .and_then(seconds)
        .map(|seconds| now + TimeDelta::seconds(seconds))
        .or_else(|| {
            after(message, &["resets at", "reset at", "resets"]).and_then(|at| clock(at, now))
        })
}

fn after<'a>(message: &'a str, phrases: &[&str]) -> Option<&'a str> {
    phrases.iter().find_map(|phrase| {
        let at = find_phrase(message, phrase)? + phrase.len();
        message.get(at..).map(|rest| rest.trim_start_matches([' ', ':', '=', '"']))
    })
}

/// `30`, `30s`, `20 seconds`, `5 minutes`, `1 hour`. At most a day.
fn seconds(text: &str) -> Option<i64> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(digits)?;
    let number: i64 = number.parse().ok()?;
    let unit = words(unit).next().filter(|_| unit.starts_with([' ', 's', 'm', 'h'])).unwrap_or("s");
    let factor = match unit.chars().next() {
        Some('m') if !unit.starts_with("ms") && !unit.starts_with("mil") => 60,
        Some('m') => return Some(number.checked_div(1000)?.min(86_400)),
        Some('h') => 3600,
        _ => 1,
    };
    number.checked_mul(factor).map(|n| n.min(86_400))
}

/// `2026-01-29T11:00:00Z`, `15:00`, `3pm`: the next such time, read as UTC.
fn clock(text: &str, now: Time) -> Option<Time> {
    let word = text.split_whitespace().next()?.trim_end_matches(['.', ',', ')', ';']);
    if let Some(at) = time::parse(word) {
        return Some(at);
    }
    // A time of day in another zone cannot be told from here.
    let zone = text.split_once('(').map(|(_, zone)| zone);
    if zone.is_some_and(|zone| zone.contains('/') && !zone.starts_with("Etc/UTC")) {
        return None;
    }
    let lower = word.to_ascii_lowercase();
    let (number, shift) = match (lower.strip_suffix("am"), lower.strip_suffix("pm")) {
        (Some(number), _) => (number, Some(0)),
        (_, Some(number)) => (number, Some(12)),
        _ => (lower.as_str(), None),
    };
    let (hour, minute) = match number.split_once(':') {
        Some((hour, minute)) => (hour.parse().ok()?, minute.parse().ok()?),
        None => (number.parse::<u32>().ok().filter(|_| shift.is_some())?, 0),
    };
    let hour = shift.map_or(hour, |shift| hour % 12 + shift);
    let at = now.date_naive().and_time(NaiveTime::from_hms_opt(hour, minute, 0)?).and_utc();
    Some(if at > now { at } else { at + TimeDelta::days(1) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_may_say_when() {
        let now = time::parse("2026-01-29T10:30:00Z").unwrap();
        let spelled = |message| super::retry_time(message, now).map(time::spell);
        assert_eq!(spelled("429, retry-after: 90").as_deref(), Some("2026-01-29T10:31:30Z"));
        assert_eq!(
            spelled("Please try again in 2 minutes.").as_deref(),
            Some("2026-01-29T10:32:00Z")
        );
        assert_eq!(spelled("try again in 20s").as_deref(), Some("2026-01-29T10:30:20Z"));
        assert_eq!(
            spelled("limit resets at 2026-01-29T12:00:00Z.").as_deref(),
            Some("2026-01-29T12:00:00Z")
        );
        assert_eq!(spelled("usage limit, resets 3pm").as_deref(), Some("2026-01-29T15:00:00Z"));
        assert_eq!(spelled("resets at 09:15").as_deref(), Some("2026-01-30T09:15:00Z"));
        assert_eq!(spelled("resets 3pm (Europe/Berlin)"), None);
        assert_eq!(spelled("rate limited"), None);
    }
}
