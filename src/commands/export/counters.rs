//! What is counted over all lines that went out, since counting began: the metrics. Values only ever
//! grow, and are sent as they stand, so that one that is sent twice, or not at all, does no harm.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::agents::result::AgentResult;
use crate::core::ending::Verdict;
use crate::core::journal::{Entry, EntryKind};
use crate::core::text::clip;
use crate::core::time::Time;
use crate::export::clean;
use crate::export::names;
use crate::export::otlp::{
    Attributes, CUMULATIVE, Data, HistogramPoint, Metric, Point, nanos, spelled_nanos,
};
use crate::export::spans::tool_name;
use crate::session::metrics;

/// Series beyond this many come together as `other`: names of tools and agents come from outside.
const SERIES: usize = 400;
const OTHER: &str = "other";
const LONGEST_VALUE: usize = 80;

/// What a metric is.
pub struct Declared {
    pub name: &'static str,
    pub unit: &'static str,
    pub about: &'static str,
    /// The upper bounds of a histogram's buckets; none for a sum.
    pub bounds: &'static [f64],
}

const SECONDS: &[f64] = &[
    0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24,
    20.48, 40.96, 81.92,
];
const TOKENS: &[f64] = &[
    1.0,
    4.0,
    16.0,
    64.0,
    256.0,
    1024.0,
    4096.0,
    16384.0,
    65536.0,
    262_144.0,
    1_048_576.0,
    4_194_304.0,
    16_777_216.0,
    67_108_864.0,
];

const fn sum(name: &'static str, unit: &'static str, about: &'static str) -> Declared {
    Declared { name, unit, about, bounds: &[] }
}

const fn histogram(
    name: &'static str,
    unit: &'static str,
    about: &'static str,
    bounds: &'static [f64],
) -> Declared {
    Declared { name, unit, about, bounds }
}

const SESSIONS: Declared = sum("hookkeeper.sessions", "{session}", "Sessions that began");
const ENDED: Declared = sum("hookkeeper.sessions.ended", "{session}", "Sessions that were closed");
const TURNS: Declared = sum("hookkeeper.turns", "{turn}", "Turns that are over");
const AGENTS: Declared = sum("hookkeeper.agents", "{agent}", "Agents that have ended");
const CALLS: Declared = sum("hookkeeper.tool.calls", "{call}", "Tool calls");
const ERRORS: Declared = sum("hookkeeper.errors", "{error}", "Failures, by class");
const RECOVERED: Declared =
    sum("hookkeeper.errors.recovered", "{error}", "Failures that a success followed");
const FINDINGS: Declared = sum("hookkeeper.findings", "{finding}", "What agents found");
const VERDICTS: Declared = sum("hookkeeper.loop.verdicts", "{verdict}", "How loops ended");
const COMPACTIONS: Declared = sum("hookkeeper.compactions", "{compaction}", "Compactions");
const COST: Declared = sum("hookkeeper.cost", "USD", "What ended sessions cost");
const USED: Declared = sum("hookkeeper.tokens", "{token}", "Tokens that ended sessions used");
const HOOK_TIME: Declared =
    histogram("hookkeeper.hook.duration", "s", "How long hook runs took", SECONDS);
const TOOL_TIME: Declared =
    histogram("hookkeeper.tool.duration", "s", "How long tool calls took", SECONDS);
const TOKEN_USAGE: Declared =
    histogram("gen_ai.client.token.usage", "{token}", "Tokens of a session and model", TOKENS);

/// Everything that is counted.
pub const DECLARED: [&Declared; 15] = [
    &SESSIONS,
    &ENDED,
    &TURNS,
    &AGENTS,
    &CALLS,
    &ERRORS,
    &RECOVERED,
    &FINDINGS,
    &VERDICTS,
    &COMPACTIONS,
    &COST,
    &USED,
    &HOOK_TIME,
    &TOOL_TIME,
    &TOKEN_USAGE,
];

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counters {
    /// When counting began.
    pub since: String,
    pub series: Vec<Series>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Series {
    pub metric: String,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, String>,
    pub sum: f64,
    #[serde(skip_serializing_if = "crate::core::text::is_zero")]
    pub count: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub buckets: Vec<u64>,
}

/// What earlier ends of a session came to, by model: a later end tells the whole again.
pub type CountedUse = BTreeMap<String, [f64; 5]>;

impl Counters {
    /// Counts a line; `used` is what was counted of its session before.
    pub fn count(&mut self, entry: &Entry, used: &mut CountedUse) {
        let what = || entry.what.clone().unwrap_or_else(|| "unknown".into());
        if let Some(us) = entry.us {
            self.observe(&HOOK_TIME, &[(names::EVENT, &entry.event)], us as f64 / 1e6);
        }
        match entry.kind {
            EntryKind::Start if entry.what.as_deref() != Some("compact") => {
                self.add(&SESSIONS, &[(names::SOURCE, &what())], 1.0);
            }
            EntryKind::End => {
                self.add(&ENDED, &[(names::REASON, &what())], 1.0);
                let end = entry.record.as_ref().and_then(|record| record.read::<metrics::Entry>());
                if let Some(end) = end {
                    self.count_use(&end, used);
                }
            }
            EntryKind::Stop
                if entry.agent.is_none() && entry.what.as_deref() != Some("blocked") =>
            {
                self.add(
                    &TURNS,
                    &[(names::STATUS, if entry.failed { "failed" } else { "ok" })],
                    1.0,
                );
            }
            EntryKind::AgentEnd => self.count_agent(entry, &what()),
            EntryKind::Tool => {
                let status = if entry.failed { "failed" } else { "ok" };
                let tool = tool_name(entry);
                self.add(&CALLS, &[(names::TOOL_NAME, tool), (names::STATUS, status)], 1.0);
                if let Some(ms) = entry.ms {
                    self.observe(&TOOL_TIME, &[(names::TOOL_NAME, tool)], ms as f64 / 1e3);
                }
            }
            EntryKind::Error => self.add(&ERRORS, &[(names::ERROR_TYPE, &what())], 1.0),
            EntryKind::Recovered => self.add(&RECOVERED, &[], 1.0),
            EntryKind::Compact => self.add(&COMPACTIONS, &[(names::WHAT, &what())], 1.0),
            EntryKind::Loop => {
                let verdict = Verdict::ALL.iter().find(|it| it.name() == what());
                let kind = entry.loop_kind.as_deref().unwrap_or_default();
                if let Some(verdict) = verdict {
                    let attributes = [(names::VERDICT, verdict.name()), (names::LOOP, kind)];
                    self.add(&VERDICTS, &attributes, 1.0);
                }
            }
            EntryKind::Start
            | EntryKind::Prompt
            | EntryKind::Command
            | EntryKind::Call
            | EntryKind::AgentStart
            | EntryKind::Compacted
            | EntryKind::Stop
            | EntryKind::Gate
            | EntryKind::Handoff
            | EntryKind::Model
            | EntryKind::Notification
            | EntryKind::Rejected
            | EntryKind::Spooled
            | EntryKind::Run
            | EntryKind::Other => {}
        }
    }

    fn count_agent(&mut self, entry: &Entry, status: &str) {
        let result = entry.record.as_ref().and_then(|record| record.read::<AgentResult>());
        let result = result.unwrap_or_default();
        let name = clean::name(&result.kind);
        self.add(&AGENTS, &[(names::AGENT_NAME, &name), (names::STATUS, status)], 1.0);
        for finding in &result.findings {
            self.add(&FINDINGS, &[(names::SEVERITY, &finding.severity)], 1.0);
        }
    }

    fn count_use(&mut self, end: &metrics::Entry, used: &mut CountedUse) {
        let mut whole = CountedUse::new();
        for row in &end.usage {
            let tokens = &row.tokens;
            let all = [tokens.input, tokens.output, tokens.cache_read, tokens.cache_creation];
            let sums = whole.entry(row.model.clone()).or_default();
            let [tokens @ .., usd] = sums;
            tokens.iter_mut().zip(all).for_each(|(sum, more)| *sum += more as f64);
            *usd += row.usd.unwrap_or(0.0);
        }
        for (model, sums) in &whole {
            let earlier = used.get(model).copied().unwrap_or_default();
            let mut more = *sums;
            more.iter_mut()
                .zip(earlier)
                .for_each(|(sum, earlier)| *sum = (*sum - earlier).max(0.0));
            let [input, output, read, creation, usd] = more;
            let kinds = [
                ("input", input),
                ("output", output),
                ("cache_read", read),
                ("cache_creation", creation),
            ];
            for (kind, tokens) in kinds {
                let attributes = [(names::TOKEN_TYPE, kind), (names::MODEL, model.as_str())];
                self.add(&USED, &attributes, tokens);
            }
            for (kind, tokens) in [("input", input + read + creation), ("output", output)] {
                if tokens > 0.0 {
                    let attributes = [
                        (names::OPERATION, names::INVOKE_AGENT),
                        (names::PROVIDER, names::ANTHROPIC),
                        (names::TOKEN_TYPE, kind),
                        (names::MODEL, model.as_str()),
                    ];
                    self.observe(&TOKEN_USAGE, &attributes, tokens);
                }
            }
            self.add(&COST, &[(names::MODEL, model)], usd);
        }
        *used = whole;
    }

    fn add(&mut self, metric: &Declared, attributes: &[(&str, &str)], more: f64) {
        if more > 0.0 && more.is_finite() {
            self.series(metric, attributes).sum += more;
        }
    }

    fn observe(&mut self, metric: &Declared, attributes: &[(&str, &str)], value: f64) {
        let series = self.series(metric, attributes);
        series.sum += value;
        series.count += 1;
        series.buckets.resize(metric.bounds.len() + 1, 0);
        let at = metric.bounds.iter().take_while(|bound| value > **bound).count();
        if let Some(bucket) = series.buckets.get_mut(at) {
            *bucket += 1;
        }
    }

    fn series(&mut self, metric: &Declared, attributes: &[(&str, &str)]) -> &mut Series {
        let named = |value: &dyn Fn(&str) -> String| -> BTreeMap<String, String> {
            let given = attributes.iter().filter(|(_, value)| !value.is_empty());
            given.map(|(name, text)| ((*name).to_owned(), value(text))).collect()
        };
        let mut wanted = named(&|text| clip(text, LONGEST_VALUE));
        let find = |series: &[Series], wanted: &BTreeMap<String, String>| {
            series.iter().position(|one| one.metric == metric.name && one.attributes == *wanted)
        };
        let mut at = find(&self.series, &wanted);
        if at.is_none() && self.series.len() >= SERIES {
            wanted = named(&|_| OTHER.to_owned());
            at = find(&self.series, &wanted);
        }
        let at = at.unwrap_or_else(|| {
            let metric = metric.name.to_owned();
            self.series.push(Series { metric, attributes: wanted, ..Series::default() });
            self.series.len() - 1
        });
        #[expect(clippy::indexing_slicing, reason = "the place was found or made above")]
        &mut self.series[at]
    }

    /// All of it, as it stands now.
    pub fn metrics(&self, now: Time) -> Vec<Metric> {
        let (since, now) = (spelled_nanos(&self.since), nanos(now));
        let metric = |declared: &&Declared| {
            let own = self.series.iter().filter(|series| series.metric == declared.name);
            let own: Vec<&Series> = own.collect();
            let data = match declared.bounds {
                [] => Data::Sum {
                    data_points: own.iter().map(|one| one.point(&since, &now)).collect(),
                    aggregation_temporality: CUMULATIVE,
                    is_monotonic: true,
                },
                bounds => Data::Histogram {
                    data_points: own.iter().map(|one| one.buckets(bounds, &since, &now)).collect(),
                    aggregation_temporality: CUMULATIVE,
                },
            };
            let Declared { name, unit, about, .. } = declared;
            (!own.is_empty()).then_some(Metric { name, description: about, unit, data })
        };
        DECLARED.iter().filter_map(metric).collect()
    }
}

impl Series {
    fn attributes(&self) -> Attributes {
        let mut attributes = Attributes::default();
        self.attributes.iter().for_each(|(name, value)| attributes.text(name.clone(), value));
        attributes
    }

    fn point(&self, since: &str, now: &str) -> Point {
        Point {
            attributes: self.attributes(),
            start_time_unix_nano: since.to_owned(),
            time_unix_nano: now.to_owned(),
            as_double: self.sum,
        }
    }

    fn buckets(&self, bounds: &[f64], since: &str, now: &str) -> HistogramPoint {
        let counts = (0..=bounds.len()).map(|at| self.buckets.get(at).copied().unwrap_or(0));
        HistogramPoint {
            attributes: self.attributes(),
            start_time_unix_nano: since.to_owned(),
            time_unix_nano: now.to_owned(),
            count: self.count.to_string(),
            sum: self.sum,
            bucket_counts: counts.map(|count| count.to_string()).collect(),
            explicit_bounds: bounds.to_vec(),
        }
    }
}

/// How things stand at one moment.
pub fn gauge(
    name: &'static str,
    unit: &'static str,
    about: &'static str,
    value: u64,
    now: Time,
) -> Metric {
    let point = Point {
        attributes: Attributes::default(),
        start_time_unix_nano: nanos(now),
        time_unix_nano: nanos(now),
        as_double: value as f64,
    };
    Metric { name, description: about, unit, data: Data::Gauge { data_points: vec![point] } }
}

#[cfg(test)]
#[path = "counters_tests.rs"]
mod tests;
