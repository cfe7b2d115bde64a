//! What kind of failure something was, and how often a retry makes sense then.

use crate::errors::document::{ESCALATED, LOGGED, QUEUED};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    Network,
    RateLimit,
    Timeout,
    Resource,
    Syntax,
    Permission,
    /// A retry gives the same: something is missing, a compiler or a check has spoken, a command
    /// whose non-zero exit is an answer. Recorded, and nothing is said.
    Deterministic,
    Unknown,
}

impl Class {
    /// Every name there is.
    #[cfg(feature = "testing")]
    pub const NAMES: [&str; 8] = [
        "network",
        "rate_limit",
        "timeout",
        "resource",
        "syntax",
        "permission",
        "deterministic",
        "unknown",
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Network => "network",
            Self::RateLimit => "rate_limit",
            Self::Timeout => "timeout",
            Self::Resource => "resource",
            Self::Syntax => "syntax",
            Self::Permission => "permission",
            Self::Deterministic => "deterministic",
            Self::Unknown => "unknown",
        }
    }

    pub fn max_retries(self) -> u64 {
        match self {
            Self::Network | Self::RateLimit => 3,
            Self::Timeout | Self::Resource => 2,
            Self::Syntax | Self::Permission | Self::Deterministic | Self::Unknown => 0,
        }
    }

    /// Seconds to wait before retry `n` (from 1), unless the message says otherwise.
    pub fn wait(self, n: u64) -> i64 {
        let doubled = |first: i64| first << n.saturating_sub(1).min(8);
        match self {
            Self::Network => doubled(30),
            Self::RateLimit => doubled(60).min(300),
            Self::Resource => 30,
            Self::Timeout
            | Self::Syntax
            | Self::Permission
            | Self::Deterministic
            | Self::Unknown => 0,
        }
    }

    /// What becomes of a failure when there is no retry left for it.
    pub fn exhausted(self) -> &'static str {
        match self {
            Self::Syntax => QUEUED,
            Self::Deterministic | Self::Unknown => LOGGED,
            Self::Network | Self::RateLimit | Self::Timeout | Self::Resource | Self::Permission => {
                ESCALATED
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_has_one_of_the_names() {
        let all = [
            Class::Network,
            Class::RateLimit,
            Class::Timeout,
            Class::Resource,
            Class::Syntax,
            Class::Permission,
            Class::Deterministic,
            Class::Unknown,
        ];
        assert_eq!(all.map(Class::name), Class::NAMES);
    }
}
