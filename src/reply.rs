//! What a hook may print, event by event. A hook that has nothing to say prints nothing, and what
//! an event does not allow is never printed, whatever a plan says.

use serde_json::{Map, Value, json};

use crate::books::clip;
use crate::event::Kind;

/// The client takes 10,000 UTF-16 units a string and spills the rest to a file.
const LONGEST: usize = 9_000;
const LONGEST_RING: usize = 160;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    /// For the model: `additionalContext`, or plain text where the event takes only that.
    pub context: Option<String>,
    /// For the user.
    pub message: Option<String>,
    /// The turn goes on: what the model has to do. Only a Stop can say that.
    pub block: Option<String>,
    /// The terminal rings and shows this, if the user wants that.
    pub ring: Option<String>,
}

impl Reply {
    pub fn tell_user(&mut self, text: &str) {
        add(&mut self.message, text);
    }

    /// What a user who looks elsewhere should see: a bell, and a notification where the terminal has
    /// them (OSC 9; the client lets through nothing but these).
    pub fn ring(&mut self, text: &str) {
        self.ring = Some(format!("\x07\x1b]9;{}\x07", clip(text, LONGEST_RING)));
    }

    pub fn tell_model(&mut self, text: &str) {
        add(&mut self.context, text);
    }

    /// The bytes for stdout.
    pub fn render(&self, kind: Kind) -> Option<String> {
        match voice(kind) {
            Voice::None => None,
            Voice::Plain => self.context.as_deref().map(cut),
            Voice::Json => {
                let mut fields = Map::new();
                if let (Kind::Stop, Some(reason)) = (kind, &self.block) {
                    fields.insert("decision".into(), "block".into());
                    fields.insert("reason".into(), cut(reason).into());
                }
                if let Some(message) = &self.message {
                    fields.insert("systemMessage".into(), cut(message).into());
                }
                if let Some(ring) = &self.ring {
                    fields.insert("terminalSequence".into(), ring.as_str().into());
                }
                if let Some(context) = &self.context {
                    let output =
                        json!({"hookEventName": kind.wire(), "additionalContext": cut(context)});
                    fields.insert("hookSpecificOutput".into(), output);
                }
                (!fields.is_empty()).then(|| Value::Object(fields).to_string())
            }
        }
    }
}

fn add(to: &mut Option<String>, text: &str) {
    match to {
        Some(before) => {
            before.push('\n');
            before.push_str(text);
        }
        None => *to = Some(text.to_owned()),
    }
}

/// Whether a message to the user reaches them with this event.
pub fn can_tell_user(kind: Kind) -> bool {
    matches!(voice(kind), Voice::Json)
}

enum Voice {
    None,
    Plain,
    Json,
}

fn voice(kind: Kind) -> Voice {
    match kind {
        Kind::SessionEnd | Kind::PostCompact | Kind::StopFailure => Voice::None,
        Kind::PreCompact => Voice::Plain,
        _ => Voice::Json,
    }
}

/// At most so many UTF-16 units, and never in the middle of a line if there are lines.
fn cut(text: &str) -> String {
    if text.encode_utf16().count() <= LONGEST {
        return text.to_owned();
    }
    let mut units = 0;
    let fits = |c: &char| {
        units += c.len_utf16();
        units <= LONGEST
    };
    let cut: String = text.chars().take_while(fits).collect();
    match cut.rfind('\n') {
        Some(end) => cut.get(..end).unwrap_or(&cut).to_owned(),
        None => cut,
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
            ring: None,
        };
        for kind in [Kind::SessionEnd, Kind::PostCompact, Kind::StopFailure] {
            assert_eq!(reply.render(kind), None);
        }
        assert_eq!(reply.render(Kind::PreCompact).as_deref(), Some("c"));
        let json: Value = serde_json::from_str(&reply.render(Kind::Stop).unwrap()).unwrap();
        assert_eq!(json["hookSpecificOutput"]["hookEventName"], "Stop");
        assert_eq!(json["systemMessage"], "m");
        assert_eq!((&json["decision"], &json["reason"]), (&json!("block"), &json!("b")));
        assert!(!reply.render(Kind::UserPromptSubmit).unwrap().contains("block"));
        assert_eq!(Reply::default().render(Kind::Stop), None);
    }

    #[test]
    fn long_texts_end_at_a_line() {
        let text = "🦀 line\n".repeat(5000);
        let cut = cut(&text);
        assert!(cut.encode_utf16().count() <= LONGEST);
        assert!(cut.ends_with("line"));
    }
}
