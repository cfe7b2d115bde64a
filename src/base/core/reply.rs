//! What a hook may print, event by event. A hook that has nothing to say prints nothing, and what
//! an event does not allow is never printed, whatever a plan says.

use serde_json::{Map, Value, json};

use crate::core::event::{Kind, Output};
use crate::core::gate::Words;
use crate::core::text::clip;

/// The client takes 10,000 UTF-16 units a string and spills the rest to a file.
const LONGEST: usize = 9_000;
const LONGEST_RING: usize = 160;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    /// For the model: `additionalContext`, or plain text where the event takes only that.
    pub context: Option<Words>,
    /// For the user.
    pub message: Option<Words>,
    /// The turn goes on: what the model has to do. Only a Stop can say that.
    pub block: Option<Words>,
    /// The client goes on by what the model is told: that reaches it once, a block twice.
    pub is_quiet: bool,
    /// The terminal rings and shows this, if the user wants that.
    ring: Option<String>,
}

impl Reply {
    pub fn tell_user(&mut self, text: impl Into<Words>) {
        add(&mut self.message, text.into());
    }

    /// What a user who looks elsewhere should see: a bell, and a notification where the terminal has
    /// them (OSC 9; the client lets through nothing but these).
    pub fn ring(&mut self, text: impl Into<Words>) {
        let text = clip(&text.into(), LONGEST_RING);
        self.ring = Some(format!("\x07\x1b]9;{text}\x07"));
    }

    pub fn tell_model(&mut self, text: impl Into<Words>) {
        add(&mut self.context, text.into());
    }

    /// Takes what the user should hear where an event cannot say it.
    pub fn take_message(&mut self) -> Option<String> {
        self.message.take().map(|words| words.to_string())
    }

    /// The bytes for stdout.
    pub fn render(&self, kind: Kind) -> Option<String> {
        match kind.row().output {
            Output::Nothing => None,
            Output::Ring => {
                self.ring.as_ref().map(|ring| json!({"terminalSequence": ring}).to_string())
            }
            Output::PlainText => self.context.as_deref().map(truncate),
            Output::Json { context, block } => {
                let mut fields = Map::new();
                let (block, quiet) = match &self.block {
                    Some(reason) if block && self.is_quiet => (None, Some(reason)),
                    reason => (reason.as_ref().filter(|_| block), None),
                };
                if let Some(reason) = block.map(|reason| &**reason) {
                    fields.insert("decision".into(), "block".into());
                    fields.insert("reason".into(), truncate(reason).into());
                }
                if let Some(message) = &self.message {
                    fields.insert("systemMessage".into(), truncate(message).into());
                }
                if let Some(ring) = &self.ring {
                    fields.insert("terminalSequence".into(), ring.as_str().into());
                }
                if let Some(context) = self.context.as_ref().filter(|_| context).or(quiet) {
                    let output = json!({"hookEventName": kind.wire(), "additionalContext": truncate(context)});
                    fields.insert("hookSpecificOutput".into(), output);
                }
                (!fields.is_empty()).then(|| Value::Object(fields).to_string())
            }
        }
    }
}

fn add(to: &mut Option<Words>, more: Words) {
    match to {
        Some(before) => before.add(&more),
        None => *to = Some(more),
    }
}

/// Whether a message to the user reaches them with this event.
pub fn can_tell_user(kind: Kind) -> bool {
    match kind.row().output {
        Output::Nothing | Output::Ring | Output::PlainText => false,
        Output::Json { .. } => true,
    }
}

/// At most so many UTF-16 units, and never in the middle of a line if there are lines.
fn truncate(text: &str) -> String {
    if text.encode_utf16().count() <= LONGEST {
        return text.to_owned();
    }
    let mut units = 0;
    let fits = |c: &char| {
        units += c.len_utf16();
        units <= LONGEST
    };
    let start: String = text.chars().take_while(fits).collect();
    match start.rfind('\n') {
        Some(end) => start.get(..end).unwrap_or(&start).to_owned(),
        None => start,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_say_only_what_they_may() {
        let reply = Reply {
            context: Some("c".into()),
            message: Some("m".into()),
            block: Some("b".into()),
            ..Reply::default()
        };
        for kind in Kind::ALL {
            let printed = reply.render(kind).unwrap_or_default();
            match kind.row().output {
                Output::Nothing | Output::Ring => assert_eq!(printed, ""),
                Output::PlainText => assert_eq!(printed, "c"),
                Output::Json { context, block } => {
                    let json: Value = serde_json::from_str(&printed).unwrap();
                    assert_eq!(json["systemMessage"], "m");
                    assert_eq!(json.get("decision").is_some(), block, "{kind:?}");
                    assert_eq!(json.get("hookSpecificOutput").is_some(), context, "{kind:?}");
                }
            }
        }
        let json: Value = serde_json::from_str(&reply.render(Kind::Stop).unwrap()).unwrap();
        assert_eq!(json["hookSpecificOutput"]["hookEventName"], "Stop");
        assert_eq!((&json["decision"], &json["reason"]), (&json!("block"), &json!("b")));
        assert_eq!(Reply::default().render(Kind::Stop), None);
        let mut ring = reply.clone();
        ring.ring("r");
        let printed = ring.render(Kind::ConfigChange).unwrap();
        assert_eq!(printed, r#"{"terminalSequence":"\u0007\u001b]9;r\u0007"}"#);
    }

    #[test]
    fn long_texts_end_at_a_line() {
        let text = Words::lines(["🦀 line"; 5000]);
        let cut = truncate(&text);
        assert!(cut.encode_utf16().count() <= LONGEST);
        assert!(cut.ends_with("line"));
    }
}
