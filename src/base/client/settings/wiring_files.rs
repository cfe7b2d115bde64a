//! Generates the files that wire us, and compares them with what is there: from the table of
//! events `settings.example.json` for people and `hooks/hooks.json` for the plugin, from our slash
//! commands the plugin's `hooks/commands/`; and the cases whose settings file has every hook of ours.

use serde_json::{Value, json};

use crate::client::settings::handler::{Launch, wired_group};
use crate::client::slash_commands;
use crate::core::event::{EventRow, Kind};

/// Cases of `config_change` that are about a file with every hook.
const WITH_EVERY_HOOK: [&str; 2] = ["a_time_out_that_drops_our_entry", "all_hooks_are_off"];

#[test]
#[expect(clippy::disallowed_methods, reason = "a test that compares files, and may rewrite them")]
fn wiring_files_are_what_the_program_says() {
    let root = crate::core::repository::root();
    let update = std::env::var_os("UPDATE_WIRING").is_some();
    for (name, expected) in wiring_files() {
        let path = root.join(&name);
        if update {
            std::fs::write(&path, &expected).unwrap();
        }
        assert_eq!(
            std::fs::read_to_string(&path).unwrap_or_default(),
            expected,
            "{name} is not what the program says: UPDATE_WIRING=1 cargo test --lib wiring_files rewrites it"
        );
    }
    let commands = std::fs::read_dir(root.join("hooks/commands")).unwrap().count();
    assert_eq!(commands, slash_commands::ALL.len(), "a file in hooks/commands is nobody's");
}

/// Each with what has to be in it.
fn wiring_files() -> Vec<(String, String)> {
    let mut files = vec![
        ("settings.example.json".to_owned(), example()),
        ("hooks/hooks.json".to_owned(), plugin_hooks()),
    ];
    for command in &slash_commands::ALL {
        files.push((format!("hooks/commands/{}", command.file_name()), command.text.to_owned()));
    }
    files
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test that compares files, and may rewrite them")]
fn wiring_files_of_cases_have_every_hook() {
    let cases = crate::core::repository::root().join("tests/cases/config_change");
    let update = std::env::var_os("UPDATE_WIRING").is_some();
    for case in WITH_EVERY_HOOK {
        let path = cases.join(case).join("before.txt");
        let text = std::fs::read_to_string(&path).unwrap();
        let (before, settings, after) = settings_in(&text);
        let expected = format!("{before}{}{after}", with_every_hook(settings));
        if update {
            std::fs::write(&path, &expected).unwrap();
            continue;
        }
        assert_eq!(
            text, expected,
            "{case} lacks a hook: UPDATE_WIRING=1 cargo test --lib wiring_files enters it, \
             UPDATE_CASES=1 cargo test --test cases -- config_change/ writes what follows"
        );
    }
}

/// The settings file in what a case begins with, and what stands around it there.
fn settings_in(text: &str) -> (&str, &str, &str) {
    const HEAD: &str = "-- .claude/settings.local.json --\n";
    let begin = text.find(HEAD).unwrap() + HEAD.len();
    let rest = text.get(begin..).unwrap();
    let end = rest.find("\n-- ").map_or(rest.len(), |at| at + 1);
    (text.get(..begin).unwrap(), rest.get(..end).unwrap(), rest.get(end..).unwrap())
}

fn with_every_hook(text: &str) -> String {
    let mut settings: Value = serde_json::from_str(text).unwrap();
    let hooks = settings.pointer_mut("/hooks").unwrap().as_object_mut().unwrap();
    for kind in Kind::ALL {
        let group =
            json!({"hooks": [{"type": "command", "command": "hookkeeper", "args": ["hook"]}]});
        hooks.entry(kind.row().wire).or_insert_with(|| json!([group]));
    }
    // Indented by one blank, as these cases are.
    let mut text = String::new();
    for line in serde_json::to_string_pretty(&settings).unwrap().lines() {
        let inner = line.trim_start();
        text.push_str(&" ".repeat((line.len() - inner.len()) / 2));
        text.push_str(inner);
        text.push('\n');
    }
    text
}

fn example() -> String {
    // What `install --scope project` writes: whoever copies it may share it.
    let starts = |row: &EventRow| {
        let group = wired_group(row, &Launch::Guarded);
        let command = group.pointer("/hooks/0/command").unwrap();
        format!("\"command\": {command}")
    };
    format!("{{\n{}\n}}\n", hooks(&Kind::ALL, starts))
}

fn plugin_hooks() -> String {
    let launcher = "${CLAUDE_PLUGIN_ROOT}/hookkeeper.sh";
    let description = "HookKeeper keeps state: agents, sessions, errors, compaction";
    let starts = |row: &EventRow| format!(r#""command": "{launcher}", "args": ["{}"]"#, row.wire);
    let handled: Vec<Kind> = Kind::ALL.into_iter().filter(|kind| kind.row().in_plugin).collect();
    let hooks = hooks(&handled, starts);
    format!("{{\n  \"description\": \"{description}\",\n{hooks}\n}}\n")
}

fn hooks(kinds: &[Kind], starts: impl Fn(&EventRow) -> String) -> String {
    let event = |kind: &Kind| {
        let row = kind.row();
        let handler = format!(
            r#""hooks": [{{ "type": "command", {}, "timeout": {} }}]"#,
            starts(row),
            row.timeout
        );
        let group = match row.matcher {
            None => format!("{{ {handler} }}"),
            Some(matcher) => {
                format!("{{\n        \"matcher\": \"{matcher}\",\n        {handler}\n      }}")
            }
        };
        format!("    \"{}\": [\n      {group}\n    ]", row.wire)
    };
    let events: Vec<String> = kinds.iter().map(event).collect();
    format!("  \"hooks\": {{\n{}\n  }}", events.join(",\n"))
}
