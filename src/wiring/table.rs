//! What we want to be called for. `settings.example.json` and `hooks/hooks.json` say the same.

use crate::event::Kind;

/// Seconds. A hook takes a millisecond or two and never waits longer than 1.1 s, so this is only
/// met on a machine in trouble. SessionEnd has 1.5 s in all unless a settings file says more.
pub const TIMEOUT: u64 = 10;

pub struct Wired {
    pub kind: Kind,
    pub matcher: Option<&'static str>,
}

/// Every event that we handle, in the order of a session.
pub const WIRED: [Wired; 13] = [
    all(Kind::SessionStart),
    all(Kind::SessionEnd),
    all(Kind::UserPromptSubmit),
    all(Kind::UserPromptExpansion),
    // Only these calls say something that no other event does: what an agent is asked to do.
    Wired { kind: Kind::PreToolUse, matcher: Some("Agent|Task") },
    all(Kind::PostToolUse),
    all(Kind::PostToolUseFailure),
    all(Kind::SubagentStart),
    all(Kind::SubagentStop),
    all(Kind::PreCompact),
    all(Kind::PostCompact),
    all(Kind::Stop),
    all(Kind::StopFailure),
];

const fn all(kind: Kind) -> Wired {
    Wired { kind, matcher: None }
}

impl Wired {
    /// Whether a group's matcher lets all through that we want to see, and no more.
    pub fn fits(&self, matcher: Option<&str>) -> bool {
        // Names in another order are the same.
        let names = |text: &str| {
            let mut names: Vec<String> =
                text.split('|').map(|name| name.trim().to_owned()).collect();
            names.sort();
            names
        };
        match (self.matcher, matcher) {
            (None, matcher) => is_all(matcher),
            (Some(_), None) => false,
            (Some(wanted), Some(matcher)) => names(wanted) == names(matcher),
        }
    }
}

/// A matcher that lets everything through.
pub fn is_all(matcher: Option<&str>) -> bool {
    matches!(matcher, None | Some("" | "*" | ".*"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_is_wired_once() {
        for kind in Kind::ALL {
            assert_eq!(WIRED.iter().filter(|wired| wired.kind == kind).count(), 1, "{kind:?}");
        }
    }
}
