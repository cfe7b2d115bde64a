//! Hook entries that the client cannot use, and what it then does. Tried with 2.1.325
//! (`tests/client/scenarios/settings_faults.py`): an entry under PreToolUse or PermissionRequest may
//! guard something, so one that is wrong makes the client apply nothing of the file, its permission
//! rules included; under other events only the entry is dropped.

use std::ops::Range;

use crate::core::json::tree::{Node, line_and_column};

/// The events whose hooks may forbid something.
const GUARDS: [&str; 2] = ["PreToolUse", "PermissionRequest"];
/// The kinds of handlers that the client knows.
const TYPES: [&str; 5] = ["agent", "command", "http", "mcp_tool", "prompt"];

/// An entry that the client cannot use.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    pub line: usize,
    pub event: String,
    pub what: &'static str,
    /// The client applies nothing of the file.
    pub voids_file: bool,
    /// The place of what the client drops.
    dropped: Range<usize>,
}

impl Fault {
    /// Whether the client drops a handler for this, by itself or with what it stands in.
    pub fn drops(&self, handler: &Node) -> bool {
        self.dropped.start <= handler.span.start && handler.span.end <= self.dropped.end
    }
}

/// What is wrong with the hooks of a settings file whose outermost shape is right.
pub fn faults(text: &str, root: &Node) -> Vec<Fault> {
    let mut found = Vec::new();
    // Of two equal keys the client sees the last one.
    for event in root.get("hooks").map_or(&[][..], Node::members) {
        let mut fault = |node: &Node, dropped: &Node, what| {
            found.push(Fault {
                line: line_and_column(text, node.span.start).0,
                event: event.key.clone(),
                what,
                voids_file: GUARDS.contains(&event.key.as_str()),
                dropped: dropped.span.clone(),
            });
        };
        match event.value.is_array() {
            true => event.value.elements().iter().for_each(|group| check_group(group, &mut fault)),
            false if event.value.is_null() => {}
            false => fault(&event.value, &event.value, "must be a list"),
        }
    }
    found
}

fn check_group(group: &Node, fault: &mut impl FnMut(&Node, &Node, &'static str)) {
    // `null` was not tried: nothing is said of it.
    let is_odd = |node: &&Node, is_right: bool| !is_right && !node.is_null();
    let matcher = group.get("matcher").filter(|matcher| is_odd(matcher, matcher.text().is_some()));
    if let Some(matcher) = matcher {
        fault(matcher, group, "`matcher` must be a string");
    }
    let Some(handlers) = group.get("hooks").filter(|hooks| hooks.is_array()) else {
        return fault(group, group, "an entry must be an object with a list `hooks`");
    };
    for handler in handlers.elements() {
        if !handler.is_object() {
            fault(handler, handler, "a hook must be an object");
            continue;
        }
        let kind = handler.get("type");
        if let Some(kind) = kind.filter(|kind| !kind.text().is_some_and(|k| TYPES.contains(&k))) {
            fault(kind, handler, "`type` is none that Claude Code knows");
        }
        let is_command = kind.is_none_or(|kind| kind.text() == Some("command"));
        match handler.get("command") {
            None if is_command => fault(handler, handler, "`command` is missing"),
            Some(command) if is_command && command.text().is_none() => {
                fault(command, handler, "`command` must be a string");
            }
            _ => {}
        }
        let timeout = handler.get("timeout");
        let timeout = timeout.filter(|timeout| is_odd(timeout, timeout.number().is_some()));
        if let Some(timeout) = timeout {
            fault(timeout, handler, "`timeout` must be a number");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::json::tree;

    #[test]
    fn every_fault_is_named_with_what_the_client_does() {
        for (groups, what) in [
            (r#"{"hooks": []}"#, "must be a list"),
            ("[7]", "an entry must be"),
            (r#"[{"matcher": "Bash"}]"#, "an entry must be"),
            (r#"[{"hooks": {"type": "command"}}]"#, "an entry must be"),
            (r#"[{"matcher": 7, "hooks": []}]"#, "`matcher` must be"),
            (r#"[{"hooks": [7]}]"#, "a hook must be"),
            (r#"[{"hooks": [{"type": "shell", "command": "x"}]}]"#, "`type` is none"),
            (r#"[{"hooks": [{"type": "command"}]}]"#, "`command` is missing"),
            (r#"[{"hooks": [{"type": "command", "command": ["x"]}]}]"#, "`command` must be"),
            (r#"[{"hooks": [{"command": "x", "timeout": "10"}]}]"#, "`timeout` must be"),
        ] {
            for (event, voids_file) in
                [("PreToolUse", true), ("PermissionRequest", true), ("Stop", false)]
            {
                let text = format!("{{\"hooks\": {{\"{event}\": {groups}}}}}");
                let found = faults(&text, &tree::parse(&text).unwrap());
                assert_eq!(found.len(), 1, "{text}");
                assert!(
                    found[0].what.starts_with(what) && found[0].voids_file == voids_file,
                    "{text}"
                );
            }
        }
        for good in [
            "null",
            "[]",
            r#"[{"hooks": [{"type": "prompt", "prompt": "x", "timeout": 5}]}]"#,
            r#"[{"matcher": "", "hooks": [{"type": "command", "command": "x"}]}]"#,
        ] {
            let text = format!("{{\"hooks\": {{\"PreToolUse\": {good}}}}}");
            assert_eq!(faults(&text, &tree::parse(&text).unwrap()), [], "{text}");
        }
    }
}
