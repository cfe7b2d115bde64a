//! A settings file of the client, read for the checks: its hooks, its switches, its plugins, and
//! the line of each.

use std::path::PathBuf;

use crate::client::settings::faults::{self, Fault};
use crate::client::settings::scope::Scope;
use crate::client::settings::{edit, handler};
use crate::core::json::tree::{self, Malformed, Member, Node, line_and_column};

pub struct ExaminedSettings {
    pub scope: Scope,
    pub path: PathBuf,
    /// The path for people.
    pub shown: String,
    pub content: SettingsContent,
}

pub enum SettingsContent {
    /// There is no such file.
    None,
    Unreadable(String),
    Malformed(Malformed),
    Parsed(ParsedSettings),
}

#[derive(Default)]
pub struct ParsedSettings {
    pub hooks: Vec<HookEntry>,
    /// Entries that the client cannot use.
    pub bad_entries: Vec<Fault>,
    /// The line of `disableAllHooks: true`.
    pub hooks_off: Option<usize>,
    /// The line of `HOOKKEEPER_OFF: "1"` under `env`.
    pub keeper_off: Option<usize>,
    /// Plugins of ours, their lines, and whether they are enabled.
    pub plugins: Vec<(String, usize, bool)>,
}

/// One handler.
pub struct HookEntry {
    pub event: String,
    pub matcher: Option<String>,
    pub line: usize,
    pub ours: bool,
    /// Started without a shell.
    pub exec: bool,
    /// Silent where the program is missing.
    pub guarded: bool,
    /// `command` as it is written; empty for handlers that run no program.
    pub command: String,
    /// Program and arguments.
    pub words: Vec<String>,
    pub is_async: bool,
    /// The time-out and its line.
    pub timeout: Option<(f64, usize)>,
    /// The client passes over it: something is wrong in it, in its group or in the file.
    pub dropped: bool,
    /// Why its program cannot be started. Whoever gathers the facts looks.
    pub trouble: Option<String>,
}

impl HookEntry {
    /// `… || true`: whatever happens, the hook succeeds.
    pub fn passes_over_failure(&self) -> bool {
        let last = self.command.rsplit("||").next().filter(|_| self.command.contains("||"));
        !self.exec && last.is_some_and(|last| matches!(last.trim(), "true" | ":" | "exit 0"))
    }

    /// The first path in quotes that begins with `~/`, which no shell expands there.
    pub fn quoted_home(&self) -> Option<&str> {
        let quoted = ["\"~/", "'~/"].iter().filter_map(|open| self.command.find(open));
        let at = { quoted }.min().filter(|_| !self.exec)?;
        let rest = self.command.get(at + 1..)?;
        rest.split(['"', '\'']).next()
    }
}

impl ExaminedSettings {
    pub fn parsed(&self) -> Option<&ParsedSettings> {
        if let SettingsContent::Parsed(parsed) = &self.content { Some(parsed) } else { None }
    }

    pub fn hooks(&self) -> &[HookEntry] {
        self.parsed().map_or(&[], |parsed| &parsed.hooks)
    }

    pub fn wires_us(&self) -> bool {
        self.hooks().iter().any(|hook| hook.ours)
    }

    /// `.claude/settings.json:12`
    pub fn with_line(&self, line: usize) -> String {
        format!("{}:{line}", self.shown)
    }
}

pub fn read(bytes: &[u8]) -> SettingsContent {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return SettingsContent::Unreadable("it is not UTF-8".into());
    };
    if edit::is_blank(text) {
        return SettingsContent::Parsed(ParsedSettings::default());
    }
    let shape = edit::check_shape(text);
    match (tree::parse(text), shape) {
        // What is wrong below an event need not cost the whole file.
        (Ok(root), Err(_)) if has_hooks_object(&root) => {
            SettingsContent::Parsed(parse(text, &root))
        }
        // What cannot be wired for its shape is refused here with the same words.
        (Err(malformed), _) | (_, Err(malformed)) => SettingsContent::Malformed(malformed),
        (Ok(root), Ok(())) => SettingsContent::Parsed(parse(text, &root)),
    }
}

fn has_hooks_object(root: &Node) -> bool {
    let hooks = root.members().iter().filter(|member| member.key == "hooks");
    root.is_object() && { hooks }.all(|hooks| hooks.value.is_object() || hooks.value.is_null())
}

fn parse(text: &str, root: &Node) -> ParsedSettings {
    let line = |node: &Node| line_and_column(text, node.span.start).0;
    let mut parsed = ParsedSettings::default();
    let switch = root.get("disableAllHooks").filter(|node| node.is_true());
    parsed.hooks_off = switch.map(line);
    let off = root.get("env").and_then(|env| env.get("HOOKKEEPER_OFF"));
    parsed.keeper_off = off.filter(|off| off.text() == Some("1")).map(line);
    let plugins = root.get("enabledPlugins").map_or(&[][..], Node::members);
    let ours = plugins.iter().filter(|plugin| edit::is_our_plugin(&plugin.key));
    let plugin =
        |plugin: &Member| (plugin.key.clone(), line(&plugin.value), plugin.value.is_true());
    parsed.plugins = ours.map(plugin).collect();
    parsed.bad_entries = faults::faults(text, root);
    // Of two equal keys the client sees the last one.
    for event in root.get("hooks").map_or(&[][..], Node::members) {
        for group in event.value.elements() {
            let handlers = group.get("hooks").map_or(&[][..], Node::elements);
            let matcher = group.get("matcher").and_then(Node::text);
            for node in handlers.iter().filter(|node| node.is_object()) {
                let mut hook = hook(&event.key, matcher, node, &line);
                hook.dropped =
                    parsed.bad_entries.iter().any(|fault| fault.voids_file || fault.drops(node));
                parsed.hooks.push(hook);
            }
        }
    }
    parsed
}

fn hook(
    event: &str,
    matcher: Option<&str>,
    node: &Node,
    line: &dyn Fn(&Node) -> usize,
) -> HookEntry {
    let words = handler::program_and_args(node).unwrap_or_default();
    let runs = !words.is_empty();
    let command = node.get("command").and_then(Node::text).filter(|_| runs).unwrap_or_default();
    let timeout = node.get("timeout");
    HookEntry {
        event: event.to_owned(),
        matcher: matcher.map(str::to_owned),
        line: line(node),
        ours: handler::is_ours(node),
        exec: handler::is_exec(node),
        guarded: handler::is_guarded(node, event),
        command: command.to_owned(),
        words,
        is_async: node.get("async").is_some_and(Node::is_true),
        timeout: timeout.and_then(|node| Some((node.number()?, line(node)))),
        dropped: false,
        trouble: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hooks_have_their_lines() {
        let text = "{\"disableAllHooks\": true,\n \"enabledPlugins\": {\"hookkeeper@x\": true, \"hookkeeper@y\": false},\n\
             \"hooks\": {\"Stop\": [{\"hooks\": [\n{\"type\": \"command\", \"command\": \"hookkeeper hook\",\n \"timeout\": 9000}]}],\n\
             \"WorktreeCreate\": 3, \"PostToolUse\": [{}, {\"hooks\": [7]}]}}";
        let SettingsContent::Parsed(parsed) = read(text.as_bytes()) else {
            panic!("it is well-formed")
        };
        assert_eq!(parsed.hooks_off, Some(1));
        assert_eq!(
            parsed.plugins,
            [("hookkeeper@x".to_owned(), 2, true), ("hookkeeper@y".to_owned(), 2, false)]
        );
        let hook = &parsed.hooks[0];
        assert!(hook.ours && !hook.exec);
        assert_eq!((hook.line, hook.timeout), (4, Some((9000.0, 5))));
        let lines: Vec<usize> = parsed.bad_entries.iter().map(|fault| fault.line).collect();
        assert_eq!(lines, [6, 6, 6]);
    }

    #[test]
    fn what_is_no_settings_file_says_where() {
        let SettingsContent::Malformed(wrong) = read(b"{\n\"a\": 1,\n}") else { panic!("a comma") };
        assert_eq!((wrong.line, wrong.column), (3, 1));
        assert!(matches!(read(b"\xff"), SettingsContent::Unreadable(_)));
        assert!(matches!(read(b" \n"), SettingsContent::Parsed(_)));
    }
}
