//! The house rules that the crates cannot hold: imports between the rooms of a crate go one way, what
//! is shown goes through the gate, and no file is too long.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The rooms from the ground up: each may use those before it. `commands` are the commands of all
/// features, wherever they are.
const ROOMS: [&str; 26] = [
    "core",
    "state",
    "process",
    "git",
    "client",
    "store",
    "execute",
    "turn",
    "errors",
    "agents",
    "session",
    "compaction",
    "branch",
    "loops",
    "handoff",
    "hooks",
    "hook_path",
    "history",
    "export",
    "validate",
    "doctor",
    "report",
    "console",
    "view",
    "commands",
    "cli",
];

/// The rooms in the crate of the commands; all else in it are commands of features.
const COMMAND_ROOMS: [&str; 8] =
    ["cli", "console", "doctor", "export", "history", "report", "validate", "view"];

#[test]
fn imports_go_one_way() {
    let mut wrong = Vec::new();
    for file in sources() {
        let Some(own) = file.room() else { continue };
        let at = position(&own);
        for path in crate_paths(&file.text) {
            let Some(other) = room(&path) else { continue };
            if position(&other) > at {
                wrong.push(format!("{} ({own}) uses {} ({other})", file.path, path.join("::")));
            }
        }
    }
    assert!(wrong.is_empty(), "a room uses one above it:\n{}", wrong.join("\n"));
}

/// `commands` is one room above; inside it the features must not lean on each other in a circle either.
#[test]
fn commands_of_features_need_each_other_one_way() {
    let mut needs: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in sources().iter().filter(|file| file.room().as_deref() == Some("commands")) {
        // `lib.rs` and `mod.rs` only name the features.
        let Some(own) = file.module.get(1).cloned() else { continue };
        let paths = crate_paths(&file.text);
        let others = paths.iter().filter_map(|path| feature(path)).filter(|it| *it != own);
        let others: Vec<String> = others.collect();
        needs.entry(own).or_default().extend(others);
    }
    assert!(needs["loops"].contains("branch"), "{needs:?}");
    // Whoever needs nobody is taken away, until nobody is left: or a circle is.
    while let Some(free) = needs.iter().find(|(_, of)| of.is_empty()).map(|(it, _)| it.clone()) {
        needs.remove(&free);
        needs.values_mut().for_each(|of| {
            of.remove(&free);
        });
    }
    assert!(needs.is_empty(), "these commands need each other in a circle: {needs:?}");
}

#[test]
fn the_map_has_every_room_and_no_file_is_too_long() {
    let map = fs::read_to_string(here("ARCHITECTURE.md")).unwrap();
    assert!(map.split_whitespace().count() <= 1500, "ARCHITECTURE.md is one page");
    assert!(map.lines().all(|line| line.chars().count() <= 120), "120 columns at most");
    let folders: BTreeSet<String> = sources().iter().filter_map(Source::room).collect();
    for name in ROOMS.iter().filter(|name| **name != "commands") {
        assert!(folders.contains(*name), "no file is in {name}");
        assert!(map.contains(&format!("`{name}/`")), "ARCHITECTURE.md has no `{name}/`");
    }
    let long: Vec<String> = sources()
        .iter()
        .filter(|file| file.lines > 400)
        .map(|file| format!("{}: {} lines", file.path, file.lines))
        .collect();
    assert!(long.is_empty(), "400 lines at most: {}", long.join(", "));
}

/// The linker puts what hooks run side by side, by the names of crates.
#[test]
fn the_order_of_functions_names_every_crate_of_the_hooks() {
    let order = fs::read_to_string(here("src/link-order.ld")).unwrap();
    let manifest = fs::read_to_string(here("src/hooks/Cargo.toml")).unwrap();
    let dependencies = manifest.split("[dependencies]").nth(1).unwrap();
    let dependencies = dependencies.split("\n[").next().unwrap();
    let mut crates = vec!["hookkeeper_hooks".to_owned()];
    for line in dependencies.lines() {
        let name = line.split('.').next().unwrap();
        // Only SessionStart looks at executions, at one small file.
        if name.starts_with("hookkeeper-") && name != "hookkeeper-execute" {
            crates.push(name.replace('-', "_"));
        }
    }
    assert_eq!(crates.len(), 5, "{crates:?}");
    for name in crates {
        let pattern = format!("*(.text*._ZN{}{name}*)", name.len());
        assert!(order.contains(&pattern), "src/link-order.ld lacks {pattern}");
    }
}

/// What is shown goes through `core/gate`: no other place knows escape sequences, and a value that is
/// named in a suggested command is a shell word (`{word}`, `{id_word}`).
#[test]
fn words_go_through_the_gate() {
    let mut wrong = Vec::new();
    for source in sources() {
        let gate = source.path.starts_with("src/base/core/gate/")
            || source.path == "src/base/core/reply.rs";
        if source.text.contains("x1b") && !gate {
            wrong.push(format!("{}: an escape sequence", source.path));
        }
        for command in source.text.split("`hookkeeper ").skip(1) {
            let command = command.split(['`', '\n']).next().unwrap();
            let values = command.split('{').skip(1).filter_map(|rest| rest.split('}').next());
            let named = values.filter(|name| !name.is_empty() && *name != "first");
            let raw = named.filter(|name| !name.ends_with("word"));
            wrong
                .extend(raw.map(|name| format!("{}: `hookkeeper {command}`: {name}", source.path)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

struct Source {
    path: String,
    /// `base`, `session`, `live`: the crate first
    module: Vec<String>,
    lines: usize,
    /// Without comments, and without unit tests: they may look at everything.
    text: String,
}

impl Source {
    /// `None` for what stands above all rooms.
    fn room(&self) -> Option<String> {
        let part = |at: usize| self.module.get(at).map_or("", String::as_str);
        let room = match (part(0), part(1)) {
            (_, "lib") => return None,
            ("loops", "handoff") => "handoff",
            ("hooks", "hook_path") => "hook_path",
            ("store" | "execute" | "loops" | "hooks", _) => part(0),
            ("base" | "records", room) => room,
            ("commands", room) if COMMAND_ROOMS.contains(&room) => match self.module.len() {
                2 => room,
                _ if self.module.iter().skip(2).any(|it| it == "commands") => "commands",
                _ => room,
            },
            ("commands", _) => "commands",
            _ => return None,
        };
        Some(room.to_owned())
    }
}

fn sources() -> Vec<Source> {
    let root = here("src");
    let mut files = Vec::new();
    collect(&root, &mut files);
    let source = |path: PathBuf| {
        let name = path.strip_prefix(&root).unwrap().with_extension("");
        let mut module: Vec<String> =
            name.iter().map(|part| part.to_str().unwrap().to_owned()).collect();
        module.retain(|part| part != "mod");
        let whole = fs::read_to_string(&path).unwrap();
        let code = whole.lines().filter(|line| !line.trim_start().starts_with("//"));
        let code = code.collect::<Vec<_>>().join("\n");
        let end = code.find("#[cfg(test)]\nmod tests").unwrap_or(code.len());
        let path = path.strip_prefix(here("")).unwrap().display().to_string();
        Source { path, module, lines: whole.lines().count(), text: code[..end].to_owned() }
    };
    files.into_iter().map(source).collect()
}

fn collect(dir: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|end| end == "rs") {
            files.push(path);
        }
    }
}

/// The room that a path into the crate leads to; `None` for what stands above all rooms.
fn room(path: &[String]) -> Option<String> {
    if path.iter().any(|part| part == "commands") {
        return Some("commands".into());
    }
    path.first().filter(|first| ROOMS.contains(&first.as_str())).cloned()
}

/// Whose commands a path in the crate of the commands leads to: `commands::agents::list`,
/// `history::commands::log`.
fn feature(path: &[String]) -> Option<String> {
    let at = path.iter().position(|part| part == "commands")?;
    path.get(if at == 0 { 1 } else { 0 }).cloned()
}

fn position(room: &str) -> usize {
    ROOMS.iter().position(|name| *name == room).unwrap()
}

/// All paths that begin with `crate::`, groups in braces taken apart.
fn crate_paths(text: &str) -> Vec<Vec<String>> {
    let mut paths = Vec::new();
    for at in words(text, "crate::") {
        let rest = &text[at + "crate::".len()..];
        expand(rest, &mut Vec::new(), &mut paths);
    }
    paths
}

fn expand(text: &str, above: &mut Vec<String>, paths: &mut Vec<Vec<String>>) {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let depth = above.len();
    if !name.is_empty() {
        above.push(name.to_owned());
    }
    match rest.strip_prefix("::") {
        Some(below) if below.starts_with('{') => {
            for part in group(below) {
                expand(part.trim(), above, paths);
            }
        }
        Some(below) if !below.starts_with('<') => expand(below, above, paths),
        _ => paths.push(above.clone()),
    }
    above.truncate(depth);
}

/// The parts of `{a, b::{c, d}}`.
fn group(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut from) = (Vec::new(), 0, 1);
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if (c == ',' && depth == 1) || depth == 0 {
            parts.push(&text[from..at]);
            from = at + 1;
        }
        if depth == 0 {
            break;
        }
    }
    parts.retain(|part| !part.trim().is_empty());
    parts
}

/// Where a word stands by itself.
fn words<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    text.match_indices(word).map(|(at, _)| at).filter(|at| {
        let before = text[..*at].chars().next_back();
        before.is_none_or(|c| !c.is_alphanumeric() && c != '_' && c != ':')
    })
}

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

#[test]
fn paths_are_taken_apart() {
    let text = "use crate::a::{b, c::{self, d}};\nfn f() { crate::e::g(); $crate::x::y }";
    let mut found = BTreeMap::new();
    for path in crate_paths(text) {
        *found.entry(path.join("::")).or_insert(0) += 1;
    }
    let found: Vec<&str> = found.keys().map(String::as_str).collect();
    assert_eq!(found, ["a::b", "a::c::d", "a::c::self", "e::g", "x::y"]);
}
