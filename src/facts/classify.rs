//! Which class an error message is of, and when it says that a retry makes sense. Whole words and
//! codes only: an address, a file name or a line number is no error code.

use chrono::{NaiveTime, TimeDelta};

use crate::books::errors::Class;
use crate::facts::command;
use crate::facts::words::{find_phrase, has_phrase, words};
use crate::time::{self, Time};

/// The class of a failed tool call. `command` is what a shell was asked to run.
pub fn failure(message: &str, command: Option<&str>) -> Class {
    let exit = exit_code(message);
    if let (Some(line), Some(exit)) = (command, exit)
        && (command::runs_tests(line) || (exit == 1 && command::asks(line)))
    {
        return Class::Answer;
    }
    match exit {
        Some(124) => return Class::Timeout,
        Some(137) => return Class::Resource,
        _ => {}
    }
    text(message)
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

/// Tried in this order: the more specific first.
const CLASSES: [(Class, &[&str], &[&str]); 6] = [
    (
        Class::RateLimit,
        &["429"],
        &[
            "rate limit",
            "rate-limit",
            "rate limited",
            "rate_limit",
            "ratelimit",
            "rate limits",
            "too many requests",
            "quota exceeded",
            "usage limit",
            "retry-after",
            "throttled",
        ],
    ),
    (
        Class::Network,
        &["502", "503", "504"],
        &[
            "econnrefused",
            "econnreset",
            "enotfound",
            "ehostunreach",
            "enetunreach",
            "eai_again",
            "etimedout",
            "esockettimedout",
            "econnaborted",
            "connection refused",
            "connection reset",
            "connection timeout",
            "connection timed out",
            "connect timeout",
            "connection closed",
            "connection aborted",
            "connection error",
            "connection lost",
            "could not resolve",
            "couldn't resolve",
            "couldn't connect",
            "could not connect",
            "failed to connect",
            "unable to connect",
            "cannot connect",
            "network",
            "name resolution",
            "name or service not known",
            "getaddrinfo",
            "dns",
            "socket hang up",
            "no route to host",
            "host is down",
            "bad gateway",
            "service unavailable",
            "gateway timeout",
            "gateway time-out",
            "fetch failed",
            "tls handshake",
            "ssl handshake",
            "ssl_error_syscall",
            "temporary failure",
        ],
    ),
    (
        Class::Timeout,
        &["408"],
        &["timed out", "timeout", "time-out", "deadline exceeded", "took too long"],
    ),
    (
        Class::Permission,
        &["401", "403"],
        &[
            "eacces",
            "eperm",
            "erofs",
            "permission denied",
            "access denied",
            "access is denied",
            "operation not permitted",
            "forbidden",
            "unauthorized",
            "not authorized",
            "unauthenticated",
            "authentication failed",
            "authentication required",
            "could not read username",
            "read-only file system",
            "requires approval",
            "insufficient permissions",
            "invalid api key",
            "publickey",
        ],
    ),
    (
        Class::Syntax,
        &[],
        &[
            "syntaxerror",
            "syntax error",
            "invalid syntax",
            "parse error",
            "parseerror",
            "parsing error",
            "indentationerror",
            "taberror",
            "unexpected token",
            "unexpected end of file",
            "unexpected end of input",
            "unexpected end of json input",
            "unexpected eof",
            "unexpected identifier",
            "unterminated string",
            "unterminated string literal",
            "unclosed delimiter",
            "mismatched closing delimiter",
            "unmatched",
            "missing semicolon",
        ],
    ),
    (
        Class::Resource,
        &["507"],
        &[
            "enospc",
            "enomem",
            "emfile",
            "enfile",
            "edquot",
            "ebusy",
            "eagain",
            "eaddrinuse",
            "no space left",
            "out of memory",
            "cannot allocate memory",
            "memory exhausted",
            "too many open files",
            "resource temporarily unavailable",
            "resource busy",
            "device or resource busy",
            "text file busy",
            "disk quota exceeded",
            "disk full",
            "address already in use",
            "could not get lock",
            "unable to lock",
            "database is locked",
            "lock file exists",
            "is locked",
            "locked by",
            "index.lock",
            "oom",
            "oomkilled",
        ],
    ),
];

fn text(message: &str) -> Class {
    let class = CLASSES.iter().find(|(_, codes, phrases)| {
        phrases.iter().any(|phrase| has_phrase(message, phrase))
            || codes.iter().any(|code| has_code(message, code))
    });
    class.map_or(Class::Unknown, |&(class, ..)| class)
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
                "http"
                    | "1.0"
                    | "1.1"
                    | "2.0"
                    | "status"
                    | "code"
                    | "statuscode"
                    | "error"
                    | "returned"
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

/// When the message itself says that a retry makes sense.
pub fn retry_at(message: &str, now: Time) -> Option<Time> {
    after(message, &["retry-after", "retry after", "try again in", "retry in", "wait"])
        .and_then(seconds)
        .map(|seconds| now + TimeDelta::seconds(seconds))
        .or_else(|| {
            after(message, &["resets at", "reset at", "resets"]).and_then(|at| clock(at, now))
        })
}

fn after<'a>(message: &'a str, phrases: &[&str]) -> Option<&'a str> {
    phrases.iter().find_map(|phrase| {
        let at = find_phrase(message, phrase)? + phrase.len();
        message.get(at..).map(|rest| rest.trim_start_matches([' ', ':', '=', '"']))
    })
}

/// `30`, `30s`, `20 seconds`, `5 minutes`, `1 hour`. At most a day.
fn seconds(text: &str) -> Option<i64> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(digits)?;
    let number: i64 = number.parse().ok()?;
    let unit = words(unit).next().filter(|_| unit.starts_with([' ', 's', 'm', 'h'])).unwrap_or("s");
    let factor = match unit.chars().next() {
        Some('m') if !unit.starts_with("ms") && !unit.starts_with("mil") => 60,
        Some('m') => return Some(number.checked_div(1000)?.min(86_400)),
        Some('h') => 3600,
        _ => 1,
    };
    number.checked_mul(factor).map(|n| n.min(86_400))
}

/// `2026-01-29T11:00:00Z`, `15:00`, `3pm`: the next such time, read as UTC.
fn clock(text: &str, now: Time) -> Option<Time> {
    let word = text.split_whitespace().next()?.trim_end_matches(['.', ',', ')', ';']);
    if let Some(at) = time::parse(word) {
        return Some(at);
    }
    let lower = word.to_ascii_lowercase();
    let (number, shift) = match (lower.strip_suffix("am"), lower.strip_suffix("pm")) {
        (Some(number), _) => (number, Some(0)),
        (_, Some(number)) => (number, Some(12)),
        _ => (lower.as_str(), None),
    };
    let (hour, minute) = match number.split_once(':') {
        Some((hour, minute)) => (hour.parse().ok()?, minute.parse().ok()?),
        None => (number.parse::<u32>().ok().filter(|_| shift.is_some())?, 0),
    };
    let hour = shift.map_or(hour, |shift| hour % 12 + shift);
    let at = now.date_naive().and_time(NaiveTime::from_hms_opt(hour, minute, 0)?).and_utc();
    Some(if at > now { at } else { at + TimeDelta::days(1) })
}

/// The file and line that a syntax error names: `src/a.ts:3`, `File "a.py", line 3`.
pub fn place(message: &str) -> Option<(String, u64)> {
    message.lines().find_map(|line| python_place(line).or_else(|| colon_place(line)))
}

fn python_place(line: &str) -> Option<(String, u64)> {
    let (_, rest) = line.split_once("File \"")?;
    let (file, rest) = rest.split_once("\", line ")?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    Some((file.to_owned(), digits.parse().ok()?))
}

fn colon_place(line: &str) -> Option<(String, u64)> {
    line.split([' ', '\t', '(', ')', ',', '\'', '"']).find_map(file_and_line)
}

/// `src/a.ts:3` or `src/a.ts:3:7`; the file has an extension, so that hosts and ports do not count.
pub fn file_and_line(word: &str) -> Option<(String, u64)> {
    let mut parts = word.split(':');
    let file = parts.next()?;
    let line: String = parts.next()?.chars().take_while(char::is_ascii_digit).collect();
    is_file_name(file).then_some(())?;
    Some((file.to_owned(), line.parse().ok()?))
}

/// Something with an extension of letters: `login.ts`, not `127.0.0.1` and not `[eval]`.
pub fn is_file_name(word: &str) -> bool {
    let Some((stem, extension)) = word.rsplit_once('.') else { return false };
    let name = stem.rsplit('/').next().unwrap_or(stem);
    !name.is_empty()
        && (1..=5).contains(&extension.len())
        && extension.bytes().all(|b| b.is_ascii_alphanumeric())
        && extension.bytes().any(|b| b.is_ascii_alphabetic())
        && !word.contains("://")
        && (word.contains('/') || !matches!(extension, "com" | "org" | "net" | "io" | "dev" | "ai"))
        && word.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-/@+~".contains(&b) || b >= 0x80)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_of_common_messages() {
        for (message, class) in [
            ("Connection timeout", Class::Network),
            ("Exit code 7\ncurl: (7) Failed to connect to 127.0.0.1 port 9", Class::Network),
            ("connect ETIMEDOUT 10.0.0.1:443", Class::Network),
            ("HTTP 503 Service Unavailable", Class::Network),
            ("Request failed with status code 429", Class::RateLimit),
            ("API Error: Request rejected (429) · rate limited", Class::RateLimit),
            ("Command timed out after 2m 0.0s", Class::Timeout),
            ("Exit code 124", Class::Timeout),
            ("Exit code 1\nSyntaxError: Unexpected token ';'", Class::Syntax),
            ("bash: -c: line 1: syntax error near unexpected token `)'", Class::Syntax),
            ("Exit code 1\ncat: /etc/shadow2: Permission denied", Class::Permission),
            ("EACCES: permission denied, open '/x'", Class::Permission),
            ("server returned 403", Class::Permission),
            ("write error: No space left on device", Class::Resource),
            ("listen EADDRINUSE: address already in use :::3000", Class::Resource),
            ("Exit code 137", Class::Resource),
            ("File does not exist.", Class::Unknown),
            ("Exit code 2\nls: cannot access '/x': No such file or directory", Class::Unknown),
        ] {
            assert_eq!(failure(message, None), class, "{message}");
        }
    }

    #[test]
    fn look_alikes_are_unknown() {
        for message in [
            "Port 4290 is closed to us",
            "blocked by clock",
            "src/login.ts:429: something odd",
            "processed 503 files, then stopped",
            "build-lint.js went wrong",
            "the s3 bucket is missing",
            "unlocked the door",
        ] {
            assert_eq!(failure(message, None), Class::Unknown, "{message}");
        }
    }

    #[test]
    fn answers_are_no_failures() {
        assert_eq!(failure("Exit code 1", Some("grep x y")), Class::Answer);
        assert_eq!(failure("Exit code 101\nSyntaxError: x", Some("cargo test")), Class::Answer);
        let denied = "Exit code 2\ngrep: y: Permission denied";
        assert_eq!(failure(denied, Some("grep x y")), Class::Permission);
    }

    #[test]
    fn the_message_may_say_when() {
        let now = time::parse("2026-01-29T10:30:00Z").unwrap();
        let at = |message| retry_at(message, now).map(time::spell);
        assert_eq!(at("429, retry-after: 90").as_deref(), Some("2026-01-29T10:31:30Z"));
        assert_eq!(at("Please try again in 2 minutes.").as_deref(), Some("2026-01-29T10:32:00Z"));
        assert_eq!(at("try again in 20s").as_deref(), Some("2026-01-29T10:30:20Z"));
        assert_eq!(
            at("limit resets at 2026-01-29T12:00:00Z.").as_deref(),
            Some("2026-01-29T12:00:00Z")
        );
        assert_eq!(at("usage limit, resets 3pm").as_deref(), Some("2026-01-29T15:00:00Z"));
        assert_eq!(at("resets at 09:15").as_deref(), Some("2026-01-30T09:15:00Z"));
        assert_eq!(at("rate limited"), None);
    }

    #[test]
    fn places_are_files() {
        assert_eq!(place("  File \"a/b.py\", line 12\n"), Some(("a/b.py".into(), 12)));
        assert_eq!(place("at src/x.ts:3:7"), Some(("src/x.ts".into(), 3)));
        assert_eq!(place("[eval]:1\n127.0.0.1:80 node:internal/vm:185:14"), None);
    }
}
