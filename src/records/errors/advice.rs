//! What the model is told about a failure: when a retry makes sense, what has to change before it,
//! what to ask the user for. Nothing where there is nothing to gain by it.

use crate::core::time;
use crate::core::words::has_phrase;
use crate::errors::classify;
use crate::errors::document::{Class, ESCALATED, PENDING, Record};

/// One or two sentences for the model. `now` as the documents spell it.
pub fn advice(record: &Record, now: &str) -> Option<String> {
    let class = record.classification.replace('_', " ");
    let (n, max) = (record.retry_count, record.max_retries);
    let text = match record.status.as_str() {
        PENDING => {
            let at = record.next_retry.as_deref();
            let wait = at.and_then(|at| time::seconds_between(now, at)).unwrap_or(0);
            let when = match needed_change(record) {
                Some(change) => change.to_owned(),
                None if wait == 0 => "now".to_owned(),
                None => format!("in {}", time::human(wait)),
            };
            format!("{class} error, attempt {n} of {max}. A retry makes sense {when}.")
        }
        ESCALATED if record.classification == Class::Permission.name() => {
            let again = if record.occurrences > 1 { " again" } else { "" };
            let wanted = wanted(&record.message, &record.target);
            format!("permission error{again}. A retry does not help; ask the user for {wanted}.")
        }
        ESCALATED => format!("{class} error again, no attempt left. A person is needed."),
        _ => return None,
    };
    Some(format!("HookKeeper: {text}"))
}

/// What has to change before a retry can succeed, where waiting alone does not help.
fn needed_change(record: &Record) -> Option<&'static str> {
    if record.classification == Class::Resource.name() {
        return scarce(&record.message).map(|scarce| scarce.remedy);
    }
    let is_shell = record.classification == Class::Timeout.name() && record.tool == "Bash";
    (is_shell && classify::exit_code(&record.message) == Some(143)).then_some(
        "with a longer `timeout`, in smaller steps or in the background (`run_in_background`)",
    )
}

/// Something that does not come back by itself.
pub struct Scarce {
    phrases: &'static [&'static str],
    remedy: &'static str,
}

const SCARCE: [Scarce; 4] = [
    Scarce {
        phrases: &["file watchers", "emfile", "enfile", "too many open files"],
        remedy: "when fewer files are open or watched, or their limit is higher",
    },
    Scarce {
        phrases: &[
            "enospc",
            "no space left",
            "disk full",
            "edquot",
            "disk quota exceeded",
            "nospc",
        ],
        remedy: "when there is free space on the disk; remove what is yours, or ask the user",
    },
    Scarce {
        phrases: &["eaddrinuse", "address already in use"],
        remedy: "with another port, or when the process that has this one is gone",
    },
    Scarce {
        phrases: &[
            "out of memory",
            "heap limit",
            "cannot allocate memory",
            "memory exhausted",
            "enomem",
            "killed signal",
            "signal 9",
            "killed",
            "oom",
            "oomkilled",
        ],
        remedy: "with less at once, or more memory",
    },
];

/// What a message says there is not enough of, where waiting does not bring it back.
pub fn scarce(message: &str) -> Option<&'static Scarce> {
    let has = |scarce: &&Scarce| scarce.phrases.iter().any(|phrase| has_phrase(message, phrase));
    let killed = || SCARCE.last().filter(|_| classify::exit_code(message) == Some(137));
    SCARCE.iter().find(has).or_else(killed)
}

/// What the user would have to give.
fn wanted(message: &str, target: &str) -> String {
    let has = |phrases: &[&str]| phrases.iter().any(|phrase| has_phrase(message, phrase));
    let target = crate::core::text::clip(target, 80);
    if has(&["publickey", "could not read username"]) {
        "credentials for the remote".into()
    } else if has(&["a password is required", "a terminal is required", "are you root"]) {
        "somebody with root rights to run it".into()
    } else if has(&["requires approval", "needs approval", "has been denied", "granted it yet"]) {
        "leave to run it".into()
    } else if is_login(message) {
        format!("a login or key that {target} may use")
    } else if has(&["read-only file system", "erofs"]) {
        "a place that can be written".into()
    } else {
        format!("the right to do this ({target})")
    }
}

fn is_login(message: &str) -> bool {
    const LOGINS: [&str; 15] = [
        "401",
        "unauthorized",
        "unauthenticated",
        "authentication failed",
        "authentication required",
        "authenticationerror",
        "bad credentials",
        "unable to locate credentials",
        "gh auth login",
        "gcloud auth login",
        "docker login",
        "eneedauth",
        "need auth",
        "invalid api key",
        "e401",
    ];
    LOGINS.iter().any(|phrase| has_phrase(message, phrase))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(class: Class, status: &str, message: &str) -> Record {
        Record {
            classification: class.name().into(),
            status: status.into(),
            message: message.into(),
            tool: "Bash".into(),
            target: "Bash git push".into(),
            retry_count: 1,
            max_retries: class.max_retries(),
            occurrences: 1,
            ..Record::default()
        }
    }

    #[test]
    fn what_has_to_change_is_named() {
        let told = |class, status, message| {
            advice(&record(class, status, message), "2026-01-29T10:30:00Z").unwrap_or_default()
        };
        for (class, status, message, part) in [
            (Class::Resource, PENDING, "No space left on device", "free space on the disk"),
            (Class::Resource, PENDING, "listen EADDRINUSE :::3000", "another port"),
            (Class::Resource, PENDING, "Exit code 137\nKilled", "less at once"),
            (Class::Timeout, PENDING, "Exit code 143", "a longer `timeout`"),
            (Class::Timeout, PENDING, "Request timed out", "sense now."),
            (Class::Permission, ESCALATED, "Permission denied (publickey).", "credentials for"),
            (Class::Permission, ESCALATED, "HTTP 401", "a login or key"),
            (Class::Permission, ESCALATED, "cat: x: Permission denied", "right to do this (Bash"),
        ] {
            let told = told(class, status, message);
            assert!(told.contains(part), "{told}");
        }
        assert_eq!(told(Class::Unknown, "logged", "x"), "");
        assert_eq!(told(Class::Syntax, "queued", "x"), "");
    }
}
