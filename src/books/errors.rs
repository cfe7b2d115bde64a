//! `errors/classified.json`: failures worth remembering, how often they were tried, what became of
//! them. The seed's schema, plus what is needed to recognise the same failure again.

use std::collections::BTreeMap;

use chrono::TimeDelta;
use serde::{Deserialize, Serialize};

use super::{Extra, keep_newest};
#[cfg(test)]
use crate::schema::fields;
use crate::state::{Row, document};
use crate::time::{self, Time};

const RECORDS: usize = 200;
const TOOL_USE_IDS: usize = 20;

pub const PENDING: &str = "pending_retry";
pub const RECOVERED: &str = "recovered";
pub const ESCALATED: &str = "escalated";
pub const QUEUED: &str = "queued";
pub const LOGGED: &str = "logged";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    Network,
    RateLimit,
    Timeout,
    Resource,
    Syntax,
    Permission,
    Unknown,
    /// A failing test run, or a command whose non-zero exit is an answer: `unknown`, only logged.
    Answer,
}

impl Class {
    /// Every name there is.
    #[cfg(test)]
    const NAMES: [&str; 7] =
        ["network", "rate_limit", "timeout", "resource", "syntax", "permission", "unknown"];

    pub fn name(self) -> &'static str {
        match self {
            Self::Network => "network",
            Self::RateLimit => "rate_limit",
            Self::Timeout => "timeout",
            Self::Resource => "resource",
            Self::Syntax => "syntax",
            Self::Permission => "permission",
            Self::Unknown | Self::Answer => "unknown",
        }
    }

    pub fn max_retries(self) -> u64 {
        match self {
            Self::Network | Self::RateLimit => 3,
            Self::Timeout | Self::Resource => 2,
            Self::Unknown | Self::Answer => 1,
            Self::Syntax | Self::Permission => 0,
        }
    }

    /// Seconds to wait before retry `n` (from 1), unless the message says otherwise.
    fn wait(self, n: u64) -> i64 {
        let doubled = |first: i64| first << n.saturating_sub(1).min(8);
        match self {
            Self::Network => doubled(30),
            Self::RateLimit => doubled(60).min(300),
            Self::Resource => 30,
            _ => 0,
        }
    }

    /// What becomes of a failure when there is no retry left for it.
    fn exhausted(self, repeats: u64) -> &'static str {
        match self {
            Self::Syntax => QUEUED,
            Self::Answer => LOGGED,
            Self::Unknown if repeats < 3 => LOGGED,
            _ => ESCALATED,
        }
    }
}

/// Failures worth remembering, and what became of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(extend("required" = ["errors", "summary"])))]
pub struct Errors {
    pub errors: Vec<Record>,
    pub summary: Summary,
    /// Records that had to go, by session: the summary counts them too.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub dropped: BTreeMap<String, Tally>,
    #[serde(flatten)]
    pub extra: Extra,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(extend("required" = [
    "id", "timestamp", "classification", "tool", "message", "retry_count", "max_retries",
    "status", "next_retry", "context"
])))]
pub struct Record {
    pub id: String,
    #[cfg_attr(test, schemars(schema_with = "fields::time"))]
    pub timestamp: String,
    #[cfg_attr(test, schemars(extend("enum" = Class::NAMES)))]
    pub classification: String,
    pub tool: String,
    pub message: String,
    pub retry_count: u64,
    pub max_retries: u64,
    #[cfg_attr(test, schemars(extend("enum" = [PENDING, RECOVERED, ESCALATED, QUEUED, LOGGED])))]
    pub status: String,
    #[cfg_attr(test, schemars(schema_with = "fields::time_or_null"))]
    pub next_retry: Option<String>,
    /// What the call was about: a URL, a file, a command.
    pub context: Extra,
    pub session_id: String,
    pub agent_id: Option<String>,
    /// Class, tool and target: the same failure again has the same one.
    pub fingerprint: String,
    /// `tool target`: what a later success is compared with.
    pub target: String,
    /// How often it happened, the first time included.
    pub occurrences: u64,
    #[cfg_attr(test, schemars(schema_with = "fields::time_or_empty"))]
    pub last_seen: String,
    /// The calls that were counted, so that an event that is played twice counts once.
    pub tool_use_ids: Vec<String>,
    #[serde(flatten)]
    pub extra: Extra,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(extend("required" = ["total", "recovered", "pending", "escalated"])))]
pub struct Summary {
    pub total: u64,
    pub recovered: u64,
    pub pending: u64,
    pub escalated: u64,
    #[serde(flatten)]
    pub extra: Extra,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(extend("required" = ["total", "recovered", "escalated"])))]
pub struct Tally {
    pub total: u64,
    pub recovered: u64,
    pub escalated: u64,
    #[serde(flatten)]
    pub extra: Extra,
}

/// A failure as an event reports it.
pub struct Failure {
    pub class: Class,
    pub tool: String,
    pub target: String,
    pub message: String,
    pub context: Extra,
    pub session_id: String,
    pub agent_id: Option<String>,
    pub tool_use_id: Option<String>,
    /// When the message itself says that a retry makes sense.
    pub not_before: Option<Time>,
}

impl Errors {
    /// Takes a failure in, and gives its record. `None` if this call was counted before.
    pub fn record(&mut self, failure: Failure, id: String, now: Time) -> Option<Record> {
        let fingerprint = failure.fingerprint();
        if self.counted(&failure.session_id, failure.tool_use_id.as_ref()).is_some() {
            return None;
        }
        let record = match self.errors.iter_mut().find(|record| record.is_open(&failure)) {
            Some(record) => {
                record.again(&failure, now);
                record.clone()
            }
            None => {
                let record = Record::new(&failure, fingerprint, id, now);
                self.errors.push(record.clone());
                record
            }
        };
        self.settle();
        Some(record)
    }

    /// The open record of the same failure.
    pub fn open(&self, failure: &Failure) -> Option<&Record> {
        self.errors.iter().find(|record| record.is_open(failure))
    }

    /// The record that counted a call.
    pub fn counted(&self, session_id: &str, tool_use_id: Option<&String>) -> Option<&Record> {
        let id = tool_use_id?;
        let counted =
            |record: &&Record| record.session_id == session_id && record.tool_use_ids.contains(id);
        self.errors.iter().find(counted)
    }

    /// The same tool succeeded on the same target: what failed there has recovered.
    pub fn recover(&mut self, session_id: &str, target: &str) -> usize {
        let mut recovered = 0;
        for record in &mut self.errors {
            if record.session_id == session_id
                && record.target == target
                && record.status != RECOVERED
            {
                record.status = RECOVERED.into();
                record.next_retry = None;
                recovered += 1;
            }
        }
        self.settle();
        recovered
    }

    /// A person has seen to it.
    pub fn resolve(&mut self, id: &str) -> Option<Record> {
        let record = self.errors.iter_mut().find(|record| record.id == id)?;
        record.status = RECOVERED.into();
        record.next_retry = None;
        let record = record.clone();
        self.settle();
        Some(record)
    }

    /// Whether something that failed on a target has not recovered.
    pub fn is_open_on(&self, session_id: &str, target: &str) -> bool {
        let open = |record: &Record| {
            record.session_id == session_id && record.target == target && record.status != RECOVERED
        };
        self.errors.iter().any(open)
    }

    /// Forgets a session that has ended.
    pub fn clear(&mut self, session_id: &str) {
        self.errors.retain(|record| record.session_id != session_id);
        self.dropped.remove(session_id);
        self.settle();
    }

    pub fn is_empty(&self) -> bool {
        self.errors.is_empty() && self.dropped.is_empty()
    }

    pub fn tally(&self, session_id: &str) -> Tally {
        let mut tally = self.dropped.get(session_id).cloned().unwrap_or_default();
        for record in self.errors.iter().filter(|record| record.session_id == session_id) {
            tally.add(record);
        }
        tally
    }

    fn settle(&mut self) {
        while self.errors.len() > RECORDS {
            let closed = |record: &Record| matches!(record.status.as_str(), RECOVERED | LOGGED);
            let at = self.errors.iter().position(closed).unwrap_or(0);
            let record = self.errors.remove(at);
            self.dropped.entry(record.session_id.clone()).or_default().add(&record);
        }
        let mut all = Tally::default();
        self.dropped.values().for_each(|tally| all.join(tally));
        self.errors.iter().for_each(|record| all.add(record));
        self.summary.total = all.total;
        self.summary.recovered = all.recovered;
        self.summary.escalated = all.escalated;
        self.summary.pending =
            self.errors.iter().filter(|record| record.status == PENDING).count() as u64;
    }
}

impl Failure {
    /// What makes two failures the same: class, tool and target. An answer is no failure of its
    /// command.
    fn fingerprint(&self) -> String {
        let class = if self.class == Class::Answer { "answer" } else { self.class.name() };
        format!("{class} {}", self.target)
    }
}

impl Tally {
    fn add(&mut self, record: &Record) {
        self.total += 1;
        self.recovered += u64::from(record.status == RECOVERED);
        self.escalated += u64::from(record.status == ESCALATED);
    }

    pub fn join(&mut self, other: &Self) {
        self.total += other.total;
        self.recovered += other.recovered;
        self.escalated += other.escalated;
    }
}

impl Record {
    fn is_open(&self, failure: &Failure) -> bool {
        self.status != RECOVERED
            && self.session_id == failure.session_id
            && self.fingerprint == failure.fingerprint()
    }

    fn new(failure: &Failure, fingerprint: String, id: String, now: Time) -> Self {
        let mut record = Self {
            id: format!("error-{id}"),
            timestamp: time::spell(now),
            classification: failure.class.name().to_owned(),
            tool: failure.tool.clone(),
            max_retries: failure.class.max_retries(),
            session_id: failure.session_id.clone(),
            agent_id: failure.agent_id.clone(),
            fingerprint,
            target: failure.target.clone(),
            ..Self::default()
        };
        record.again(failure, now);
        record
    }

    /// The failure has happened (again): grant a retry, or say what becomes of it.
    fn again(&mut self, failure: &Failure, now: Time) {
        self.occurrences += 1;
        self.last_seen = time::spell(now);
        self.message.clone_from(&failure.message);
        self.context.clone_from(&failure.context);
        self.tool_use_ids.extend(failure.tool_use_id.clone());
        keep_newest(&mut self.tool_use_ids, TOOL_USE_IDS);
        let class = failure.class;
        if class != Class::Answer && self.retry_count < self.max_retries {
            self.retry_count += 1;
            let wait = TimeDelta::seconds(class.wait(self.retry_count));
            self.next_retry = Some(time::spell(failure.not_before.unwrap_or(now + wait)));
            self.status = PENDING.into();
        } else {
            self.next_retry = None;
            self.status = class.exhausted(self.occurrences.saturating_sub(1)).into();
        }
    }
}

document!(
    Errors,
    Row {
        name: "errors",
        path: "state/errors/classified.json",
        schema: "errors",
        title: "Classified errors",
        about: "failures, and what became of them",
        ..Row::EPHEMERAL
    }
);

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(class: Class, call: &str) -> Failure {
        Failure {
            class,
            tool: "Bash".into(),
            target: "Bash curl example.com".into(),
            message: "no".into(),
            context: Extra::new(),
            session_id: "s".into(),
            agent_id: None,
            tool_use_id: Some(call.into()),
            not_before: None,
        }
    }

    /// Status, retry count and seconds to the next retry of failure after failure.
    fn course(class: Class) -> Vec<(String, u64, Option<u64>)> {
        let now = time::parse("2026-01-29T10:30:00Z").unwrap();
        let mut errors = Errors::default();
        (0..5)
            .map(|n| {
                let record =
                    errors.record(failure(class, &format!("call-{n}")), "1".into(), now).unwrap();
                assert_eq!(errors.errors.len(), 1);
                let next = record.next_retry.as_deref();
                let wait = next.and_then(|at| time::seconds_between("2026-01-29T10:30:00Z", at));
                (record.status, record.retry_count, wait)
            })
            .collect()
    }

    #[test]
    fn every_class_has_one_of_the_names() {
        let all = [
            Class::Network,
            Class::RateLimit,
            Class::Timeout,
            Class::Resource,
            Class::Syntax,
            Class::Permission,
            Class::Unknown,
        ];
        assert_eq!(all.map(Class::name), Class::NAMES);
        assert!(Class::NAMES.contains(&Class::Answer.name()));
    }

    #[test]
    fn each_class_takes_its_course() {
        let row = |status: &str, n, wait| (status.to_owned(), n, wait);
        let (pending, escalated, logged) = (PENDING, ESCALATED, LOGGED);
        assert_eq!(
            course(Class::Network)[..4],
            [
                row(pending, 1, Some(30)),
                row(pending, 2, Some(60)),
                row(pending, 3, Some(120)),
                row(escalated, 3, None)
            ]
        );
        assert_eq!(course(Class::RateLimit)[2], row(pending, 3, Some(240)));
        assert_eq!(course(Class::RateLimit)[3], row(escalated, 3, None));
        assert_eq!(course(Class::Timeout)[1], row(pending, 2, Some(0)));
        assert_eq!(course(Class::Timeout)[2], row(escalated, 2, None));
        assert_eq!(course(Class::Resource)[1], row(pending, 2, Some(30)));
        assert_eq!(course(Class::Syntax)[0], row(QUEUED, 0, None));
        assert_eq!(course(Class::Permission)[0], row(escalated, 0, None));
        assert_eq!(
            course(Class::Unknown)[..4],
            [
                row(pending, 1, Some(0)),
                row(logged, 1, None),
                row(logged, 1, None),
                row(escalated, 1, None)
            ]
        );
        assert!(course(Class::Answer).iter().all(|end| *end == row(logged, 0, None)));
    }

    #[test]
    fn a_call_counts_once_and_open_records_go_last() {
        let now = time::parse("2026-01-29T10:30:00Z").unwrap();
        let mut errors = Errors::default();
        assert!(errors.record(failure(Class::Network, "a"), "1".into(), now).is_some());
        assert!(errors.record(failure(Class::Network, "a"), "2".into(), now).is_none());
        for n in 0..300 {
            let mut next = failure(Class::Answer, &format!("n{n}"));
            next.target = format!("Bash grep {n}");
            errors.record(next, format!("{n}"), now);
        }
        assert_eq!(errors.errors.len(), RECORDS);
        assert_eq!(errors.errors[0].status, PENDING);
        assert_eq!(errors.summary.total, 301);
        assert_eq!(errors.tally("s").total, 301);
        assert_eq!(errors.recover("s", "Bash curl example.com"), 1);
        assert_eq!(errors.summary.recovered, 1);
        errors.clear("s");
        assert!(errors.is_empty());
        assert_eq!(errors.summary.total, 0);
    }
}
