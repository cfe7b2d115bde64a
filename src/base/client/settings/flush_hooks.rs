//! Entries that send what happened (`hookkeeper export flush --hook`), beside ours and with
//! `async`: the client waits for none of them. Only in files of one's own. They are known by
//! `export` as their first word, and go with ours at `uninstall`.

use serde_json::json;

use crate::client::settings::edit::handlers;
use crate::client::settings::handler::{Launch, is_flush, program_and_args};
use crate::client::settings::layout::Layout;
use crate::core::event::Kind;
use crate::core::json::tree::{self, Malformed, Node};

/// When something has happened that people elsewhere want to see soon: few enough that a session with
/// many tool calls starts few programs.
const EVENTS: [Kind; 7] = [
    Kind::SessionStart,
    Kind::UserPromptSubmit,
    Kind::SubagentStart,
    Kind::SubagentStop,
    Kind::Notification,
    Kind::Stop,
    Kind::SessionEnd,
];
/// In seconds; a session's end may take as long as this.
const TIMEOUT: u64 = 60;

/// The text with a flush at these events; an entry that names another program is taken for ours too.
pub fn wire(text: &str, launch: &Launch) -> Result<String, Malformed> {
    let Launch::Exec(program) = launch else { return Ok(text.to_owned()) };
    let mut text = text.to_owned();
    for kind in EVENTS {
        let root = tree::parse(&text)?;
        let layout = Layout::detect(&text, &root);
        let Some(groups) = root.get("hooks").and_then(|hooks| hooks.get(kind.wire())) else {
            continue;
        };
        let stale = handlers(groups).find(|handler| is_flush(handler));
        text = match stale.map(|handler| (handler, program_and_args(handler).unwrap_or_default())) {
            Some((_, words)) if words.first() == Some(program) => continue,
            Some((handler, _)) => match handler.get("command") {
                Some(command) => layout.replace(&text, command, &json!(program).to_string()),
                None => continue,
            },
            None => {
                let handler = json!({"type": "command", "command": program,
                    "args": ["export", "flush", "--hook"], "async": true, "timeout": TIMEOUT});
                layout.insert(&text, groups, None, &json!({"hooks": [handler]}))
            }
        };
    }
    Ok(text)
}

/// Whether a text has such entries.
pub fn is_wired(root: &Node) -> bool {
    crate::client::settings::edit::events(root).any(|event| handlers(&event.value).any(is_flush))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::client::settings::edit;

    #[test]
    fn a_flush_stands_beside_our_entries_and_goes_with_them() {
        let before = "{\n  \"model\": \"opus\"\n}\n";
        let launch = Launch::Exec("/x/hookkeeper".into());
        let hooks = edit::wire(before, &launch).unwrap();
        let after = wire(&hooks, &launch).unwrap();
        assert_eq!(wire(&after, &launch).unwrap(), after, "once is enough");
        assert_eq!(edit::wire(&after, &launch).unwrap(), after, "install leaves it");
        let settings: Value = serde_json::from_str(&after).unwrap();
        let stop = settings["hooks"]["Stop"].as_array().unwrap();
        assert_eq!(stop.len(), 2);
        assert_eq!(stop[1]["hooks"][0]["async"], true);
        assert_eq!(settings["hooks"]["PostToolUse"].as_array().unwrap().len(), 1);
        let moved = wire(&after, &Launch::Exec("/y/hookkeeper".into())).unwrap();
        assert!(
            !moved
                .contains("\"/x/hookkeeper\",\n            \"args\": [\n              \"export\"")
        );
        assert_eq!(moved.matches("--hook").count(), EVENTS.len());
        assert_eq!(edit::unwire(&after, None).unwrap(), before);
        assert_eq!(wire(&hooks, &Launch::Guarded).unwrap(), hooks, "never in a shared file");
    }
}
