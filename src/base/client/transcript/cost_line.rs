//! The client's own account of a session, which newer versions write when they leave: dollars, and tokens
//! by model. It has requests that no transcript keeps (summaries of a compaction, titles), and in a fork
//! also what the session used that it was forked from.

use crate::client::prices::{self, Used};
use crate::client::transcript::Tokens;
use crate::core::json::Object;

/// The newest account in a transcript.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CostLine {
    pub usd: f64,
    /// As far as the line tells models apart.
    pub models: Vec<(String, Used)>,
}

impl CostLine {
    pub fn parse(line: &Object) -> Option<Self> {
        let usd = line.float("totalCostUSD").filter(|usd| usd.is_finite() && *usd >= 0.0)?;
        let by_model = line.object("modelUsage").unwrap_or_default();
        let models = by_model.names().filter_map(|name| {
            let usage = by_model.object(name)?;
            let count = |key: &str| usage.number(key).unwrap_or(0);
            let cache_1h = count("cacheCreationEphemeral1hInputTokens");
            let used = Used {
                input: count("inputTokens"),
                output: count("outputTokens"),
                cache_5m: count("cacheCreationInputTokens").saturating_sub(cache_1h),
                cache_1h,
                cache_read: count("cacheReadInputTokens"),
            };
            // `claude-opus-5[1m]` is the same model with another window.
            Some((name.split('[').next().unwrap_or(name).to_owned(), used))
        });
        Some(Self { usd, models: models.collect() })
    }

    /// What it has beyond the answers that are known, by model; dollars by the price table.
    pub fn beyond(&self, known: &[(&str, &Tokens)]) -> Vec<(String, Tokens, Option<f64>)> {
        let rest = |(model, told): &(String, Used)| {
            let mut counted = Tokens::default();
            let is_same = |name: &str| name.starts_with(model.as_str()) || model.starts_with(name);
            known.iter().filter(|(name, _)| is_same(name)).for_each(|(_, one)| counted.add(one));
            let written = counted.cache_creation;
            let used = Used {
                input: told.input.saturating_sub(counted.input),
                output: told.output.saturating_sub(counted.output),
                cache_5m: told.cache_5m.saturating_add(told.cache_1h).saturating_sub(written),
                cache_1h: 0,
                cache_read: told.cache_read.saturating_sub(counted.cache_read),
            };
            let usd = prices::micro_usd(model, &used).map(|micro| micro as f64 / 1e6);
            (used != Used::default()).then(|| (model.clone(), Tokens::from(&used), usd))
        };
        self.models.iter().filter_map(rest).collect()
    }
}

impl From<&Used> for Tokens {
    fn from(used: &Used) -> Self {
        Self {
            input: used.input,
            output: used.output,
            cache_creation: used.cache_5m.saturating_add(used.cache_1h),
            cache_read: used.cache_read,
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_answer_has_is_left_and_windows_are_one_model() {
        let line = br#"{"totalCostUSD":0.5,"modelUsage":{"claude-opus-5-5[1m]":{"inputTokens":9,
            "outputTokens":4,"cacheCreationInputTokens":7,"cacheReadInputTokens":1},"x":{"inputTokens":2},"y":3}}"#;
        let told = CostLine::parse(&Object::parse(line).unwrap()).unwrap();
        let known = Tokens { input: 4, output: 9, cache_creation: 7, ..Tokens::default() };
        let rest = told.beyond(&[("claude-opus-5-5-20261001", &known), ("z", &known)]);
        let counts: Vec<_> =
            rest.iter().map(|(model, one, _)| (model.as_str(), one.sum())).collect();
        assert_eq!(counts, [("claude-opus-5-5", 6), ("x", 2)]);
        assert_eq!(rest[1].2, None, "no price");
        for bad in [&br#"{"totalCostUSD":-1}"#[..], br#"{"totalCostUSD":"1"}"#, b"{}"] {
            assert_eq!(CostLine::parse(&Object::parse(bad).unwrap()), None);
        }
    }
}
