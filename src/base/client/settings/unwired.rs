//! For which events the client does not call us by a settings file: no entry of ours is for them, or
//! the client drops it.

use crate::client::settings::edit::{events, handlers, is_blank};
use crate::client::settings::faults::{Fault, faults};
use crate::client::settings::handler::is_ours;
use crate::core::event::Kind;
use crate::core::json::tree::{self, Node, line_and_column};

/// The events that do not reach us.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Unwired {
    pub events: Vec<Kind>,
    /// What makes the client pass over entries of ours that are there, as a sentence without its end.
    pub cause: Option<String>,
}

/// What a settings file does not call us for.
pub fn unwired(text: &str) -> Unwired {
    if is_blank(text) {
        return Unwired { events: Kind::ALL.to_vec(), cause: None };
    }
    let root = match tree::parse(text) {
        Ok(root) => root,
        Err(wrong) => {
            return all_because(format!(
                "it is no JSON any more ({wrong}), and Claude Code ignores a settings file that it \
                 cannot read"
            ));
        }
    };
    let faults = faults(text, &root);
    let voided = faults.iter().find(|fault| fault.voids_file);
    let is_used = |handler: &&Node| {
        !faults.iter().any(|fault| fault.drops(handler)) && voided.is_none() && is_ours(handler)
    };
    let own = |kind: Kind| {
        let events = events(&root).filter(move |event| event.key == kind.wire());
        events.flat_map(|event| handlers(&event.value))
    };
    let is_unwired = |kind: &Kind| !own(*kind).any(|handler| is_used(&handler));
    let unwired: Vec<Kind> = Kind::ALL.into_iter().filter(is_unwired).collect();
    let has_entry = Kind::ALL.into_iter().any(|kind| own(kind).any(is_ours));
    if let Some(fault) = voided.filter(|_| has_entry) {
        return all_because(in_words(fault, "applies nothing of the file"));
    }
    let off = root.get("disableAllHooks").filter(|node| node.is_true() && has_entry);
    if let Some(off) = off {
        let line = line_and_column(text, off.span.start).0;
        return all_because(format!("`disableAllHooks` is true in line {line}"));
    }
    let is_cause = |fault: &&Fault| {
        let mut lost = unwired.iter().flat_map(|kind| own(*kind));
        lost.any(|handler| is_ours(handler) && fault.drops(handler))
    };
    let cause = faults.iter().find(is_cause).map(|fault| in_words(fault, "drops the entry"));
    Unwired { events: unwired, cause }
}

fn all_because(cause: String) -> Unwired {
    Unwired { events: Kind::ALL.to_vec(), cause: Some(cause) }
}

fn in_words(fault: &Fault, does: &str) -> String {
    format!("line {}: {}: {}, so Claude Code {does}", fault.line, fault.event, fault.what)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::client::settings::edit::wire;
    use crate::client::settings::handler::{Launch, PROGRAM};

    fn changed(change: impl Fn(&mut Value)) -> Unwired {
        let text = wire("{}", &Launch::Exec(PROGRAM.into())).unwrap();
        let mut settings: Value = serde_json::from_str(&text).unwrap();
        change(&mut settings);
        unwired(&settings.to_string())
    }

    #[test]
    fn what_the_client_drops_is_not_wired() {
        assert_eq!(changed(|_| {}), Unwired::default());
        for (change, cause) in [
            (
                (|all| all["hooks"]["PreToolUse"][0]["matcher"] = json!(7)) as fn(&mut Value),
                "line 1: PreToolUse: `matcher` must be a string, so Claude Code applies nothing",
            ),
            (|all| all["disableAllHooks"] = json!(true), "`disableAllHooks` is true in line 1"),
        ] {
            let all = changed(change);
            assert_eq!(all.events.len(), Kind::COUNT);
            assert!(all.cause.as_deref().unwrap().starts_with(cause), "{:?}", all.cause);
        }
        let stop = changed(|all| all["hooks"]["Stop"][0]["hooks"][0]["timeout"] = json!("10"));
        assert_eq!(stop.events, [Kind::Stop]);
        assert!(
            stop.cause.unwrap().contains("Stop: `timeout` must be a number, so Claude Code drops")
        );
        let group = changed(|all| all["hooks"]["Stop"][0]["matcher"] = json!(7));
        assert_eq!(group.events, [Kind::Stop]);
        let no_json = unwired("{\"hooks\": ");
        assert_eq!(no_json.events.len(), Kind::COUNT);
        assert!(no_json.cause.unwrap().starts_with("it is no JSON any more (line 1, column "));
    }

    #[test]
    fn another_tools_fault_takes_nothing_of_ours() {
        let other = json!({"hooks": [{"type": "command", "command": "x", "timeout": "10"}]});
        let unwired =
            changed(|all| all["hooks"]["Stop"].as_array_mut().unwrap().push(other.clone()));
        assert_eq!(unwired, Unwired::default());
        let gone = changed(|all| {
            all["hooks"]["Stop"] = json!([other]);
        });
        assert_eq!(gone, Unwired { events: vec![Kind::Stop], cause: None });
    }
}
