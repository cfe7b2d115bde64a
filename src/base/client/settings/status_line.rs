//! The `statusLine` of a settings file: there is room for one, so another one always stays.

use serde_json::{Value, json};

use crate::client::settings::handler::{self, Launch};
use crate::client::settings::layout::Layout;
use crate::core::gate::shell_word;
use crate::core::json::tree::{self, Malformed, Member, Node};

const KEY: &str = "statusLine";
/// How often the client asks again while nothing happens, in seconds: ages and retries go on.
const REFRESH: u64 = 5;

/// Whose status line a settings file has.
#[derive(Debug, PartialEq)]
pub enum Owner {
    Nobody,
    Us,
    /// With its command, as far as it has one.
    Other(String),
}

/// Whose it is. Of two of them the last one counts, as it does for the client.
pub fn owner(text: &str) -> Owner {
    let Ok(root) = tree::parse(text) else { return Owner::Nobody };
    match root.get(KEY) {
        None => Owner::Nobody,
        Some(value) if value.is_null() => Owner::Nobody,
        Some(value) if handler::is_our_status_line(value) => Owner::Us,
        Some(value) => {
            let command = value.get("command").and_then(Node::text);
            Owner::Other(command.unwrap_or_default().to_owned())
        }
    }
}

/// The text with our status line. Another one stays, and so does what a user tuned in ours, except
/// the place of the program.
pub fn wire(text: &str, launch: &Launch) -> Result<String, Malformed> {
    let root = tree::parse(text)?;
    let layout = Layout::detect(text, &root);
    let Some(value) = root.get(KEY) else {
        return Ok(layout.insert(text, &root, Some(KEY), &entry(launch)));
    };
    if value.is_null() {
        return Ok(layout.replace(text, value, &entry(launch).to_string()));
    }
    let ours = Some(value).filter(|value| handler::is_our_status_line(value));
    let words = ours.and_then(handler::program_and_args).unwrap_or_default();
    let moved = words.first().is_some_and(|program| program != launch.program());
    match value.get("command").filter(|_| moved && !handler::is_exec(value)) {
        Some(command) => {
            let args = words.get(1..).unwrap_or_default();
            let new = Value::from(command_line(launch, args.iter().map(String::as_str)));
            Ok(layout.replace(text, command, &new.to_string()))
        }
        None => Ok(text.to_owned()),
    }
}

pub fn is_ours(member: &Member) -> bool {
    member.key == KEY && handler::is_our_status_line(&member.value)
}

fn entry(launch: &Launch) -> Value {
    let command = command_line(launch, ["statusline"].into_iter());
    json!({"type": "command", "command": command, "refreshInterval": REFRESH})
}

/// The client gives it to a shell.
fn command_line<'a>(launch: &'a Launch, args: impl Iterator<Item = &'a str>) -> String {
    let words = std::iter::once(launch.program()).chain(args);
    let words: Vec<String> = words
        .map(|word| if word.starts_with('-') { word.to_owned() } else { shell_word(word) })
        .collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::settings::edit;

    fn wired(text: &str) -> String {
        wire(text, &Launch::Exec("/a b/hookkeeper".into())).unwrap()
    }

    #[test]
    fn it_goes_in_once_and_out_again() {
        let before = "{\n  \"model\": \"opus\"\n}\n";
        let after = wired(before);
        let want = "{\n  \"model\": \"opus\",\n  \"statusLine\": {\n    \"type\": \"command\",\n    \"command\": \"'/a b/hookkeeper' statusline\",\n    \"refreshInterval\": 5\n  }\n}\n";
        assert_eq!(after, want);
        assert_eq!((owner(&after), wired(&after)), (Owner::Us, after.clone()));
        assert_eq!(edit::unwire(&after, None).unwrap(), before);
    }

    #[test]
    fn another_one_stays_and_so_does_what_was_tuned() {
        for other in [
            r#"{"statusLine": {"type": "command", "command": "starship prompt"}}"#,
            r#"{"statusLine": {"type": "command", "command": "hookkeeper statusline | lolcat"}}"#,
            r#"{"statusLine": 3}"#,
        ] {
            assert_eq!(wired(other), other);
            assert!(matches!(owner(other), Owner::Other(_)), "{other}");
        }
        let tuned = |program: &str| {
            format!(
                r#"{{"statusLine": {{"command": "{program} statusline --color", "padding": 0}}}}"#
            )
        };
        assert_eq!(wired(&tuned("/old/hookkeeper")), tuned("'/a b/hookkeeper'"));
        let null = r#"{"statusLine": null}"#;
        assert_eq!((owner(null), owner(&wired(null))), (Owner::Nobody, Owner::Us));
    }
}
