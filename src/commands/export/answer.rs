//! What an endpoint's answer means, by the rules of OTLP over HTTP, and when to try again.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::core::gate::one_line;
use crate::core::text::clip;
use crate::core::time::{self, Time};
use crate::export::otlp::Signal;

/// An answer, or why there is none.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    Http {
        status: u16,
        retry_after: Option<String>,
        body: Vec<u8>,
    },
    /// Nobody there, a time-out, a certificate that does not verify: in words.
    None(String),
}

#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// It has it, but for so many records, and says why.
    Taken { refused: u64, why: Option<String> },
    /// This request will never be taken; another one may.
    Refused(String),
    /// It is too large; a smaller one may be taken.
    TooLarge,
    /// It does not read gzip.
    NotCompressed,
    /// Everything stays as it is until later.
    Later { why: String, after: Option<Duration> },
}

/// All that an answer to records may have in it.
const PARTIAL: &str = "partialSuccess";
const LONGEST_REASON: usize = 200;
/// Nobody is obeyed for longer.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);
const FIRST_WAIT: u64 = 5;
const WAITS_AT_MOST: u64 = 300;

pub fn judge(signal: Signal, answer: &Answer, now: Time) -> Verdict {
    let (status, retry_after, body) = match answer {
        Answer::Http { status, retry_after, body } => (*status, retry_after.as_deref(), body),
        Answer::None(why) => return later(why.clone(), None),
    };
    let why = || format!("it answers {status}{}", reason(body));
    match status {
        200..=299 => taken(signal, body).unwrap_or_else(|| {
            later(format!("it answers {status}, but not as an OTLP endpoint does"), None)
        }),
        400 => Verdict::Refused(why()),
        413 => Verdict::TooLarge,
        415 => Verdict::NotCompressed,
        429 | 502..=504 => later(why(), retry_after.and_then(|text| wait(text, now))),
        300..=399 => later(format!("{}: it leads elsewhere, which is not followed", why()), None),
        401 | 403 => later(format!("{}: are the headers right?", why()), None),
        404 | 405 => later(format!("{}: is the endpoint right?", why()), None),
        _ => later(why(), None),
    }
}

fn later(why: String, after: Option<Duration>) -> Verdict {
    Verdict::Later { why, after }
}

/// `None` if this is something else than an answer to what was sent: a page to log in, words of a
/// gateway, half of an answer. Who took the records says nothing, or nothing but `partialSuccess`.
fn taken(signal: Signal, body: &[u8]) -> Option<Verdict> {
    let body = body.trim_ascii();
    let answer: Map<String, Value> =
        if body.is_empty() { Map::new() } else { serde_json::from_slice(body).ok()? };
    let partial = match answer.get(PARTIAL) {
        None | Some(Value::Null) => None,
        Some(Value::Object(partial)) => Some(partial),
        Some(_) => return None,
    };
    if answer.keys().any(|key| key != PARTIAL) {
        return None;
    }
    let part = |key: &str| partial.and_then(|partial| partial.get(key));
    let refused = part(signal.rejected_field());
    // A number of 64 bits is a text in this form of JSON.
    let refused =
        refused.and_then(|n| n.as_u64().or_else(|| n.as_str()?.parse().ok())).unwrap_or(0);
    let why = part("errorMessage").and_then(Value::as_str).filter(|why| !why.is_empty());
    Some(Verdict::Taken { refused, why: why.map(|why| clip(&one_line(why), LONGEST_REASON)) })
}

/// What an answer says about itself: a status message, or how it begins.
fn reason(body: &[u8]) -> String {
    let message = serde_json::from_slice::<Value>(body).ok();
    let message = message.and_then(|body| Some(body.get("message")?.as_str()?.to_owned()));
    let text = message.unwrap_or_else(|| String::from_utf8_lossy(body).into_owned());
    let text = clip(&one_line(&text), LONGEST_REASON);
    if text.is_empty() || text.starts_with('<') { String::new() } else { format!(" ({text})") }
}

/// `Retry-After`: seconds, or a date.
fn wait(text: &str, now: Time) -> Option<Duration> {
    let text = text.trim();
    let seconds = text.parse::<u64>().ok().or_else(|| {
        let date = chrono::DateTime::parse_from_rfc2822(text).ok()?;
        u64::try_from(date.signed_duration_since(now).num_seconds()).ok()
    })?;
    Some(Duration::from_secs(seconds).min(LONGEST_WAIT))
}

/// When to try again after so many tries that came to nothing: 5 seconds, then twice as long each
/// time, at most five minutes; `dice` spreads those who failed at the same time.
pub fn next_try(tries: u32, asked: Option<Duration>, dice: u64, now: Time) -> String {
    let grown = FIRST_WAIT.saturating_mul(1 << tries.saturating_sub(1).min(10)).min(WAITS_AT_MOST);
    let spread = grown * 500 + grown * 500 * (dice % 1000) / 1000;
    let asked = asked.map_or(0, |asked| u64::try_from(asked.as_millis()).unwrap_or(0));
    let wait = i64::try_from(spread.max(asked)).unwrap_or(i64::MAX);
    let then =
        chrono::TimeDelta::try_milliseconds(wait).and_then(|wait| now.checked_add_signed(wait));
    time::spell_millis(then.unwrap_or(now))
}

/// Whether it is too early to try. A clock that was set back does not make anybody wait for ever.
pub fn is_too_early(next: &str, now: Time) -> bool {
    let left = time::parse(next).map(|next| next.signed_duration_since(now));
    left.and_then(|left| left.to_std().ok())
        .is_some_and(|left| !left.is_zero() && left <= LONGEST_WAIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Time {
        time::parse("2026-01-29T10:30:00Z").unwrap()
    }

    fn verdict(status: u16, retry_after: Option<&str>, body: &str) -> Verdict {
        let retry_after = retry_after.map(str::to_owned);
        let answer = Answer::Http { status, retry_after, body: body.as_bytes().to_vec() };
        judge(Signal::Logs, &answer, now())
    }

    #[test]
    fn answers_are_judged_by_the_rules() {
        let taken = Verdict::Taken { refused: 0, why: None };
        assert_eq!(verdict(200, None, "{}"), taken);
        assert_eq!(verdict(200, None, ""), taken);
        // VictoriaLogs and Prometheus; rotel and the OpenTelemetry collector; those that spell it out.
        for body in
            ["", "\r\n", "{}", " {} \n", r#"{"partialSuccess":{}}"#, r#"{"partialSuccess":null}"#]
        {
            assert_eq!(verdict(200, None, body), taken, "{body}");
            assert_eq!(verdict(204, None, body), taken, "{body}");
        }
        let partial = r#"{"partialSuccess":{"rejectedLogRecords":"3","errorMessage":"too old"}}"#;
        let some = Verdict::Taken { refused: 3, why: Some("too old".into()) };
        assert_eq!(verdict(200, None, partial), some);
        let number = r#"{"partialSuccess":{"rejectedLogRecords":2}}"#;
        assert_eq!(verdict(200, None, number), Verdict::Taken { refused: 2, why: None });
        for body in [
            "<html>log in",
            "OK",
            "Please log in",
            "null",
            "[]",
            "7",
            r#"{"error":"no such tenant"}"#,
            r#"{"partialSuccess":{},"error":"no such tenant"}"#,
            r#"{"partialSuccess":"no"}"#,
            r#"{"partialSuccess":{"rejectedLo"#,
            "\u{0}\u{1}\u{2}",
        ] {
            assert!(matches!(verdict(200, None, body), Verdict::Later { .. }), "{body}");
        }
        assert!(matches!(verdict(400, None, "bad"), Verdict::Refused(why) if why.contains("bad")));
        assert_eq!(verdict(413, None, ""), Verdict::TooLarge);
        for status in [302, 401, 403, 404, 429, 500, 502, 503, 504] {
            assert!(matches!(verdict(status, None, ""), Verdict::Later { .. }), "{status}");
        }
        let hostile = "\u{1b}[31m\n\u{202e}x";
        let Verdict::Later { why, .. } = verdict(500, None, hostile) else { panic!() };
        assert!(!why.contains('\u{1b}') && !why.contains('\n'), "{why:?}");
    }

    #[test]
    fn who_asks_for_time_gets_it_but_not_for_ever() {
        let after = |text| match verdict(503, Some(text), "") {
            Verdict::Later { after, .. } => after.map(|after| after.as_secs()),
            other => panic!("{other:?}"),
        };
        assert_eq!(after("120"), Some(120));
        assert_eq!(after("99999999"), Some(3600));
        assert_eq!(after("Thu, 29 Jan 2026 10:31:00 GMT"), Some(60));
        assert_eq!(after("soon"), None);
        assert_eq!(after("-5"), None);
    }

    #[test]
    fn tries_become_rarer_and_are_spread() {
        let seconds = |tries, asked: Option<u64>, dice| {
            let next = next_try(tries, asked.map(Duration::from_secs), dice, now());
            time::parse(&next).unwrap().signed_duration_since(now()).num_milliseconds()
        };
        assert_eq!(seconds(1, None, 0), 2500);
        assert_eq!(seconds(1, None, 999), 4997);
        assert_eq!(seconds(2, None, 0), 5000);
        assert_eq!(seconds(99, None, 0), 150_000);
        assert_eq!(seconds(1, Some(60), 0), 60_000);
        let next = next_try(1, None, 0, now());
        assert!(is_too_early(&next, now()));
        assert!(!is_too_early("2027-01-29T10:30:00Z", now()), "the clock was set back");
        assert!(!is_too_early("2025-01-29T10:30:00Z", now()));
        assert!(!is_too_early("never", now()));
    }
}
