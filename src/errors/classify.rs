//! Which class an error message is of. Whole words and codes only: an address, a file name or a line
//! number is no error code.

use crate::core::command_line;
use crate::core::words::{find_phrase, has_phrase};
use crate::errors::document::Class;

/// The class of a failed tool call. `command` is what a shell was asked to run.
pub fn failure(message: &str, command: Option<&str>) -> Class {
    let exit = exit_code(message);
    if let (Some(line), Some(exit)) = (command, exit)
        && (command_line::runs_tests(line) || (exit == 1 && command_line::asks(line)))
    {
        return Class::Answer;
    }
    match (exit, command) {
        (Some(124), _) => Class::Timeout,
        (Some(137), _) => Class::Resource,
        (_, Some(_)) => text(message),
        // Other tools say what is wrong in their first line; what follows quotes files.
        (_, None) => text(message.lines().next().unwrap_or_default()),
    }
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
        &["500", "502", "503", "504"],
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
            "network error",
            "network is unreachable",
            "network unreachable",
            "network timeout",
            "network request failed",
            "network restrictions",
            "network failure",
            "name resolution",
            "name or service not known",
            "getaddrinfo",
            "dns error",
            "dns lookup",
            "dns resolution",
            "dns failure",
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
            "server_error",
            "internal server error",
        ],
    ),
    (
        Class::Timeout,
        &["408"],
        &[
            "timed out",
            "timeout exceeded",
            "timeout expired",
            "timeout of",
            "request timeout",
            "timeout error",
            "timeouterror",
            "time-out",
            "deadline exceeded",
            "took too long",
        ],
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
            "unmatched bracket",
            "unmatched quote",
            "unmatched parenthesis",
            "missing semicolon",
        ],
    ),
    (
        Class::Resource,
        &["507", "529"],
        &[
            "overloaded",
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
            "another git process",
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

    #[test]
    fn classes_of_common_messages() {
        for (message, class) in [
            ("Connection timeout", Class::Network),
            ("curl: (7) Failed to connect to 127.0.0.1 port 9", Class::Network),
            ("connect ETIMEDOUT 10.0.0.1:443", Class::Network),
            ("HTTP 503 Service Unavailable", Class::Network),
            ("Request failed with status code 429", Class::RateLimit),
            ("API Error: Request rejected (429) · rate limited", Class::RateLimit),
            ("Command timed out after 2m 0.0s", Class::Timeout),
            ("Exit code 124", Class::Timeout),
            ("SyntaxError: Unexpected token ';'", Class::Syntax),
            ("bash: -c: line 1: syntax error near unexpected token `)'", Class::Syntax),
            ("cat: /etc/shadow2: Permission denied", Class::Permission),
            ("EACCES: permission denied, open '/x'", Class::Permission),
            ("server returned HTTP 403", Class::Permission),
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
            "src/network.ts(3,4): error TS2304: Cannot find name 'x'",
            "String to replace not found in file.\nString: const timeout = 5000; // network error",
            "network with name foo already exists",
            "returned 500 rows, expected 400",
            "src/unmatched.ts:3 x",
            "src/timeout-error.ts is missing",
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
}
