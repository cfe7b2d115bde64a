//! `hookkeeper config`: what is set, where it comes from, and changing it without touching the rest.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::{self, Scratch, good, misused, refused};

fn file(scratch: &Scratch) -> PathBuf {
    scratch.root().join(".claude/hookkeeper.json")
}

/// A project with state of its own: what is written beside it from now on is this machine's.
fn project() -> Scratch {
    let scratch = Scratch::new();
    scratch.hook(&support::event("s1", "SessionStart", json!({"source": "startup"})));
    scratch
}

fn list(scratch: &Scratch) -> Value {
    serde_json::from_str(&good(scratch.run(&["config", "list", "--json"], b""))).unwrap()
}

fn setting(scratch: &Scratch, key: &str) -> Value {
    let all = list(scratch);
    all["settings"].as_array().unwrap().iter().find(|row| row["key"] == key).unwrap().clone()
}

#[test]
fn a_value_is_set_shown_and_taken_out_and_the_rest_of_the_file_stays() {
    let scratch = project();
    let before =
        "{\r\n\t\"notify\" : true,\r\n\t\"mine\": {\"a\": 1.50},\r\n\t\"keep_backups\": 4\r\n}\r\n";
    fs::write(file(&scratch), before).unwrap();
    fs::set_permissions(file(&scratch), fs::Permissions::from_mode(0o640)).unwrap();
    let said = good(scratch.run(&["config", "set", "keep_backups", "7"], b""));
    assert_eq!(said, ".claude/hookkeeper.json: keep_backups is 7\n");
    assert_eq!(fs::read_to_string(file(&scratch)).unwrap(), before.replace(": 4", ": 7"));
    good(scratch.run(&["config", "set", "systems.errors", "off"], b""));
    let after = fs::read_to_string(file(&scratch)).unwrap();
    assert!(
        after.contains(
            "\"keep_backups\": 7,\r\n\t\"systems\": {\r\n\t\t\"errors\": false\r\n\t}\r\n}"
        ),
        "{after}"
    );
    assert_eq!(fs::metadata(file(&scratch)).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(good(scratch.run(&["config", "get", "systems.errors"], b"")), "false\n");
    let row = setting(&scratch, "keep_backups");
    assert_eq!(
        (&row["value"], &row["origin"], &row["default"]),
        (&json!(7), &json!("project"), &json!(3))
    );
    assert_eq!(setting(&scratch, "keep_sessions")["origin"], "default");
    let again = good(scratch.run(&["config", "set", "systems.errors", "false"], b""));
    assert_eq!(again, ".claude/hookkeeper.json: systems.errors is false already\n");
    good(scratch.run(&["config", "unset", "systems.errors"], b""));
    good(scratch.run(&["config", "set", "keep_backups", "4"], b""));
    assert_eq!(fs::read_to_string(file(&scratch)).unwrap(), before);
    let gone = good(scratch.run(&["config", "unset", "systems.errors"], b""));
    assert_eq!(gone, ".claude/hookkeeper.json: systems.errors is not set there\n");
}

#[test]
fn lists_take_several_values_and_hold_at_the_next_event() {
    let scratch = project();
    good(scratch.run(&["config", "set", "redact", "--", "CORP-[0-9]+", "--x{8}"], b""));
    assert_eq!(good(scratch.run(&["config", "get", "redact"], b"")), "CORP-[0-9]+\n--x{8}\n");
    scratch.hook(&support::event("s1", "UserPromptSubmit", json!({"prompt": "Look at CORP-1234"})));
    let task = scratch.doc("session/live/s1.json")["task"].to_string();
    assert!(!task.contains("CORP-1234") && task.contains("Look at"), "{task}");
}

#[test]
fn what_does_not_fit_is_not_written() {
    let scratch = project();
    for (args, why) in [
        (&["keep_backups", "three"][..], "`keep_backups`: it must be a whole number of at least 1"),
        (&["keep_backups", "0"], "at least 1"),
        (&["keep_backups", "1", "2"], "at least 1"),
        (&["context_warning_percent", "101"], "from 0 to 100"),
        (&["context_warning_percent", "-1"], "from 0 to 100"),
        (&["record", "perhaps"], "true or false"),
        (&["durability", "most"], "one of none, classed, data, full"),
        (&["redact", "("], "the pattern `(` in `redact` is no"),
        (&["redact", "a*"], "the pattern `a*` in `redact` matches the empty text"),
        (&["redact", "CORP-[0-9]+", ".*"], "the pattern `.*` in `redact` matches the empty text"),
        (&["redact", ""], "the pattern `` in `redact` matches the empty text"),
        (
            &["systems", "off"],
            "`systems` is a group of settings: systems.loop, systems.branch_loop",
        ),
        (
            &["systems.telepathy", "off"],
            "`systems.telepathy`; `hookkeeper config list` has them all",
        ),
        (&["systems.error", "off"], "did you mean `systems.errors`?"),
        (&["errors", "off"], "did you mean `systems.errors`?"),
        (&["stuckAfterMinutes", "9"], "did you mean `stuck_after_minutes`?"),
        (&["", "9"], "`hookkeeper config list` has them all"),
    ] {
        let run = scratch.run(&[&["config", "set"], args].concat(), b"");
        assert_eq!(run.code, Some(64), "{args:?}");
        assert!(run.stderr.contains(why), "{args:?}: {}", run.stderr);
        assert!(!file(&scratch).exists(), "{args:?}");
    }
    for command in ["get", "unset"] {
        let run = scratch.run(&["config", command, "recrod"], b"");
        assert!(
            run.code == Some(64) && run.stderr.contains("did you mean `record`?"),
            "{}",
            run.stderr
        );
    }
    for (args, says) in [
        (["record", "on", "--scope", "user"], "use --scope project"),
        (["durability", "none", "--scope", "user"], "use --scope project"),
        (["export.off", "true", "--scope", "project"], "use --scope user"),
    ] {
        misused(&scratch.run(&[&["config", "set"][..], &args].concat(), b""), says);
    }
}

#[test]
fn a_file_that_is_no_json_is_left_alone() {
    let scratch = project();
    for (text, why) in [
        ("{\"record\": true,}", "line 1, column 17: a comma before `}`"),
        ("[]", "the settings must be a JSON object"),
        ("{\"systems\": 3}", "`systems` must be an object"),
    ] {
        fs::write(file(&scratch), text).unwrap();
        refused(&scratch.run(&["config", "set", "systems.errors", "off"], b""), why);
        assert_eq!(fs::read_to_string(file(&scratch)).unwrap(), text);
    }
    // Hooks go on with the defaults, and it is said.
    assert!(list(&scratch)["remarks"][0]["text"].as_str().unwrap().contains("must be an object"));
    fs::remove_file(file(&scratch)).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", file(&scratch)).unwrap();
    assert_eq!(scratch.run(&["config", "set", "record", "on"], b"").code, Some(1));
    assert!(file(&scratch).is_symlink());
}

#[test]
fn keys_of_a_newer_version_stay_and_are_said() {
    let scratch = project();
    let text = "{\"sytems\": {\"errors\": false}, \"hologram\": {\"to\": \"x\"}, \"$schema\": \"s\", \"notify\": 1}";
    fs::write(file(&scratch), text).unwrap();
    good(scratch.run(&["config", "set", "keep_backups", "5"], b""));
    let after = fs::read_to_string(file(&scratch)).unwrap();
    assert_eq!(after, text.replace("1}", "1, \"keep_backups\": 5}"));
    let shown = good(scratch.run(&["config"], b""));
    for line in [
        "there is no setting `sytems`; did you mean `systems`? (it stays in the file)",
        "there is no setting `hologram` (it stays in the file)",
        ".claude/hookkeeper.json: `notify` cannot be 1",
    ] {
        assert!(shown.contains(line), "{shown}");
    }
    assert!(!shown.contains("$schema"), "{shown}");
}

#[test]
fn a_file_that_came_with_a_checkout_sets_what_is_harmless_and_is_not_made_ours_by_a_write() {
    let scratch = Scratch::new();
    fs::create_dir_all(scratch.root().join(".claude")).unwrap();
    let text = json!({"notify": true, "record": true, "systems": {"errors": false}}).to_string();
    fs::write(file(&scratch), &text).unwrap();
    scratch.hook(&support::event("s1", "SessionStart", json!({"source": "startup"})));
    assert_eq!(
        (&setting(&scratch, "notify")["value"], &setting(&scratch, "record")["value"]),
        (&json!(true), &json!(false))
    );
    let remarks = list(&scratch)["remarks"].to_string();
    assert!(
        remarks.contains("`record` does not hold") && remarks.contains("`systems.errors`"),
        "{remarks}"
    );
    for args in [
        &["config", "set", "keep_backups", "5"][..],
        &["record", "on"],
        &["config", "unset", "notify"],
    ] {
        refused(&scratch.run(args, b""), "sets more than it may (`record`, `systems.errors`)");
        assert_eq!(fs::read_to_string(file(&scratch)).unwrap(), text);
    }
    good(scratch.run(&["trust", "--yes"], b""));
    good(scratch.run(&["config", "set", "keep_backups", "5"], b""));
    assert_eq!(setting(&scratch, "record")["value"], true);
}

#[test]
fn commands_of_a_system_that_is_off_say_so() {
    let scratch = project();
    for (key, changes, shows) in [
        ("systems.loop", &["loop", "start", "Add login"][..], &["loop", "status"][..]),
        ("systems.loop", &["gate", "lint", "pass"], &["queue", "list"]),
        ("systems.autonomous", &["autonomous", "start", "Login"], &["autonomous", "status"]),
        ("systems.branches", &["branch", "loop", "start", "x"], &["branch", "show"]),
        ("systems.branch_loop", &["branch", "loop", "start", "x"], &["branch", "loop", "status"]),
        (
            "systems.handoffs",
            &["branch", "handoff", "--type", "task"],
            &["branch", "handoff", "list"],
        ),
        (
            "systems.iterative",
            &["iterative", "new", "x", "--task", "y", "--mode", "knowledge"],
            &["iterative", "list"],
        ),
        ("systems.execute", &["execute", "init", "tasks"], &["execute", "status", "tasks"]),
        ("systems.agents", &["agents", "nudge", "a1", "--message", "x"], &["agents"]),
        ("systems.errors", &[], &["errors"]),
        ("systems.compaction", &[], &["backup", "list"]),
        ("systems.journal", &[], &["log"]),
    ] {
        good(scratch.run(&["config", "set", key, "off"], b""));
        let words = format!("`{key}` is off in .claude/hookkeeper.json");
        if !changes.is_empty() {
            let run = scratch.run(changes, b"");
            assert!(
                run.code == Some(1) && run.stderr.contains(&words),
                "{changes:?}: {}",
                run.stderr
            );
        }
        let run = scratch.run(shows, b"");
        // A command that has something worse to say says that.
        assert!(run.stderr.contains(&words) || run.code == Some(1), "{shows:?}: {}", run.stderr);
        good(scratch.run(&["config", "unset", key], b""));
        assert!(!scratch.run(shows, b"").stderr.contains(&words), "{shows:?}");
    }
}

#[test]
fn the_users_own_file_is_read_by_commands_and_goes_with_a_purge_of_that_scope() {
    let scratch = project();
    let own = scratch.home().join(".claude/hookkeeper.json");
    fs::create_dir_all(own.parent().unwrap()).unwrap();
    fs::write(&own, "{\"notify\": true, \"nofity\": true}").unwrap();
    let all = list(&scratch);
    let remarks = all["remarks"].to_string();
    assert!(remarks.contains("~/.claude/hookkeeper.json: `notify` does not hold"), "{remarks}");
    assert!(remarks.contains("did you mean `notify`?"), "{remarks}");
    assert_eq!(setting(&scratch, "notify")["value"], false, "hooks do not read it");
    good(scratch.run(&["install", "--scope", "user", "--any-client"], b""));
    good(scratch.run(&["uninstall", "--scope", "user"], b""));
    assert!(own.exists());
    let said = good(scratch.run(&["uninstall", "--scope", "user", "--purge"], b""));
    assert!(said.contains("~/.claude/hookkeeper.json: deleted"), "{said}");
    assert!(!own.exists());
}

#[test]
fn a_map_of_secrets_that_is_empty_is_not_said_to_be_set() {
    let scratch = project();
    let line = |text: &str| {
        let line = text.lines().find(|line| line.starts_with("export.headers ")).unwrap();
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let listed = good(scratch.run(&["config", "list"], b""));
    assert_eq!(line(&listed), "export.headers - default -");
    assert_eq!(good(scratch.run(&["config", "get", "export.headers"], b"")), "{}\n");
    good(scratch.run(&["config", "set", "export.headers.Authorization", "s3cret"], b""));
    let listed = good(scratch.run(&["config", "list"], b""));
    assert!(listed.contains("(set, not shown)") && !listed.contains("s3cret"), "{listed}");
}

#[test]
fn a_value_that_is_shown_in_place_of_a_broken_one_is_said_to_be() {
    let scratch = project();
    for (text, key, why) in [
        ("{\"notify\": true,}", "notify", ".claude/hookkeeper.json: "),
        ("{\"notify\": 3}", "notify", "`notify` cannot be 3"),
        ("{\"systems\": 3}", "systems.errors", "`systems` must be an object"),
    ] {
        fs::write(file(&scratch), text).unwrap();
        let run = scratch.run(&["config", "get", key], b"");
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        assert!(run.stderr.contains(why), "{text}: {}", run.stderr);
        let other = scratch.run(&["config", "get", "keep_backups"], b"");
        assert_eq!(other.stderr.is_empty(), !text.ends_with(",}"), "{text}: {}", other.stderr);
    }
}

/// A file with such patterns, written by hand: the others hold.
#[test]
fn a_pattern_that_matches_the_empty_text_is_dropped_and_said() {
    let scratch = project();
    fs::write(file(&scratch), "{\"redact\": [\".*\", \"CORP-[0-9]+\", \"\"]}").unwrap();
    assert_eq!(setting(&scratch, "redact")["value"], json!(["CORP-[0-9]+"]));
    let remarks = list(&scratch)["remarks"].to_string();
    for pattern in [".*", ""] {
        let said = format!("the pattern `{pattern}` in `redact` matches the empty text");
        assert!(remarks.contains(&said), "{remarks}");
    }
    scratch.hook(&support::event("s1", "UserPromptSubmit", json!({"prompt": "See CORP-1 there"})));
    let task = scratch.doc("session/live/s1.json")["task"].to_string();
    assert!(task.contains("See") && task.contains("there") && !task.contains("CORP-1"), "{task}");
}

#[test]
fn a_broken_file_is_described_in_one_way() {
    let scratch = project();
    for (text, why) in [
        ("{\"notify\":", "line 1, column 11: the text ends where a value must stand"),
        (
            "{\n  \"record\": true,\n}",
            "line 3, column 1: a comma before `}` is not allowed in JSON",
        ),
        ("{ broken", "line 1, column 3: a key in double quotes must stand here"),
        ("[]", "line 1, column 1: the settings must be a JSON object"),
    ] {
        fs::write(file(&scratch), text).unwrap();
        let says = format!(".claude/hookkeeper.json: {why}\n");
        let listed = good(scratch.run(&["config", "list"], b""));
        assert!(listed.contains(&says), "{text}: {listed}");
        let got = scratch.run(&["config", "get", "notify"], b"");
        assert_eq!(got.stderr, format!("hookkeeper: {says}"), "{text}");
        refused(&scratch.run(&["config", "set", "notify", "on"], b""), &says);
    }
}

/// Nothing tells a person's file that is older than the state from one that a clone brought.
#[test]
fn a_file_that_is_older_than_the_state_is_not_said_to_have_come_with_a_checkout() {
    let scratch = Scratch::new();
    fs::create_dir_all(scratch.root().join(".claude")).unwrap();
    fs::write(file(&scratch), "{\"record\": true, \"stuck_after_minuts\": 3}").unwrap();
    let said = good(scratch.run(&["config"], b""));
    let origin = "the file was not written here by hookkeeper (it may have come with a checkout); \
        `hookkeeper trust` takes it up";
    for line in [
        format!(".claude/hookkeeper.json: `record` does not hold: {origin}\n"),
        format!(
            ".claude/hookkeeper.json: it has a key that is no setting (did you mean `stuck_after_minutes`?), and is not shown: {origin} \
             (it stays in the file)\n"
        ),
    ] {
        assert!(said.contains(&line), "{said}");
    }
    assert!(!said.contains("minuts") && !said.contains('…'), "{said}");
    good(scratch.run(&["trust", "--yes"], b""));
    let said = good(scratch.run(&["config"], b""));
    assert!(said.contains("did you mean `stuck_after_minutes`?"), "{said}");
}

#[test]
fn an_endpoint_that_is_set_names_what_sends() {
    let scratch = Scratch::new();
    let said =
        good(scratch.run(&["config", "set", "export.endpoint", "https://otel.example"], b""));
    assert!(said.contains("`hookkeeper install` wires a hook that sends"), "{said}");
}
