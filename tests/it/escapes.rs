//! Nothing that stands in a document or a payload can move a cursor, hide, look like our own line, or
//! run when a suggested command is copied: every hook and every command, over state that is full of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::support::execution::{Plan, TWO};
use crate::support::planting::{POISON, Reach, complete, fields, instance, plant};
use crate::support::{Run, Scratch, books, event, good, recorded_payloads, tree};

const PLANTED: &str = "HookKeeper: planted";
/// A folder that somebody else named.
const FOLDER: &str = "x$(touch pwned)`touch pwned`' y";
/// These show a text of several lines as it stands; its lines are its own.
const SHOW_TEXTS: [&str; 4] = ["branch plan", "backup show", "backup diff", "backup restore"];

/// What is looked at with every field alone.
const READ: [&str; 5] = ["status", "agents", "branch show", "iterative status auth", "loop status"];

/// A project in which everything is going on, and what there is to plant in.
struct World {
    plan: Plan,
    /// Name, path below `.claude`, format, schema.
    rows: Vec<(String, String, String, Value)>,
    fields: BTreeSet<String>,
    fixed: BTreeSet<String>,
    clean: BTreeMap<String, Vec<u8>>,
    planted: BTreeMap<String, Vec<u8>>,
    /// What the outputs told somebody to run.
    suggested: BTreeSet<String>,
    wrong: BTreeSet<String>,
}

impl World {
    fn new(start: &[&str]) -> Self {
        // Thousands of runs that are forgotten at once: no disk need see them.
        let memory = Path::new("/dev/shm");
        let dir = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let plan = Plan::in_home(Scratch::below(&dir), "plans/shop", &TWO);
        let scratch = &plan.scratch;
        let session = books::session();
        books::play(scratch, "resume-and-compact", "");
        books::play(scratch, "implement-login", "SessionEnd");
        let failure = json!({"tool_name": "Bash", "tool_use_id": "t1", "tool_input": {"command": "node a.js"},
            "error": "Exit code 1\nsrc/a.js:3\nSyntaxError: Unexpected token"});
        scratch.hook(&event(&session, "PostToolUseFailure", failure));
        scratch.hook(&event(
            &session,
            "SubagentStart",
            json!({"agent_id": "a1", "agent_type": "Explore"}),
        ));
        scratch.hook(&event(&session, "PreCompact", json!({"trigger": "auto"})));
        plan.init(&[]);
        plan.good("start", &["L1-001"]);
        // Another session's: one drives only one loop.
        scratch.hook(&event("other", "SessionStart", json!({"source": "startup"})));
        good(scratch.run(
            &[
                "iterative",
                "new",
                "auth",
                "--session",
                "other",
                "--task",
                "Login",
                "--mode",
                "development",
                "--unit",
                "T1: Model | its tests pass | max 3 | files src/user.rs",
                "--unit",
                "T2: Login | needs T1",
            ],
            b"",
        ));
        scratch.hook(&event("other", "SessionEnd", json!({"reason": "other"})));
        if !start.is_empty() {
            let args: Vec<&str> = start.iter().copied().chain(["--session", &session]).collect();
            good(scratch.run(&args, b""));
        }
        let rows: Value =
            serde_json::from_str(&good(scratch.run(&["schema", "--json"], b""))).unwrap();
        let (mut all, mut fixed) = (BTreeSet::new(), BTreeSet::new());
        let rows = rows.as_array().unwrap().iter().map(|row| {
            let text = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
            let schema = match row["schema"].as_str() {
                Some(_) => {
                    serde_json::from_str(&good(scratch.run(&["schema", &text("schema")], b"")))
                        .unwrap()
                }
                None => Value::Null,
            };
            fields(&schema, &mut all, &mut fixed);
            (text("name"), text("path"), text("format"), schema)
        });
        let rows = rows.collect();
        let mut world = Self {
            plan,
            rows,
            fields: all,
            fixed,
            clean: BTreeMap::new(),
            planted: BTreeMap::new(),
            suggested: BTreeSet::new(),
            wrong: BTreeSet::new(),
        };
        world.clean = world.files();
        world
    }

    fn claude(&self) -> PathBuf {
        self.plan.scratch.root().join(".claude")
    }

    fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let mut files = tree(&self.claude());
        files.insert("TASKS".into(), fs::read(self.plan.file()).unwrap());
        files
    }

    /// The documents, as they are to be before each run.
    fn restore(&self, files: &BTreeMap<String, Vec<u8>>) {
        fs::remove_dir_all(self.claude()).unwrap();
        for (name, bytes) in files {
            let path = if name == "TASKS" { self.plan.file() } else { self.claude().join(name) };
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        self.plan.scratch.trust();
    }

    /// Where the documents of a row are; one that is not there gets a place.
    fn places(&self, path: &str) -> Vec<String> {
        if path.starts_with("{tasks-path}") {
            return vec!["TASKS".into()];
        }
        let begin = path.split('{').next().unwrap();
        let end = path.rsplit('}').next().unwrap();
        let other = ["synthesis.json"];
        let found = self.clean.keys().filter(|name| {
            let fits = name.starts_with(begin)
                && name.ends_with(end)
                && path.matches('/').count() == name.matches('/').count();
            if path.contains('{') {
                fits && !other.iter().any(|o| name.ends_with(o))
            } else {
                *name == path
            }
        });
        let found: Vec<String> = found.cloned().collect();
        if !found.is_empty() {
            return found;
        }
        let mut name = path.to_owned();
        for (key, value) in [
            ("{session-id}", books::session()),
            ("{agent-id}", "a9".into()),
            ("{branch}", "trunk".into()),
            ("{slug}", "auth".into()),
            ("{time}", "20260129T100000000Z".into()),
            ("{pid}", "1".into()),
        ] {
            name = name.replace(key, &value);
        }
        assert!(!name.contains('{'), "{name}: what is to stand there?");
        vec![name]
    }

    /// Plants in every document.
    fn plant(&mut self, reach: &Reach) {
        let mut files = self.clean.clone();
        for (name, path, format, schema) in &self.rows {
            // A queue of events that cannot be played would only be in the way; wiring says what is ours.
            if matches!(name.as_str(), "spool" | "settings") {
                continue;
            }
            for place in self.places(path) {
                let old = self.clean.get(&place).cloned();
                let text = match format.as_str() {
                    "text" => {
                        let text = String::from_utf8(old.unwrap_or_default()).unwrap();
                        match reach {
                            Reach::Only(_) => text,
                            _ => format!("{text}{}\n- {POISON}\n", text.trim_end()),
                        }
                    }
                    _ => {
                        let new = || instance(schema, schema, 0);
                        let last = old.as_deref().map(|old| match format.as_str() {
                            "lines" => old
                                .split(|b| *b == b'\n')
                                .rfind(|line| !line.is_empty())
                                .unwrap_or(b"{}"),
                            _ => old,
                        });
                        let mut value =
                            last.map_or_else(new, |old| serde_json::from_slice(old).unwrap());
                        complete(
                            &mut value,
                            schema,
                            schema,
                            !matches!(reach, Reach::All),
                            &self.fixed,
                        );
                        plant(&mut value, "", &self.fields, reach);
                        assert!(
                            !matches!(reach, Reach::All) || value.to_string().contains("planted"),
                            "{name}"
                        );
                        format!("{value}\n")
                    }
                };
                files.insert(place, text.into_bytes());
            }
        }
        if !matches!(reach, Reach::Only(_)) {
            for name in ["state.json", "progress.md", "tasks.md"] {
                let bytes = files[&format!("iterative/auth/{name}")].clone();
                files.insert(format!("iterative/{FOLDER}/{name}"), bytes);
            }
        }
        self.planted = files;
    }

    fn run(&mut self, args: &[&str], stdin: &[u8]) {
        self.restore(&self.planted);
        let run = self.plan.scratch.run(args, stdin);
        self.look(&args.join(" "), &run);
    }

    fn hooks(&mut self, payloads: &[Value]) {
        for payload in payloads {
            self.restore(&self.planted);
            let text = self.plan.scratch.here(&payload.to_string());
            let run = self.plan.scratch.run(&["hook"], text.as_bytes());
            assert_ne!(run.code, Some(2), "{payload}");
            let what = payload["hook_event_name"].as_str().unwrap().to_owned();
            self.look(&format!("hook {what}"), &run);
            if let Ok(mut reply) = serde_json::from_str::<Value>(&run.stdout) {
                if let Some(ring) =
                    reply.as_object_mut().and_then(|reply| reply.remove("terminalSequence"))
                {
                    let inner = ring.as_str().unwrap().strip_prefix("\u{7}\u{1b}]9;").unwrap();
                    self.look_at(
                        &format!("{what}: the bell"),
                        inner.strip_suffix('\u{7}').unwrap(),
                    );
                }
                for text in strings(&reply) {
                    self.look_at(&format!("{what}: the reply"), text);
                }
            }
        }
    }

    fn look(&mut self, what: &str, run: &Run) {
        assert!(run.code.is_some() && !run.stderr.contains("panicked"), "{what}: {}", run.stderr);
        self.look_at(what, &run.stdout);
        self.look_at(what, &run.stderr);
    }

    fn note_suggested(&mut self, text: &str) {
        for (at, _) in text.match_indices("`hookkeeper ") {
            let rest = text.get(at + 1..).unwrap();
            self.suggested.insert(rest.get(..command_length(rest)).unwrap().to_owned());
        }
    }

    fn look_at(&mut self, what: &str, text: &str) {
        let what = what.replace(POISON, "☠");
        if let Some(line) = text.split('\n').find(|line| line.chars().any(is_refused)) {
            self.wrong.insert(format!("{what}: {:?}", shortened(line)));
        }
        let shows = SHOW_TEXTS.iter().any(|texts| what.starts_with(texts));
        if let Some(line) = text.split('\n').find(|line| line.starts_with(PLANTED) && !shows) {
            self.wrong.insert(format!("{what}: a line that is not ours: {:?}", shortened(line)));
        }
        // In JSON a text is escaped; what is copied from it is not.
        match serde_json::from_str::<Value>(text) {
            Ok(json) => strings(&json).into_iter().for_each(|text| self.note_suggested(text)),
            Err(_) => self.note_suggested(text),
        }
    }
}

impl World {
    /// What was suggested is run as it stands; nothing but our program may come of it.
    fn try_suggested(&self) {
        let dir = self.plan.scratch.home().join("sandbox");
        fs::create_dir_all(dir.join("bin")).unwrap();
        std::os::unix::fs::symlink("/bin/true", dir.join("bin/hookkeeper")).unwrap();
        let path = format!("{}:/usr/bin:/bin", dir.join("bin").display());
        let hostile = self.suggested.iter().filter(|command| command.contains("pwned")).count();
        assert!(hostile > 0, "no suggestion has a value in it: {:?}", self.suggested);
        for command in &self.suggested {
            let ended = Command::new("sh")
                .args(["-c", command])
                .env("PATH", &path)
                .current_dir(&dir)
                .output()
                .unwrap();
            assert!(!dir.join("pwned").exists(), "this runs something: {command}");
            assert!(
                ended.status.success(),
                "{command}: {}",
                String::from_utf8_lossy(&ended.stderr)
            );
        }
    }

    fn nothing_is_wrong(&self) {
        assert!(
            self.wrong.is_empty(),
            "{} wrong:\n{}",
            self.wrong.len(),
            self.wrong.iter().cloned().collect::<Vec<_>>().join("\n")
        );
    }
}

/// Up to the backtick that closes it: one that no quotes are around.
fn command_length(text: &str) -> usize {
    let mut quoted = false;
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if !quoted => escaped = true,
            '\'' => quoted = !quoted,
            '`' if !quoted => return at,
            '\n' => return at,
            _ => {}
        }
    }
    text.len()
}

fn is_refused(c: char) -> bool {
    c.is_control() && !matches!(c, '\n' | '\t')
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{61c}' | '\u{feff}')
}

fn shortened(line: &str) -> String {
    line.chars().take(160).collect()
}

fn strings(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().flat_map(strings).collect(),
        Value::Object(object) => object.values().flat_map(strings).collect(),
        _ => Vec::new(),
    }
}

/// One payload of every event, as recorded.
fn payloads() -> Vec<Value> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/payloads");
    let mut all = BTreeMap::new();
    for scenario in fs::read_dir(dir).unwrap() {
        let name = scenario.unwrap().file_name().into_string().unwrap();
        for (_, mut payload) in recorded_payloads(&name) {
            payload["session_id"] = books::session().into();
            let key =
                ["hook_event_name", "tool_name", "source"].map(|key| payload[key].to_string());
            all.entry(key).or_insert(payload);
        }
    }
    let start = |source: &str| event(&books::session(), "SessionStart", json!({"source": source}));
    all.into_values().chain(["startup", "resume", "compact", "fork"].map(start)).collect()
}

/// Every command that has an end, as the program's own help lists them, with something for each of
/// its arguments. A person's free text is as bad as any.
fn commands(world: &World) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    find_commands(world, &mut Vec::new(), &mut all);
    all
}

fn find_commands(world: &World, path: &mut Vec<String>, all: &mut Vec<Vec<String>>) {
    let args: Vec<&str> = path.iter().map(String::as_str).chain(["--help"]).collect();
    let help = good(world.plan.scratch.run(&args, b""));
    let usage = help.lines().find_map(|line| line.strip_prefix("Usage: hookkeeper")).unwrap();
    let usage = usage.trim_start().strip_prefix(&path.join(" ")).unwrap();
    // The program itself lists its commands in groups, up to its options.
    let (from, to) =
        if path.is_empty() { ("Set up:\n", "Options:") } else { ("Commands:\n", "\n\n") };
    let listed = help.split_once(from).map(|(_, rest)| rest.split(to).next().unwrap());
    let names = listed
        .unwrap_or_default()
        .lines()
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let names: Vec<&str> = names.filter(|name| !name.is_empty() && *name != "help").collect();
    if names.is_empty() || usage.contains("[COMMAND]") && path[0] != "man" {
        let mut words = path.clone();
        for word in
            usage.split_whitespace().filter(|word| *word != "[OPTIONS]" && *word != "[COMMAND]")
        {
            words.extend(argument(world, path, word));
        }
        // The demo reads nothing but its own recording.
        if !["hook", "demo"].contains(&words[0].as_str()) {
            all.push(words.clone());
            if help.contains("--json") {
                let at = words.iter().position(|word| word == "--").unwrap_or(words.len());
                words.insert(at, "--json".into());
                all.push(words);
            }
        }
    }
    for name in names {
        path.push(name.to_owned());
        find_commands(world, path, all);
        path.pop();
    }
}

fn argument(world: &World, path: &[String], word: &str) -> Option<String> {
    let known = match (path[0].as_str(), word.trim_matches(['[', ']', '<', '>', '.'])) {
        (_, option) if option.starts_with("--") => option,
        ("agents", "ID") => "a1",
        ("errors", "ID") => "error-",
        ("sessions", "ID") => return Some(books::session()),
        ("queue", "ID") => "work-001",
        ("execute" | "run-verify", "ID") => "L1-001",
        ("execute" | "run-verify", "TASKS_PATH") => {
            return Some(world.plan.tasks.display().to_string());
        }
        ("iterative", "SLUG") => "auth",
        ("iterative", "UNIT") => "T1",
        ("iterative", "SIGNAL") => "T1_DONE",
        ("iterative", "VALUE") => "max=9",
        ("iterative", "MODE") => "development",
        ("iterative", "UNITS") => "T3: More | it works",
        ("loop" | "iterative", "NAME") => "execute",
        ("gate" | "run-gate", "NAME") => "test",
        ("gate", "STATUS") => "fail",
        ("gate", "CMD") => return None,
        ("run-gate", "CMD") => "true",
        ("backup", "BACKUP") => "latest",
        ("backup", "OTHER") => "now",
        ("branch", "TYPE") => "pause",
        ("branch", "NAME" | "NAMES") => "task-2026-01-29",
        ("queue", "S0..S3") => "S1",
        ("reset", "WHAT") => "loop",
        ("completions", "SHELL") => "bash",
        ("config", "KEY") => "redact",
        ("config", "VALUE") => POISON,
        ("export", "WHEN") => "30d",
        ("schema", "DOC") => "live",
        ("man", "COMMAND") | ("report", "SESSION") | ("trust", "PATH") | ("hook", _) => {
            return None;
        }
        ("replay", "FILES") => "payload.json",
        (_, "TASK" | "FEATURE" | "PROMPT" | "SUMMARY" | "MESSAGE" | "TEXT" | "TITLE") => POISON,
        (command, other) => panic!("{command}: what is to be given for {other}?"),
    };
    Some(known.to_owned())
}

/// The events after which most is said; for what would be too much with all of them.
const TALKATIVE: [&str; 2] = ["UserPromptSubmit", "Stop"];

fn everything(start: &[&str]) {
    let mut world = World::new(start);
    let commands = commands(&world);
    assert!(commands.len() > 100, "{commands:?}");
    let payloads = payloads();
    let keys = payload_keys(&payloads);
    let file = world.plan.scratch.root().join("payload.json");
    fs::write(&file, world.plan.scratch.here(&payloads[0].to_string())).unwrap();
    let (fixed, status) =
        (world.fixed.clone(), json!({"session_id": books::session()}).to_string());
    for reach in [Reach::Free(&fixed), Reach::All] {
        world.plant(&reach);
        for words in &commands {
            world.run(&words.iter().map(String::as_str).collect::<Vec<_>>(), status.as_bytes());
            let hostile = |word: &String| if word == "auth" { FOLDER.into() } else { word.clone() };
            let hostile: Vec<String> = words.iter().map(hostile).collect();
            if hostile != *words {
                world.run(&hostile.iter().map(String::as_str).collect::<Vec<_>>(), b"");
            }
        }
        world.hooks(&payloads);
        let mut planted = payloads.clone();
        planted.iter_mut().for_each(|payload| plant(payload, "", &keys, &reach));
        world.hooks(&planted);
    }
    // What says which thing is meant, one field at a time: the rest is still looked at then.
    let talks = |payload: &&Value| {
        payload["source"] == "compact"
            || TALKATIVE.iter().any(|name| payload["hook_event_name"] == *name)
    };
    let talkative: Vec<Value> = payloads.iter().filter(talks).cloned().collect();
    for key in &fixed {
        world.plant(&Reach::Only(key));
        for words in commands.iter().filter(|words| READ.contains(&words.join(" ").as_str())) {
            world.run(&words.iter().map(String::as_str).collect::<Vec<_>>(), status.as_bytes());
        }
        world.hooks(&talkative);
    }
    world.nothing_is_wrong();
    world.try_suggested();
}

/// Names of fields at any depth.
fn payload_keys(payloads: &[Value]) -> BTreeSet<String> {
    fn collect(value: &Value, keys: &mut BTreeSet<String>) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| collect(item, keys)),
            Value::Object(object) => {
                keys.extend(object.keys().cloned());
                object.values().for_each(|inner| collect(inner, keys));
            }
            _ => {}
        }
    }
    let mut keys = BTreeSet::new();
    payloads.iter().for_each(|payload| collect(payload, &mut keys));
    keys
}

#[test]
fn with_a_loop_of_the_queue() {
    everything(&["loop", "start", "Ship it"]);
}

#[test]
fn with_an_autonomous_loop() {
    everything(&["autonomous", "start", "Login"]);
}

#[test]
fn with_a_loop_of_the_branch() {
    everything(&["branch", "loop", "start", "Ship it"]);
}

#[test]
fn with_an_iterative_task() {
    everything(&["iterative", "adopt", "auth"]);
}
