//! What belongs to a branch: its state through a compaction, its plan, its hand-offs, its name.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::books::validate;
use crate::support::{self, Scratch, event, good, refused, spawn};

const SESSION: &str = "0f3e8a2c-1111-4222-8333-444455556666";
const START: [&str; 8] =
    ["branch", "loop", "start", "Make all tests pass", "--max", "9", "--promise", "ALL GREEN"];

fn git(dir: &Path, args: &[&str]) {
    let author = ["-c", "user.name=Test", "-c", "user.email=test@example.com"];
    let done = Command::new("git")
        .args(author)
        .args(args)
        .current_dir(dir)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
}

/// A real repository on a branch, with one live session in which the commands run.
fn shop(branch: &str) -> Scratch {
    let mut scratch = Scratch::new();
    git(&scratch.root(), &["init", "--quiet", "--initial-branch=main"]);
    git(&scratch.root(), &["commit", "--quiet", "--allow-empty", "--message=Start"]);
    if branch != "main" {
        git(&scratch.root(), &["update-ref", &format!("refs/heads/{branch}"), "HEAD"]);
        git(&scratch.root(), &["symbolic-ref", "HEAD", &format!("refs/heads/{branch}")]);
    }
    start(&scratch, SESSION, "startup");
    scratch.env.insert("CLAUDE_CODE_SESSION_ID".into(), SESSION.into());
    scratch
}

fn transcript(scratch: &Scratch, session: &str) -> std::path::PathBuf {
    scratch.home().join(format!(".claude/projects/shop/{session}.jsonl"))
}

fn with_transcript(scratch: &Scratch, session: &str, mut fields: Value) -> Value {
    fields["transcript_path"] = json!(transcript(scratch, session));
    fields
}

/// What the model hears at a start.
fn start(scratch: &Scratch, session: &str, source: &str) -> String {
    let fields = with_transcript(scratch, session, json!({"source": source}));
    let reply = scratch.hook(&event(session, "SessionStart", fields)).stdout;
    let reply: Value = serde_json::from_str(&reply).unwrap_or_default();
    reply["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default().to_owned()
}

/// What the summariser hears.
fn compact(scratch: &Scratch, session: &str) -> String {
    let fields = with_transcript(scratch, session, json!({"trigger": "auto"}));
    scratch.hook(&event(session, "PreCompact", fields)).stdout
}

fn prompt(scratch: &Scratch, session: &str, text: &str) {
    scratch.hook(&event(session, "UserPromptSubmit", json!({"prompt": text})));
}

fn folder(scratch: &Scratch, key: &str) -> std::path::PathBuf {
    scratch.root().join(".claude/branches").join(key)
}

fn document(scratch: &Scratch, key: &str, file: &str) -> Value {
    serde_json::from_slice(&fs::read(folder(scratch, key).join(file)).unwrap()).unwrap()
}

fn state(scratch: &Scratch, key: &str) -> Value {
    document(scratch, key, "state.json")
}

fn folders(scratch: &Scratch) -> Vec<String> {
    let Ok(entries) = fs::read_dir(scratch.root().join(".claude/branches")) else {
        return Vec::new();
    };
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name != ".gitignore").collect();
    names.sort();
    names
}

fn write(path: &Path, text: impl AsRef<[u8]>) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Lines of a transcript: calls, and what they were answered.
fn lines(calls: &[(&str, Value, Value)]) -> String {
    let line = |(n, (name, input, answer)): (usize, &(&str, Value, Value))| {
        let id = format!("toolu_{n}");
        let call = json!({"isSidechain": false, "message": {"type": "message", "role": "assistant", "content": [
            {"type": "tool_use", "id": id, "name": name, "input": input}]}, "type": "assistant"});
        let error = answer.as_str().is_some_and(|text| text.starts_with("Error"));
        let said = match answer["task"]["id"].as_str() {
            Some(number) => format!("Task #{number} created successfully: {}", input["subject"]),
            None => "done".to_owned(),
        };
        let mut result = json!({"tool_use_id": id, "type": "tool_result", "content": said});
        if error {
            result["is_error"] = json!(true);
        }
        let answer = json!({"isSidechain": false, "type": "user",
            "message": {"role": "user", "content": [result]}, "toolUseResult": answer});
        // The client keeps its requests, too: these are no calls.
        let kept = json!({"type": "api-request-blob", "message": {"role": "assistant", "content": [
            {"type": "tool_use", "id": id, "name": name, "input": input}]}});
        format!("{kept}\n{call}\n{answer}\n")
    };
    calls.iter().enumerate().map(line).collect()
}

fn todo(content: &str, status: &str) -> Value {
    json!({"content": content, "status": status, "activeForm": format!("Doing {content}")})
}

#[test]
fn a_compaction_keeps_the_loop_and_the_hand_offs_and_gives_all_of_it_back() {
    let scratch = shop("feat/login");
    write(
        &scratch.root().join(".claude/plans/feat-login.md"),
        "# Login\n\n1. A form\n2. A check\n",
    );
    prompt(&scratch, SESSION, "/build login --fast");
    let todos = json!({"todos": [todo("A form", "completed"), todo("A check", "in_progress"), todo("Docs", "pending")]});
    write(&transcript(&scratch, SESSION), lines(&[("TodoWrite", todos.clone(), json!({}))]));
    good(scratch.run(&START, b""));
    for kind in ["task", "triage", "session"] {
        good(scratch.run(&["branch", "handoff", "--type", kind], b""));
    }
    let before = state(&scratch, "feat-login");

    let summary = compact(&scratch, SESSION);
    for part in [
        "- the command that is being executed: /build login --fast\n",
        "- the plan: .claude/plans/feat-login.md\n",
        "- 2 open todos:\n  - A check (in progress)\n  - Docs\n",
        "- a loop of branch feat/login",
    ] {
        assert!(summary.contains(part), "{part}: {summary}");
    }
    let after = state(&scratch, "feat-login");
    assert_eq!((&after["loop"], &after["handoff"]), (&before["loop"], &before["handoff"]));
    assert_eq!((&after["branch"], &after["session"]), (&json!("feat/login"), &json!(SESSION)));
    assert_eq!(
        after["workflow"],
        json!({"phase": "executing", "active": "build", "args": "login --fast"})
    );
    assert_eq!(
        after["plan"],
        json!({"exists": true, "file": ".claude/plans/feat-login.md", "preview": "# Login\n\n1. A form\n2. A check"})
    );
    assert_eq!(
        after["execution"],
        json!({"todos": todos["todos"], "pending_count": 2, "completed_count": 1})
    );
    assert!(after["compacted_at"].is_string());

    let heard = start(&scratch, SESSION, "compact");
    let wanted = [
        "- task: /build login --fast\n",
        "- on branch feat/login:\n",
        "  - workflow: /build login --fast (executing)\n",
        "  - plan: .claude/plans/feat-login.md, which begins:\n      # Login\n\n      1. A form\n",
        "  - todos: 2 pending, 1 completed\n    - A check (in progress)\n    - Docs\n",
        "- a loop of branch feat/login in .claude/branches/feat-login/state.json: iteration 1 of 9, complete with <promise>ALL GREEN</promise>: Make all tests pass",
    ];
    let mut rest = heard.as_str();
    for part in wanted {
        let found = rest.split_once(part);
        rest = found.unwrap_or_else(|| panic!("{part:?} is missing or too early in {heard}")).1;
    }
    assert_eq!(state(&scratch, "feat-login")["loop"]["iteration"], 1);
    // The backup has it, too.
    let backup = scratch.names("compaction").remove(0);
    let preserved = &scratch.doc(&format!("compaction/{backup}"))["preserved"]["branch"];
    assert_eq!(preserved["execution"], after["execution"]);
    assert_eq!(preserved["handoff"]["count"], 3);
    // And the loop goes on.
    let stop =
        json!({"stop_hook_active": true, "last_assistant_message": "on", "background_tasks": []});
    let reply = scratch.hook(&event(SESSION, "Stop", stop)).stdout;
    assert!(reply.contains("\"block\""), "{reply}");
    assert_eq!(validate(&scratch, &[]).0, 0);
}

#[test]
fn todos_and_workflow_are_given_back_to_their_session_and_what_continues_it() {
    let scratch = shop("main");
    prompt(&scratch, SESSION, "/build login");
    write(
        &transcript(&scratch, SESSION),
        lines(&[("TodoWrite", json!({"todos": [todo("A", "pending")]}), json!({}))]),
    );
    compact(&scratch, SESSION);
    // Another session hears nothing of it.
    assert_eq!(start(&scratch, "other", "startup"), "");
    assert_eq!(start(&scratch, "other", "compact").matches("- on branch ").count(), 0);
    // Something else was typed: the command is over.
    prompt(&scratch, SESSION, "and now the docs");
    compact(&scratch, SESSION);
    assert_eq!(state(&scratch, "main")["workflow"]["phase"], "idle");
    let resumed = start(&scratch, SESSION, "resume");
    assert!(resumed.contains("  - workflow: /build login (idle)\n"), "{resumed}");
    // The same client goes on after a /clear.
    scratch.hook(&event(SESSION, "SessionEnd", json!({"reason": "clear"})));
    let cleared = start(&scratch, "next", "clear");
    assert!(cleared.contains("  - todos: 1 pending, 0 completed\n    - A"), "{cleared}");
    assert_eq!(start(&scratch, "fourth", "startup"), "");
}

#[test]
fn two_compactions_at_once_in_one_checkout_give_each_its_own() {
    let scratch = shop("main");
    start(&scratch, "other", "startup");
    for (session, what) in [(SESSION, "Mine"), ("other", "Theirs")] {
        prompt(&scratch, session, &format!("/build {what}"));
        let todos = json!({"todos": [todo(what, "pending")]});
        write(&transcript(&scratch, session), lines(&[("TodoWrite", todos, json!({}))]));
        compact(&scratch, session);
    }
    for (session, own, others) in [(SESSION, "Mine", "Theirs"), ("other", "Theirs", "Mine")] {
        let heard = start(&scratch, session, "compact");
        let wanted = format!(
            "  - workflow: /build {own} (executing)\n  - todos: 1 pending, 0 completed\n    - {own}"
        );
        assert!(heard.contains(&wanted) && !heard.contains(others), "{heard}");
    }
}

#[test]
fn a_command_is_remembered_when_its_session_goes_on() {
    let scratch = shop("main");
    prompt(&scratch, SESSION, "/build login");
    compact(&scratch, SESSION);
    scratch.hook(&event(SESSION, "SessionEnd", json!({"reason": "other"})));
    start(&scratch, SESSION, "resume");
    compact(&scratch, SESSION);
    assert_eq!(state(&scratch, "main")["workflow"]["active"], "build");
    compact(&scratch, "another");
    assert_eq!(state(&scratch, "main")["workflow"]["active"], "");
}

#[test]
fn what_somebody_planted_is_left_and_the_session_goes_on() {
    for planted in
        ["branches", "branches/main", "branches/main/state.json", "branches/main/agents.json"]
    {
        let scratch = shop("main");
        let (target, link) =
            (scratch.home().join("target"), scratch.root().join(".claude").join(planted));
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        match planted.ends_with(".json") {
            true => write(&target, "{\"branch\": \"main\"}"),
            false => fs::create_dir_all(&target).unwrap(),
        }
        symlink(&target, &link).unwrap();
        scratch.hook(&event(
            SESSION,
            "SubagentStart",
            json!({"agent_id": "a1", "agent_type": "x"}),
        ));
        compact(&scratch, SESSION);
        start(&scratch, SESSION, "compact");
        scratch.hook(&event(
            SESSION,
            "SubagentStop",
            json!({"agent_id": "a1", "agent_type": "x", "last_assistant_message": "x"}),
        ));
        assert!(link.is_symlink(), "{planted}");
        match planted.ends_with(".json") {
            true => assert_eq!(fs::read_to_string(&target).unwrap(), "{\"branch\": \"main\"}"),
            false => assert_eq!(fs::read_dir(&target).unwrap().count(), 0, "{planted}"),
        }
        let live = scratch.doc(&format!("session/live/{SESSION}.json"));
        assert_eq!(
            (&live["agents_spawned"], &live["agents_completed"]),
            (&json!(1), &json!(1)),
            "{planted}"
        );
        let notices = scratch.doc("notices.json").to_string();
        assert!(notices.contains(planted), "{planted}: {notices}");
        let run = scratch.run(&["branch", "handoff", "--type", "task"], b"");
        assert_eq!(run.code, Some(1), "{planted}");
        let (code, lines) = validate(&scratch, &[]);
        assert_eq!(code, 1, "{planted}: {lines:?}");
    }
}

#[test]
fn todos_are_what_was_written_last() {
    let scratch = shop("main");
    let list = |names: &[&str]| json!({"todos": names.iter().map(|n| todo(n, "pending")).collect::<Vec<_>>()});
    let saved = |calls: &[(&str, Value, Value)]| {
        write(&transcript(&scratch, SESSION), lines(calls));
        compact(&scratch, SESSION);
        let todos = state(&scratch, "main")["execution"]["todos"].clone();
        let spell = |t: &Value| {
            format!("{} {}", t["content"].as_str().unwrap(), t["status"].as_str().unwrap())
        };
        todos.as_array().unwrap().iter().map(spell).collect::<Vec<_>>().join(", ")
    };
    let made = |n: u64| json!({"task": {"id": n.to_string(), "subject": "x"}});
    assert_eq!(
        saved(&[
            ("TodoWrite", list(&["old"]), json!({})),
            ("TodoWrite", list(&["new", "newer"]), json!({})),
            ("TodoWrite", list(&["refused"]), json!("Error: No such tool available: TodoWrite")),
        ]),
        "new pending, newer pending"
    );
    assert_eq!(
        saved(&[
            ("TodoWrite", list(&["before the tasks"]), json!({})),
            ("TaskCreate", json!({"subject": "one"}), json!("Error: TaskCreate is disabled")),
            ("TaskCreate", json!({"subject": "first", "activeForm": "Firsting"}), made(1)),
            ("TaskCreate", json!({"subject": "second"}), made(2)),
            ("TaskCreate", json!({"subject": "third"}), made(3)),
            ("TaskUpdate", json!({"taskId": "1", "status": "completed"}), json!({})),
            (
                "TaskUpdate",
                json!({"taskId": "2", "status": "in_progress", "subject": "the second"}),
                json!({})
            ),
            ("TaskUpdate", json!({"taskId": "3", "status": "deleted"}), json!({})),
            ("TaskUpdate", json!({"taskId": "77", "status": "completed"}), json!({})),
        ]),
        "first completed, the second in_progress"
    );
    assert_eq!(saved(&[("Read", json!({"file_path": "/a"}), json!({}))]), "");
    // Whatever else is in there.
    write(&transcript(&scratch, SESSION), b"\xff\xfe{\n{\"TodoWrite\"\n[]\n".as_slice());
    compact(&scratch, SESSION);
    assert_eq!(state(&scratch, "main")["execution"]["todos"], json!([]));
}

#[test]
fn examples_of_other_tools_are_read_checked_and_kept() {
    let scratch = shop("feat/example");
    let add = |text: &str| {
        let mut document: Value = serde_json::from_str(text).unwrap();
        document["ours"] = json!({"deep": [1, 2.50, null]});
        document
    };
    let seed = add(include_str!("../seeds/004/branch-state.json"));
    let agents = add(include_str!("../seeds/004/branch-agents.json"));
    write(&folder(&scratch, "feat-example").join("state.json"), seed.to_string());
    write(&folder(&scratch, "feat-example").join("agents.json"), agents.to_string());
    assert_eq!(validate(&scratch, &[]).0, 0, "{:?}", validate(&scratch, &[]));
    let view = good(scratch.run(&["branch", "show"], b""));
    assert!(view.contains("10 spawned: 8 completed, 1 failed, 1 running (1 stuck)"), "{view}");

    compact(&scratch, SESSION);
    scratch.hook(&event(
        SESSION,
        "SubagentStart",
        json!({"agent_id": "a1", "agent_type": "Explore"}),
    ));
    let after = state(&scratch, "feat-example");
    for key in ["loop", "handoff", "ours"] {
        assert_eq!(after[key], seed[key], "{key}");
    }
    assert_eq!(after["branch"], "feat/example");
    let book = document(&scratch, "feat-example", "agents.json");
    assert_eq!((&book["agents"][0], &book["ours"]), (&agents["agents"][0], &agents["ours"]));
    assert_eq!(
        book["stats"],
        json!({"total_spawned": 11, "completed": 8, "failed": 1, "stuck": 0})
    );
    // Nobody knows more of it than that it began long ago.
    let heard = start(&scratch, "other", "startup");
    assert!(
        heard.contains("- 1 agent stuck, running and silent for more than 5 minutes"),
        "{heard}"
    );
    assert!(
        heard.contains("  - agent-1234567890-12345 (general-purpose): T001 - Create user model"),
        "{heard}"
    );
    let book = document(&scratch, "feat-example", "agents.json");
    assert_eq!(
        (&book["agents"][0]["status"], &book["stats"]["stuck"]),
        (&json!("stuck"), &json!(1))
    );
    let stuck = good(scratch.run(&["agents", "stuck"], b""));
    assert!(stuck.contains("agent-1234567890-12345  left on feat-example"), "{stuck}");
    assert_eq!(validate(&scratch, &[]).0, 0);
}

#[test]
fn branches_of_any_name_have_a_folder_of_their_own() {
    let long = format!("{}/{}", "a".repeat(149), "b".repeat(150));
    for (branch, key) in [
        ("-rf", Some("-rf")),
        ("feat/a.b/c", Some("feat-a.b-c")),
        ("größe/漢字", Some("größe-漢字")),
        ("a'b\"c$(d)", None),
        (&long, None),
    ] {
        let scratch = shop(branch);
        compact(&scratch, SESSION);
        let names = folders(&scratch);
        assert_eq!(names.len(), 1, "{names:?}");
        assert!(key.is_none_or(|key| key == names[0]), "{names:?}");
        assert!(key.is_some() || names[0].starts_with("x-"), "{names:?}");
        assert_eq!(state(&scratch, &names[0])["branch"], branch);
        let by_name = good(scratch.run(&["branch", "show", "--json", "--branch", branch], b""));
        let shown: Value = serde_json::from_str(&by_name).unwrap();
        assert_eq!(
            (&shown["branch"], &shown["state"]["session"]),
            (&json!(branch), &json!(SESSION))
        );
        let file = good(scratch.run(&["branch", "handoff", "--type", "task"], b""));
        let text = fs::read_to_string(scratch.root().join(file.lines().next().unwrap())).unwrap();
        let spelled = text.lines().find_map(|line| line.strip_prefix("branch: ")).unwrap();
        let read: String = serde_json::from_str(spelled).unwrap_or_else(|_| spelled.to_owned());
        assert_eq!(read, branch);
        assert_eq!(folders(&scratch), names);
        assert_eq!(validate(&scratch, &[]).0, 0);
    }
}

#[test]
fn without_a_branch_there_is_a_name_too() {
    // Detached.
    let scratch = shop("main");
    git(&scratch.root(), &["checkout", "--quiet", "--detach"]);
    compact(&scratch, SESSION);
    let names = folders(&scratch);
    assert!(
        names.len() == 1 && names[0].starts_with("detached-") && names[0].len() == 16,
        "{names:?}"
    );
    // Unborn, and no git at all.
    for init in [true, false] {
        let scratch = Scratch::new();
        if init {
            git(&scratch.root(), &["init", "--quiet", "--initial-branch=main"]);
        }
        start(&scratch, SESSION, "startup");
        scratch.hook(&event(
            SESSION,
            "SubagentStart",
            json!({"agent_id": "a1", "agent_type": "Explore"}),
        ));
        compact(&scratch, SESSION);
        assert_eq!(folders(&scratch), ["unknown"]);
        assert_eq!(state(&scratch, "unknown")["branch"], "unknown");
        let view = good(scratch.run(&["branch", "show"], b""));
        assert!(view.starts_with("branch      unknown\n"), "{view}");
        let text = good(scratch.run(&["branch", "handoff", "--type", "session"], b""));
        assert!(text.contains("Hand-off 1 of branch unknown"), "{text}");
    }
}

#[test]
fn three_names_that_look_the_same_have_three_folders() {
    let scratch = shop("feat/a-b");
    let switch = |branch: &str| {
        git(&scratch.root(), &["symbolic-ref", "HEAD", &format!("refs/heads/{branch}")]);
        scratch.hook(&event(
            SESSION,
            "SubagentStart",
            json!({"agent_id": format!("on {branch}"), "agent_type": "x"}),
        ));
        compact(&scratch, SESSION);
    };
    for branch in ["feat-a/b", "feat-a-b"] {
        git(&scratch.root(), &["update-ref", &format!("refs/heads/{branch}"), "HEAD"]);
    }
    for _ in 0..2 {
        for branch in ["feat-a-b", "feat/a-b", "feat-a/b"] {
            switch(branch);
        }
    }
    let names = folders(&scratch);
    assert_eq!(names.len(), 3, "{names:?}");
    let mut branches: Vec<String> = Vec::new();
    for name in &names {
        let branch = state(&scratch, name)["branch"].as_str().unwrap().to_owned();
        let book = document(&scratch, name, "agents.json");
        assert_eq!(book["branch"], branch.as_str());
        assert_eq!(book["agents"].as_array().unwrap().len(), 1, "{book}");
        branches.push(branch);
    }
    branches.sort();
    assert_eq!(branches, ["feat-a-b", "feat-a/b", "feat/a-b"]);
}

#[test]
fn two_sessions_in_two_worktrees_do_not_disturb_each_other() {
    let one = shop("feat/one");
    let tree = one.home().join("two");
    git(
        &one.root(),
        &["worktree", "add", "--quiet", "-b", "feat/two", &tree.display().to_string(), "main"],
    );
    let payload = |session: &str, name: &str, fields: Value| {
        let mut payload = event(session, name, with_transcript(&one, session, fields));
        payload["cwd"] = json!(tree);
        format!("{payload}\n")
    };
    let other = "1f3e8a2c-1111-4222-8333-444455556666";
    let in_two = |args: &[&str], stdin: &str| {
        let mut command = one.command(args);
        command
            .current_dir(&tree)
            .env("CLAUDE_PROJECT_DIR", &tree)
            .env("CLAUDE_CODE_SESSION_ID", other);
        good(support::finish(spawn(command), stdin.as_bytes()))
    };
    in_two(&["hook"], &payload(other, "SessionStart", json!({"source": "startup"})));
    good(one.run(&START, b""));
    in_two(&START, "");
    good(one.run(&["branch", "handoff", "--type", "task"], b""));
    one.hook(&event(SESSION, "SubagentStart", json!({"agent_id": "a1", "agent_type": "x"})));
    in_two(
        &["hook"],
        &payload(other, "SubagentStart", json!({"agent_id": "a2", "agent_type": "x"})),
    );
    compact(&one, SESSION);
    in_two(&["hook"], &payload(other, "PreCompact", json!({"trigger": "auto"})));
    let stop = json!({"stop_hook_active": true, "last_assistant_message": "<promise>ALL GREEN</promise>", "background_tasks": [
        {"id": "a1", "type": "subagent", "status": "running"}]});
    one.hook(&event(SESSION, "Stop", stop));

    let there = |file: &str| -> Value {
        serde_json::from_slice(
            &fs::read(tree.join(".claude/branches/feat-two").join(file)).unwrap(),
        )
        .unwrap()
    };
    assert_eq!(folders(&one), ["feat-one"]);
    assert_eq!(state(&one, "feat-one")["loop"]["verdict"], "complete");
    assert_eq!(state(&one, "feat-one")["handoff"]["count"], 1);
    assert_eq!(there("state.json")["loop"]["active"], true);
    assert_eq!(there("state.json")["session"], other);
    assert_eq!(there("state.json").get("handoff"), None);
    assert_eq!(document(&one, "feat-one", "agents.json")["agents"][0]["id"], "a1");
    assert_eq!(there("agents.json")["agents"][0]["id"], "a2");
    assert_eq!(there("agents.json")["stats"]["total_spawned"], 1);
    // A command of the second session finds its own books from where it runs.
    let shown: Value = serde_json::from_str(&in_two(&["branch", "show", "--json"], "")).unwrap();
    assert_eq!(shown["branch"], "feat/two");
}

#[test]
fn a_switch_leaves_loop_and_agents_with_their_branch() {
    let scratch = shop("feat/one");
    good(scratch.run(&START, b""));
    scratch.hook(&event(SESSION, "SubagentStart", json!({"agent_id": "a1", "agent_type": "x"})));
    git(&scratch.root(), &["checkout", "--quiet", "-b", "feat/two"]);
    compact(&scratch, SESSION);
    let heard = start(&scratch, SESSION, "compact");
    assert!(heard.contains("- a loop of branch feat/one (the checkout is on feat/two now) in .claude/branches/feat-one/state.json"), "{heard}");
    let stop = json!({"agent_id": "a1", "agent_type": "x", "last_assistant_message": "Done."});
    scratch.hook(&event(SESSION, "SubagentStop", stop));
    let book = document(&scratch, "feat-one", "agents.json");
    assert_eq!(
        (&book["agents"][0]["status"], &book["agents"][0]["result"]),
        (&json!("completed"), &json!("Done."))
    );
    assert_eq!(state(&scratch, "feat-one").get("compacted_at"), None);
    assert_eq!(state(&scratch, "feat-two").get("loop"), None);
}

#[test]
fn the_plan_is_the_branchs_own_else_the_newest() {
    let scratch = shop("feat/login");
    let plans = scratch.root().join(".claude/plans");
    let plan = || {
        compact(&scratch, SESSION);
        state(&scratch, "feat-login")["plan"].clone()
    };
    let none = json!({"exists": false, "file": null, "preview": null});
    assert_eq!(plan(), none);
    refused(
        &scratch.run(&["branch", "plan"], b""),
        "branch feat/login has no plan; one would be .claude/plans/feat-login.md",
    );
    // What is no plan: a folder, a link out of the project, another kind of file.
    fs::create_dir_all(plans.join("folder.md")).unwrap();
    write(&scratch.home().join("secret.md"), "secret");
    symlink(scratch.home().join("secret.md"), plans.join("feat-login.md")).unwrap();
    write(&plans.join("notes.txt"), "x");
    assert_eq!(plan(), none);
    fs::remove_file(plans.join("feat-login.md")).unwrap();
    write(&plans.join("older.md"), "older");
    let before = fs::File::open(plans.join("older.md")).unwrap();
    before.set_modified(std::time::SystemTime::now() - std::time::Duration::from_secs(60)).unwrap();
    write(&plans.join("newer.md"), "newer");
    assert_eq!(plan()["file"], ".claude/plans/newer.md");
    write(&plans.join("feat-login.plan.md"), "# The plan\npassword=hunter2hunter2\n");
    assert_eq!(plan()["file"], ".claude/plans/feat-login.plan.md");
    assert!(!plan()["preview"].as_str().unwrap().contains("hunter2"));
    let own = plans.join("feat-login.md");
    // Binary, and ten megabytes in one line and in many.
    write(&own, b"\x7fELF\0\0\x01\xff\n".repeat(100));
    assert_eq!(
        plan(),
        json!({"exists": true, "file": ".claude/plans/feat-login.md", "preview": "(not a text)"})
    );
    assert!(start(&scratch, SESSION, "compact").contains("which begins:\n      (not a text)"));
    for text in ["é".repeat(5 << 20), "a line of a plan\n".repeat(600_000)] {
        write(&own, text);
        let preview = plan()["preview"].as_str().unwrap().to_owned();
        assert!(
            preview.lines().count() <= 40 && preview.chars().count() < 13_000,
            "{}",
            preview.len()
        );
        let heard = start(&scratch, SESSION, "compact");
        assert!(
            heard.encode_utf16().count() < 9_000
                && heard.starts_with("HookKeeper kept this session's state"),
            "{}",
            heard.len()
        );
    }
    let shown = good(scratch.run(&["branch", "plan"], b""));
    assert!(shown.starts_with(".claude/plans/feat-login.md\n\na line of a plan\n"), "{shown}");
    assert_eq!(validate(&scratch, &[]).0, 0);
}

#[test]
fn a_state_that_cannot_be_read_stays_until_it_is_repaired() {
    let scratch = shop("main");
    let broken = "{\"branch\": \"main\", \"handoff\": {\"count\": \"three\"}}";
    let file = folder(&scratch, "main").join("state.json");
    write(&file, broken);
    write(&folder(&scratch, "main").join("agents.json"), "{\"agents\": {}}");
    compact(&scratch, SESSION);
    scratch.hook(&event(SESSION, "SubagentStart", json!({"agent_id": "a1", "agent_type": "x"})));
    refused(
        &scratch.run(&["branch", "handoff", "--type", "task"], b""),
        ".claude/branches/main/state.json cannot be read; `hookkeeper validate` says why",
    );
    refused(
        &scratch.run(&["branch", "show"], b""),
        ".claude/branches/main/state.json cannot be read",
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), broken);
    assert!(!folder(&scratch, "main").join("handoffs").exists());
    write(&folder(&scratch, "main").join("notes.txt"), "mine");
    let (code, said) = validate(&scratch, &[]);
    assert_eq!(code, 1);
    for line in [
        ".claude/branches/main/agents.json: /agents: is an object, must be a list",
        ".claude/branches/main/state.json: /handoff/count: is a string, must be a whole number",
        ".claude/branches/main/notes.txt: is no document of HookKeeper",
    ] {
        assert!(said.iter().any(|said| said == line), "{line}: {said:#?}");
    }
    let (code, done) = validate(&scratch, &["--repair"]);
    assert_eq!(code, 0, "{done:#?}");
    let quarantined = scratch.names("quarantine");
    let kept =
        quarantined.iter().find(|name| name.starts_with("branches-main-state.json.")).unwrap();
    assert_eq!(fs::read_to_string(scratch.state().join("quarantine").join(kept)).unwrap(), broken);
    assert_eq!(quarantined.len(), 2, "{quarantined:?}");
    assert_eq!(fs::read_to_string(folder(&scratch, "main").join("notes.txt")).unwrap(), "mine");
    good(scratch.run(&["branch", "handoff", "--type", "task"], b""));
    assert_eq!(validate(&scratch, &[]).0, 0);
    // A newer one is read and not changed; a folder in a file's place is told.
    let newer = "{\"version\": 2, \"branch\": \"main\"}";
    write(&file, newer);
    refused(
        &scratch.run(&["branch", "handoff", "--type", "task"], b""),
        "state.json cannot be changed",
    );
    compact(&scratch, SESSION);
    assert_eq!(fs::read_to_string(&file).unwrap(), newer);
}

#[test]
fn the_system_can_be_switched_off() {
    let scratch = shop("main");
    write(&scratch.root().join(".claude/hookkeeper.json"), "{\"systems\": {\"branches\": false}}");
    scratch.hook(&event(SESSION, "SubagentStart", json!({"agent_id": "a1", "agent_type": "x"})));
    compact(&scratch, SESSION);
    scratch.hook(&event(
        SESSION,
        "SubagentStop",
        json!({"agent_id": "a1", "agent_type": "x", "last_assistant_message": "x"}),
    ));
    start(&scratch, SESSION, "compact");
    assert!(!scratch.root().join(".claude/branches").exists());
}

#[test]
fn a_long_list_pushes_out_neither_the_loop_nor_the_hand_offs() {
    for word in ["word ", "🦀🦀🦀🦀 "] {
        let scratch = shop("main");
        let plan = (0..60).map(|n| format!("{n} {}\n", word.repeat(14))).collect::<String>();
        write(&scratch.root().join(".claude/plans/main.md"), plan);
        let list: Vec<Value> =
            (0..30).map(|n| todo(&format!("{n} {}", word.repeat(50)), "pending")).collect();
        let calls = [("TodoWrite", json!({"todos": list}), json!({}))];
        write(&transcript(&scratch, SESSION), lines(&calls));
        let prompt = "Make all tests pass, ".repeat(25);
        good(scratch.run(&["branch", "loop", "start", &prompt], b""));
        for kind in ["task", "triage", "session"] {
            good(scratch.run(&["branch", "handoff", "--type", kind], b""));
        }
        let stuck: Vec<Value> = (0..10)
            .map(|n| json!({"id": format!("left-{n}"), "type": "Explore", "status": "running", "description": word.repeat(60),
                "spawned_at": "2026-01-01T00:00:00Z", "spawned_epoch": 1767225600, "background": false,
                "completed_at": null, "result": null, "nudge_count": 0, "last_nudge": null}))
            .collect();
        let book = json!({"branch": "main", "agents": stuck,
            "stats": {"total_spawned": 10, "completed": 0, "failed": 0, "stuck": 0}});
        write(&folder(&scratch, "main").join("agents.json"), book.to_string());
        compact(&scratch, SESSION);
        // They are this session's own, unless their front matter says otherwise.
        for file in fs::read_dir(folder(&scratch, "main").join("handoffs")).unwrap() {
            let path = file.unwrap().path();
            let text = fs::read_to_string(&path).unwrap();
            write(&path, text.replace(SESSION, "another"));
        }
        let heard = start(&scratch, SESSION, "compact");
        assert!(heard.encode_utf16().count() <= 9_000, "{heard}");
        for wanted in
            ["- a loop of branch main", "3 open hand-offs of branch main", "10 agents stuck"]
        {
            assert!(heard.contains(wanted), "{wanted}: {heard}");
        }
    }
}

#[test]
fn another_branch_is_not_this_sessions_work() {
    let scratch = shop("main");
    git(&scratch.root(), &["branch", "other"]);
    prompt(&scratch, SESSION, "/build main-thing");
    let list = json!({"todos": [todo("MAIN todo", "pending")]});
    write(&transcript(&scratch, SESSION), lines(&[("TodoWrite", list, json!({}))]));
    assert!(good(scratch.run(&["branch", "show"], b"")).contains("MAIN todo"));
    let other = good(scratch.run(&["branch", "show", "--branch", "other"], b""));
    assert!(!other.contains("MAIN") && !other.contains("main-thing"), "{other}");
    let said =
        good(scratch.run(&["branch", "handoff", "--type", "task", "--branch", "other"], b""));
    let text = fs::read_to_string(scratch.root().join(said.lines().next().unwrap())).unwrap();
    assert!(!text.contains("MAIN") && text.contains("session: null"), "{text}");
    for args in [
        &["branch", "show", "--branch", "nope"][..],
        &["branch", "handoff", "--type", "task", "--branch", "nope"],
    ] {
        refused(&scratch.run(args, b""), "git has no branch nope");
    }
    assert_eq!(folders(&scratch), ["other"]);
}

#[test]
fn a_resumed_session_hears_what_its_transcript_says_now() {
    let scratch = shop("main");
    prompt(&scratch, SESSION, "/build login");
    let list = |status: &str| json!({"todos": [todo("A", status), todo("B", "pending")]});
    let call = |status: &str| lines(&[("TodoWrite", list(status), json!({}))]);
    write(&transcript(&scratch, SESSION), call("pending"));
    compact(&scratch, SESSION);
    write(&transcript(&scratch, SESSION), call("pending") + &call("completed"));
    prompt(&scratch, SESSION, "something else");
    scratch.hook(&event(SESSION, "SessionEnd", json!({"reason": "other"})));
    let heard = start(&scratch, SESSION, "resume");
    assert!(heard.contains("todos: 1 pending, 1 completed\n    - B"), "{heard}");
    assert!(heard.contains("workflow: /build login (the last one then)"), "{heard}");
}

#[test]
fn the_state_goes_on_from_session_to_session() {
    let scratch = shop("main");
    let list = json!({"todos": [todo("A", "pending")]});
    write(&transcript(&scratch, SESSION), lines(&[("TodoWrite", list, json!({}))]));
    good(scratch.run(&START, b""));
    compact(&scratch, SESSION);
    for (before, next) in [(SESSION, "second"), ("second", "third")] {
        scratch.hook(&event(before, "SessionEnd", json!({"reason": "clear"})));
        let heard = start(&scratch, next, "clear");
        assert!(heard.contains("todos: 1 pending"), "{next}: {heard}");
        assert_eq!(state(&scratch, "main")["session"], next);
        assert_eq!(state(&scratch, "main")["loop"]["session_id"], SESSION, "a person is asked");
    }
}

#[test]
fn a_backup_has_the_loop_that_the_session_drives() {
    let scratch = shop("feat/l");
    good(scratch.run(&START, b""));
    write(&scratch.root().join(".claude/plans/any.md"), "# Any\n");
    git(&scratch.root(), &["checkout", "--quiet", "-b", "other"]);
    compact(&scratch, SESSION);
    let backups = scratch.root().join(".claude/state/compaction");
    let file = fs::read_dir(backups).unwrap().next().unwrap().unwrap().path();
    let backup: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    assert_eq!(backup["preserved"]["branch"]["branch"], "feat/l", "{backup}");
}

#[test]
fn state_of_other_tools_is_seen_once_a_person_trusts_it() {
    let scratch = Scratch::new();
    let dir = scratch.root().join(".claude/branches/unknown");
    for file in ["state.json", "agents.json"] {
        let seed = format!("{}/tests/seeds/004/branch-{file}", env!("CARGO_MANIFEST_DIR"));
        let text = fs::read_to_string(seed).unwrap().replace("feat-example", "unknown");
        write(&dir.join(file), text);
    }
    let shown = good(scratch.run(&["branch", "show"], b""));
    assert!(shown.contains("agents      none"), "{shown}");
    good(scratch.run(&["trust", "--yes"], b""));
    let shown = good(scratch.run(&["branch", "show"], b""));
    assert!(!shown.contains("agents      none"), "{shown}");
    let stuck = good(scratch.run(&["agents", "stuck"], b""));
    assert!(stuck.contains("agent-1234567890-12345"), "{stuck}");
    assert!(!good(scratch.run(&["validate"], b"")).contains("no state yet"));
    // What it shows can be struck off.
    let said = good(scratch.run(&["agents", "close", "agent-1234567890-12345"], b""));
    assert!(said.contains("closed"), "{said}");
    assert!(good(scratch.run(&["agents", "stuck"], b"")).contains("No agent is stuck"));
    assert_eq!(document(&scratch, "unknown", "agents.json")["agents"][0]["status"], "failed");
}
