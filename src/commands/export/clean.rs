//! Names and ids that somebody else chose (agents, tools, prompts) are stored as they are. What leaves
//! the machine has no secret in them either.

use crate::core::journal::Entry;
use crate::core::redaction::Redactor;

/// A line as it may go out.
pub fn without_secrets(mut entry: Entry) -> Entry {
    let names = [
        &mut entry.what,
        &mut entry.target,
        &mut entry.agent,
        &mut entry.prompt_id,
        &mut entry.call,
    ];
    for text in names.into_iter().flatten() {
        *text = name(text);
    }
    entry
}

/// A name, without what looks like a secret.
pub fn name(text: &str) -> String {
    Redactor::default().text(text)
}

/// A value that goes out under a key; the key may say that it is a secret.
pub fn value(key: &str, text: &str) -> String {
    Redactor::default().field(key, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::journal::EntryKind;

    #[test]
    fn ids_stay_and_secrets_go() {
        let id = "0f3e8a2c-1111-4222-8333-444455556666";
        let secret = format!("sk-ant-{}-{}", "api03", "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5");
        let line = Entry::new(EntryKind::AgentStart).what(&secret).of_agent(id.to_owned());
        let line = Entry { call: Some("toolu_b6b24ef400800".into()), ..line };
        let line = without_secrets(line);
        assert_eq!(line.agent.as_deref(), Some(id));
        assert_eq!(line.call.as_deref(), Some("toolu_b6b24ef400800"));
        assert!(!line.what.unwrap().contains("aB3dE5"));
        assert_eq!(value("token", "plain"), "[redacted]");
        assert_eq!(value("team", "till"), "till");
    }
}
