//! Our entries into the text of a settings file, and out of it. Each step changes one place and
//! reads the text again, so that no step has to know what another one moved.

use crate::client::settings::flush_hooks;
use crate::client::settings::handler::{
    Launch, PROGRAM, is_compound, is_current, is_flush, is_ours, wired_group,
};
use crate::client::settings::layout::Layout;
use crate::client::settings::matcher::is_equivalent;
use crate::client::settings::status_line;
use crate::core::event::{EventRow, Kind};
use crate::core::json::tree::{self, Malformed, Member, Node, line_and_column};

/// The text with all our events wired. What is wired already stays as it is.
pub fn wire(text: &str, launch: &Launch) -> Result<String, Malformed> {
    let mut text = if is_blank(text) { format!("{text}{{}}\n") } else { text.to_owned() };
    check_shape(&text)?;
    text = remove_entries(
        text,
        &|event, matcher, handler, first| {
            // What sends is wired by itself.
            if is_flush(handler) {
                return false;
            }
            let row = Kind::from_wire(event).map(Kind::row);
            let stays = row.is_some_and(|row| {
                is_equivalent(row.matcher, matcher) && is_current(handler, row, launch)
            });
            !(first && stays)
        },
        None,
    )?;
    for kind in Kind::ALL {
        text = add_group(text, kind.row(), launch)?;
    }
    Ok(text)
}

/// The text without any entry of ours. What becomes empty by that goes too, unless it was there
/// before us: `first` is the text as it was then, if that is known.
pub fn unwire(text: &str, first: Option<&str>) -> Result<String, Malformed> {
    if is_blank(text) {
        return Ok(text.to_owned());
    }
    check_shape(text)?;
    // Entries of ours that were there before are not what somebody else wants to keep.
    let first = first.and_then(|first| unwire(first, None).ok());
    let first = first.and_then(|first| tree::parse(&first).ok());
    let mut text = remove_entries(text.to_owned(), &|_, _, _, _| true, first.as_ref())?;
    loop {
        let root = tree::parse(&text)?;
        let Some(at) = root.members().iter().position(status_line::is_ours) else {
            return Ok(text);
        };
        text = Removable { holder: &root, at }.remove_from(&text);
    }
}

/// The events with an entry that calls us in the middle of something longer.
pub fn events_with_compound_commands(text: &str) -> Vec<String> {
    let Ok(root) = tree::parse(text) else { return Vec::new() };
    let calls = |event: &&Member| handlers(&event.value).any(is_compound);
    events(&root).filter(calls).map(|event| event.key.clone()).collect()
}

/// Plugins of ours that a settings file enables.
pub fn enabled_plugins(text: &str) -> Vec<String> {
    let Ok(root) = tree::parse(text) else { return Vec::new() };
    let plugins = root.get("enabledPlugins").map_or(&[][..], Node::members).iter();
    let ours = plugins.filter(|plugin| is_our_plugin(&plugin.key) && plugin.value.is_true());
    ours.map(|plugin| plugin.key.clone()).collect()
}

/// `hookkeeper@MARKETPLACE`
pub fn is_our_plugin(key: &str) -> bool {
    key.split('@').next() == Some(PROGRAM)
}

/// Whether there is an entry of ours in it.
pub fn is_wired(text: &str) -> bool {
    let any_ours = |root: Node| events(&root).any(|event| handlers(&event.value).any(is_ours));
    tree::parse(text).is_ok_and(any_ours)
}

/// Whether there is anything of ours in it: an entry, or the status line.
pub fn has_ours(text: &str) -> bool {
    let status_line = |root: Node| root.members().iter().any(status_line::is_ours);
    is_wired(text)
        || tree::parse(text).is_ok_and(|root| flush_hooks::is_wired(&root))
        || tree::parse(text).is_ok_and(status_line)
}

/// Nothing but blanks: as good as no file.
pub fn is_blank(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').trim().is_empty()
}

/// The shape that we can work with. `null` is as good as nothing.
pub fn check_shape(text: &str) -> Result<(), Malformed> {
    let root = tree::parse(text)?;
    let ensure = |node: &Node, is_fine: bool, what: &str| {
        let (line, column) = line_and_column(text, node.span.start);
        if is_fine { Ok(()) } else { Err(Malformed { line, column, what: what.to_owned() }) }
    };
    ensure(&root, root.is_object(), "the settings must be a JSON object")?;
    for member in root.members().iter().filter(|member| member.key == "hooks") {
        let value = &member.value;
        ensure(value, value.is_object() || value.is_null(), "`hooks` must be an object")?;
        for event in value.members().iter().filter(|event| Kind::from_wire(&event.key).is_some()) {
            let groups = &event.value;
            let what = format!("`hooks.{}` must be a list", event.key);
            ensure(groups, groups.is_array() || groups.is_null(), &what)?;
        }
    }
    Ok(())
}

/// The events under `hooks`, under every key of that name.
pub fn events(root: &Node) -> impl Iterator<Item = &Member> {
    let hooks = root.members().iter().filter(|member| member.key == "hooks");
    hooks.flat_map(|member| member.value.members())
}

/// All handlers of an event.
pub fn handlers(groups: &Node) -> impl Iterator<Item = &Node> {
    groups.elements().iter().filter_map(|group| group.get("hooks")).flat_map(Node::elements)
}

/// Adds our group for an event, unless there is an entry of ours.
fn add_group(text: String, row: &EventRow, launch: &Launch) -> Result<String, Malformed> {
    let root = tree::parse(&text)?;
    let layout = Layout::detect(&text, &root);
    let (name, group) = (row.wire, wired_group(row, launch));
    let Some(hooks) = root.get("hooks") else {
        let empty = serde_json::json!({});
        let text = layout.insert(&text, &root, Some("hooks"), &empty);
        return add_group(text, row, launch);
    };
    if hooks.is_null() {
        return add_group(layout.replace(&text, hooks, "{}"), row, launch);
    }
    let list = serde_json::json!([group]);
    Ok(match hooks.get(name) {
        None => layout.insert(&text, hooks, Some(name), &list),
        Some(groups) if groups.is_null() => {
            return add_group(layout.replace(&text, groups, "[]"), row, launch);
        }
        Some(groups) if handlers(groups).any(is_ours) => text,
        Some(groups) => layout.insert(&text, groups, None, &group),
    })
}

/// What decides whether a handler of ours goes: event, matcher, the handler, and whether no other
/// one of this event has stayed before it.
type IsRemoved<'a> = &'a dyn Fn(&str, Option<&str>, &Node, bool) -> bool;

fn remove_entries(
    mut text: String,
    is_removed: IsRemoved,
    first: Option<&Node>,
) -> Result<String, Malformed> {
    loop {
        let root = tree::parse(&text)?;
        match find_removable(&root, is_removed, first) {
            Some(found) => text = found.remove_from(&text),
            None => return Ok(text),
        }
    }
}

/// Something to take out of what holds it.
pub struct Removable<'a> {
    pub holder: &'a Node,
    pub at: usize,
}

/// The next thing to remove: as much as holds nothing but entries that go.
fn find_removable<'a>(
    root: &'a Node,
    is_removed: IsRemoved,
    first: Option<&Node>,
) -> Option<Removable<'a>> {
    let before = first.and_then(|first| first.get("hooks"));
    for (h, hooks) in root.members().iter().enumerate().filter(|(_, m)| m.key == "hooks") {
        for (e, event) in hooks.value.members().iter().enumerate() {
            let mut stayed = false;
            for (g, group) in event.value.elements().iter().enumerate() {
                let matcher = group.get("matcher").and_then(Node::text);
                let Some(handlers) = group.get("hooks") else { continue };
                for (n, handler) in handlers.elements().iter().enumerate() {
                    if !is_ours(handler) && !is_flush(handler) {
                        continue;
                    }
                    if !is_removed(&event.key, matcher, handler, !stayed) {
                        stayed |= is_ours(handler);
                        continue;
                    }
                    let alone = |holder: &Node| holder.elements().len() == 1;
                    return Some(if !alone(handlers) {
                        Removable { holder: handlers, at: n }
                    } else if !alone(&event.value) || has_key(before, &event.key) {
                        Removable { holder: &event.value, at: g }
                    } else if hooks.value.members().len() > 1 || before.is_some() {
                        Removable { holder: &hooks.value, at: e }
                    } else {
                        Removable { holder: root, at: h }
                    });
                }
            }
        }
    }
    None
}

fn has_key(node: Option<&Node>, key: &str) -> bool {
    node.is_some_and(|node| node.get(key).is_some())
}

impl Removable<'_> {
    /// With the comma before it, or, if it is the first, with the one after it.
    pub fn remove_from(&self, text: &str) -> String {
        let spans = item_spans(self.holder);
        let own = spans.get(self.at).cloned().unwrap_or_default();
        let before = self.at.checked_sub(1).and_then(|before| spans.get(before));
        let after = spans.get(self.at + 1);
        let gone = match (before, after) {
            (Some(before), _) => before.end..own.end,
            (None, Some(after)) => own.start..after.start,
            (None, None) => self.holder.span.start + 1..self.holder.span.end - 1,
        };
        let keep = |range: Option<&str>| range.unwrap_or_default().to_owned();
        keep(text.get(..gone.start)) + text.get(gone.end..).unwrap_or_default()
    }
}

/// The places of what is in an object or a list.
pub fn item_spans(holder: &Node) -> Vec<std::ops::Range<usize>> {
    let members = holder.members().iter().map(|member| member.span.clone());
    members.chain(holder.elements().iter().map(|element| element.span.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exec() -> Launch {
        Launch::Exec(PROGRAM.into())
    }

    /// Round trips over many files are in `tests/it/settings.rs`; here is what can be seen at a glance.
    #[test]
    fn entries_go_in_and_out() {
        let before = "{\n    \"model\": \"opus\",\n    \"hooks\": {\n        \"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"say done\"}]}]\n    }\n}";
        let after = wire(before, &exec()).unwrap();
        assert!(after.contains(
            "\"command\": \"say done\"}]}, {\"hooks\": [{\"type\": \"command\", \"command\": \"hookkeeper\", \"args\": [\"hook\"], \"timeout\": 10}]}]"
        ));
        assert!(after.contains("\n        \"SessionEnd\": [\n            {\n"));
        assert_eq!(wire(&after, &exec()).unwrap(), after);
        assert_eq!(unwire(&after, None).unwrap(), before);
        assert!(is_wired(&after) && !is_wired(before));
    }

    #[test]
    fn old_entries_are_replaced_and_tuned_ones_stay() {
        let old = r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "/old/hookkeeper hook", "timeout": 10000}]}],
            "WorktreeCreate": [{"hooks": [{"type": "command", "command": "hookkeeper", "args": ["hook"]}]}],
            "SessionStart": [{"hooks": [{"type": "command", "command": "hookkeeper", "args": ["hook"], "timeout": 30, "mine": 1}]}]}}"#;
        let new = wire(old, &exec()).unwrap();
        assert!(!new.contains("/old/") && !new.contains("WorktreeCreate"));
        assert!(new.contains("\"timeout\": 30, \"mine\": 1"));
        assert_eq!(new.matches("\"hook\"").count(), Kind::COUNT);
        assert_eq!(unwire(&new, None).unwrap(), "{}");
    }

    #[test]
    fn a_shared_file_gets_the_guarded_form_in_the_place_of_another() {
        let bare = wire("{}", &exec()).unwrap();
        let guarded = wire(&bare, &Launch::Guarded).unwrap();
        assert_eq!(guarded, wire("{}", &Launch::Guarded).unwrap());
        assert_eq!(guarded.matches("command -v hookkeeper").count(), Kind::COUNT);
        assert_eq!(guarded.matches("systemMessage").count(), 1);
        assert_eq!(wire(&guarded, &exec()).unwrap(), bare);
        assert_eq!(unwire(&guarded, None).unwrap(), "{}");
    }

    #[test]
    fn our_status_line_goes_and_another_one_stays() {
        let line = |command: &str| {
            format!(
                "{{\"model\": \"opus\", \"statusLine\": {{\"type\": \"command\", \"command\": \"{command}\"}}}}"
            )
        };
        for ours in ["hookkeeper statusline", "/a/hookkeeper statusline --plain"] {
            assert!(has_ours(&line(ours)));
            assert_eq!(unwire(&line(ours), None).unwrap(), "{\"model\": \"opus\"}");
        }
        for other in ["starship", "hookkeeper statusline | lolcat", "echo hookkeeper statusline"] {
            assert!(!has_ours(&line(other)));
            assert_eq!(unwire(&line(other), None).unwrap(), line(other));
        }
    }

    #[test]
    fn shapes_that_are_not_settings_are_refused() {
        for (text, what) in [
            ("[]", "line 1, column 1: the settings must be a JSON object"),
            ("{\"hooks\": []}", "line 1, column 11: `hooks` must be an object"),
            ("{\"hooks\": {\n\"Stop\": {}}}", "line 2, column 9: `hooks.Stop` must be a list"),
        ] {
            assert_eq!(wire(text, &exec()).unwrap_err().to_string(), what);
        }
    }
}
