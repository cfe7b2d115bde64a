//! The calls of a PostToolBatch that the client did not carry out: an edit of text that is not there,
//! wrong parameters, an unknown tool, a denied call. No other event tells of them.
//!
//! A batch has the whole results of its calls in it, so it is searched before it is parsed. What the
//! client says and what a file has in it look alike, so only what stands at the beginning of a
//! response counts, and of tools that give other people's text only sentences of the client.

use memchr::memmem;

use crate::core::event::Event;
use crate::core::json::Object;

const RESPONSE: &[u8] = b"\"tool_response\"";
const MARK: &str = "<tool_use_error>";
const END_OF_MARK: &str = "</tool_use_error>";
/// More calls of one batch than this are not looked at.
const CALLS: usize = 500;
/// The sentence that denies a call begins within so many bytes.
const HEAD: usize = 600;

/// Tools whose responses never begin with somebody else's text.
const OWN_WORDS: [&str; 5] = ["Edit", "MultiEdit", "NotebookEdit", "Read", "Write"];
/// What the client says of a call of any tool.
const REFUSALS: [&str; 5] = [
    "InputValidationError: ",
    "Error: No such tool available: ",
    "Error calling tool",
    "File is in a directory that is denied by your permission settings.",
    "Path is in a directory that is denied by your permission settings.",
];
/// A call that was dropped because of another one: that one has failed.
const DROPPED: [&str; 2] = ["Cancelled: ", "Sibling tool call errored"];
/// How a denial begins, and what else its first line says.
const DENIALS: [(&str, &str); 6] = [
    ("Permission to ", " has been denied"),
    ("Permission for this ", " was denied "),
    ("Claude requested permissions to ", ""),
    (NEEDS_APPROVAL, ""),
    ("Current permission mode (", ") requires approval for this "),
    ("", " needs approval. The path is "),
];

/// This one is the whole of its line.
const NEEDS_APPROVAL: &str = "This command requires approval";
/// The only denial of a tool that gives other people's text which has more than one line.
const SAFETY_CHECK: &str = " was denied by a built-in Claude Code safety check";

/// A call that was not carried out.
pub struct RefusedCall<'a> {
    pub tool: String,
    pub input: Object<'a>,
    pub tool_use_id: Option<String>,
    pub message: String,
    /// A rule or a missing approval is why.
    pub is_denied: bool,
}

/// Whether a payload may tell of a call that was not carried out. Nothing is parsed.
pub fn may_tell_of_refusal(payload: &[u8]) -> bool {
    memmem::find_iter(payload, RESPONSE).any(|at| {
        let after = payload.get(at + RESPONSE.len()..).unwrap_or_default().trim_ascii_start();
        let Some(value) = after.strip_prefix(b":") else { return false };
        let Some(text) = value.trim_ascii_start().strip_prefix(b"\"") else { return false };
        let head = text.get(..HEAD.min(text.len())).unwrap_or_default();
        let tells = |(start, more): &(&str, &str)| {
            head.starts_with(start.as_bytes()) && memmem::find(head, more.as_bytes()).is_some()
        };
        head.starts_with(MARK.as_bytes())
            || head.starts_with(b"PreToolUse:")
            || DENIALS.iter().any(tells)
    })
}

/// The calls of a batch that were not carried out.
pub fn refused_calls<'a>(event: &Event<'a>) -> Vec<RefusedCall<'a>> {
    let calls = event.fields.objects("tool_calls").unwrap_or_default();
    calls.iter().take(CALLS).filter_map(refused_call).collect()
}

fn refused_call<'a>(call: &Object<'a>) -> Option<RefusedCall<'a>> {
    // Whole files are only walked over.
    let raw = call.raw("tool_response")?;
    if !raw.starts_with('"') {
        return None;
    }
    let tool = call.word("tool_name").unwrap_or_default();
    let is_marked = raw.get(1..)?.starts_with(MARK);
    let response = match is_marked || raw.len() <= HEAD * 8 {
        true => call.text("tool_response")?,
        false => return None,
    };
    let (message, is_denied) = match response.strip_prefix(MARK) {
        Some(rest) => (marked(rest, &tool)?, rest.contains("denied by your permission settings")),
        None => (response.as_str(), denial(&response, &tool)?),
    };
    Some(RefusedCall {
        input: call.object("tool_input").unwrap_or_default(),
        tool_use_id: call.word("tool_use_id"),
        message: message.to_owned(),
        is_denied,
        tool,
    })
}

/// What stands behind the mark, if the client has put it there.
fn marked<'t>(rest: &'t str, tool: &str) -> Option<&'t str> {
    let (message, _) = rest.split_once(END_OF_MARK)?;
    let begins = |words: &[&str]| words.iter().any(|words| message.starts_with(words));
    let is_clients = OWN_WORDS.contains(&tool) || begins(&REFUSALS);
    (is_clients && !begins(&DROPPED)).then_some(message)
}

/// Whether a response without the mark says that the call was not allowed: by a rule (`true`), or by
/// somebody's hook, which has said why (`false`).
fn denial(response: &str, tool: &str) -> Option<bool> {
    let line = response.lines().next().unwrap_or_default();
    if line.starts_with(&format!("PreToolUse:{tool} hook error")) {
        return Some(false);
    }
    let denies = |(start, more): &(&str, &str)| line.starts_with(start) && line.contains(more);
    // A program that says the same has been run, and mostly says more.
    let is_whole = OWN_WORDS.contains(&tool)
        || line.contains(SAFETY_CHECK)
        || response.trim_end().lines().count() <= 1;
    let says_more =
        line.strip_prefix(NEEDS_APPROVAL).is_some_and(|rest| !matches!(rest.trim(), "" | "."));
    // One that names a tool names this one.
    let names_other = line
        .strip_prefix("Permission to use ")
        .is_some_and(|rest| !rest.starts_with(&format!("{tool} ")));
    (is_whole && !says_more && !names_other && DENIALS.iter().any(denies)).then_some(true)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::core::event::{Kind, Parsed, parse};

    fn refused(calls: &Value) -> Vec<(String, String, bool)> {
        let payload = json!({"session_id": "s", "tool_calls": calls}).to_string();
        let Ok(Parsed::Event(event)) = parse(payload.as_bytes(), Some(Kind::PostToolBatch)) else {
            panic!("{payload}")
        };
        let found = refused_calls(&event);
        assert!(found.is_empty() || may_tell_of_refusal(payload.as_bytes()), "{payload}");
        found.into_iter().map(|call| (call.tool, call.message, call.is_denied)).collect()
    }

    fn is_refused(tool: &str, response: &str) -> Option<bool> {
        let calls = json!([{"tool_name": tool, "tool_input": {}, "tool_response": response}]);
        refused(&calls).first().map(|(_, _, is_denied)| *is_denied)
    }

    #[test]
    fn what_the_client_says_counts() {
        for (tool, response, is_denied) in [
            (
                "Edit",
                "<tool_use_error>String to replace not found in file.\nString: x</tool_use_error>",
                false,
            ),
            (
                "Edit",
                "<tool_use_error>InputValidationError: Edit failed due to</tool_use_error>",
                false,
            ),
            (
                "Nonsense",
                "<tool_use_error>Error: No such tool available: Nonsense</tool_use_error>",
                false,
            ),
            ("Bash", "<tool_use_error>InputValidationError: Bash failed</tool_use_error>", false),
            (
                "Read",
                "<tool_use_error>File is in a directory that is denied by your permission settings.</tool_use_error>",
                true,
            ),
            ("Bash", "Permission to use Bash with command rm x has been denied.", true),
            (
                "Bash",
                "touch in '/p/y' needs approval. The path is inside the working directories",
                true,
            ),
            ("Bash", "This command requires approval", true),
            (
                "Write",
                "Claude requested permissions to write to /p/n.txt, but you haven't granted it yet.",
                true,
            ),
            (
                "Bash",
                "Permission for this command was denied by a built-in Claude Code safety check\n\nmore",
                true,
            ),
            ("Edit", "Permission to use Edit has been denied.\nmore", true),
            ("Bash", "PreToolUse:Bash hook error: because policy", false),
        ] {
            assert_eq!(is_refused(tool, response), Some(is_denied), "{response}");
        }
    }

    #[test]
    fn what_a_file_or_a_program_says_does_not() {
        for (tool, response) in [
            ("Read", "1\t<tool_use_error>not an error</tool_use_error>\n2\t"),
            ("Bash", "<tool_use_error>not an error</tool_use_error>"),
            ("Agent", "<tool_use_error>String to replace not found</tool_use_error>"),
            ("Edit", "<tool_use_error>cut off"),
            ("Bash", "<tool_use_error>Cancelled: parallel tool call Bash errored</tool_use_error>"),
            ("Bash", "the deploy needs approval"),
            ("Bash", "Permission to use Read has been denied."),
            ("Bash", "a log\nPermission to use Bash with command x has been denied."),
            ("Bash", "This command requires approval: see docs\nmore"),
            ("Bash", "This command requires approval: see docs"),
            ("Bash", "Permission to use Bash with command rm x has been denied.\nmore"),
            ("mcp__ci__log", "Claude requested permissions to write to /x\nmore"),
            ("Bash", "PreToolUse:Edit hook error: of another call"),
            (
                "Bash",
                "The user doesn't want to proceed with this tool use. The tool use was rejected",
            ),
            ("Bash", ""),
        ] {
            assert_eq!(is_refused(tool, response), None, "{response}");
        }
        assert_eq!(refused(&json!([{"tool_response": 3}, 4, {"tool_response": {"x": 1}}])), []);
        assert_eq!(refused(&json!({"tool_response": "x"})), []);
    }

    #[test]
    fn quoted_text_is_not_searched() {
        let inner = r#"{"tool_response":"<tool_use_error>x</tool_use_error>"}"#;
        let payload = json!({"tool_calls": [{"tool_response": inner}]}).to_string();
        assert!(!may_tell_of_refusal(payload.as_bytes()));
        assert!(may_tell_of_refusal(br#"{"tool_response" : "<tool_use_error>"#));
    }
}
