//! Which class an error message is of. Whole words and codes only: an address, a file name or a line
//! number is no error code.

use crate::core::command_line;
use crate::core::words::{find_phrase, has_phrase};
use crate::errors::diagnostics;
use crate::errors::document::Class;
use crate::errors::phrases::{CLASSES, DETERMINISTIC, KILLED, LOOK_ALIKES};

/// What is known of a failed call beside its message.
#[derive(Clone, Copy, Default)]
pub struct Call<'a> {
    /// What a shell was asked to run.
    pub command: Option<&'a str>,
    pub duration_ms: Option<u64>,
    /// The limit that the call asked for.
    pub timeout_ms: Option<u64>,
}

/// The client's own limit for a command that asks for none.
const DEFAULT_TIMEOUT_MS: u64 = 120_000;

/// The class of a failed tool call.
pub fn failure(message: &str, call: &Call) -> Class {
    let Some(command) = call.command else {
        // Other tools say what is wrong in their first line; what follows quotes files.
        return text(message.lines().next().unwrap_or_default());
    };
    let exit = exit_code(message);
    if is_own(command) {
        return Class::Deterministic;
    }
    if ran_out_of_time(message, call) {
        return Class::Timeout;
    }
    match exit {
        Some(_) if command_line::runs_tests(command) => return Class::Deterministic,
        Some(1) if command_line::asks(command) => return Class::Deterministic,
        // `timeout` did what it was asked to do.
        Some(124) => return Class::Deterministic,
        Some(137) => return Class::Resource,
        _ if KILLED.iter().any(|phrase| has_phrase(message, phrase)) => return Class::Resource,
        _ => {}
    }
    if let Some(class) = diagnostics::class(message) {
        return class;
    }
    if exit.is_some() && command_line::checks(command) {
        return match text(message) {
            Class::Syntax => Class::Syntax,
            _ => Class::Deterministic,
        };
    }
    if exit.is_some() && command_line::only_reads(command) {
        return match text(&own_words(message, command)) {
            Class::Unknown => Class::Deterministic,
            class => class,
        };
    }
    match text(message) {
        Class::Unknown if states_error(message) => Class::Deterministic,
        class => class,
    }
}

/// A call of this program itself: its answer says all there is to say.
fn is_own(command: &str) -> bool {
    command_line::steps(command).iter().any(|step| command_line::program(step) == "hookkeeper")
}

/// Whether the client ended a command because of its time limit. Some versions say so; others
/// report only the signal.
fn ran_out_of_time(message: &str, call: &Call) -> bool {
    let says = |line: &str| line.starts_with("Command timed out after ");
    let limit = call.timeout_ms.unwrap_or(DEFAULT_TIMEOUT_MS);
    message.lines().take(2).any(says)
        || exit_code(message) == Some(143) && call.duration_ms.is_some_and(|took| took >= limit)
}

/// The lines in which programs that print other people's text speak for themselves.
fn own_words(message: &str, command: &str) -> String {
    let steps = command_line::steps(command);
    let is_own = |line: &&str| {
        let speaker = line.split(": ").next().unwrap_or_default();
        let speaker = speaker.rsplit('/').next().unwrap_or_default();
        matches!(speaker, "bash" | "sh" | "zsh" | "fatal" | "error")
            || steps.iter().any(|step| command_line::program(step) == speaker)
    };
    message.lines().filter(is_own).collect::<Vec<_>>().join("\n")
}

/// Whether a program says in so many words that something is wrong: if it does not sound as if it
/// would pass, trying again gives the same.
fn states_error(message: &str) -> bool {
    matches!(exit_code(message), Some(126 | 127 | 139))
        || message.lines().any(|line| {
            let first = line.split([':', ' ']).next().unwrap_or_default();
            first.eq_ignore_ascii_case("error") || matches!(first, "fatal" | "ERR!" | "E")
        })
        || message.lines().skip(1).any(|line| {
            let speaker = line.split(": ").next().unwrap_or_default();
            speaker.len() < line.len()
                && !speaker.is_empty()
                && speaker.bytes().all(|b| b.is_ascii_lowercase() || b == b'-' || b == b'/')
        })
}

/// The class of a turn that an API error ended: the client says which kind of error it was.
pub fn stop_failure(error: &str, message: &str) -> Class {
    match error {
        "rate_limit" => Class::RateLimit,
        "overloaded" => Class::Resource,
        "server_error" => Class::Network,
        "authentication_failed" | "billing_error" | "oauth_org_not_allowed" => Class::Permission,
        "invalid_request" | "max_output_tokens" | "model_not_found" => Class::Unknown,
        _ => text(message),
    }
}

fn text(message: &str) -> Class {
    let has_one = |phrases: &[&str]| phrases.iter().any(|phrase| has_phrase(message, phrase));
    if has_one(LOOK_ALIKES) {
        return Class::Deterministic;
    }
    let class = CLASSES.iter().find(|(class, codes, phrases)| {
        has_one(phrases)
            || (*class == Class::Timeout && has_limit(message))
            || codes.iter().any(|code| has_code(message, code))
    });
    match class {
        Some(&(class, ..)) => class,
        None if has_one(DETERMINISTIC) => Class::Deterministic,
        None => Class::Unknown,
    }
}

/// `Timeout 30000ms exceeded`.
fn has_limit(message: &str) -> bool {
    find_phrase(message, "timeout").is_some_and(|at| {
        let rest = message.get(at + "timeout".len()..).unwrap_or_default().trim_start();
        let unit = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        unit.len() < rest.len() && unit.trim_start().starts_with("ms exceeded")
    })
}

/// A number is a status code if what stands around it says so: `HTTP 429`, `status code 503`,
/// `(429)`, `403 Forbidden`. "429 files" and "login.ts:429" are none.
fn has_code(message: &str, code: &str) -> bool {
    let mut from = 0;
    while let Some(at) = message.get(from..).and_then(|rest| find_phrase(rest, code)) {
        let at = from + at;
        let before =
            message.get(..at).unwrap_or_default().trim_end_matches([' ', ':', '=', '#', '/']);
        let bracketed = message.get(..at).is_some_and(|b| b.ends_with('('))
            && message.get(at + code.len()..).is_some_and(|a| a.starts_with(')'));
        let word = before.rsplit(|c: char| !c.is_alphanumeric() && c != '.').next().unwrap_or("");
        let word = word.to_ascii_lowercase();
        if bracketed
            || matches!(
                word.as_str(),
                "http" | "1.0" | "1.1" | "2.0" | "status" | "code" | "statuscode" | "error"
            )
        {
            return true;
        }
        from = at + code.len();
    }
    false
}

/// `Exit code 7` on the first line of a shell's failure.
pub fn exit_code(message: &str) -> Option<u32> {
    message.lines().next()?.strip_prefix("Exit code ")?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(message: &str, command: &str) -> Class {
        failure(message, &Call { command: Some(command), ..Call::default() })
    }

    #[test]
    fn look_alikes_are_no_advice() {
        for message in [
            "Port 4290 is closed to us",
            "blocked by clock",
            "src/login.ts:429: something odd",
            "processed 503 files, then stopped",
            "build-lint.js went wrong",
            "the s3 bucket is missing",
            "unlocked the door",
            "network with name foo is odd",
            "returned 500 rows, expected 400",
            "src/unmatched.ts:3 x",
            "src/timeout-error.ts is missing",
        ] {
            assert_eq!(failure(message, &Call::default()), Class::Unknown, "{message}");
        }
        let quoted = "String to replace not found in file.\nString: // network error";
        assert_eq!(failure(quoted, &Call::default()), Class::Deterministic);
    }

    #[test]
    fn answers_are_no_failures() {
        assert_eq!(of("Exit code 1", "grep x y"), Class::Deterministic);
        assert_eq!(of("Exit code 101\nSyntaxError: x", "cargo test"), Class::Deterministic);
        assert_eq!(of("Exit code 2\ngrep: y: Permission denied", "grep x y"), Class::Permission);
        assert_eq!(
            of("Exit code 1\nconnection refused", "hookkeeper gate run"),
            Class::Deterministic
        );
    }

    #[test]
    fn a_time_limit_is_known_by_the_clock() {
        let took = |duration_ms, timeout_ms| {
            let call = Call { command: Some("make"), duration_ms, timeout_ms };
            failure("Exit code 143", &call)
        };
        assert_eq!(took(Some(120_000), None), Class::Timeout);
        assert_eq!(took(Some(30_001), Some(30_000)), Class::Timeout);
        assert_eq!(took(Some(30_001), None), Class::Unknown);
        assert_eq!(took(None, Some(1)), Class::Unknown);
    }
}
