//! How many tokens a model's context holds, by what the client says of it: as of client 2.1.325. A
//! model that is not here has an unknown window, and then nothing is said.

use crate::client::prices::is_of;

const SMALL: u64 = 200_000;
const LARGE: u64 = 1_000_000;

/// Models with a million tokens of their own accord.
const LARGE_MODELS: [&str; 13] = [
    "fable-5",
    "fable-5-1",
    "fable-5-2",
    "mythos-5",
    "mythos-5-1",
    "mythos-5-2",
    "opus-4-7",
    "opus-4-8",
    "opus-5",
    "opus-5-5",
    "sonnet-5",
    "sonnet-5-5",
    "haiku-5-5",
];

/// Models with a million tokens only where that was asked for (`[1m]`), if at all.
const SMALL_MODELS: [&str; 14] = [
    "opus-4",
    "opus-4-0",
    "opus-4-1",
    "opus-4-5",
    "opus-4-6",
    "sonnet-4",
    "sonnet-4-0",
    "sonnet-4-5",
    "sonnet-4-6",
    "haiku-4-5",
    "3-7-sonnet",
    "3-5-sonnet",
    "3-5-haiku",
    "3-opus",
];

/// How much of its context a session uses.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ContextUse {
    pub tokens: u64,
    /// As the transcript names it.
    pub model: String,
}

impl ContextUse {
    /// The window, where it is known. `asked` is the model as the session asked for it: only that
    /// says whether it is the large variant.
    pub fn window(&self, asked: Option<&str>) -> Option<u64> {
        let is_in = |models: &[&str]| models.iter().any(|name| is_of(&self.model, name));
        let is_asked = asked.is_some_and(|asked| asked.to_ascii_lowercase().contains("[1m]"));
        let window = match () {
            () if is_in(&LARGE_MODELS) => Some(LARGE),
            // What has been seen to fit in fits.
            () if is_in(&SMALL_MODELS) && (is_asked || self.tokens > SMALL) => Some(LARGE),
            () if is_in(&SMALL_MODELS) => Some(SMALL),
            () => None,
        };
        // More than fits in: the table is wrong for this client.
        window.filter(|window| self.tokens <= *window)
    }

    pub fn percent(&self, asked: Option<&str>) -> Option<u64> {
        Some(self.tokens.saturating_mul(100) / self.window(asked)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_known_by_the_model_and_by_what_was_asked_for() {
        let window = |model: &str, tokens: u64, asked: Option<&str>| {
            ContextUse { tokens, model: model.into() }.window(asked)
        };
        assert_eq!(window("claude-opus-5-5", 1, None), Some(LARGE));
        assert_eq!(window("claude-sonnet-4-5-20250929", 1, None), Some(SMALL));
        assert_eq!(
            window("claude-sonnet-4-5-20250929", 1, Some("claude-sonnet-4-5[1m]")),
            Some(LARGE)
        );
        assert_eq!(window("us.anthropic.claude-sonnet-4-6-v1:0", 200_001, None), Some(LARGE));
        assert_eq!(window("claude-opus-4-20250514", 1, Some("opus")), Some(SMALL));
        for unknown in ["claude-opus-6", "gpt-6", ""] {
            assert_eq!(window(unknown, 1, None), None, "{unknown}");
        }
        assert_eq!(window("claude-opus-5-5", 1_000_001, None), None);
        let half = ContextUse { tokens: 100_000, model: "claude-haiku-4-5".into() };
        assert_eq!(half.percent(None), Some(50));
    }
}
