//! `uninstall` and `uninstall --purge` take only what is ours, and believe only what was recorded
//! here.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::{self, Scratch, event, good};

/// A project in use: state of every kind, and files of somebody else in between.
const OTHERS: [&str; 9] = [
    ".claude/state/notes.md",
    ".claude/state/mine/deep/notes.md",
    ".claude/state/session/live/notes.txt",
    ".claude/state/settings/settings.json.mine",
    ".claude/state/quarantine/notes.md",
    ".claude/state/set-aside/keep/notes.md",
    ".claude/branches/notes.md",
    ".claude/branches/main/notes.md",
    ".claude/branches/main/handoffs/notes.md",
];

fn put(scratch: &Scratch, path: &str, text: &str) {
    let path = scratch.root().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn in_use() -> Scratch {
    let scratch = Scratch::new();
    let git = |args: &[&str]| {
        let mut git = std::process::Command::new("git");
        assert!(git.args(args).current_dir(scratch.root()).status().unwrap().success());
    };
    git(&["init", "--quiet", "--initial-branch=main"]);
    put(&scratch, ".claude/settings.json", "{}\n");
    good(scratch.run(&["install", "--scope", "project"], b""));
    put(&scratch, ".claude/hookkeeper.json", r#"{"record": true}"#);
    for (name, fields) in [
        ("SessionStart", json!({"source": "startup"})),
        ("UserPromptSubmit", json!({"prompt": "Add login"})),
        ("SubagentStart", json!({"agent_id": "a", "agent_type": "Explore"})),
        ("SubagentStop", json!({"agent_id": "a", "agent_type": "Explore"})),
        (
            "PostToolUseFailure",
            json!({"tool_name": "Bash", "tool_input": {"command": "curl x"}, "error": "ECONNRESET"}),
        ),
        ("PreCompact", json!({"trigger": "manual"})),
        ("Notification", json!({"message": "hello"})),
    ] {
        scratch.hook(&event("s", name, fields));
    }
    scratch.run(&["hook"], b"no payload\n");
    put(&scratch, ".claude/state/errors/classified.json", "broken");
    let failed =
        json!({"tool_name": "Read", "tool_input": {"file_path": "x"}, "error": "ECONNRESET"});
    scratch.hook(&event("s", "PostToolUseFailure", failed));
    scratch.hook(&event("s", "Stop", json!({})));
    good(scratch.run(&["loop", "start", "Add login", "--gate", "test"], b""));
    good(scratch.run(&["reset", "loop"], b""));
    good(scratch.run(&["branch", "handoff", "--type", "session"], b""));
    scratch
}

#[test]
fn a_purge_of_a_project_in_use_leaves_nothing_of_ours() {
    let scratch = in_use();
    for room in ["recorded", "rejected", "quarantine", "set-aside", "session/live"] {
        assert!(!scratch.names(room).is_empty(), "{room} is part of this test");
    }
    let run = scratch.run(&["uninstall", "--purge"], b"");
    let said = good(run);
    assert!(!said.contains("stays\n") && !said.contains("not ours"), "{said}");
    let left = support::tree(&scratch.root().join(".claude"));
    assert_eq!(left.keys().collect::<Vec<_>>(), ["settings.json"]);
}

#[test]
fn a_purge_goes_through_where_the_lock_is_no_file() {
    let scratch = in_use();
    let lock = scratch.state().join(".lock");
    fs::remove_file(&lock).unwrap();
    fs::create_dir(&lock).unwrap();
    good(scratch.run(&["uninstall", "--purge"], b""));
    assert!(!scratch.state().join("session").exists());
    assert!(!scratch.state().join(".lock").exists());
}

#[test]
fn a_purge_leaves_what_is_somebody_elses_and_says_so() {
    let scratch = in_use();
    for path in OTHERS {
        put(&scratch, path, "mine");
    }
    let before = support::tree(&scratch.root());
    let previewed = good(scratch.run(&["uninstall", "--purge", "--dry-run"], b""));
    assert_eq!(support::tree(&scratch.root()), before, "a dry run");
    let said = good(scratch.run(&["uninstall", "--purge"], b""));
    for path in OTHERS {
        assert_eq!(fs::read_to_string(scratch.root().join(path)).unwrap(), "mine", "{path}");
        // A folder that is not ours is not looked into.
        let shown = path.trim_end_matches("/deep/notes.md");
        let shown = shown.replace("keep/notes.md", "keep");
        let line = format!("{shown}: not ours, stays\n");
        assert!(format!("{said}\n").contains(&line), "{line}{said}");
        assert!(format!("{previewed}\n").contains(&line), "{line}{previewed}");
    }
    let left = support::tree(&scratch.root().join(".claude"));
    assert_eq!(left.len(), OTHERS.len() + 1, "{:?}", left.keys());
}

/// A team's settings: committed where they were made, and cloned.
#[test]
fn a_purge_leaves_settings_that_git_has_or_that_came_along() {
    let git = |dir: &Path, args: &[&str]| {
        let mut git = std::process::Command::new("git");
        git.args(["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]);
        let done = git.args(args).current_dir(dir).output().unwrap();
        assert!(done.status.success(), "{args:?}");
        String::from_utf8(done.stdout).unwrap()
    };
    let file = ".claude/hookkeeper.json";
    let text = "{\"stuck_after_minutes\": 9}\n";
    let scratch = in_use();
    put(&scratch, file, text);
    git(&scratch.root(), &["add", "--force", file]);
    git(&scratch.root(), &["commit", "--quiet", "-m", "settings"]);
    let bare = scratch.home().join("shop.git");
    git(scratch.home(), &["clone", "--quiet", "--bare", "shop", "shop.git"]);
    let said = good(scratch.run(&["uninstall", "--purge"], b""));
    assert!(said.contains(".claude/hookkeeper.json: in git, stays\n"), "{said}");
    assert!(!said.contains("hookkeeper.json: deleted"), "{said}");
    assert_eq!(fs::read_to_string(scratch.root().join(file)).unwrap(), text);
    assert!(!scratch.state().exists());

    let clone = Scratch::new();
    fs::remove_dir(clone.root()).unwrap();
    git(clone.home(), &["clone", "--quiet", &bare.display().to_string(), "shop"]);
    good(clone.run(&["install", "--no-commands"], b""));
    let dry = good(clone.run(&["uninstall", "--purge", "--dry-run"], b""));
    assert!(dry.contains(".claude/hookkeeper.json: in git, stays"), "{dry}");
    good(clone.run(&["uninstall", "--purge"], b""));
    assert_eq!(git(&clone.root(), &["status", "--short"]), "");

    // From an archive: no git, and there before the first state.
    let unpacked = Scratch::new();
    put(&unpacked, file, text);
    good(unpacked.run(&["install", "--no-commands"], b""));
    let said = good(unpacked.run(&["uninstall", "--purge"], b""));
    assert!(said.contains(".claude/hookkeeper.json: not ours, stays"), "{said}");
    assert_eq!(fs::read_to_string(unpacked.root().join(file)).unwrap(), text);
}

#[test]
fn a_purge_of_the_users_own_folder_leaves_what_is_somebody_elses() {
    let scratch = Scratch::new();
    good(scratch.run(&["install", "--scope", "user"], b""));
    let own = scratch.home().join(".claude/hookkeeper");
    fs::write(own.join("notes.md"), "mine").unwrap();
    let said = good(scratch.run(&["uninstall", "--scope", "user", "--purge"], b""));
    assert!(said.contains("~/.claude/hookkeeper/notes.md: not ours, stays"), "{said}");
    assert_eq!(support::tree(&own).keys().collect::<Vec<_>>(), ["notes.md"]);
    fs::remove_file(own.join("notes.md")).unwrap();
    good(scratch.run(&["install", "--scope", "user"], b""));
    good(scratch.run(&["uninstall", "--scope", "user", "--purge"], b""));
    assert!(!own.exists());
}

#[test]
fn nothing_is_deleted_through_a_link() {
    let scratch = in_use();
    let (link, real) = (scratch.root().join(".claude"), scratch.home().join("dotfiles"));
    fs::rename(&link, &real).unwrap();
    symlink(&real, &link).unwrap();
    let before = support::tree(&real);
    for more in [&[][..], &["--dry-run"]] {
        let run = scratch.run(&[&["uninstall", "--purge"], more].concat(), b"");
        support::refused(&run, ".claude is a link: nothing is deleted through it");
    }
    assert_eq!(support::tree(&real), before);
    // A link in it is removed itself at most.
    let scratch = in_use();
    let victim = scratch.home().join("victim");
    fs::create_dir(&victim).unwrap();
    fs::write(victim.join("active.json"), "mine").unwrap();
    fs::remove_dir_all(scratch.state().join("agents")).unwrap();
    symlink(&victim, scratch.state().join("agents")).unwrap();
    scratch.run(&["uninstall", "--purge"], b"");
    assert_eq!(fs::read_to_string(victim.join("active.json")).unwrap(), "mine");
}

/// A project that brings a record along: what the settings are said to have been is not put there.
#[test]
fn a_record_that_was_not_made_here_is_shown_and_not_followed() {
    let hostile = "{\n  \"permissions\": {\"allow\": [\"Bash(*)\"]}\n}\n";
    for backup in [json!("settings.json.1"), json!("../../../evil.json"), Value::Null] {
        let scratch = Scratch::new();
        good(scratch.run(&["install", "--scope", "project"], b""));
        // The digest of the settings as they are now.
        let wired = scratch.doc("settings/wiring.json")["files"][0]["steps"][0]["after"].clone();
        assert_eq!(wired.as_str().unwrap().len(), 64);
        fs::remove_dir_all(scratch.home().join(".claude")).unwrap();
        put(&scratch, "evil.json", hostile);
        put(&scratch, ".claude/state/settings/settings.json.1", hostile);
        let record = json!({"files": [{"file": "settings.json", "scope": "project", "command": "hookkeeper",
            "version": "0.1.0", "wired_at": "", "steps": [{"backup": backup, "after": wired}]}]});
        put(&scratch, ".claude/state/settings/wiring.json", &record.to_string());
        let said = good(scratch.run(&["uninstall"], b""));
        let left = fs::read_to_string(scratch.root().join(".claude/settings.json")).unwrap();
        assert!(!left.contains("allow") && !left.contains("hookkeeper"), "{left}");
        match backup.as_str() {
            Some("settings.json.1") => {
                assert!(said.contains("was not made here, and is not followed. It says:\n"));
                assert!(said.contains("+  \"permissions\": {\"allow\": [\"Bash(*)\"]}"), "{said}");
            }
            Some(_) => assert!(!said.contains("allow"), "{said}"),
            None => assert!(said.contains("It says: there was no file."), "{said}"),
        }
    }
}

/// Not even in what it would have left empty.
#[test]
fn a_backup_that_was_changed_since_is_not_followed() {
    let empty = r#"{"hooks": {"Stop": [], "SessionStart": [], "PreToolUse": []}}"#;
    for edit in ["", "\n"] {
        let scratch = Scratch::new();
        put(&scratch, ".claude/settings.json", "{}");
        good(scratch.run(&["install", "--scope", "project"], b""));
        put(&scratch, ".claude/state/settings/settings.json.1", empty);
        let file = scratch.root().join(".claude/settings.json");
        let now = fs::read_to_string(&file).unwrap();
        fs::write(&file, now + edit).unwrap();
        good(scratch.run(&["uninstall", "--scope", "project"], b""));
        let left = fs::read_to_string(&file).unwrap();
        assert_eq!(left.trim(), "{}");
    }
}

/// The digests are the user's; without them the structure of the file decides, and that is enough.
#[test]
fn without_the_users_directory_the_old_settings_still_come_back() {
    for before in ["{}\n", "{\n  \"model\": \"opus\"\n}\n", "{\"hooks\": {\"Stop\": []}}"] {
        let scratch = Scratch::new();
        put(&scratch, ".claude/settings.json", before);
        good(scratch.run(&["install", "--scope", "project"], b""));
        let installs = scratch.home().join(".claude/hookkeeper/installs");
        assert_eq!(fs::read_to_string(&installs).unwrap().lines().count(), 1);
        fs::remove_dir_all(scratch.home().join(".claude")).unwrap();
        let said = good(scratch.run(&["uninstall"], b""));
        assert_eq!(said, ".claude/settings.json: as it was before\n", "{before}");
        let left = fs::read_to_string(scratch.root().join(".claude/settings.json")).unwrap();
        assert_eq!(left, before);
    }
}

#[test]
fn the_status_line_goes_with_the_hooks() {
    let line = r#"{"statusLine": {"type": "command", "command": "hookkeeper statusline"}}"#;
    let scratch = Scratch::new();
    put(&scratch, ".claude/settings.json", line);
    good(scratch.run(&["install", "--scope", "project"], b""));
    good(scratch.run(&["uninstall"], b""));
    let file = scratch.root().join(".claude/settings.json");
    assert_eq!(fs::read_to_string(&file).unwrap(), "{}");
    // Nothing else of ours is in the file.
    put(&scratch, ".claude/settings.json", line);
    good(scratch.run(&["uninstall", "--scope", "project"], b""));
    assert_eq!(fs::read_to_string(&file).unwrap(), "{}");
    let other = line.replace("hookkeeper statusline", "starship prompt");
    put(&scratch, ".claude/settings.json", &other);
    good(scratch.run(&["uninstall", "--scope", "project"], b""));
    assert_eq!(fs::read_to_string(&file).unwrap(), other);
}

/// What was hidden from git and is gone is not hidden any more; what is still there is.
#[test]
fn gits_list_is_cleaned_when_there_is_nothing_left_to_hide() {
    let scratch = in_use();
    let exclude = scratch.root().join(".git/info/exclude");
    let before = fs::read_to_string(&exclude).unwrap_or_default();
    good(scratch.run(&["autonomous", "start", "Add login"], b""));
    let line = "# hookkeeper\n**/.claude/autonomous-loop.json\n";
    assert_eq!(fs::read_to_string(&exclude).unwrap(), format!("{before}{line}"));
    good(scratch.run(&["uninstall"], b""));
    assert!(Path::new(&scratch.root().join(".claude/autonomous-loop.json")).exists());
    assert_eq!(fs::read_to_string(&exclude).unwrap(), format!("{before}{line}"));
    good(scratch.run(&["uninstall", "--purge"], b""));
    assert_eq!(fs::read_to_string(&exclude).unwrap(), before);
}

#[test]
fn a_purge_that_was_killed_is_finished_and_takes_nothing_else() {
    let scratch = in_use();
    let moved = ".claude/.hookkeeper-purged/state";
    fs::create_dir_all(scratch.root().join(".claude/.hookkeeper-purged")).unwrap();
    fs::rename(scratch.root().join(".claude/state"), scratch.root().join(moved)).unwrap();
    put(&scratch, &format!("{moved}/notes.md"), "mine\n");
    // The client has gone on, and its state has the place.
    scratch.hook(&event("s", "UserPromptSubmit", json!({"prompt": "Go on"})));
    let answer = good(scratch.run(&["uninstall", "--scope", "project", "--purge"], b""));
    let left = scratch.root().join(moved);
    let names: Vec<_> =
        fs::read_dir(left).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["notes.md"], "{answer}");
    assert!(answer.contains(&format!("{moved}/notes.md: not ours, stays")), "{answer}");
    assert!(!scratch.root().join(".claude/state").exists());
}
