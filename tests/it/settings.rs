//! `install` and `uninstall` on every sample in `tests/settings`, and on what they must refuse.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{self, Run, Scratch, program};

fn samples() -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/settings");
    let files = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        files.filter(|file| file.extension().is_some_and(|end| end == "json")).collect();
    files.sort();
    files
}

/// A project with these settings.
fn with_settings(bytes: &[u8]) -> (Scratch, PathBuf) {
    let scratch = Scratch::new();
    fs::create_dir_all(scratch.root().join(".claude")).unwrap();
    let file = scratch.root().join(".claude/settings.json");
    fs::write(&file, bytes).unwrap();
    (scratch, file)
}

fn succeeds(run: &Run) {
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{}", run.stdout);
}

fn parse(bytes: &[u8]) -> Value {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_start_matches('\u{feff}').trim().replace("\\ud800", "?");
    let text = text.replace("1E+400", "1");
    if text.is_empty() {
        Value::Object(Default::default())
    } else {
        serde_json::from_str(&text).unwrap()
    }
}

/// The settings without entries of ours and without what is empty in `hooks`: written apart from
/// the program's own code.
fn others(mut settings: Value) -> Value {
    if settings["statusLine"]["command"] == "hookkeeper statusline" {
        settings.as_object_mut().unwrap().shift_remove("statusLine");
    }
    let Some(hooks) = settings.get_mut("hooks") else { return settings };
    if let Some(events) = hooks.as_object_mut() {
        for groups in events.values_mut() {
            let Some(list) = groups.as_array_mut() else { continue };
            for group in list.iter_mut() {
                if let Some(handlers) = group.get_mut("hooks").and_then(Value::as_array_mut) {
                    handlers.retain(|handler| !is_ours(handler));
                }
            }
            list.retain(|group| {
                group.get("hooks").and_then(Value::as_array).is_none_or(|h| !h.is_empty())
            });
        }
        events.retain(|_, groups| {
            groups.as_array().map_or(!groups.is_null(), |list| !list.is_empty())
        });
    }
    if hooks.is_null() || hooks.as_object().is_some_and(serde_json::Map::is_empty) {
        settings.as_object_mut().unwrap().shift_remove("hooks");
    }
    settings
}

fn is_ours(handler: &Value) -> bool {
    let command = handler["command"].as_str().unwrap_or_default();
    if command.starts_with("command -v hookkeeper >/dev/null && exec hookkeeper hook; ") {
        return true;
    }
    let first = command.split(' ').next().unwrap_or_default();
    let hook = handler["args"][0] == "hook" || command.contains("hookkeeper hook");
    first.rsplit('/').next() == Some("hookkeeper") && hook
}

/// Of the example, which a test of the library compares with the table of events.
fn event_count() -> usize {
    let example = include_bytes!("../../settings.example.json");
    parse(example)["hooks"].as_object().unwrap().len()
}

fn events_of_ours(settings: &Value) -> Vec<String> {
    let events = settings["hooks"].as_object().unwrap().iter();
    let has = |groups: &Value| {
        let groups = groups.as_array().into_iter().flatten();
        let handlers =
            groups.flat_map(|group| group["hooks"].as_array().cloned().unwrap_or_default());
        handlers.filter(is_ours).count()
    };
    events.flat_map(|(event, groups)| vec![event.clone(); has(groups)]).collect()
}

#[test]
fn every_sample_survives_install_and_uninstall() {
    let samples = samples();
    assert!(samples.len() >= 40, "{} samples", samples.len());
    for sample in samples {
        let name = sample.file_name().unwrap().to_string_lossy().into_owned();
        let before = fs::read(&sample).unwrap();
        let (scratch, file) = with_settings(&before);
        succeeds(&scratch.run(&["install", "--scope", "project"], b""));
        let wired = fs::read(&file).unwrap();
        let after = parse(&wired);
        assert_eq!(others(after.clone()), others(parse(&before)), "{name}");
        let mut events = events_of_ours(&after);
        events.sort();
        events.dedup();
        assert_eq!(events.len(), event_count(), "{name}: {events:?}");
        assert_eq!(events_of_ours(&after).len(), event_count(), "{name}: one entry per event");
        for number in [
            "123456789012345678901234567890",
            "1E+400",
            "1.0e-400",
            "-0.0",
            "1.50000",
            "\\ud83d\\ude00",
        ] {
            let has = |bytes: &[u8]| String::from_utf8_lossy(bytes).contains(number);
            assert_eq!(has(&before), has(&wired), "{name}: {number}");
        }
        succeeds(&scratch.run(&["install", "--scope", "project"], b""));
        assert_eq!(fs::read(&file).unwrap(), wired, "{name}: a second install changes nothing");
        succeeds(&scratch.run(&["uninstall"], b""));
        let unwired = sample.with_extension("unwired");
        let expected = if unwired.exists() { fs::read(unwired).unwrap() } else { before.clone() };
        let left = fs::read(&file).unwrap();
        assert_eq!(String::from_utf8_lossy(&left), String::from_utf8_lossy(&expected), "{name}");
        assert_eq!(left, expected, "{name}");
    }
}

#[test]
fn every_sample_survives_the_status_line_too() {
    for sample in samples() {
        let name = sample.file_name().unwrap().to_string_lossy().into_owned();
        let before = fs::read(&sample).unwrap();
        let (scratch, file) = with_settings(&before);
        let install = ["install", "--scope", "project", "--statusline"];
        let run = scratch.run(&install, b"");
        succeeds(&run);
        let wired = fs::read(&file).unwrap();
        let (old, new) = (&parse(&before)["statusLine"], &parse(&wired)["statusLine"]);
        let is_others = !old.is_null() && old["command"] != "hookkeeper statusline";
        assert_eq!(run.stdout.contains("there is another status line"), is_others, "{name}");
        match is_others {
            true => assert_eq!(old, new, "{name}"),
            false => assert_eq!(new["command"], "hookkeeper statusline", "{name}"),
        }
        assert_eq!(others(parse(&wired)), others(parse(&before)), "{name}");
        succeeds(&scratch.run(&install, b""));
        assert_eq!(fs::read(&file).unwrap(), wired, "{name}: a second install changes nothing");
        succeeds(&scratch.run(&["uninstall"], b""));
        let unwired = sample.with_extension("unwired");
        let expected = if unwired.exists() { fs::read(unwired).unwrap() } else { before };
        assert_eq!(fs::read(&file).unwrap(), expected, "{name}");
    }
}

/// The user's own status line is in another file; ours in the project's would hide it.
#[test]
fn a_status_line_in_another_scope_is_not_hidden() {
    let scratch = Scratch::new();
    let own = scratch.home().join(".claude/settings.json");
    fs::create_dir_all(own.parent().unwrap()).unwrap();
    fs::write(&own, r#"{"statusLine": {"type": "command", "command": "starship\nprompt"}}"#)
        .unwrap();
    for more in [&["--dry-run"][..], &[]] {
        let run = scratch.run(&[&["install", "--statusline"], more].concat(), b"");
        succeeds(&run);
        let says = "~/.claude/settings.json: there is another status line (starship prompt); it stays, and ours is left out\n";
        assert!(run.stdout.contains(says), "{}", run.stdout);
        assert!(!run.stdout.contains("+  \"statusLine\""), "{}", run.stdout);
    }
    let local = scratch.root().join(".claude/settings.local.json");
    assert!(parse(&fs::read(&local).unwrap())["statusLine"].is_null());
    // Without it, ours comes by the program's place, and only when it is asked for.
    fs::remove_file(&own).unwrap();
    succeeds(&scratch.run(&["install"], b""));
    assert!(parse(&fs::read(&local).unwrap())["statusLine"].is_null());
    let dry = scratch.run(&["install", "--statusline", "--dry-run"], b"").stdout;
    assert!(dry.contains("\n+  \"statusLine\": {\n"), "{dry}");
    let run = scratch.run(&["install", "--statusline"], b"");
    assert!(
        run.stdout.contains(" events and the status line (the file as it was: "),
        "{}",
        run.stdout
    );
    let line = &parse(&fs::read(&local).unwrap())["statusLine"];
    assert_eq!(line["command"], format!("{} statusline", env!("CARGO_BIN_EXE_hookkeeper")));
    assert_eq!((&line["type"], &line["refreshInterval"]), (&"command".into(), &5.into()));
    // What runs the hooks runs it, and it prints a line.
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", line["command"].as_str().unwrap()]).stdin(std::process::Stdio::null());
    let said = shell.current_dir(scratch.root()).output().unwrap();
    assert!(said.status.success() && said.stdout.starts_with(b"shop"), "{said:?}");
    succeeds(&scratch.run(&["uninstall"], b""));
    assert!(!local.exists(), "there was no file before");
}

/// Somebody else changed the file in between: then our entries are taken out where they stand.
#[test]
fn without_a_record_the_structure_decides() {
    for sample in samples() {
        let name = sample.file_name().unwrap().to_string_lossy().into_owned();
        let before = fs::read(&sample).unwrap();
        let (scratch, file) = with_settings(&before);
        succeeds(&scratch.run(&["install", "--scope", "project"], b""));
        fs::remove_dir_all(scratch.root().join(".claude/state")).unwrap();
        succeeds(&scratch.run(&["uninstall"], b""));
        let left = parse(&fs::read(&file).unwrap());
        assert_eq!(others(left.clone()), others(parse(&before)), "{name}");
        assert!(!left.to_string().contains("\"args\":[\"hook\"],\"timeout\":10"), "{name}");
    }
}

#[test]
fn a_longer_command_is_not_ours() {
    let before = br#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"hookkeeper hook Stop; ./notify-me.sh"}]}]}}"#;
    let (scratch, file) = with_settings(before);
    let run = scratch.run(&["install", "--scope", "project"], b"");
    succeeds(&run);
    assert!(
        run.stdout.contains("the Stop hook calls HookKeeper inside a longer command"),
        "{}",
        run.stdout
    );
    assert!(fs::read_to_string(&file).unwrap().contains("hookkeeper hook Stop; ./notify-me.sh"));
    succeeds(&scratch.run(&["uninstall"], b""));
    assert_eq!(fs::read(&file).unwrap(), before);
}

#[test]
fn old_entries_go_and_that_is_said() {
    let (scratch, file) = with_settings(br#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"/old/hookkeeper","args":["hook"]}]}]}}"#);
    succeeds(&scratch.run(&["install", "--scope", "project"], b""));
    let run = scratch.run(&["uninstall"], b"");
    assert!(run.stdout.contains("HookKeeper's entries are out"), "{}", run.stdout);
    assert_eq!(fs::read(&file).unwrap(), b"{}");
}

#[test]
fn what_was_empty_before_us_stays_empty() {
    for before in ["{\"k\":1,\"hooks\":{}}", "{\"k\":1,\"hooks\":{\"Stop\":[]}}"] {
        let (scratch, file) = with_settings(before.as_bytes());
        succeeds(&scratch.run(&["install", "--scope", "project"], b""));
        let changed = fs::read_to_string(&file).unwrap().replace("\"k\":1", "\"k\":2");
        fs::write(&file, changed).unwrap();
        succeeds(&scratch.run(&["uninstall"], b""));
        assert_eq!(fs::read_to_string(&file).unwrap(), before.replace("\"k\":1", "\"k\":2"));
    }
}

#[test]
fn what_a_user_tuned_stays() {
    let (scratch, file) = with_settings(b"{}");
    succeeds(&scratch.run(&["install", "--scope", "project"], b""));
    let tuned = fs::read_to_string(&file).unwrap().replace("Agent|Task", "Task|Agent").replacen(
        "\"timeout\": 10",
        "\"timeout\": 20, \"statusMessage\": \"mine\"",
        3,
    );
    fs::write(&file, &tuned).unwrap();
    succeeds(&scratch.run(&["install", "--scope", "project"], b""));
    assert_eq!(fs::read_to_string(&file).unwrap(), tuned);
}

#[test]
fn a_program_of_another_name_is_not_wired_by_its_path() {
    let scratch = Scratch::new();
    let other = scratch.home().join("hk2");
    // By another process, for the reason that `program` has.
    let copied =
        std::process::Command::new("cp").arg(env!("CARGO_BIN_EXE_hookkeeper")).arg(&other).status();
    assert!(copied.unwrap().success());
    let mut command = std::process::Command::new(&other);
    command
        .args(["install", "--scope", "local"])
        .env_clear()
        .envs(&scratch.env)
        .current_dir(scratch.root());
    let run = support::finish(support::spawn(command), b"");
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("has to be called `hookkeeper`"), "{}", run.stderr);
    assert!(!scratch.root().join(".claude").exists());
}

#[test]
fn a_record_goes_with_its_entries() {
    let (scratch, file) = with_settings(b"{}");
    succeeds(&scratch.run(&["install", "--scope", "project"], b""));
    fs::write(&file, "{}").unwrap();
    fs::write(scratch.root().join(".claude/.settings.json.hookkeeper"), "left").unwrap();
    succeeds(&scratch.run(&["uninstall"], b""));
    assert_eq!(scratch.doc("settings/wiring.json")["files"], serde_json::json!([]));
    assert!(!scratch.root().join(".claude/.settings.json.hookkeeper").exists());
    // And it comes back when the entries are found.
    let (scratch, _) = with_settings(
        fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("settings.example.json"))
            .unwrap()
            .as_slice(),
    );
    succeeds(&scratch.run(&["install", "--scope", "project"], b""));
    assert_eq!(scratch.doc("settings/wiring.json")["files"][0]["scope"], "project");
}

#[test]
fn nothing_is_made_where_nothing_can_be_done() {
    for text in ["{", "[]", "{\"hooks\": 3}"] {
        let (scratch, _) = with_settings(text.as_bytes());
        assert_eq!(scratch.run(&["install", "--scope", "project"], b"").code, Some(1));
        assert!(!scratch.state().exists(), "{text}");
    }
    let (scratch, file) = with_settings(b"{}");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o444)).unwrap();
    assert_eq!(scratch.run(&["install", "--scope", "project"], b"").code, Some(1));
    assert!(!scratch.state().exists());
}

#[test]
fn one_file_has_one_scope() {
    let (scratch, file) = with_settings(b"{}");
    symlink("settings.json", scratch.root().join(".claude/settings.local.json")).unwrap();
    let run = scratch.run(&["install", "--scope", "local"], b"");
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("the same file as that of the scope project"), "{}", run.stderr);
    assert_eq!(fs::read(&file).unwrap(), b"{}");
}

#[test]
fn purge_waits_for_files_that_are_still_wired() {
    let (mut scratch, file) = with_settings(b"{ }");
    succeeds(&scratch.run(&["install", "--scope", "project"], b""));
    succeeds(&scratch.run(&["install", "--scope", "local"], b""));
    for scope in ["project", "user"] {
        let run = scratch.run(&["uninstall", "--scope", scope, "--purge"], b"");
        assert_eq!(run.code, Some(1), "{scope}");
        assert!(
            run.stderr.contains("still wires HookKeeper; first: hookkeeper uninstall --scope "),
            "{}",
            run.stderr
        );
    }
    let run = scratch.run(&["uninstall", "--scope", "local"], b"");
    assert!(
        run.stdout.contains("still wires HookKeeper: hookkeeper uninstall --scope project"),
        "{}",
        run.stdout
    );
    succeeds(&scratch.run(&["uninstall", "--purge"], b""));
    assert_eq!(fs::read(&file).unwrap(), b"{ }");
    succeeds(&scratch.run(&["install", "--scope", "user"], b""));
    succeeds(&scratch.run(&["uninstall", "--scope", "user", "--purge"], b""));
    assert!(!scratch.home().join(".claude/hookkeeper").exists());
    // The self-test leaves other books alone, whatever the environment says.
    let books = scratch.home().join("books");
    fs::create_dir(&books).unwrap();
    scratch.env.insert("HOOKKEEPER_STATE_ROOT".into(), books.display().to_string());
    succeeds(&scratch.run(&["install", "--scope", "project"], b""));
    assert_eq!(fs::read_dir(&books).unwrap().count(), 0);
}

#[test]
fn what_others_add_after_the_install_stays() {
    let (scratch, file) = with_settings(b"{\n  \"model\": \"opus\"\n}\n");
    succeeds(&scratch.run(&["install", "--scope", "project"], b""));
    let wired = fs::read_to_string(&file).unwrap();
    let changed = wired.replace("\"opus\"", "\"sonnet\"").replace(
        "\"Stop\": [\n",
        "\"Stop\": [\n      {\"hooks\": [{\"type\": \"command\", \"command\": \"theirs\", \"async\": true}]},\n",
    );
    fs::write(&file, changed).unwrap();
    let run = scratch.run(&["uninstall"], b"");
    assert_eq!(
        run.stdout,
        ".claude/settings.json: HookKeeper's entries are out; everything else stays as it is\n"
    );
    assert_eq!(
        fs::read_to_string(&file).unwrap(),
        "{\n  \"model\": \"sonnet\",\n  \"hooks\": {\n    \"Stop\": [\n      {\"hooks\": [{\"type\": \"command\", \"command\": \"theirs\", \"async\": true}]}\n    ]\n  }\n}\n"
    );
}

#[test]
fn malformed_settings_are_refused_with_their_place() {
    for (text, place) in [
        ("{\n  \"a\": 1,\n}", "line 3, column 1: "),
        ("{\"a\": 1", "line 1, column 8: "),
        ("{\n  // mine\n}", "line 2, column 3: "),
        ("{'a': 1}", "line 1, column 2: "),
        ("[]", "line 1, column 1: the settings must be a JSON object"),
        ("{\"hooks\": \"x\"}", "line 1, column 11: `hooks` must be an object"),
        ("{\"hooks\": {\"Stop\": \"x\"}}", "line 1, column 20: `hooks.Stop` must be a list"),
        ("\u{feff}{]", "line 1, column 2: "),
    ] {
        let (scratch, file) = with_settings(text.as_bytes());
        for command in [
            vec!["install", "--scope", "project"],
            vec!["install", "--scope", "project", "--dry-run"],
            vec!["uninstall", "--scope", "project"],
        ] {
            let run = scratch.run(&command, b"");
            assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{text} {command:?}");
            let start = format!("hookkeeper: .claude/settings.json: {place}");
            assert!(run.stderr.starts_with(&start), "{}", run.stderr);
            assert_eq!(fs::read_to_string(&file).unwrap(), text);
        }
    }
    let (scratch, file) = with_settings(b"{\n\"a\": \"\xff\"}");
    let run = scratch.run(&["install", "--scope", "project"], b"");
    assert_eq!(run.stderr, "hookkeeper: .claude/settings.json: line 2: it is not UTF-8\n");
    assert_eq!(fs::read(&file).unwrap(), b"{\n\"a\": \"\xff\"}");
}

#[test]
fn each_scope_has_its_file_and_its_form() {
    let scratch = Scratch::new();
    let program = env!("CARGO_BIN_EXE_hookkeeper");
    let guarded = "command -v hookkeeper >/dev/null && exec hookkeeper hook; head -n 1 >/dev/null";
    let (hook, none) = (serde_json::json!(["hook"]), Value::Null);
    for (scope, file, command, args) in [
        ("project", scratch.root().join(".claude/settings.json"), guarded, &none),
        ("local", scratch.root().join(".claude/settings.local.json"), program, &hook),
        ("user", scratch.home().join(".claude/settings.json"), program, &hook),
    ] {
        succeeds(&scratch.run(&["install", "--scope", scope], b""));
        let settings = parse(&fs::read(&file).unwrap());
        let handler = &settings["hooks"]["SessionEnd"][0]["hooks"][0];
        assert_eq!(handler["command"], command, "{scope}");
        assert_eq!(&handler["args"], args);
        assert_eq!(handler["timeout"], 10);
        assert_eq!(settings["hooks"]["PreToolUse"][0]["matcher"], "Agent|Task");
        assert_eq!(settings["hooks"]["PostToolUse"][0].get("matcher"), None);
        succeeds(&scratch.run(&["uninstall", "--scope", scope], b""));
        assert!(!file.exists(), "{scope}: there was no file before");
    }
}

#[test]
fn the_clients_own_directory_can_be_elsewhere() {
    let mut scratch = Scratch::new();
    let config = scratch.home().join("config");
    scratch.env.insert("CLAUDE_CONFIG_DIR".into(), config.display().to_string());
    succeeds(&scratch.run(&["install", "--scope", "user"], b""));
    assert!(config.join("settings.json").exists());
    assert!(!scratch.home().join(".claude").exists());
}

#[test]
fn the_self_test_runs_every_hook_and_leaves_nothing() {
    let scratch = Scratch::new();
    let temp = scratch.home().join("tmp");
    fs::create_dir(&temp).unwrap();
    let mut scratch = scratch;
    scratch.env.insert("TMPDIR".into(), temp.display().to_string());
    let run = scratch.run(&["install", "--scope", "project"], b"");
    succeeds(&run);
    let oks = run.stdout.lines().filter(|line| line.contains("ok ") && line.ends_with(" ms"));
    assert_eq!(oks.count(), event_count(), "{}", run.stdout);
    assert_eq!(fs::read_dir(&temp).unwrap().count(), 0);
    assert!(!scratch.exists("session"), "the project's own books were not touched");
}

#[test]
fn the_dry_run_shows_and_changes_nothing() {
    let (mut scratch, file) = with_settings(b"{\n  \"model\": \"opus\"\n}");
    let run = scratch.run(&["install", "--scope", "project", "--dry-run"], b"");
    succeeds(&run);
    // Eleven lines for each event, one for a matcher, and what is around them.
    let lines = 11 * event_count() + 1 + 5;
    let begin = format!(
        "--- .claude/settings.json\n+++ .claude/settings.json\n@@ -1,3 +1,{lines} @@\n {{\n-  \"model\": \"opus\"\n+  \"model\": \"opus\",\n"
    );
    assert!(run.stdout.starts_with(&begin), "{}", run.stdout);
    assert!(!scratch.root().join(".claude/state").exists());
    scratch.env.insert("CLICOLOR_FORCE".into(), "1".into());
    assert!(
        scratch
            .run(&["install", "--scope", "project", "--dry-run"], b"")
            .stdout
            .contains("\x1b[32m+  \"hooks\": {\x1b[0m")
    );
    scratch.env.remove("CLICOLOR_FORCE");
    succeeds(&scratch.run(&["install", "--scope", "project"], b""));
    let wired = fs::read(&file).unwrap();
    let run = scratch.run(&["install", "--scope", "project", "--dry-run"], b"");
    assert_eq!(run.stdout, ".claude/settings.json: nothing would change\n");
    let run = scratch.run(&["uninstall", "--dry-run"], b"");
    assert!(run.stdout.contains("\n-  \"hooks\": {\n"), "{}", run.stdout);
    assert_eq!(fs::read(&file).unwrap(), wired);
}

#[test]
fn an_upgrade_can_be_taken_back_too() {
    let before = b"{\"hooks\": { }}";
    let (mut scratch, _) = with_settings(b"{}");
    let file = scratch.root().join(".claude/settings.local.json");
    fs::write(&file, before).unwrap();
    for place in ["old", "new"] {
        let bin = scratch.home().join(place);
        fs::create_dir(&bin).unwrap();
        symlink(env!("CARGO_BIN_EXE_hookkeeper"), bin.join("hookkeeper")).unwrap();
        scratch.env.insert("PATH".into(), bin.display().to_string());
        succeeds(&scratch.run(&["install", "--scope", "local"], b""));
        let wired = fs::read_to_string(&file).unwrap();
        assert_eq!(wired.matches(&format!("/{place}/hookkeeper")).count(), event_count());
    }
    succeeds(&scratch.run(&["uninstall"], b""));
    assert_eq!(fs::read(&file).unwrap(), before);
}

#[test]
fn mode_and_symlink_of_the_file_stay() {
    let (scratch, file) = with_settings(b"{}");
    let kept = scratch.home().join("dotfiles.json");
    fs::rename(&file, &kept).unwrap();
    fs::set_permissions(&kept, fs::Permissions::from_mode(0o640)).unwrap();
    symlink(&kept, &file).unwrap();
    succeeds(&scratch.run(&["install", "--scope", "project"], b""));
    assert!(file.is_symlink());
    assert_eq!(fs::metadata(&kept).unwrap().permissions().mode() & 0o777, 0o640);
    succeeds(&scratch.run(&["uninstall"], b""));
    assert!(file.is_symlink());
    assert_eq!(fs::read(&kept).unwrap(), b"{}");
}

#[test]
fn what_cannot_be_changed_is_refused() {
    let refused = |scratch: &Scratch, args: &[&str], says: &str| {
        let run = scratch.run(args, b"");
        assert_eq!(run.code, Some(1), "{args:?}: {}", run.stdout);
        assert!(run.stderr.contains(says), "{}", run.stderr);
        assert_eq!(run.stderr.lines().count(), 1);
    };
    let (scratch, file) = with_settings(b"{}");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o444)).unwrap();
    refused(&scratch, &["install", "--scope", "project"], "settings.json: it is read-only");
    assert_eq!(fs::read(&file).unwrap(), b"{}");

    let scratch = Scratch::new();
    let file = scratch.root().join(".claude/settings.json");
    fs::create_dir_all(&file).unwrap();
    refused(&scratch, &["install", "--scope", "project"], "settings.json: it is a directory");
    refused(
        &scratch,
        &["install", "--scope", "project", "--dry-run"],
        "settings.json: it is a directory",
    );

    let (scratch, file) = with_settings(b"{}");
    let outside = std::env::temp_dir().join(format!("hk-outside-{}.json", std::process::id()));
    fs::rename(&file, &outside).unwrap();
    symlink(&outside, &file).unwrap();
    refused(
        &scratch,
        &["install", "--scope", "project"],
        "settings.json: it is a symlink out of the project",
    );
    assert_eq!(fs::read(&outside).unwrap(), b"{}");
    fs::remove_file(&outside).unwrap();
    refused(&scratch, &["install", "--scope", "project"], "settings.json: No such file");

    let mut scratch = Scratch::new();
    for command in ["install", "uninstall"] {
        let run = scratch.run(&[command, "--scope", "galaxy"], b"");
        support::misused(&run, "there is no scope `galaxy`");
    }
    scratch.env.remove("HOME");
    refused(&scratch, &["install", "--scope", "user"], "~/.claude/settings.json: there is no home");
    succeeds(&scratch.run(&["install", "--scope", "project"], b""));

    let mut scratch = Scratch::new();
    let home = scratch.root();
    scratch.env.insert("HOME".into(), home.display().to_string());
    fs::create_dir(home.join(".claude")).unwrap();
    refused(
        &scratch,
        &["install", "--scope", "project"],
        "settings.json: it is the same file as that of the scope user: use --scope user",
    );
    refused(&scratch, &["-C", "/nowhere", "install"], "/nowhere: there is no such directory");
}

#[test]
fn uninstall_says_where_it_is_wired() {
    let scratch = Scratch::new();
    let run = scratch.run(&["uninstall"], b"");
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (Some(0), ".claude/settings.local.json: HookKeeper is not wired here\n")
    );
    succeeds(&scratch.run(&["install", "--scope", "local"], b""));
    let run = scratch.run(&["uninstall", "--scope", "project"], b"");
    assert_eq!(run.code, Some(1));
    assert!(
        run.stderr.ends_with(".claude/settings.local.json: hookkeeper uninstall --scope local\n"),
        "{}",
        run.stderr
    );
}

/// A client that says which version it is. A shell writes it: a file that a thread of ours has open
/// for writing could not be started.
fn client(scratch: &mut Scratch, says: &str) {
    let bin = scratch.home().join("bin");
    fs::create_dir_all(&bin).unwrap();
    program(&bin.join("claude"), &format!("#!/bin/sh\n{says}\n"));
    scratch.env.insert("PATH".into(), format!("{}:/usr/bin:/bin", bin.display()));
}

/// An old client would throw the file away with its permission rules, or fail at every event.
#[test]
fn a_client_that_is_too_old_is_not_wired() {
    for (says, harm) in [
        ("echo '2.1.100 (Claude Code)'", "ignores the whole settings file, permission rules"),
        ("echo '2.0.5 (Claude Code)'", "ignores the whole settings file, permission rules"),
        ("echo '2.1.101 (Claude Code)'", "does not know hooks in exec form"),
        ("echo '2.1.138 (Claude Code)'", "does not know hooks in exec form"),
    ] {
        for scope in ["project", "local", "user"] {
            let (mut scratch, file) = with_settings(b"{}");
            client(&mut scratch, says);
            let run = scratch.run(&["install", "--scope", scope], b"");
            support::refused(&run, harm);
            support::refused(&run, "Update it to 2.1.139 or later; --any-client");
            assert_eq!(fs::read(&file).unwrap(), b"{}");
            assert!(!scratch.state().exists() && !scratch.home().join(".claude").exists());
        }
        let (mut scratch, file) = with_settings(b"{}");
        client(&mut scratch, says);
        let run = scratch.run(&["install", "--scope", "project", "--any-client"], b"");
        succeeds(&run);
        assert!(run.stdout.contains(harm), "{}", run.stdout);
        assert_eq!(events_of_ours(&parse(&fs::read(&file).unwrap())).len(), event_count());
    }
}

#[test]
fn a_client_that_works_or_cannot_be_asked_is_wired() {
    for (says, note) in [
        ("echo '2.1.139 (Claude Code)'", ""),
        ("echo '3.0.0 (Claude Code)'", ""),
        ("echo hello", "Claude Code hello at ~/bin/claude: this is no version"),
    ] {
        let (mut scratch, _) = with_settings(b"{}");
        client(&mut scratch, says);
        let run = scratch.run(&["install"], b"");
        succeeds(&run);
        assert_eq!(run.stdout.contains("It must be 2.1.139 or later"), !note.is_empty());
        assert!(run.stdout.contains(note), "{says}: {}", run.stdout);
    }
    // One that is there and does not answer may be any.
    for (says, note) in [
        ("exit 3", "at ~/bin/claude and does not tell its version (exit code 3:)"),
        ("sleep 30", "at ~/bin/claude and does not tell its version (it was ended by a signal"),
    ] {
        let (mut scratch, file) = with_settings(b"{}");
        client(&mut scratch, says);
        let run = scratch.run(&["install", "--scope", "project"], b"");
        support::refused(&run, note);
        support::refused(&run, "--any-client wires the hooks all the same");
        assert_eq!(fs::read(&file).unwrap(), b"{}");
        let run = scratch.run(&["install", "--scope", "project", "--any-client"], b"");
        succeeds(&run);
        assert!(run.stdout.contains(note), "{says}: {}", run.stdout);
    }
    let (mut scratch, _) = with_settings(b"{}");
    scratch.env.insert("PATH".into(), "/nowhere".into());
    let run = scratch.run(&["install"], b"");
    succeeds(&run);
    assert!(run.stdout.contains("Note: Claude Code was not found."), "{}", run.stdout);
    // Where its installers put it, off the PATH.
    client(&mut scratch, "echo '2.1.90 (Claude Code)'");
    fs::create_dir_all(scratch.home().join(".local/bin")).unwrap();
    let moved = scratch.home().join(".local/bin/claude");
    fs::rename(scratch.home().join("bin/claude"), moved).unwrap();
    support::refused(&scratch.run(&["install"], b""), "2.1.90");
}

/// What is shared reaches people who do not have the program.
#[test]
fn without_the_program_a_shared_file_does_nothing_but_give_one_hint() {
    let (scratch, file) = with_settings(b"{}");
    let run = scratch.run(&["install", "--scope", "project"], b"");
    succeeds(&run);
    assert!(run.stdout.contains("Note: everybody who works in this project reads this file."));
    let settings = parse(&fs::read(&file).unwrap());
    let large = "x".repeat(1 << 20);
    let mut hints = 0;
    for (event, groups) in settings["hooks"].as_object().unwrap() {
        let command = groups[0]["hooks"][0]["command"].as_str().unwrap();
        for source in ["startup", "resume", "clear", "compact"] {
            let payload = format!(
                "{{\"hook_event_name\":\"{event}\",\"source\":\"{source}\",\"prompt\":\"{large}\"}}\n"
            );
            let mut shell = std::process::Command::new("/bin/sh");
            shell.args(["-c", command]).env_clear().env("PATH", "/usr/bin:/bin");
            let run = support::finish(support::spawn(shell), payload.as_bytes());
            assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{event}");
            if !run.stdout.is_empty() {
                let reply: Value = serde_json::from_str(&run.stdout).unwrap();
                let hint = "the program hookkeeper is not on the PATH here";
                assert!(reply["systemMessage"].as_str().unwrap().contains(hint));
                assert!(event == "SessionStart" && ["startup", "resume"].contains(&source));
                hints += 1;
            }
        }
    }
    assert_eq!(hints, 2, "one when a session begins, and one when it goes on");
}

#[test]
fn install_goes_to_ones_own_file_unless_another_one_is_wired() {
    let (scratch, shared) = with_settings(b"{}");
    let local = scratch.root().join(".claude/settings.local.json");
    succeeds(&scratch.run(&["install"], b""));
    assert_eq!((fs::read(&shared).unwrap().as_slice(), local.exists()), (&b"{}"[..], true));
    succeeds(&scratch.run(&["uninstall"], b""));
    assert!(!local.exists());
    succeeds(&scratch.run(&["install", "--scope", "project"], b""));
    succeeds(&scratch.run(&["install"], b""));
    assert!(!local.exists(), "the shared file is wired already");
    succeeds(&scratch.run(&["uninstall"], b""));
    assert_eq!(fs::read(&shared).unwrap(), b"{}");
}

/// Git does not see one's own file, and its list is as it was when that is gone.
#[test]
fn git_does_not_see_ones_own_file() {
    let scratch = Scratch::new();
    git(&scratch, &["init", "--quiet"]);
    let exclude = scratch.root().join(".git/info/exclude");
    fs::create_dir_all(exclude.parent().unwrap()).unwrap();
    fs::write(&exclude, "*.mine").unwrap();
    succeeds(&scratch.run(&["install"], b""));
    assert_eq!(git(&scratch, &["status", "--porcelain"]), "");
    succeeds(&scratch.run(&["install"], b""));
    let listed = "*.mine\n# hookkeeper\n**/.claude/settings.local.json\n";
    assert_eq!(fs::read_to_string(&exclude).unwrap(), listed);
    succeeds(&scratch.run(&["uninstall"], b""));
    assert_eq!(fs::read_to_string(&exclude).unwrap(), "*.mine\n");
}

/// A repository that was unpacked may bring its git directory along.
#[test]
fn gits_list_is_not_written_through_a_link() {
    for link in ["info", "info/exclude"] {
        let scratch = Scratch::new();
        git(&scratch, &["init", "--quiet"]);
        let (place, victim) =
            (scratch.root().join(".git").join(link), scratch.home().join("victim"));
        let _ = fs::remove_dir_all(scratch.root().join(".git/info"));
        match link {
            "info" => fs::create_dir(&victim).unwrap(),
            _ => {
                fs::create_dir_all(place.parent().unwrap()).unwrap();
                fs::write(&victim, "mine\n").unwrap();
            }
        }
        symlink(&victim, &place).unwrap();
        let run = scratch.run(&["install"], b"");
        succeeds(&run);
        assert!(run.stdout.contains("Warning: git sees .claude/settings.local.json: "));
        succeeds(&scratch.run(&["uninstall"], b""));
        match link {
            "info" => assert_eq!(fs::read_dir(&victim).unwrap().count(), 0),
            _ => assert_eq!(fs::read_to_string(&victim).unwrap(), "mine\n"),
        }
    }
}

fn git(scratch: &Scratch, args: &[&str]) -> String {
    let mut git = std::process::Command::new("git");
    let done =
        git.args(args).env("HOME", scratch.home()).current_dir(scratch.root()).output().unwrap();
    assert!(done.status.success());
    String::from_utf8(done.stdout).unwrap()
}

#[test]
fn purge_deletes_the_books_and_nothing_else() {
    let (scratch, file) = with_settings(b"{}\n");
    succeeds(&scratch.run(&["install", "--scope", "project"], b""));
    fs::write(scratch.root().join(".claude/hookkeeper.json"), "{}").unwrap();
    scratch.hook(&serde_json::json!({"session_id": "s", "hook_event_name": "SessionStart", "source": "startup"}));
    succeeds(&scratch.run(&["uninstall", "--purge"], b""));
    assert!(!scratch.state().exists());
    assert_eq!(fs::read(&file).unwrap(), b"{}\n");
    let names = fs::read_dir(scratch.root().join(".claude")).unwrap();
    assert_eq!(names.count(), 1);

    let scratch = Scratch::new();
    succeeds(&scratch.run(&["install", "--scope", "project"], b""));
    succeeds(&scratch.run(&["uninstall", "--purge"], b""));
    assert_eq!(fs::read_dir(scratch.root()).unwrap().count(), 0, "as if we had never been here");
}

#[test]
fn installs_at_once_leave_one_whole_file() {
    let before =
        fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/settings/others-many.json"))
            .unwrap();
    let (scratch, file) = with_settings(&before);
    let children: Vec<_> = (0..8)
        .map(|_| support::spawn(scratch.command(&["install", "--scope", "project"])))
        .collect();
    for child in children {
        succeeds(&support::finish(child, b""));
    }
    assert_eq!(events_of_ours(&parse(&fs::read(&file).unwrap())).len(), event_count());
    succeeds(&scratch.run(&["uninstall"], b""));
    assert_eq!(fs::read(&file).unwrap(), before);
}

#[test]
fn the_example_is_what_install_would_write() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let example = fs::read(root.join("settings.example.json")).unwrap();
    let (scratch, file) = with_settings(&example);
    succeeds(&scratch.run(&["install", "--scope", "project"], b""));
    assert_eq!(fs::read(&file).unwrap(), example);
    assert_eq!(events_of_ours(&parse(&example)).len(), event_count());
}

/// A second list of the events would be forgotten when one is added. What names all of them must
/// be checked: by the compiler (an exhaustive match), or by itself when it runs.
#[test]
fn no_list_of_events_is_kept_by_hand() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let example = parse(include_bytes!("../../settings.example.json"));
    let events: Vec<&String> = example["hooks"].as_object().unwrap().keys().collect();
    let mut lists = Vec::new();
    for path in ["src", "tests", "benches"].iter().flat_map(|dir| sources(&root.join(dir))) {
        let text = fs::read_to_string(&path).unwrap();
        let names = |event: &&String| {
            text.contains(&format!("\"{event}\"")) || text.contains(&format!("Kind::{event}"))
        };
        if events.iter().all(names) {
            lists.push(path.strip_prefix(root).unwrap().to_string_lossy().into_owned());
        }
    }
    lists.sort();
    assert_eq!(lists, ["src/hooks/mod.rs", "tests/faults/scenarios.py"]);
}

fn sources(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|end| end == "rs" || end == "py") {
            found.push(path);
        }
    }
    found
}
