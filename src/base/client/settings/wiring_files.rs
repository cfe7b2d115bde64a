//! Generates the files that wire us from the table of events, and compares them with what is
//! there: `settings.example.json` for people, `hooks/hooks.json` for the plugin.

use crate::client::settings::handler::{Launch, wired_group};
use crate::core::event::{EventRow, Kind};

#[test]
#[expect(clippy::disallowed_methods, reason = "a test that compares files, and may rewrite them")]
fn wiring_files_are_what_the_table_of_events_says() {
    let root = crate::core::repository::root();
    let update = std::env::var_os("UPDATE_WIRING").is_some();
    for (name, expected) in
        [("settings.example.json", example()), ("hooks/hooks.json", plugin_hooks())]
    {
        let path = root.join(name);
        if update {
            std::fs::write(&path, &expected).unwrap();
        }
        assert_eq!(
            std::fs::read_to_string(&path).unwrap_or_default(),
            expected,
            "{name} is not what the table of events says: UPDATE_WIRING=1 cargo test --lib wiring_files rewrites it"
        );
    }
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
    let launcher = "${CLAUDE_PLUGIN_ROOT}/hooks/hookkeeper.sh";
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
