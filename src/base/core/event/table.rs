//! The events that we handle, one row each: names, wiring, what may be printed, a sample payload.
//! Whatever else knows the events follows from here: parsing, replies, the client's settings, the
//! plugin's `hooks.json`, the self-test.
//!
//! To add an event: "A hook" in CONTRIBUTING.md.

use serde_json::{Value, json};

use crate::core::event::batch;
use crate::core::journal::EntryKind;

/// Seconds. A hook takes a millisecond or two and never waits longer than 1.1 s, so this is only
/// met on a machine in trouble. SessionEnd has 1.5 s in all unless a settings file says more.
const TIMEOUT: u64 = 10;

pub struct EventRow {
    /// The name on the wire: `SubagentStop`.
    pub wire: &'static str,
    /// The name as a command and as argv\[0\]: `subagent-stop`.
    pub command: &'static str,
    pub output: Output,
    /// The fields that a payload has beside those of every event.
    pub sample: fn() -> Value,
    /// Names of scripts in the documents that specify the state. A project that has them swaps a
    /// link in.
    pub script_names: &'static [&'static str],
    /// The tools that the event is wanted for; `None`: all of them, or it is not about a tool.
    pub matcher: Option<&'static str>,
    /// Seconds that the client waits.
    pub timeout: u64,
    /// A payload that names no agent cannot be used.
    pub needs_agent_id: bool,
    /// What happened becomes a record with an id of its own.
    pub makes_records: bool,
    /// Whether a payload may have something in it for us, told from its bytes: for events that come
    /// often, with whole files in them, and mostly say nothing.
    pub may_matter: Option<fn(&[u8]) -> bool>,
    /// Whether notices that wait for the user are looked for. The events of a tool call come by
    /// the thousand; they do not look.
    pub shows_notices: bool,
    /// Whether the plugin handles it. A client that does not know an event ignores it in a settings
    /// file, but drops all hooks of a plugin that has it (tried with 2.1.139): so only what that
    /// client knows.
    pub in_plugin: bool,
    /// What its line in the journal tells. A `Run` is only that it was there: what it led to has
    /// lines of its own.
    pub tells: EntryKind,
}

/// What the client takes from stdout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    Nothing,
    /// A bell and a notification of the terminal; a message for the user is dropped (tried with
    /// 2.1.325).
    Ring,
    /// Text for the model.
    PlainText,
    /// One object, which can always have a message for the user.
    Json {
        /// Whether it can have `additionalContext` for the model.
        context: bool,
        /// Whether it can make the turn go on.
        block: bool,
    },
}

const JSON: Output = Output::Json { context: true, block: false };
const JSON_OR_BLOCK: Output = Output::Json { context: true, block: true };

/// Declares the enum and its rows together. The first four fields have to be there; the others
/// are the exception and have defaults.
macro_rules! events {
    ($($name:ident {
        command: $command:literal,
        in_plugin: $in_plugin:literal,
        output: $output:expr,
        sample: $sample:tt,
        $($field:ident: $value:expr,)*
    })*) => {
        /// The events that we handle, in the order in which they are wired.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Kind {
            $($name,)*
        }

        impl Kind {
            pub const COUNT: usize = [$(Self::$name),*].len();
            pub const ALL: [Self; Self::COUNT] = [$(Self::$name),*];

            pub const fn row(self) -> &'static EventRow {
                match self {
                    $(Self::$name => const { &EventRow {
                        $($field: $value,)*
                        ..row(stringify!($name), $command, $in_plugin, $output, || json!($sample))
                    } },)*
                }
            }
        }
    };
}

const fn row(
    wire: &'static str,
    command: &'static str,
    in_plugin: bool,
    output: Output,
    sample: fn() -> Value,
) -> EventRow {
    EventRow {
        wire,
        command,
        in_plugin,
        output,
        sample,
        script_names: &[],
        matcher: None,
        timeout: TIMEOUT,
        needs_agent_id: false,
        makes_records: false,
        may_matter: None,
        shows_notices: false,
        tells: EntryKind::Run,
    }
}

events! {
    SessionStart {
        command: "session-start",
        in_plugin: true,
        output: JSON,
        sample: {"source": "startup"},
        script_names: &["restore-session-state"],
        shows_notices: true,
        tells: EntryKind::Start,
    }
    SessionEnd {
        command: "session-end",
        in_plugin: true,
        output: Output::Nothing,
        sample: {"reason": "other"},
    }
    UserPromptSubmit {
        command: "user-prompt-submit",
        in_plugin: true,
        output: JSON,
        sample: {"prompt": "/status", "prompt_id": "p1"},
        shows_notices: true,
        tells: EntryKind::Prompt,
    }
    UserPromptExpansion {
        command: "user-prompt-expansion",
        in_plugin: true,
        output: JSON,
        sample: {"command_name": "status", "command_args": "", "prompt_id": "p1"},
        tells: EntryKind::Command,
    }
    PreToolUse {
        command: "pre-tool-use",
        in_plugin: true,
        output: JSON,
        sample: {"tool_name": "Agent", "tool_use_id": "t1",
            "tool_input": {"description": "Look around", "subagent_type": "Explore"}},
        // Only these calls say something that no other event does: what an agent is asked to do.
        matcher: Some("Agent|Task"),
        tells: EntryKind::Call,
    }
    PostToolUse {
        command: "post-tool-use",
        in_plugin: true,
        output: JSON,
        sample: {"tool_name": "Read", "tool_use_id": "t2",
            "tool_input": {"file_path": "README.md"}, "tool_response": {}},
        tells: EntryKind::Tool,
    }
    PostToolUseFailure {
        command: "post-tool-use-failure",
        in_plugin: true,
        output: JSON,
        sample: {"tool_name": "Bash", "tool_use_id": "t3",
            "tool_input": {"command": "curl example.com"}, "error": "Exit code 6\nConnection refused"},
        script_names: &["error-recovery"],
        makes_records: true,
        tells: EntryKind::Tool,
    }
    PostToolBatch {
        command: "post-tool-batch",
        in_plugin: true,
        output: JSON,
        sample: {"tool_calls": [{"tool_name": "Edit", "tool_use_id": "t4",
            "tool_input": {"file_path": "README.md"},
            "tool_response": "<tool_use_error>String to replace not found in file.</tool_use_error>"}]},
        makes_records: true,
        may_matter: Some(batch::may_tell_of_refusal),
    }
    PermissionDenied {
        command: "permission-denied",
        in_plugin: true,
        // The client also takes a `retry`: whether to try again is not ours to decide.
        output: Output::Ring,
        sample: {"tool_name": "Bash", "tool_use_id": "t5",
            "tool_input": {"command": "git push --force"}, "reason": "It rewrites the remote's history"},
        makes_records: true,
        tells: EntryKind::Tool,
    }
    SubagentStart {
        command: "subagent-start",
        in_plugin: true,
        output: JSON,
        sample: {"agent_id": "a1", "agent_type": "Explore"},
        script_names: &["agent-tracker"],
        needs_agent_id: true,
    }
    SubagentStop {
        command: "subagent-stop",
        in_plugin: true,
        output: JSON,
        sample: {"agent_id": "a1", "agent_type": "Explore",
            "last_assistant_message": "- [S2] A finding", "stop_hook_active": false},
        script_names: &["agent-synthesizer"],
    }
    PreCompact {
        command: "pre-compact",
        in_plugin: true,
        output: Output::PlainText,
        sample: {"trigger": "manual", "custom_instructions": null},
        script_names: &["save-session-state"],
        tells: EntryKind::Compact,
    }
    PostCompact {
        command: "post-compact",
        in_plugin: true,
        output: Output::Nothing,
        sample: {"trigger": "manual", "compact_summary": "short"},
        tells: EntryKind::Compacted,
    }
    Stop {
        command: "stop",
        in_plugin: true,
        output: JSON_OR_BLOCK,
        sample: {"stop_hook_active": false, "background_tasks": []},
        script_names: &["check-loop"],
        shows_notices: true,
        tells: EntryKind::Stop,
    }
    StopFailure {
        command: "stop-failure",
        in_plugin: true,
        output: Output::Nothing,
        sample: {"error": "overloaded"},
        makes_records: true,
        tells: EntryKind::Stop,
    }
    PostModelSwitch {
        command: "post-model-switch",
        in_plugin: false,
        output: JSON,
        sample: {"from_model": "claude-opus-5-5", "to_model": "claude-sonnet-5-5",
            "requested_model": "sonnet", "source": "command"},
        tells: EntryKind::Model,
    }
    ConfigChange {
        command: "config-change",
        in_plugin: true,
        output: Output::Ring,
        sample: {"source": "local_settings"},
    }
    Notification {
        command: "notification",
        in_plugin: true,
        output: Output::Ring,
        sample: {"message": "Claude is waiting for your input", "notification_type": "idle_prompt"},
        tells: EntryKind::Notification,
    }
}

impl Kind {
    /// The name on the wire: `SubagentStop`.
    pub const fn wire(self) -> &'static str {
        self.row().wire
    }

    pub fn from_wire(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.wire() == name)
    }

    /// From `SubagentStop` or `subagent-stop`.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.wire() == name || kind.row().command == name)
    }

    pub fn from_script(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.row().script_names.contains(&name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match_in_all_places() {
        let root = crate::core::repository::root();
        for kind in Kind::ALL {
            let row = kind.row();
            assert_eq!(Kind::from_wire(row.wire), Some(kind));
            assert_eq!(Kind::from_name(row.command), Some(kind));
            assert_eq!(Kind::from_name(row.wire), Some(kind));
            let words = row.command.split('-').map(|word| {
                let (first, rest) = word.split_at(1);
                first.to_uppercase() + rest
            });
            assert_eq!(words.collect::<String>(), row.wire);
            let module = row.command.replace('-', "_");
            for place in [format!("src/hooks/{module}.rs"), format!("tests/cases/{module}")] {
                assert!(root.join(&place).exists(), "{} has no {place}", row.wire);
            }
        }
        assert_eq!(Kind::from_name("status"), None);
    }

    #[test]
    fn samples_are_payloads_that_can_be_used() {
        for kind in Kind::ALL {
            let mut payload = (kind.row().sample)();
            payload["session_id"] = "s".into();
            payload["hook_event_name"] = kind.wire().into();
            let payload = payload.to_string();
            let parsed = crate::core::event::parse(payload.as_bytes(), None);
            let Ok(crate::core::event::Parsed::Event(event)) = parsed else { panic!("{payload}") };
            assert_eq!(event.kind, kind);
        }
    }
}
