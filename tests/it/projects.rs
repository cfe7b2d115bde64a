//! All projects in one view: who is noted, what is shown of them, what is not believed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{Scratch, event, finish, good, spawn};

/// A home with the client's own directory in it, and this project.
fn home() -> Scratch {
    let scratch = Scratch::new();
    fs::create_dir_all(scratch.home().join(".claude")).unwrap();
    scratch
}

/// A prompt in another project of the same home.
fn prompt(scratch: &Scratch, root: &Path, session: &str) {
    fs::create_dir_all(root).unwrap();
    let payload =
        event(session, "UserPromptSubmit", json!({"prompt": "Count the stock", "cwd": root}));
    let mut command = scratch.command(&["hook"]);
    command.current_dir(root).env("CLAUDE_PROJECT_DIR", root);
    let run = finish(spawn(command), format!("{payload}\n").as_bytes());
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
}

#[test]
fn the_first_project_of_an_account_is_noted() {
    let scratch = Scratch::new();
    assert!(!scratch.home().join(".claude").exists());
    good(scratch.run(&["install", "--no-commands", "--any-client"], b""));
    assert_eq!(noted(&scratch).len(), 1);
}

fn noted(scratch: &Scratch) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder(scratch)) else { return Vec::new() };
    let files = entries.map(|entry| entry.unwrap().path());
    let files = files.filter(|file| file.file_name().unwrap() != ".gitignore");
    let mut paths: Vec<String> = files.map(|file| fs::read_to_string(file).unwrap()).collect();
    paths.sort();
    paths
}

fn folder(scratch: &Scratch) -> PathBuf {
    scratch.home().join(".claude/hookkeeper/projects")
}

fn projects(scratch: &Scratch) -> Vec<Value> {
    let said = good(scratch.run(&["status", "--all-projects", "--json"], b""));
    serde_json::from_str::<Value>(&said).unwrap()["projects"].as_array().unwrap().clone()
}

fn roots(scratch: &Scratch) -> Vec<String> {
    let home = format!("{}/", scratch.home().canonicalize().unwrap().display());
    let root = |project: &Value| project["project"].as_str().unwrap().replace(&home, "");
    projects(scratch).iter().map(root).collect()
}

#[test]
fn a_project_is_noted_when_it_is_new_and_shown_with_the_others() {
    let scratch = home();
    let (bakery, cafe) = (scratch.home().join("bakery"), scratch.home().join("cafe"));
    assert_eq!(
        good(scratch.run(&["status", "--all-projects"], b"")).trim_end(),
        "No project with state is known yet."
    );
    prompt(&scratch, &scratch.root(), "s1");
    prompt(&scratch, &bakery, "s2");
    prompt(&scratch, &bakery, "s3");
    assert_eq!(noted(&scratch).len(), 2);
    assert_eq!(roots(&scratch), ["bakery", "shop"]);
    // Not again at every event.
    fs::remove_dir_all(folder(&scratch)).unwrap();
    prompt(&scratch, &bakery, "s2");
    assert_eq!(noted(&scratch), [] as [String; 0]);
    prompt(&scratch, &cafe, "s4");
    assert_eq!(roots(&scratch), ["cafe", "shop"], "the project here is one of them in any case");
    let text = good(scratch.run(&["status", "--all-projects"], b""));
    assert!(
        text.starts_with("PROJECT") && text.contains("\n~/cafe") && text.contains("1 live"),
        "{text}"
    );
    let sessions = good(scratch.run(&["sessions", "--all-projects"], b""));
    assert!(sessions.starts_with("~/cafe\n") && sessions.contains("\n\n~/shop\n"), "{sessions}");
    assert!(sessions.contains("Count the stock"), "{sessions}");
    let json = good(scratch.run(&["sessions", "--all-projects", "--json"], b""));
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["projects"][0]["sessions"]["live"][0]["session_id"], "s4");
    assert_eq!(scratch.run(&["status", "--all-projects", "--watch"], b"").code, Some(64));
}

/// A session that used a million tokens of input, in another project of the same home.
fn used(scratch: &Scratch, root: &Path, session: &str) {
    fs::create_dir_all(root).unwrap();
    let transcript = scratch.home().join(format!("{session}.jsonl"));
    let line = json!({"type": "assistant", "timestamp": "2026-01-29T10:00:00.000Z", "message":
        {"id": session, "model": "claude-haiku-4-5", "usage": {"input_tokens": 1_000_000}}});
    fs::write(&transcript, format!("{line}\n")).unwrap();
    for (name, fields) in [
        ("UserPromptSubmit", json!({"prompt": "Count the stock", "cwd": root})),
        ("SessionEnd", json!({"reason": "other", "cwd": root})),
    ] {
        let mut payload = event(session, name, fields);
        payload["transcript_path"] = transcript.to_str().unwrap().into();
        let mut command = scratch.command(&["hook"]);
        command.current_dir(root).env("CLAUDE_PROJECT_DIR", root);
        let run = finish(spawn(command), format!("{payload}\n").as_bytes());
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    }
}

/// A checkout with a linked worktree, and another project.
fn three(scratch: &Scratch) -> [PathBuf; 3] {
    let roots = ["bakery", "a-worktree", "cafe"].map(|name| scratch.home().join(name));
    fs::create_dir_all(&roots[0]).unwrap();
    for args in [
        &["init", "--quiet", "--initial-branch=main"][..],
        &["commit", "--quiet", "--allow-empty", "-m", "first"],
        &["worktree", "add", "--quiet", "-b", "oven", "../a-worktree"],
    ] {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(args).current_dir(&roots[0]);
        assert!(git.output().unwrap().status.success(), "{args:?}");
    }
    for (root, session) in roots.iter().zip(["s-bakery", "s-oven", "s-cafe"]) {
        used(scratch, root, session);
    }
    roots
}

#[test]
fn cost_and_recap_of_all_projects_are_sums_and_worktrees_count_with_their_checkout() {
    let scratch = home();
    let [_, _, cafe] = three(&scratch);
    let asked =
        |args: &[&str]| -> Value { serde_json::from_str(&good(scratch.run(args, b""))).unwrap() };
    let cost = asked(&["cost", "--all-projects", "--json"]);
    assert_eq!((&cost["by"], &cost["total"]["cost_usd"]), (&json!("project"), &json!(3.0)));
    let lines: Vec<(&Value, &Value)> =
        cost["lines"].as_array().unwrap().iter().map(|l| (&l["project"], &l["input"])).collect();
    assert_eq!(
        lines,
        [(&json!("~/bakery"), &json!(2_000_000)), (&json!("~/cafe"), &json!(1_000_000))]
    );
    let text = good(scratch.run(&["cost", "--all-projects"], b""));
    assert!(text.contains("~/bakery  2.0M") && text.contains("~$3.00"), "{text}");
    let cost = asked(&["cost", "--all-projects", "--by", "session", "--json"]);
    let places: Vec<&Value> =
        cost["lines"].as_array().unwrap().iter().map(|line| &line["project"]).collect();
    assert_eq!(places.len(), 3);
    assert!(places.contains(&&json!("~/bakery")) && places.contains(&&json!("~/cafe")));
    let text = good(scratch.run(&["cost", "--all-projects", "--by", "session"], b""));
    assert!(text.contains("~/cafe: Count the stock"), "{text}");
    let csv = good(scratch.run(&["cost", "--all-projects", "--csv", "--by", "agent"], b""));
    assert!(csv.contains(",project\nmain thread,,,3,3000000,"), "{csv}");
    let recap = asked(&["recap", "--all-projects", "--since", "2026-01-01", "--json"]);
    assert_eq!((&recap["sessions"], &recap["cost_usd"]), (&json!(3), &json!(3.0)));
    // Only what is here, as before.
    assert_eq!(asked(&["cost", "--json"])["total"]["sessions"], 0);
    // One that cannot be read is named, and the others are counted.
    fs::write(cafe.join(".claude/state/session/metrics.json"), "{").unwrap();
    let cost = asked(&["cost", "--all-projects", "--json"]);
    assert_eq!(
        (&cost["unread_projects"], &cost["total"]["cost_usd"]),
        (&json!(["~/cafe"]), &json!(2.0))
    );
    let text = good(scratch.run(&["cost", "--all-projects"], b""));
    assert!(text.contains("cannot be read: ~/cafe."), "{text}");
}

#[test]
fn a_report_on_all_projects_names_the_project_of_each_session() {
    let mut scratch = home();
    let said = scratch.run(&["report", "--all-projects"], b"");
    assert_eq!(said.code, Some(1));
    assert!(said.stderr.contains("nothing has happened since 7d"), "{}", said.stderr);
    three(&scratch);
    let said = good(scratch.run(&["report", "--all-projects", "--since", "2026-01-01"], b""));
    assert!(
        said.starts_with("hookkeeper-report-all-") && said.contains(": 3 sessions, "),
        "{said}"
    );
    let page = fs::read_to_string(scratch.root().join(said.split(':').next().unwrap())).unwrap();
    assert_eq!(page.matches("<tr data-session=").count(), 3);
    for words in [
        "All projects",
        "<td>~/bakery</td>",
        "<td>~/bakery + a-worktree</td>",
        "<td>~/cafe</td>",
        "<caption>Cost by project</caption>",
        "<td>closed</td>",
    ] {
        assert!(page.contains(words), "{words}");
    }
    assert_eq!(scratch.run(&["report", "s-cafe", "--all-projects"], b"").code, Some(64));
    // Nobody's clock goes back behind what is asked for.
    scratch.env.insert("HOOKKEEPER_FIXED_TIME".into(), "2999-01-01T00:00:00Z".into());
    assert_eq!(scratch.run(&["report", "--all-projects", "--since", "1h"], b"").code, Some(1));
}

#[test]
fn install_notes_the_project_and_its_self_test_does_not() {
    let scratch = home();
    good(scratch.run(&["install"], b""));
    assert_eq!(noted(&scratch), [scratch.root().canonicalize().unwrap().display().to_string()]);
    good(scratch.run(&["uninstall", "--purge"], b""));
    assert_eq!(noted(&scratch), [] as [String; 0]);
}

#[test]
fn worktrees_stand_behind_their_checkout() {
    let scratch = home();
    let (main, linked) = (scratch.home().join("bakery"), scratch.home().join("a-worktree"));
    fs::create_dir_all(&main).unwrap();
    let git = |args: &[&str]| {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(args).current_dir(&main);
        assert!(git.output().unwrap().status.success(), "{args:?}");
    };
    git(&["init", "--quiet", "--initial-branch=main"]);
    git(&["commit", "--quiet", "--allow-empty", "-m", "first"]);
    git(&["worktree", "add", "--quiet", "-b", "oven", "../a-worktree"]);
    for root in [&linked, &main, &scratch.home().join("aaa")] {
        prompt(&scratch, root, "s1");
    }
    assert_eq!(roots(&scratch), ["aaa", "bakery", "a-worktree"]);
    let all = projects(&scratch);
    assert_eq!(all[1]["repository"], all[2]["repository"]);
    assert_eq!(all[2]["branch"], "oven");
    let text = good(scratch.run(&["status", "--all-projects"], b""));
    assert!(text.contains("\n~/bakery") && text.contains("\n+ ~/a-worktree"), "{text}");
}

#[test]
fn what_is_gone_is_left_out_and_can_be_forgotten() {
    let scratch = home();
    let bakery = scratch.home().join("bakery");
    prompt(&scratch, &scratch.root(), "s1");
    prompt(&scratch, &bakery, "s2");
    fs::remove_dir_all(&bakery).unwrap();
    assert_eq!(roots(&scratch), ["shop"]);
    let said = good(scratch.run(&["gc", "--dry-run"], b""));
    assert!(said.trim_end().ends_with("Would forget 1 project without state."), "{said}");
    assert_eq!(noted(&scratch).len(), 2);
    let said = good(scratch.run(&["gc", "--json"], b""));
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["forgotten"], json!([bakery.to_str().unwrap()]));
    assert_eq!(noted(&scratch).len(), 1);
    assert!(!good(scratch.run(&["gc"], b"")).contains("orget"));
}

/// State that came with a clone is nobody's here, whoever names it; what is in the folder may be
/// anything.
#[test]
fn what_the_folder_says_is_not_believed() {
    let scratch = home();
    prompt(&scratch, &scratch.root(), "s1");
    prompt(&scratch, &scratch.home().join("bakery"), "s2");
    let clone = scratch.home().join("clone");
    let copied =
        Command::new("cp").arg("-r").arg(scratch.home().join("bakery")).arg(&clone).status();
    assert!(copied.unwrap().success());
    let known = fs::read_dir(folder(&scratch)).unwrap().map(|entry| entry.unwrap().path());
    let known: Vec<PathBuf> = known.filter(|path| path.is_file()).collect();
    // Torn, another path, no text, far too much, a link, a folder, a name of its own.
    let put = |name: &str, bytes: &[u8]| fs::write(folder(&scratch).join(name), bytes).unwrap();
    let bakery = known.iter().find(|path| fs::read_to_string(path).unwrap().ends_with("bakery"));
    fs::write(bakery.unwrap(), clone.to_str().unwrap()).unwrap();
    put(&"0".repeat(32), b"");
    put(&"1".repeat(32), clone.to_str().unwrap().as_bytes());
    put(&"2".repeat(32), b"\xff\xfe/\x1b[2J");
    put(&"3".repeat(32), &vec![b'/'; 1 << 20]);
    put("readme", b"/etc");
    std::os::unix::fs::symlink("/etc/passwd", folder(&scratch).join("4".repeat(32))).unwrap();
    fs::create_dir(folder(&scratch).join("5".repeat(32))).unwrap();
    assert_eq!(roots(&scratch), ["shop"]);
    // Noted as the program does it, a copy is still not this machine's state.
    fs::remove_dir_all(folder(&scratch)).unwrap();
    prompt(&scratch, &clone, "s3");
    assert_eq!(noted(&scratch).len(), 1, "its state was made anew");
    assert_eq!(roots(&scratch), ["clone", "shop"]);
    let sessions = good(scratch.run(&["sessions", "--all-projects", "--json"], b""));
    assert!(sessions.contains("s3") && !sessions.contains("s2"), "{sessions}");
}

#[test]
fn a_folder_that_cannot_be_written_fails_nothing() {
    let scratch = home();
    for make in [
        |path: &Path| fs::write(path, "in the way").unwrap(),
        |path: &Path| std::os::unix::fs::symlink("/nowhere", path).unwrap(),
    ] {
        let own = scratch.home().join(".claude/hookkeeper");
        let _ = fs::remove_file(&own);
        make(&own);
        prompt(&scratch, &scratch.home().join("bakery"), "s1");
        fs::remove_dir_all(scratch.home().join("bakery")).unwrap();
        assert_eq!(roots(&scratch), [] as [String; 0]);
    }
    // Without the client's own directory nothing is made.
    fs::remove_dir_all(scratch.home().join(".claude")).ok();
    let _ = fs::remove_file(scratch.home().join(".claude/hookkeeper"));
    fs::remove_dir_all(scratch.home().join(".claude")).ok();
    prompt(&scratch, &scratch.root(), "s1");
    assert!(!scratch.home().join(".claude").exists());
}

#[test]
fn many_at_once_are_all_noted_and_there_is_an_end() {
    let scratch = home();
    let payload = |n: usize| event(&format!("s{n}"), "SessionStart", json!({"source": "startup"}));
    std::thread::scope(|scope| {
        for n in 0..12 {
            let scratch = &scratch;
            scope.spawn(move || {
                // Two of each.
                let root = scratch.home().join(format!("p{}", n / 2));
                fs::create_dir_all(&root).unwrap();
                let mut command = scratch.command(&["hook"]);
                command.current_dir(&root).env("CLAUDE_PROJECT_DIR", &root);
                let run = finish(spawn(command), format!("{}\n", payload(n)).as_bytes());
                assert_eq!(run.code, Some(0), "{}", run.stderr);
            });
        }
    });
    assert_eq!(roots(&scratch), ["p0", "p1", "p2", "p3", "p4", "p5"]);
    for n in 0..1100 {
        fs::write(folder(&scratch).join(format!("{n:032x}")), "/nowhere").unwrap();
    }
    prompt(&scratch, &scratch.home().join("late"), "s1");
    assert!(!noted(&scratch).iter().any(|path| path.ends_with("late")));
}
