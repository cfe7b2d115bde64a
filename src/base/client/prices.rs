//! What a token costs, by model: the prices that Anthropic published for its own API, as of
//! 2026-10-10, in dollars for a million tokens. Other places (Bedrock, batches, fast modes) have other
//! prices; what is made of these is an estimate. A model that is not here has no price.

/// When the table was last compared with what is published.
pub const AS_OF: &str = "2026-10-10";

/// What one answer used.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Used {
    pub input: u64,
    pub output: u64,
    /// Written to the cache for five minutes, and for an hour.
    pub cache_5m: u64,
    pub cache_1h: u64,
    pub cache_read: u64,
}

struct Price {
    model: &'static str,
    /// For prompts of so many tokens at most.
    prompt: u64,
    input: f64,
    output: f64,
    cache_read: f64,
}

const ANY: u64 = u64::MAX;

const fn price(
    model: &'static str,
    prompt: u64,
    input: f64,
    output: f64,
    cache_read: f64,
) -> Price {
    Price { model, prompt, input, output, cache_read }
}

/// Writing to the cache costs 1.25 times the input for five minutes, and twice for an hour.
const TABLE: [Price; 24] = [
    price("fable-5-1", ANY, 10.0, 50.0, 0.25),
    price("mythos-5-1", ANY, 10.0, 50.0, 0.25),
    price("fable-5", ANY, 10.0, 50.0, 1.0),
    price("mythos-5", ANY, 10.0, 50.0, 1.0),
    price("opus-5-5", ANY, 4.0, 20.0, 0.2),
    price("opus-5", ANY, 5.0, 25.0, 0.5),
    price("opus-4-8", ANY, 5.0, 25.0, 0.5),
    price("opus-4-7", ANY, 5.0, 25.0, 0.5),
    price("opus-4-6", ANY, 5.0, 25.0, 0.5),
    price("opus-4-5", ANY, 5.0, 25.0, 0.5),
    price("opus-4-1", ANY, 15.0, 75.0, 1.5),
    price("opus-4-0", ANY, 15.0, 75.0, 1.5),
    price("opus-4", ANY, 15.0, 75.0, 1.5),
    price("sonnet-5-5", ANY, 2.0, 10.0, 0.1),
    price("sonnet-5", ANY, 2.0, 10.0, 0.2),
    price("sonnet-4-6", ANY, 3.0, 15.0, 0.3),
    price("sonnet-4-5", ANY, 3.0, 15.0, 0.3),
    price("sonnet-4-0", ANY, 3.0, 15.0, 0.3),
    price("sonnet-4", ANY, 3.0, 15.0, 0.3),
    price("3-7-sonnet", ANY, 3.0, 15.0, 0.3),
    price("haiku-5-5", 100_000, 0.1, 0.5, 0.01),
    price("haiku-5-5", ANY, 0.5, 2.5, 0.05),
    price("haiku-4-5", ANY, 1.0, 5.0, 0.1),
    price("3-5-haiku", ANY, 0.8, 4.0, 0.08),
];

/// What an answer cost, in millionths of a dollar; `None` if the model's price is not known.
pub fn micro_usd(model: &str, used: &Used) -> Option<u64> {
    let prompt = [used.input, used.cache_5m, used.cache_1h, used.cache_read]
        .iter()
        .fold(0_u64, |sum, tokens| sum.saturating_add(*tokens));
    let price = TABLE.iter().find(|row| prompt <= row.prompt && is_of(model, row.model))?;
    // A dollar for a million tokens is a millionth of a dollar for one.
    let sum = used.input as f64 * price.input
        + used.output as f64 * price.output
        + used.cache_5m as f64 * price.input * 1.25
        + used.cache_1h as f64 * price.input * 2.0
        + used.cache_read as f64 * price.cache_read;
    Some(sum.round() as u64)
}

/// `claude-opus-4-5-20251101` and `us.anthropic.claude-opus-4-5-v1:0` are `opus-4-5`, but
/// `claude-opus-4-9` is no `opus-4`: a short number behind the name is another version.
pub fn is_of(model: &str, name: &str) -> bool {
    let Some((_, rest)) = model.split_once("claude-") else { return false };
    let Some(rest) = rest.strip_prefix(name) else { return false };
    let Some(after) = rest.strip_prefix('-') else {
        return !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '.');
    };
    let digits = after.bytes().take_while(u8::is_ascii_digit).count();
    digits == 0 || digits >= 6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_known_by_their_name_and_nothing_else() {
        let used = Used { input: 1_000_000, ..Used::default() };
        let cost = |model: &str| micro_usd(model, &used);
        assert_eq!(cost("claude-opus-4-5-20251101"), Some(5_000_000));
        assert_eq!(cost("us.anthropic.claude-opus-4-5-20251101-v1:0"), Some(5_000_000));
        assert_eq!(cost("claude-opus-4-20250514"), Some(15_000_000));
        assert_eq!(cost("claude-sonnet-4-5[1m]"), Some(3_000_000));
        assert_eq!(cost("claude-sonnet-4@20250514"), Some(3_000_000));
        for unknown in
            ["claude-opus-4-9", "claude-opus-4.9", "claude-opus-45", "gpt-6", "opus-4-5", ""]
        {
            assert_eq!(cost(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn every_kind_of_token_has_its_price_and_long_prompts_theirs() {
        let used =
            Used { input: 10, output: 100, cache_5m: 1000, cache_1h: 1000, cache_read: 10_000 };
        // 10 × 5 + 100 × 25 + 1000 × 6.25 + 1000 × 10 + 10000 × 0.5
        assert_eq!(micro_usd("claude-opus-5", &used), Some(50 + 2500 + 6250 + 10_000 + 5000));
        let short = Used { input: 100_000, ..Used::default() };
        let long = Used { input: 100_001, ..Used::default() };
        assert_eq!(micro_usd("claude-haiku-5-5", &short), Some(10_000));
        assert_eq!(micro_usd("claude-haiku-5-5", &long), Some(50_001));
    }
}
