//! Things in the state that nobody of us made: one odd entry stops nothing.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{Run, Scratch, event, finish, good, spawn, tree};

/// Who is nobody, here as elsewhere.
const NOBODY: u32 = 65534;

fn start(session: &str) -> Value {
    event(session, "SessionStart", json!({"source": "startup"}))
}

fn agent(session: &str, id: &str) -> Value {
    event(session, "SubagentStart", json!({"agent_id": id, "agent_type": "Explore"}))
}

/// One event, for a user who is not root: root may read everything.
fn hook(scratch: &Scratch, payload: &Value) -> Run {
    let mut command = scratch.command(&["hook"]);
    if is_root() {
        give(scratch.home(), NOBODY);
        command.uid(NOBODY).gid(NOBODY);
    }
    finish(spawn(command), format!("{}\n", scratch.here(&payload.to_string())).as_bytes())
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// All below a directory, but what nobody may read.
fn give(path: &Path, owner: u32) {
    let meta = fs::symlink_metadata(path).unwrap();
    if meta.is_symlink() || meta.permissions().mode() & 0o777 == 0 {
        return;
    }
    chown(path, Some(owner), Some(owner)).unwrap();
    for entry in fs::read_dir(path).into_iter().flatten() {
        give(&entry.unwrap().path(), owner);
    }
}

type Odd = (&'static str, fn(&Path));

const ODD: [Odd; 6] = [
    ("directory", |path| {
        fs::create_dir(path).unwrap();
        fs::write(path.join("file"), "x").unwrap();
    }),
    ("pipe", |path| {
        assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
    }),
    ("link", |path| symlink("/etc/hostname", path).unwrap()),
    ("65 MB", |path| fs::File::create(path).unwrap().set_len(65 << 20).unwrap()),
    ("another user's", |path| {
        fs::write(path, "{}").unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o000)).unwrap();
    }),
    ("nothing of ours", |path| fs::write(path, "{").unwrap()),
];

/// An event that waits, with the name that it has in the spool.
fn let_wait(scratch: &Scratch, payload: &Value) {
    let entry = json!({
        "time": "2026-06-01T12:00:00Z", "client": {"pid": 1}, "git": {}, "payload": payload,
    });
    fs::create_dir_all(scratch.state().join("spool")).unwrap();
    let name = "01780315200000000000-7.json";
    let entry = scratch.here(&entry.to_string());
    fs::write(scratch.state().join("spool").join(name), entry).unwrap();
}

#[test]
fn what_cannot_be_played_is_moved_away_after_one_try() {
    for (what, plant) in ODD {
        let scratch = Scratch::new();
        scratch.hook(&start("s1"));
        let_wait(&scratch, &agent("s1", "a1"));
        // Before what waits, and after it.
        plant(&scratch.state().join("spool/00000000000000000001-7.json"));
        plant(&scratch.state().join("spool/09999999999999999999-7.json"));
        let run = hook(&scratch, &agent("s1", "a2"));
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{what}");
        assert_eq!(scratch.doc("session/live/s1.json")["agents_spawned"], 2, "{what}");
        assert!(!scratch.exists("spool"), "{what}: {:?}", scratch.names("spool"));
        assert_eq!(scratch.names("rejected").len(), 2, "{what}");
        let prompt = event("s1", "UserPromptSubmit", json!({"prompt": "Go on"}));
        let runs = [run, hook(&scratch, &prompt), hook(&scratch, &prompt)];
        let said = runs.iter().filter(|run| run.stdout.contains("could not be used")).count();
        assert_eq!(said, 1, "{what}");
    }
}

#[test]
fn a_spool_that_is_no_folder_is_moved_away() {
    for (what, plant) in ODD.into_iter().filter(|(what, _)| *what != "directory") {
        let scratch = Scratch::new();
        scratch.hook(&start("s1"));
        plant(&scratch.state().join("spool"));
        let run = hook(&scratch, &agent("s1", "a1"));
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{what}");
        assert_eq!(scratch.doc("session/live/s1.json")["agents_spawned"], 1, "{what}");
    }
}

#[test]
fn odd_entries_among_what_was_put_away_stop_nothing() {
    for (what, plant) in ODD {
        let scratch = Scratch::new();
        scratch.hook(&start("s1"));
        for folder in ["rejected", "quarantine"] {
            fs::create_dir_all(scratch.state().join(folder)).unwrap();
        }
        for n in 0..21 {
            plant(&scratch.state().join(format!("rejected/20200101T0000000{n:02}Z-1.txt")));
            let copy = format!("quarantine/session-live-s1.json.20200101T0000000{n:02}Z");
            plant(&scratch.state().join(copy));
        }
        let_wait(&scratch, &json!({"no": "event"}));
        fs::write(scratch.state().join("session/live/s1.json"), "{broken").unwrap();
        let run = hook(&scratch, &agent("s1", "a1"));
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{what}");
        let kept = |folder: &str, text: &str| {
            let has = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).contains(text);
            let names = scratch.names(folder);
            assert!(names.len() <= 21, "{what}: {names:?}");
            names.iter().any(|name| {
                let path = scratch.state().join(folder).join(name);
                let meta = fs::symlink_metadata(&path).unwrap();
                meta.is_file() && meta.len() < 99 && fs::read(path).is_ok_and(|bytes| has(&bytes))
            })
        };
        assert!(kept("rejected", "event"), "{what}");
        assert!(kept("quarantine", "{broken"), "{what}");
    }
}

#[test]
fn repair_and_reset_play_nothing() {
    let scratch = Scratch::new();
    scratch.hook(&start("s1"));
    let_wait(&scratch, &agent("s1", "a1"));
    good(scratch.run(&["validate", "--repair"], b""));
    assert_eq!(scratch.doc("session/live/s1.json")["agents_spawned"], 0);
    good(scratch.run(&["reset", "errors"], b""));
    assert_eq!(scratch.names("spool").len(), 1);
    good(scratch.run(&["reset", "all"], b""));
    let aside = tree(&scratch.state().join("set-aside"));
    assert!(aside.keys().any(|name| name.ends_with("spool/01780315200000000000-7.json")));
    assert!(!scratch.exists("spool"));
}

#[test]
fn a_record_of_another_session_that_cannot_be_read_is_left_out_and_said_once() {
    // What is too large or no document is moved away.
    let stays = |what: &str| !matches!(what, "nothing of ours" | "65 MB");
    for (what, plant) in ODD.into_iter().filter(|(what, _)| stays(what)) {
        let scratch = Scratch::new();
        scratch.hook(&start("s1"));
        let other = scratch.state().join("session/live/s2.json");
        plant(&other);
        let prompt = event("s1", "UserPromptSubmit", json!({"prompt": "Go on"}));
        let said = (0..3).map(|_| {
            let run = hook(&scratch, &prompt);
            assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{what}");
            run.stdout.contains("s2.json")
        });
        assert_eq!(said.collect::<Vec<bool>>(), [true, false, false], "{what}");
        assert!(other.symlink_metadata().is_ok(), "{what}: it stays where it is");
        // Whose it is hears that it cannot be used.
        let run = hook(&scratch, &agent("s2", "a1"));
        assert_eq!(run.code, Some(1), "{what}: {}", run.stdout);
    }
}

#[test]
fn what_root_makes_belongs_to_the_owner_of_the_folder() {
    let scratch = Scratch::new();
    let owner = if is_root() { NOBODY } else { rustix::process::geteuid().as_raw() };
    give(scratch.home(), owner);
    for payload in [start("s1"), agent("s1", "a1")] {
        scratch.hook(&payload);
    }
    scratch.run(&["hook"], b"{broken\n");
    good(scratch.run(&["install", "--scope", "project"], b""));
    let claude = scratch.root().join(".claude");
    let mut seen = 0;
    check_owner(&claude, owner, &mut seen);
    assert!(seen > 10);
}

fn check_owner(path: &Path, owner: u32, seen: &mut u32) {
    *seen += 1;
    assert_eq!(fs::symlink_metadata(path).unwrap().uid(), owner, "{}", path.display());
    for entry in fs::read_dir(path).into_iter().flatten() {
        check_owner(&entry.unwrap().path(), owner, seen);
    }
}

/// What is no file in the place of one that we need.
fn odd_things() -> impl Iterator<Item = Odd> {
    ODD.into_iter().filter(|(what, _)| matches!(*what, "directory" | "pipe" | "link"))
}

#[test]
fn a_lock_and_a_temporary_file_that_are_none_stop_nothing() {
    for (what, plant) in odd_things() {
        for (name, is_new) in [(".lock", false), (".new", false), (".lock", true), (".new", true)] {
            let scratch = Scratch::new();
            let place = scratch.state().join(name);
            match is_new {
                true => fs::create_dir_all(scratch.state()).unwrap(),
                false => drop(scratch.hook(&start("s1"))),
            }
            let _ = fs::remove_file(&place);
            plant(&place);
            let runs = [start("s1"), agent("s1", "a1"), start("s1")].map(|payload| {
                let run = hook(&scratch, &payload);
                let said = (run.code, run.stderr.as_str());
                assert_eq!(said, (Some(0), ""), "{name} {what}, new: {is_new}");
                run.stdout.contains("untrusted-1")
            });
            assert_eq!(scratch.doc("session/live/s1.json")["agents_spawned"], 1, "{name} {what}");
            // A link and a pipe have nothing in them that somebody could miss.
            if what == "directory" || name == ".lock" {
                assert_eq!(runs, [true, false, false], "{name} {what}, new: {is_new}");
                let kept = scratch.state().join(format!("untrusted-1/state/{name}.odd"));
                assert!(kept.symlink_metadata().is_ok(), "{name} {what}");
            }
        }
    }
}

#[test]
fn repair_moves_a_lock_away_that_is_none() {
    for is_new in [false, true] {
        let scratch = Scratch::new();
        match is_new {
            true => fs::create_dir_all(scratch.state()).unwrap(),
            false => drop(scratch.hook(&start("s1"))),
        }
        let _ = fs::remove_file(scratch.state().join(".lock"));
        fs::create_dir_all(scratch.state().join(".lock/x")).unwrap();
        let said = good(scratch.run(&["validate", "--repair"], b""));
        assert!(said.contains(".lock: was no file, and was moved away"), "{said}");
        assert!(!scratch.state().join(".lock").is_dir());
        assert!(scratch.exists("untrusted-1/state/.lock.odd/x"));
        // It is not brought back: nobody would look for it there.
        let said = good(scratch.run(&["trust", "--yes"], b""));
        let stays = "Stays where it is, because there is one of ours by now: .claude/state/untrusted-1/state/.lock.odd";
        assert!(said.contains(stays), "{said}");
        scratch.hook(&start("s1"));
        good(scratch.run(&["validate"], b""));
    }
}

#[test]
fn repair_finds_what_a_killed_process_moved_aside() {
    let scratch = Scratch::new();
    scratch.hook(&start("s1"));
    for name in [".lock.odd", ".new.odd-2"] {
        fs::create_dir(scratch.state().join(name)).unwrap();
    }
    let said = good(scratch.run(&["validate", "--repair"], b""));
    for name in [".lock", ".new"] {
        assert!(said.contains(&format!("{name}: was no file, and was moved away")), "{said}");
    }
    assert_eq!(scratch.names("untrusted-1/state"), [".lock.odd", ".new.odd-2"]);
    assert_eq!(scratch.doc("session/live/s1.json")["session_id"], "s1");
    assert!(!good(scratch.run(&["validate", "--repair"], b"")).contains("moved away"));
}

#[test]
fn a_document_that_is_no_file_is_moved_away_and_said_once() {
    let documents =
        ["session/current.json", "agents/active.json", "notices.json", "errors/classified.json"];
    for (what, plant) in odd_things() {
        for name in documents {
            let scratch = Scratch::new();
            scratch.hook(&start("s1"));
            let place = scratch.state().join(name);
            fs::create_dir_all(place.parent().unwrap()).unwrap();
            let _ = fs::remove_file(&place);
            plant(&place);
            let failure = event(
                "s1",
                "PostToolUseFailure",
                json!({"tool_name": "Bash", "tool_use_id": "t1", "error": "SyntaxError: x",
                    "tool_input": {"command": "node a.js"}}),
            );
            let prompt = event("s1", "UserPromptSubmit", json!({"prompt": "Go on"}));
            let payloads = [failure, agent("s1", "a1"), prompt.clone(), prompt.clone(), prompt];
            let said = payloads.iter().filter(|payload| {
                let run = hook(&scratch, payload);
                assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{name} {what}");
                run.stdout.contains("It was moved to .claude/state/quarantine/")
            });
            assert_eq!(said.count(), 1, "{name} {what}");
            assert!(!scratch.exists("rejected"), "{name} {what}");
            assert_eq!(scratch.names("quarantine").len(), 1, "{name} {what}");
            assert_eq!(scratch.doc("session/live/s1.json")["agents_spawned"], 1);
        }
    }
}
