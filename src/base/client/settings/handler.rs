//! One handler in a settings file: whether it is ours, and whether it is as it should be.
//!
//! A file of one's own starts the program in exec form, by its path. The shared one starts it
//! through a shell that looks for it first (`GUARDED`), because a missing program is an error at
//! every event otherwise. Tried with 2.1.139, 2.1.200, 2.1.300 and 2.1.325
//! (`tests/client/scenarios/install.py`). A script in the project would cost the same shell, and be
//! missing wherever somebody shares the settings without it; `sh` in exec form would run the
//! payload as a script in clients that ignore `args`.

use serde_json::{Value, json};

use crate::core::command_line;
use crate::core::event::{EventRow, Kind};
use crate::core::json::tree::Node;

/// The program's name, with whatever directory before it.
pub const PROGRAM: &str = "hookkeeper";
/// Nobody means more seconds than this; the client's own default is as much.
pub const LONGEST_TIMEOUT: f64 = 600.0;

/// How a settings file starts us.
#[derive(Clone, Debug, PartialEq)]
pub enum Launch {
    /// By its path and without a shell, in a file of one's own.
    Exec(String),
    /// Through a shell, in a file that people share: where the program is missing nothing happens,
    /// but a session begins with a hint. Without `args`, which some clients ignore: they would run
    /// a bare `sh`, with the payload as its script.
    Guarded,
}

impl Launch {
    pub fn program(&self) -> &str {
        match self {
            Self::Exec(program) => program,
            Self::Guarded => PROGRAM,
        }
    }
}

/// The client complains of hooks that do not read, and some clients never close the stream: so one
/// line is read where the program is missing.
const GUARDED: &str =
    "command -v hookkeeper >/dev/null && exec hookkeeper hook; head -n 1 >/dev/null";
const GUARDED_SESSION_START: &str = concat!(
    "command -v hookkeeper >/dev/null && exec hookkeeper hook; ",
    r#"case $(head -n 1) in *'"source":"startup"'* | *'"source":"resume"'*) "#,
    r#"echo '{"systemMessage":"HookKeeper: this project uses it, but the program hookkeeper is not on "#,
    r#"the PATH here, so nothing is recorded. Nothing else changes."}' ;; esac"#
);

fn guarded_command(event: &str) -> &'static str {
    if event == Kind::SessionStart.wire() { GUARDED_SESSION_START } else { GUARDED }
}

/// The program and its arguments, in exec form or out of a shell command; of several commands those
/// of the first.
pub fn program_and_args(handler: &Node) -> Option<Vec<String>> {
    steps(handler)?.into_iter().next()
}

/// The commands that a handler runs, one after the other.
fn steps(handler: &Node) -> Option<Vec<Vec<String>>> {
    if handler.get("type").is_some_and(|kind| kind.text() != Some("command")) {
        return None;
    }
    let command = handler.get("command")?.text()?;
    let Some(args) = handler.get("args").filter(|args| !args.is_null()) else {
        return Some(command_steps(command));
    };
    let mut words = vec![command.to_owned()];
    for arg in args.elements() {
        words.push(arg.text()?.to_owned());
    }
    Some(vec![words])
}

/// The commands of a shell command. The guard before the program is not one of them.
pub fn command_steps(command: &str) -> Vec<Vec<String>> {
    match command {
        GUARDED | GUARDED_SESSION_START => vec![vec![PROGRAM.to_owned(), "hook".to_owned()]],
        other => command_line::steps(other),
    }
}

/// Whether a handler calls us, from wherever and in whatever form. A longer command does something
/// else besides, and is not ours to change.
pub fn is_ours(handler: &Node) -> bool {
    matches!(steps(handler).as_deref(), Some([step]) if calls_us(step))
}

/// Whether a handler calls us in the middle of something longer. It is left alone.
pub fn is_compound(handler: &Node) -> bool {
    let steps = steps(handler).unwrap_or_default();
    steps.len() > 1 && steps.iter().any(|step| calls_us(step))
}

fn calls_us(step: &[String]) -> bool {
    runs_us(step, "hook")
}

fn runs_us(step: &[String], word: &str) -> bool {
    command_line::program(step) == PROGRAM && step.get(1).is_some_and(|given| given == word)
}

/// Whether a handler sends what happened (`settings/flush_hooks.rs`).
pub fn is_flush(handler: &Node) -> bool {
    matches!(steps(handler).as_deref(), Some([step]) if runs_us(step, "export"))
}

/// Whether the client's status line is ours, and nothing else.
pub fn is_our_status_line(value: &Node) -> bool {
    matches!(steps(value).as_deref(), Some([step]) if runs_us(step, "statusline"))
}

/// Whether a handler of ours can stay as it is. What a user added or tuned is theirs.
pub fn is_current(handler: &Node, row: &EventRow, launch: &Launch) -> bool {
    let calls = match launch {
        Launch::Exec(program) => {
            let words = program_and_args(handler).unwrap_or_default();
            is_exec(handler) && words == [program, "hook"]
        }
        Launch::Guarded => is_guarded(handler, row.wire),
    };
    let timeout = handler.get("timeout").map(|timeout| timeout.number().unwrap_or(-1.0));
    let timeout = is_valid_timeout(row.wire, timeout);
    let in_time = handler.get("async").is_none_or(|is_async| !is_async.is_true());
    calls && timeout && in_time
}

/// Whether a handler is started without a shell.
pub fn is_exec(handler: &Node) -> bool {
    handler.get("args").is_some_and(Node::is_array)
}

/// Whether a handler is what `install` writes into a shared file for this event.
pub fn is_guarded(handler: &Node, event: &str) -> bool {
    let command = handler.get("command").and_then(Node::text);
    command == Some(guarded_command(event)) && handler.get("args").is_none_or(Node::is_null)
}

/// Whether the client takes a time-out of ours as it is meant. A session's end has its own limits.
pub fn is_valid_timeout(event: &str, seconds: Option<f64>) -> bool {
    match (event == Kind::SessionEnd.wire(), seconds) {
        (false, None) => true,
        (false, Some(seconds)) => seconds > 0.0 && seconds <= LONGEST_TIMEOUT,
        (true, None) => false,
        (true, Some(seconds)) => (2.0..=60.0).contains(&seconds),
    }
}

/// The group that wires an event to us.
pub fn wired_group(row: &EventRow, launch: &Launch) -> Value {
    let handler = match launch {
        Launch::Exec(program) => {
            json!({"type": "command", "command": program, "args": ["hook"], "timeout": row.timeout})
        }
        Launch::Guarded => {
            json!({"type": "command", "command": guarded_command(row.wire), "timeout": row.timeout})
        }
    };
    match row.matcher {
        Some(matcher) => json!({"matcher": matcher, "hooks": [handler]}),
        None => json!({"hooks": [handler]}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::json::tree;

    #[test]
    fn ours_is_known_in_every_form() {
        let ours = |text: &str| is_ours(&tree::parse(text).unwrap());
        assert!(ours(r#"{"type": "command", "command": "hookkeeper", "args": ["hook"]}"#));
        assert!(ours(
            r#"{"type": "command", "command": "/a b/hookkeeper", "args": ["hook", "Stop"]}"#
        ));
        assert!(ours(r#"{"type": "command", "command": "hookkeeper hook"}"#));
        assert!(ours(r#"{"command": "A=1 '/a b/hookkeeper' hook SessionEnd", "args": null}"#));
        assert!(!ours(r#"{"type": "command", "command": "hookkeeper statusline"}"#));
        assert!(!ours(r#"{"type": "command", "command": "echo hookkeeper hook"}"#));
        let longer = r#"{"type": "command", "command": "hookkeeper hook; ./notify-me.sh"}"#;
        assert!(!ours(longer) && is_compound(&tree::parse(longer).unwrap()));
        assert!(!ours(r#"{"type": "command", "command": "hookkeeper hook | tee log"}"#));
        let guarded =
            |more: &str| json!({"type": "command", "command": format!("{GUARDED}{more}")});
        assert!(ours(&guarded("").to_string()) && !ours(&guarded("; ./notify-me.sh").to_string()));
        assert!(!ours(r#"{"type": "command", "command": "my-hookkeeper hook"}"#));
        assert!(!ours(
            r#"{"type": "prompt", "prompt": "hookkeeper hook", "command": "hookkeeper hook"}"#
        ));
        assert!(!ours(r#"{"type": "command", "command": "hookkeeper", "args": []}"#));
        assert!(!ours(r#"{"type": "command", "command": 7}"#));
        assert!(!ours("3"));
    }
}
