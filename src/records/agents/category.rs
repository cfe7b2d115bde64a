//! What a finding is about, by its words.

use crate::core::words::has_phrase;

const CATEGORIES: [(&str, &[&str]); 5] = [
    (
        "security",
        &[
            "security",
            "auth",
            "authentication",
            "authorization",
            "injection",
            "xss",
            "csrf",
            "vulnerability",
            "vulnerable",
            "secret",
            "secrets",
            "password",
            "passwords",
            "token",
            "credentials",
            "encryption",
            "rate limiting",
            "rate limit",
            "sanitize",
            "unsanitized",
            "permission",
            "permissions",
            "exploit",
            "traversal",
        ],
    ),
    (
        "accessibility",
        &["accessibility", "a11y", "aria", "contrast", "screen reader", "keyboard", "alt text"],
    ),
    (
        "performance",
        &[
            "performance",
            "slow",
            "latency",
            "n+1",
            "memory leak",
            "cache",
            "caching",
            "bottleneck",
            "throughput",
            "quadratic",
        ],
    ),
    ("testing", &["test", "tests", "testing", "coverage", "untested", "flaky", "assertion"]),
    (
        "quality",
        &[
            "quality",
            "duplicate",
            "duplicated",
            "duplication",
            "complexity",
            "naming",
            "dead code",
            "lint",
            "refactor",
            "readability",
            "unused",
            "typo",
            "maintainability",
            "documentation",
            "error handling",
        ],
    ),
];

/// The first category whose words the text has.
pub fn category(text: &str) -> &'static str {
    let of = |words: &[&str]| words.iter().any(|word| has_phrase(text, word));
    CATEGORIES.iter().find(|(_, words)| of(words)).map_or("general", |&(name, _)| name)
}
