//! What a tool call was aimed at. Two calls with the same tool and target are tries of the same
//! thing; the text is stored, so it is redacted and short.

use crate::core::command_line;
use crate::core::json::Object;
use crate::core::redaction::Redactor;
use crate::core::text::{Extra, clip, relative};

const LONGEST: usize = 120;
const LONGEST_CONTEXT: usize = 300;
/// So much of a command is read to see what it is about.
const LONGEST_AIM: usize = 2000;

/// `tool target`: the URL's host and path, the file, or the command's first words.
pub fn describe_target(tool: &str, input: &Object, root: &str, redact: &Redactor) -> String {
    let aim = ["url", "file_path", "notebook_path", "command", "path", "query", "subagent_type"]
        .into_iter()
        .find_map(|key| input.word(key).map(|value| (key, redact.head(&value, LONGEST_AIM))));
    let aim = match aim {
        Some(("url", url)) => host_and_path(&url),
        Some(("command", line)) => first_words(&line),
        Some(("file_path" | "notebook_path" | "path", path)) => relative(&path, root),
        Some((_, other)) => other,
        None => String::new(),
    };
    clip(format!("{tool} {aim}").trim_end(), LONGEST)
}

/// What identifies the operation, for `context` in the seed's schema.
pub fn context(input: &Object, root: &str, redact: &Redactor) -> Extra {
    let mut context = Extra::new();
    let mut put = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            let value = redact.line(&value, LONGEST_CONTEXT);
            context.insert(name.to_owned(), value.into());
        }
    };
    let file = input.word("file_path").or_else(|| input.word("notebook_path"));
    put("url", input.word("url"));
    put("file", file.map(|path| relative(&path, root)));
    put("command", input.word("command"));
    put("description", input.word("description"));
    if input.raw("url").is_some() {
        put("operation", input.word("prompt"));
    }
    context
}

fn host_and_path(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let rest = rest.split(['?', '#']).next().unwrap_or(rest);
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let host = host.rsplit('@').next().unwrap_or(host);
    format!("{host}/{path}").trim_end_matches('/').to_owned()
}

/// The program and what it was pointed at: a URL if there is one, else the first three words.
fn first_words(line: &str) -> String {
    let steps = command_line::steps(line);
    let Some(step) = steps.first() else { return clip(line, LONGEST) };
    let program = command_line::program(step);
    let url = step.iter().find(|word| word.contains("://"));
    match url {
        Some(url) => format!("{program} {}", host_and_path(url)),
        None => {
            let words = step.iter().skip(1).take(2).map(String::as_str);
            std::iter::once(program).chain(words).collect::<Vec<_>>().join(" ")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(tool: &str, input: &str) -> String {
        describe_target(tool, &Object::parse(input.as_bytes()).unwrap(), "/p", &Redactor::default())
    }

    #[test]
    fn tries_of_the_same_thing_look_the_same() {
        let a = target(
            "Bash",
            r#"{"command": "curl -sS http://h:9/x -H 'Authorization: Bearer abcdefgh12'"}"#,
        );
        let b = target("Bash", r#"{"command": "cd y && curl --retry 2 http://h:9/x?again=1"}"#);
        assert_eq!(a, "Bash curl h:9/x");
        assert_eq!(a, b);
        assert_eq!(target("Read", r#"{"file_path": "/p/src/a.rs"}"#), "Read src/a.rs");
        assert_eq!(target("WebFetch", r#"{"url": "https://u:pw@h/docs/?q=1"}"#), "WebFetch h/docs");
        assert_eq!(
            target("Bash", r#"{"command": "cargo build --release"}"#),
            "Bash cargo build --release"
        );
        assert_eq!(target("mcp__x", "{}"), "mcp__x");
    }
}
