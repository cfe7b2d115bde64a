//! State that somebody else made: committed and cloned, or unpacked from an archive. None of it is
//! read before a person says so, whatever is run; then all of it is (`src/store/origin.rs`).

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{self, Scratch, event, good, recorded_payloads, tree};

/// In every text and in many names of the attacker's.
const WORD: &str = "Pl4nted";
const SESSION: &str = "0f3e8a2c-1111-4222-8333-444455556666";
const OTHER: &str = "0f3e8a2c-2222-4222-8333-444455556666";

fn git(dir: &Path, args: &[&str]) -> String {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]);
    let done = command.current_dir(dir).args(args).output().unwrap();
    assert!(done.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A project with every kind of state in it, made by the program itself.
fn attackers() -> Scratch {
    let mut scratch = Scratch::new();
    let root = scratch.root();
    git(&root, &["init", "-q", "-b", "main"]);
    write(&root.join("README.md"), "shop\n");
    git(&root, &["add", "README.md"]);
    git(&root, &["commit", "-qm", "first"]);
    for scenario in ["resume-and-compact", "implement-login", "notification", "background-agent"] {
        for (name, payload) in recorded_payloads(scenario) {
            if scenario == "background-agent" && name.contains("SessionEnd") {
                break;
            }
            scratch.hook(&payload);
        }
    }
    let word = |text: &str| format!("{WORD} {text}");
    for n in 0..4 {
        let title = word(&format!("item {n}"));
        good(scratch.run(&["queue", "add", "--priority", "S1", "--title", &title], b""));
    }
    // A session drives one loop.
    let start = |session: &str, args: &[&str]| {
        scratch.hook(&event(session, "SessionStart", json!({"source": "startup"})));
        scratch.hook(&event(session, "UserPromptSubmit", json!({"prompt": "Go"})));
        good(scratch.run(&[args, &["--session", session]].concat(), b""));
        scratch.hook(&event(session, "SessionEnd", json!({"reason": "other"})));
    };
    start("first", &["loop", "start", &word("loop")]);
    start("second", &["branch", "loop", "start", &word("prompt"), "--promise", "X"]);
    good(scratch.run(&["branch", "handoff", "--type", "session"], b""));
    start("third", &["autonomous", "start", &word("feature")]);
    for slug in ["pl4nted-one", "pl4nted-two", "pl4nted-three"] {
        let task = word(slug);
        let unit = format!("T1: {} | it is", word("unit"));
        let new = ["iterative", "new", slug, "--task", &task, "--mode", "development"];
        start(slug, &[&new[..], &["--unit", &unit]].concat());
    }
    scratch.env.insert("CLAUDE_PID".into(), "999999999".into());
    scratch.hook(&event(SESSION, "SessionStart", json!({"source": "startup"})));
    for (name, fields) in [
        ("UserPromptSubmit", json!({"prompt": word("prompt")})),
        ("Notification", json!({"message": word("message"), "notification_type": "idle_prompt"})),
        ("SubagentStart", json!({"agent_id": "a1", "agent_type": WORD})),
        (
            "PostToolUseFailure",
            json!({"tool_name": "Bash", "tool_use_id": "t1",
            "tool_input": {"command": word("command")}, "error": word("SyntaxError: x")}),
        ),
    ] {
        scratch.hook(&event(SESSION, name, fields));
    }
    // Texts that the program did not write.
    let claude = root.join(".claude");
    let state = claude.join("state");
    write(&claude.join("plans/main.md"), &word("plan"));
    write(&claude.join("plans/pl4nted.md"), &word("plan"));
    write(&claude.join("branches/main/handoffs/pl4nted-2026-01-29.md"), &word("hand-off"));
    write(&claude.join("branches/pl4nted/state.json"), &json!({"branch": WORD}).to_string());
    write(
        &claude.join("hookkeeper.json"),
        &json!({"record": true, "systems": {"iterative": false}, "redact": [WORD],
            "durability": WORD, "notify": true, "keep_backups": WORD, WORD: {WORD: 1}})
        .to_string(),
    );
    let notices =
        json!({"waiting": [{"key": "x", "text": word("notice"), "at": "2026-01-29T10:30:00Z"}]});
    write(&state.join("notices.json"), &notices.to_string());
    let spooled = json!({"time": "2026-01-29T10:30:00Z", "client": {}, "git": {},
        "payload": event(WORD, "UserPromptSubmit", json!({"prompt": word("spooled")}))});
    write(&state.join("spool/00000000000000000001-1.json"), &spooled.to_string());
    write(
        &state.join("journal/pl4nted.jsonl"),
        &format!(
            "{}\n",
            json!({"v": 1, "time": "2026-01-29T10:30:00.000Z", "kind": "prompt", "session": WORD,
                "event": WORD, "text": word("journal"), "outcome": word("journal"), "us": 1})
        ),
    );
    for place in [
        "quarantine/pl4nted.1",
        "rejected/pl4nted.txt",
        "recorded/pl4nted.json",
        "set-aside/pl4nted/x",
        "settings/pl4nted.bak",
        "untrusted-1/state/pl4nted",
        "session/live/pl4nted.json",
        "pl4nted.json",
        "agents/results/pl4nted.json",
        "agents/pl4nted.txt",
        ".new",
    ] {
        write(&state.join(place), &json!({"session_id": WORD, "summary": WORD}).to_string());
    }
    let executions = json!({"version": 1, "executions": [{"tasks_path": root.join("tasks"),
        "worktree_dir": root.join("w"), "begun": "2026-01-29T10:30:00Z"}]});
    write(&state.join("executions.json"), &executions.to_string());
    write(&root.join("tasks/execute-state.json"), &execution(&root).to_string());
    let words = json!({"files": [{"file": "settings.json", "scope": "project", "command": WORD,
        "version": WORD, "wired_at": "2026-01-29T10:30:00Z", "steps": [{"backup": "pl4nted.bak", "after": WORD}]}]});
    write(&state.join("settings/wiring.json"), &words.to_string());
    // Every text that says something says it in these words.
    for (name, bytes) in tree(&claude) {
        let text = String::from_utf8_lossy(&bytes).replace("login", "Pl4nted-login");
        fs::write(claude.join(name), text).unwrap();
    }
    write(&state.join(".gitignore"), "!*\n");
    scratch
}

fn execution(root: &Path) -> Value {
    json!({"schema_version": "1.0", "prd_slug": WORD, "project_path": root, "worktree_dir": root.join("w"),
        "tasks_path": root.join("tasks"), "status": "in_progress", "base_branch": "main", "current_layer": WORD,
        "tasks": {"L1-001": {"name": WORD, "layer": WORD, "status": "pending", "depends_on": []}},
        "layers": {WORD: {"status": "pending", "tasks": ["L1-001"]}}})
}

/// Somebody else's machine, with a clone in the place of the project.
fn cloned(from: &Scratch) -> Scratch {
    for (name, bytes) in tree(&from.root()) {
        // Paths would give the attacker away; they are guessed here.
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if name.starts_with(".claude/") || name.starts_with("tasks/") {
            fs::write(from.root().join(&name), text).unwrap();
        }
    }
    git(&from.root(), &["add", "-Af", "."]);
    git(&from.root(), &["commit", "-qm", "more"]);
    let victim = Scratch::new();
    fs::remove_dir(victim.root()).unwrap();
    git(victim.home(), &["clone", "-q", &from.root().display().to_string(), "shop"]);
    victim
}

/// Everything that reads.
const COMMANDS: [&[&str]; 51] = [
    &["export", "status"],
    &["export", "status", "--json"],
    &["config", "list"],
    &["config", "list", "--json"],
    &["status"],
    &["status", "--json"],
    &["status", "--all"],
    &["status", "--all-projects"],
    &["agents"],
    &["agents", "--json"],
    &["errors"],
    &["errors", "--json"],
    &["errors", "--all"],
    &["sessions"],
    &["sessions", "--json"],
    &["sessions", "--all"],
    &["sessions", "show", OTHER],
    &["sessions", "--all-projects"],
    &["log"],
    &["log", "--runs"],
    &["log", "--json"],
    &["search", "e"],
    &["search", "e", "--json"],
    &["cost"],
    &["cost", "--by", "agent"],
    &["cost", "--json"],
    &["cost", "--csv"],
    &["recap"],
    &["recap", "--json"],
    &["backup", "list"],
    &["loop", "status"],
    &["loop", "status", "--json"],
    &["queue", "list"],
    &["queue", "list", "--json"],
    &["autonomous", "status"],
    &["autonomous", "status", "--json"],
    &["branch", "show"],
    &["branch", "show", "--json"],
    &["branch", "plan"],
    &["branch", "loop", "status"],
    &["iterative", "status"],
    &["iterative", "list"],
    &["iterative", "status", "pl4nted-one"],
    &["execute", "status", "tasks"],
    &["execute", "next", "tasks"],
    &["doctor"],
    &["doctor", "--timings"],
    &["validate"],
    &["validate", "--json"],
    &["record", "list"],
    &["uninstall", "--dry-run"],
];

fn has_word(text: &str) -> bool {
    // What a command was called with is no secret to whoever called it.
    text.replace("pl4nted-one", "").to_lowercase().contains("pl4nted")
}

fn read_everything(scratch: &Scratch) -> Vec<String> {
    let mut leaks = Vec::new();
    for args in COMMANDS {
        let run = scratch.run(args, b"");
        for text in [&run.stdout, &run.stderr] {
            if has_word(text) {
                leaks.push(format!("{args:?}: {text}"));
            }
        }
    }
    let status = json!({"session_id": OTHER, "cwd": scratch.root(), "workspace": {"project_dir": scratch.root()}});
    let run = scratch.run(&["statusline"], status.to_string().as_bytes());
    if has_word(&run.stdout) {
        leaks.push(format!("statusline: {}", run.stdout));
    }
    leaks
}

/// Every event once, in a session of the victim's.
fn play_everything(scratch: &Scratch) -> Vec<String> {
    let mut leaks = Vec::new();
    let mut scenarios: Vec<String> = fs::read_dir("tests/payloads")
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    scenarios.sort();
    for scenario in scenarios {
        for (name, payload) in recorded_payloads(&scenario) {
            let run = scratch
                .run(&["hook"], format!("{}\n", scratch.here(&payload.to_string())).as_bytes());
            assert_eq!(run.code, Some(0), "{scenario}/{name}: {}", run.stderr);
            if has_word(&run.stdout) || has_word(&run.stderr) {
                leaks.push(format!("{scenario}/{name}: {} {}", run.stdout, run.stderr));
            }
            // Nobody's loop is anybody's.
            assert!(
                !run.stdout.contains("\"decision\":\"block\""),
                "{scenario}/{name}: {}",
                run.stdout
            );
        }
    }
    leaks
}

fn planted_files(scratch: &Scratch) -> usize {
    tree(&scratch.root())
        .keys()
        .filter(|name| name.starts_with(".claude/") || name.starts_with("tasks/"))
        .count()
}

fn nothing_comes_out(victim: &Scratch) {
    let planted = planted_files(victim);
    assert!(planted >= 60, "only {planted} files are planted");
    assert_eq!(read_everything(victim), Vec::<String>::new(), "before the first event");
    assert_eq!(play_everything(victim), Vec::<String>::new(), "events");
    assert_eq!(read_everything(victim), Vec::<String>::new(), "after the events");
    assert!(!victim.exists("spool/00000000000000000001-1.json"), "it is not played");
    assert!(planted_files(victim) >= planted, "all of it is kept");
}

#[test]
fn a_clone_brings_no_state() {
    let victim = cloned(&attackers());
    nothing_comes_out(&victim);
}

#[test]
fn an_archive_brings_no_state() {
    let from = attackers();
    let victim = Scratch::new();
    fs::remove_dir(victim.root()).unwrap();
    // With the repository in it, so that git does not say where it came from.
    let copied = Command::new("cp").arg("-a").arg(from.root()).arg(victim.root()).status();
    assert!(copied.unwrap().success());
    fs::write(victim.root().join(".claude/state/.gitignore"), "*\n").unwrap();
    nothing_comes_out(&victim);
}

#[test]
fn a_person_takes_it_up() {
    let mut victim = cloned(&attackers());
    victim.env.insert("CLAUDECODE".into(), "1".into());
    let run = victim.run(&["trust", "--yes"], b"");
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""));
    assert!(run.stderr.contains("only a person"), "{}", run.stderr);
    victim.env.remove("CLAUDECODE");
    let run = victim.run(&["trust"], b"y\n");
    assert_eq!(run.code, Some(1), "a pipe is no person: {}", run.stdout);
    // Before the first event it is in its place, after it in a room.
    victim.hook(&event(OTHER, "UserPromptSubmit", json!({"prompt": "hello"})));
    assert!(victim.exists("untrusted-2/state/session/metrics.json"));
    let said = good(victim.run(&["trust", "--yes"], b""));
    assert!(said.contains(".claude/state/session/metrics.json  "), "{said}");
    assert!(said.contains("Taken up."), "{said}");
    let shown: Vec<String> = read_everything(&victim);
    for command in ["status", "queue", "branch", "iterative", "autonomous", "sessions"] {
        assert!(
            shown.iter().any(|leak| leak.starts_with(&format!("[\"{command}"))),
            "{command}: {shown:?}"
        );
    }
    // The mark holds from now on, and git's own looks do not undo it.
    git(&victim.root(), &["status", "--short"]);
    victim.hook(&event(OTHER, "SessionStart", json!({"source": "startup"})));
    let queue = good(victim.run(&["queue", "list"], b""));
    assert!(queue.contains(WORD), "{queue}");
    // What has been written here in the meantime was not overwritten.
    let said = good(victim.run(&["trust", "--yes"], b""));
    assert!(said.contains("there is one of ours by now") && !said.contains("queue"), "{said}");
    // Only the first session of all drives nothing.
    let reply = victim.hook(&event(OTHER, "Stop", json!({"stop_hook_active": false}))).stdout;
    assert!(!reply.contains("block"), "{reply}");
}

#[test]
fn a_person_takes_a_part_of_it_up() {
    let victim = cloned(&attackers());
    let nothing = victim.run(&["trust", "--yes", ".claude/state/nothing"], b"");
    support::refused(&nothing, "there is nothing of this name");
    let part = victim.run(&["trust", "--yes", ".claude/iterative/pl4nted-one/state.json"], b"");
    support::refused(&part, "its folder can only be taken up as one");
    for (chosen, command, others) in [
        (".claude/state/loop", &["queue", "list"][..], &["branch", "loop", "status"][..]),
        ("branches/main/", &["branch", "loop", "status"], &["autonomous", "status"]),
        ("autonomous-loop.json", &["autonomous", "status"], &["agents"]),
    ] {
        let asked = victim.run(&["trust", chosen], b"");
        support::refused(&asked, &format!("`hookkeeper trust --yes {chosen}` takes it up"));
        let said = good(victim.run(&["trust", "--yes", chosen], b""));
        assert!(said.contains("Taken up."), "{said}");
        let shown = victim.run(command, b"").stdout;
        assert!(has_word(&shown), "{chosen}: {shown}");
        let shown = victim.run(others, b"").stdout;
        assert!(!has_word(&shown), "{chosen}: {shown}");
        let start = event(OTHER, "SessionStart", json!({"source": "startup"}));
        assert!(!victim.hook(&start).stdout.contains("Pl4nted notice"));
    }
    good(victim.run(&["trust", "--yes"], b""));
    assert!(has_word(&victim.run(&["search", "e"], b"").stdout));
}

#[test]
fn the_user_is_told_once() {
    let victim = cloned(&attackers());
    let start =
        |session| victim.hook(&event(session, "SessionStart", json!({"source": "startup"}))).stdout;
    let first = start(OTHER);
    assert!(first.contains("was not made on this machine"), "{first}");
    assert_eq!(first.matches("not made on this machine").count(), 1, "{first}");
    assert!(first.contains(".claude/state/untrusted-"), "{first}");
    assert!(!start(SESSION).contains("not made on this machine"));
}

/// A project of one's own with a queue in it.
fn own() -> Scratch {
    let scratch = Scratch::new();
    git(&scratch.root(), &["init", "-q", "-b", "main"]);
    write(&scratch.root().join("README.md"), "shop\n");
    git(&scratch.root(), &["add", "README.md"]);
    git(&scratch.root(), &["commit", "-qm", "first"]);
    scratch.hook(&event(SESSION, "SessionStart", json!({"source": "startup"})));
    good(scratch.run(&["queue", "add", "--priority", "S2", "--title", "Mine"], b""));
    good(scratch.run(&["branch", "loop", "start", "Mine", "--promise", "X"], b""));
    scratch
}

fn has_own(scratch: &Scratch) -> bool {
    let queue = good(scratch.run(&["queue", "list"], b""));
    let branch = good(scratch.run(&["branch", "loop", "status"], b""));
    queue.contains("Mine") && branch.contains("Mine")
}

#[test]
fn what_was_made_here_stays_ours() {
    let scratch = own();
    assert!(has_own(&scratch));
    // Moved, and back: another home, another path.
    let elsewhere = scratch.home().join("elsewhere");
    fs::rename(scratch.root(), &elsewhere).unwrap();
    let there = ["-C", elsewhere.to_str().unwrap(), "queue", "list"];
    let mut other = scratch.same();
    other.env.insert("HOME".into(), "/nonexistent".into());
    fs::create_dir(scratch.root()).unwrap();
    assert!(good(other.run(&there, b"")).contains("Mine"));
    fs::remove_dir(scratch.root()).unwrap();
    fs::rename(&elsewhere, scratch.root()).unwrap();
    std::mem::forget(other);
    // Modes and owners may change.
    let chmod =
        Command::new("chmod").args(["-R", "go+r", ".claude"]).current_dir(scratch.root()).status();
    assert!(chmod.unwrap().success());
    assert!(has_own(&scratch));
    // Somebody removes the lock, empties it, or lets git ignore nothing.
    for damage in [".lock", ".gitignore"] {
        fs::remove_file(scratch.state().join(damage)).unwrap();
        scratch.hook(&event(SESSION, "UserPromptSubmit", json!({"prompt": "hello"})));
        assert!(has_own(&scratch), "without {damage}");
        scratch.hook(&event(SESSION, "SessionStart", json!({"source": "resume"})));
    }
    fs::write(scratch.state().join(".lock"), "").unwrap();
    scratch.hook(&event(SESSION, "SessionStart", json!({"source": "resume"})));
    assert!(has_own(&scratch), "with an empty lock");
    assert!(!scratch.exists("untrusted-1"));
    // A copy is not this machine's any more: one word mends that.
    let copy = Scratch::new();
    fs::remove_dir(copy.root()).unwrap();
    assert!(
        Command::new("cp")
            .arg("-a")
            .arg(scratch.root())
            .arg(copy.root())
            .status()
            .unwrap()
            .success()
    );
    assert!(!good(copy.run(&["queue", "list"], b"")).contains("Mine"));
    good(copy.run(&["trust", "--yes"], b""));
    assert!(has_own(&copy));
}

#[test]
fn what_git_brings_later_is_not_read() {
    let scratch = own();
    let root = scratch.root();
    let there = Scratch::new();
    let attacker = there.home().join("attacker");
    git(there.home(), &["clone", "-q", &root.display().to_string(), "attacker"]);
    let notices = json!({"waiting": [{"key": "x", "text": WORD, "at": "2026-01-29T10:30:00Z"}]});
    let queue = json!({"queue": [{"id": "work-001", "title": WORD, "priority": "S1", "status": "pending"}]});
    let files = [
        (".claude/state/notices.json", notices.to_string()),
        (".claude/state/loop/work-queue.json", queue.to_string()),
        (".claude/branches/main/handoffs/pl4nted.md", WORD.to_owned()),
        (
            ".claude/branches/main/state.json",
            json!({"branch": "main", "loop": {"prompt": WORD, "active": true}}).to_string(),
        ),
        (
            ".claude/autonomous-loop.json",
            json!({"feature": WORD, "phase": "plan", "started_at": "x"}).to_string(),
        ),
        (".claude/plans/main.md", WORD.to_owned()),
        (".claude/iterative/pl4nted/state.json", json!({"task": WORD}).to_string()),
        (".claude/hookkeeper.json", json!({"record": true}).to_string()),
    ];
    for (path, text) in &files {
        write(&attacker.join(path), text);
    }
    git(&attacker, &["add", "-Af", "."]);
    git(&attacker, &["commit", "-qm", "more"]);
    for version in ["2", "4"] {
        git(&root, &["config", "index.version", version]);
        git(&root, &["update-index", "--index-version", version]);
        // Ignored files are overwritten without a word.
        git(&root, &["pull", "-q", "--ff-only", &attacker.display().to_string(), "main"]);
        for (path, _) in &files {
            assert!(
                fs::read_to_string(root.join(path)).unwrap().contains("Pl4nted")
                    || path.ends_with("hookkeeper.json"),
                "{path}"
            );
        }
        assert_eq!(read_everything(&scratch), Vec::<String>::new(), "version {version}");
        let said =
            scratch.hook(&event(SESSION, "SessionStart", json!({"source": "resume"}))).stdout;
        assert!(!has_word(&said) && said.contains("not made on this machine"), "{said}");
        assert_eq!(read_everything(&scratch), Vec::<String>::new(), "version {version}");
        let said = scratch.hook(&event(SESSION, "Stop", json!({"stop_hook_active": false}))).stdout;
        assert!(!has_word(&said), "{said}");
        assert!(!scratch.exists("recorded"), "its settings do not hold");
        git(&root, &["reset", "-q", "--hard", "HEAD~1"]);
    }
    // In the place of what was moved away there is ours again.
    good(scratch.run(&["queue", "add", "--priority", "S2", "--title", "Mine again"], b""));
    git(&root, &["status", "--short"]);
    scratch.hook(&event(SESSION, "SessionStart", json!({"source": "resume"})));
    assert!(good(scratch.run(&["queue", "list"], b"")).contains("Mine again"));
}

#[test]
fn state_stays_out_of_commits() {
    for ignore in [Some(""), Some("!*\n"), None] {
        let scratch = Scratch::new();
        let root = scratch.root();
        git(&root, &["init", "-q", "-b", "main"]);
        write(&root.join(".claude/state/.lock"), "");
        if let Some(ignore) = ignore {
            write(&root.join(".claude/state/.gitignore"), ignore);
        }
        git(&root, &["add", "-Af", "."]);
        git(&root, &["commit", "-qm", "first"]);
        scratch.hook(&event(SESSION, "SessionStart", json!({"source": "startup"})));
        scratch.hook(&event(SESSION, "UserPromptSubmit", json!({"prompt": "a secret"})));
        git(&root, &["add", "-A"]);
        let staged = git(&root, &["ls-files"]);
        let state: Vec<&str> =
            staged.lines().filter(|name| name.starts_with(".claude/state")).collect();
        assert!(
            state.iter().all(|name| name.ends_with(".lock") || name.ends_with(".gitignore")),
            "{state:?}"
        );
    }
}

/// A plan of one task, for a project that it names.
fn plan(tasks: &Path, project: &str) {
    let manifest = json!({"prd": {"slug": "shop", "project_path": project}, "layers": {"1": ["L1-001"]},
        "tasks": [{"id": "L1-001", "layer": "1", "file": "L1-001.xml"}]});
    write(&tasks.join("manifest.json"), &manifest.to_string());
    write(&tasks.join("layer_plan.json"), &json!({"layers": {"1": ["L1-001"]}}).to_string());
    let task = "<task><meta><id>L1-001</id><name>n</name><layer>1</layer></meta><objective>o</objective></task>";
    write(&tasks.join("L1-001.xml"), task);
}

#[test]
fn a_plan_names_only_its_own_repository() {
    let scratch = own();
    let other = own();
    let root = scratch.root();
    git(&root, &["init", "-q", "--bare", "embedded.git"]);
    for project in [other.root(), root.join("embedded.git")] {
        plan(&root.join("tasks"), &project.display().to_string());
        let run = scratch.run(&["execute", "init", "tasks"], b"");
        assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{}", run.stderr);
        assert!(!root.join("tasks/execute-state.json").exists());
        let is_said =
            run.stderr.contains("another repository") || run.stderr.contains("is no git checkout");
        assert!(is_said, "{}", run.stderr);
    }
    assert!(!other.root().join(".git/hookkeeper-execute.lock").exists());
}

#[test]
fn git_runs_no_program_of_a_repositorys_choice() {
    let scratch = own();
    let root = scratch.root();
    let canary = scratch.home().join("canary");
    let program = scratch.home().join("program");
    write(&program, &format!("#!/bin/sh\necho \"$0 $*\" >> {}\ncat\n", canary.display()));
    assert!(Command::new("chmod").arg("+x").arg(&program).status().unwrap().success());
    let program = program.display().to_string();
    write(&root.join(".gitattributes"), "* filter=evil diff=evil merge=evil\n");
    git(&root, &["add", ".gitattributes"]);
    git(&root, &["commit", "-qm", "second"]);
    for key in [
        "filter.evil.clean",
        "filter.evil.smudge",
        "diff.evil.textconv",
        "diff.evil.command",
        "diff.external",
        "merge.evil.driver",
        "core.fsmonitor",
        "gpg.program",
        "gpg.ssh.program",
    ] {
        git(&root, &["config", key, &program]);
    }
    git(&root, &["config", "log.showSignature", "true"]);
    fs::write(root.join("README.md"), "shop!\n").unwrap();
    fs::write(root.join("README.md"), "shop\n").unwrap();
    let _ = fs::remove_file(&canary);
    plan(&root.join("tasks"), &root.display().to_string());
    for args in [
        &["branch", "show"][..],
        &["branch", "handoff", "--type", "session"],
        &["doctor"],
        &["execute", "init", "tasks"],
        &["execute", "start", "tasks", "L1-001"],
        &["execute", "status", "tasks"],
        &["execute", "resume", "tasks"],
    ] {
        let run = scratch.run(args, b"");
        assert!(!canary.exists(), "{args:?}: {}", fs::read_to_string(&canary).unwrap());
        assert!(run.code == Some(0) || args[0] == "doctor", "{args:?}: {}", run.stderr);
    }
}

#[test]
fn nothing_is_written_through_a_second_name() {
    let scratch = Scratch::new();
    let outside = scratch.home().join("outside");
    fs::write(&outside, "mine").unwrap();
    fs::create_dir_all(scratch.state()).unwrap();
    fs::hard_link(&outside, scratch.state().join(".lock")).unwrap();
    for _ in 0..2 {
        scratch.hook(&event(SESSION, "SessionStart", json!({"source": "startup"})));
    }
    assert_eq!(fs::read_to_string(&outside).unwrap(), "mine");
    assert!(
        scratch.exists(&format!("session/live/{SESSION}.json")) && !scratch.exists("untrusted-1")
    );
}

#[test]
fn what_a_merge_could_not_settle_came_with_git() {
    let scratch = own();
    let root = scratch.root();
    let paths = [".claude/autonomous-loop.json", ".claude/plans/main.md", ".claude/state/x.json"];
    let commit = |text: &str| {
        for path in paths {
            write(&root.join(path), &json!({"feature": text, "phase": "plan"}).to_string());
        }
        git(&root, &[&["add", "-f"][..], &paths].concat());
        git(&root, &["commit", "-qm", text]);
    };
    commit("theirs");
    git(&root, &["checkout", "-q", "-b", "pr"]);
    commit(WORD);
    git(&root, &["checkout", "-q", "main"]);
    git(&root, &[&["rm", "-q"][..], &paths].concat());
    git(&root, &["commit", "-qm", "without"]);
    scratch.hook(&event(SESSION, "SessionStart", json!({"source": "resume"})));
    let merge = Command::new("git").current_dir(&root).args(["merge", "-q", "pr"]).output();
    assert!(!merge.unwrap().status.success(), "a conflict");
    assert!(fs::read_to_string(root.join(paths[0])).unwrap().contains(WORD));
    assert_eq!(read_everything(&scratch), Vec::<String>::new());
    for session in [SESSION, OTHER] {
        let start = event(session, "SessionStart", json!({"source": "startup"}));
        let said = scratch.hook(&start).stdout;
        assert!(!has_word(&said), "{said}");
    }
    assert!(!scratch.exists("x.json"), "it was moved away");
    assert_eq!(read_everything(&scratch), Vec::<String>::new());
    // Ours in its place is ours, also while the merge waits.
    assert!(has_own(&scratch));
}

/// A program that leaves a trace, and the file that has the trace.
fn canary(scratch: &Scratch, path: &Path) -> std::path::PathBuf {
    let canary = scratch.home().join("canary");
    write(path, &format!("#!/bin/sh\necho \"$0 $*\" >> {}\ncat\n", canary.display()));
    assert!(Command::new("chmod").arg("+x").arg(path).status().unwrap().success());
    canary
}

#[test]
fn no_filter_of_the_repositorys_runs_wherever_it_is_configured() {
    let config = |root: &Path, name: &str, text: &str| {
        let path = root.join(".git").join(name);
        let before = fs::read_to_string(&path).unwrap_or_default();
        fs::write(path, format!("{before}{text}")).unwrap();
    };
    for (filter, place) in [("a=b", "config"), ("evil", "config.worktree"), ("in", "included")] {
        let scratch = own();
        let root = scratch.root();
        let program = scratch.home().join("program");
        let canary = canary(&scratch, &program);
        write(&root.join(".gitattributes"), &format!("*.txt filter={filter}\n"));
        write(&root.join("a.txt"), "x\n");
        git(&root, &["add", "."]);
        git(&root, &["commit", "-qm", "second"]);
        config(
            &root,
            "config",
            "[extensions]\n\tworktreeConfig = true\n[include]\n\tpath = included\n",
        );
        let path = program.display();
        let filter = format!(
            "[filter \"{filter}\"]\n\tclean = {path}\n\tsmudge = {path}\n\trequired = true\n"
        );
        config(&root, place, &filter);
        plan(&root.join("tasks"), &root.display().to_string());
        for args in [
            &["branch", "handoff", "--type", "session"][..],
            &["execute", "init", "tasks"],
            &["execute", "start", "tasks", "L1-001"],
        ] {
            // Git has to look at the contents again.
            fs::write(root.join("a.txt"), "y\n").unwrap();
            fs::write(root.join("a.txt"), "x\n").unwrap();
            let run = scratch.run(args, b"");
            assert!(!canary.exists(), "{place} {args:?}: {}", fs::read_to_string(&canary).unwrap());
            assert_eq!(run.code, Some(0), "{place} {args:?}: {}", run.stderr);
        }
        assert_eq!(fs::read_to_string(root.join(".worktrees/L1-001/a.txt")).unwrap(), "x\n");
    }
}

#[test]
fn no_git_hook_of_the_repositorys_runs() {
    let scratch = own();
    let root = scratch.root();
    let mut traces = Vec::new();
    let hooks = ["post-checkout", "reference-transaction", "post-merge", "post-index-change"];
    for hook in hooks {
        traces.push(canary(&scratch, &root.join("hooks").join(hook)));
    }
    git(&root, &["add", "hooks"]);
    git(&root, &["commit", "-qm", "hooks"]);
    for (key, value) in [("core.hooksPath", "hooks"), ("user.name", "a"), ("user.email", "a@b.c")] {
        git(&root, &["config", key, value]);
    }
    let _ = fs::remove_file(&traces[0]);
    plan(&root.join("tasks"), &root.display().to_string());
    git(&root, &["-c", "core.hooksPath=/dev/null", "add", "tasks"]);
    git(&root, &["-c", "core.hooksPath=/dev/null", "commit", "-qm", "plan"]);
    let execute = |args: &[&str]| {
        let run = scratch.run(&[&["execute"], args].concat(), b"");
        assert!(!traces[0].exists(), "{args:?}: {}", fs::read_to_string(&traces[0]).unwrap());
        assert_eq!(run.code, Some(0), "{args:?}: {}", run.stderr);
    };
    execute(&["init", "tasks"]);
    execute(&["start", "tasks", "L1-001"]);
    let work = root.join(".worktrees/L1-001");
    write(&work.join("a.txt"), "x\n");
    git(&work, &["-c", "core.hooksPath=/dev/null", "add", "a.txt"]);
    git(&work, &["-c", "core.hooksPath=/dev/null", "commit", "-qm", "L1-001"]);
    assert_eq!(scratch.run(&["run-verify", "tasks", "L1-001"], b"").code, Some(0));
    execute(&["merge", "tasks"]);
    assert!(root.join("a.txt").exists());
}

#[test]
fn a_link_that_git_brought_is_not_followed() {
    let scratch = own();
    let victim = scratch.home().join("clone");
    let attacker = scratch.home().join("attacker");
    fs::create_dir(&attacker).unwrap();
    git(&attacker, &["init", "-q", "-b", "main"]);
    std::os::unix::fs::symlink("../shop/.claude", attacker.join(".claude")).unwrap();
    git(&attacker, &["add", "-A"]);
    git(&attacker, &["commit", "-qm", "link"]);
    git(scratch.home(), &["clone", "-q", "attacker", "clone"]);
    let mut there = scratch.same();
    there.env.insert("CLAUDE_PROJECT_DIR".into(), victim.display().to_string());
    let before = tree(&scratch.root());
    let said = (0..3).map(|n| {
        let name = if n == 0 { "SessionStart" } else { "UserPromptSubmit" };
        let fields = json!({"source": "startup", "prompt": "go", "cwd": victim});
        let payload = event(OTHER, name, fields).to_string();
        let run = there.run(&["hook"], payload.as_bytes());
        assert!(!run.stdout.contains("Mine"), "{}", run.stdout);
        run.stderr.contains("a link that git tracks")
    });
    assert_eq!(said.collect::<Vec<bool>>(), [true, false, false], "it is said once");
    let list = || there.run(&["-C", victim.to_str().unwrap(), "queue", "list"], b"");
    // However the index is written, and however far in it the link is.
    fs::create_dir(victim.join(".a")).unwrap();
    (0..2000).for_each(|n| fs::write(victim.join(format!(".a/file-{n}")), "x").unwrap());
    git(&victim, &["add", ".a"]);
    for form in [
        "update-index --index-version 2",
        "update-index --index-version 4",
        "update-index --split-index",
        "update-index --add --cacheinfo 160000,1111111111111111111111111111111111111111,sub",
        "update-index --no-split-index",
    ] {
        git(&victim, &form.split(' ').collect::<Vec<&str>>());
        let list = list();
        assert!(list.code == Some(1) && !list.stdout.contains("Mine"), "{form}: {}", list.stdout);
        assert!(list.stderr.contains("git rm --cached .claude"), "{form}: {}", list.stderr);
    }
    let doctor = there.run(&["-C", victim.to_str().unwrap(), "doctor"], b"");
    assert!(doctor.stdout.contains("If the link is yours"), "{}", doctor.stdout);
    // One that does not tell is not believed either.
    let index = victim.join(".git/index");
    let bytes = fs::read(&index).unwrap();
    for broken in [&b"none"[..], &bytes[..40], b""] {
        fs::write(&index, broken).unwrap();
        let list = list();
        assert!(list.code == Some(1) && !list.stdout.contains("Mine"), "{}", list.stdout);
        assert!(list.stderr.contains("git's index cannot be read"), "{}", list.stderr);
    }
    fs::write(&index, bytes).unwrap();
    assert!(tree(&scratch.root()) == before, "nothing was written");
    // A link of one's own is.
    git(&victim, &["rm", "-q", "--cached", ".claude"]);
    assert!(good(list()).contains("Mine"));
    std::mem::forget(there);
}
