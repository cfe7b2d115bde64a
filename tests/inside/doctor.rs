//! `hookkeeper doctor`, through the binary: a healthy project, and for every check a project in
//! which exactly that one speaks up.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use hookkeeper::inside::doctor::Checked;
use hookkeeper::inside::doctor::examine;
use hookkeeper::inside::doctor::facts::Facts;
use hookkeeper::inside::doctor::finding::Level;
use hookkeeper::inside::doctor::table::CHECKS;
use serde_json::{Value, json};

use crate::support::{self, Scratch, program};

/// An event that waits for the lock.
const SPOOLED: &str = r#"{"time": "2026-01-29T10:30:00.000Z", "client": {"pid": 1, "started": null, "host": "h"},
    "git": {"branch": null, "commit": null},
    "payload": {"hook_event_name": "SubagentStart", "session_id": "s1", "agent_id": "a1", "agent_type": "Explore"}}"#;
const EXAMPLE: &str = include_str!("../../settings.example.json");

/// Wired, on the PATH, with a client and books of one live session.
fn healthy() -> Scratch {
    let mut scratch = Scratch::new();
    let bin = scratch.home().join("bin");
    fs::create_dir(&bin).unwrap();
    symlink(env!("CARGO_BIN_EXE_hookkeeper"), bin.join("hookkeeper")).unwrap();
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display());
    scratch.env.insert("PATH".into(), path);
    claude(&scratch, "2.1.325 (Claude Code)");
    write(&scratch, ".claude/settings.json", EXAMPLE);
    fs::create_dir_all(transcripts(&scratch)).unwrap();
    scratch
        .hook(&json!({"hook_event_name": "SessionStart", "session_id": "s1", "source": "startup",
        "cwd": scratch.root(), "transcript_path": "/nowhere/s1.jsonl"}));
    scratch
}

/// A client that knows its version.
fn claude(scratch: &Scratch, version: &str) {
    program_that_says(&scratch.home().join("bin/claude"), version);
}

fn program_that_says(file: &Path, line: &str) {
    program(file, &format!("#!/bin/sh\necho \"{line}\"\n"));
}

fn transcripts(scratch: &Scratch) -> PathBuf {
    let root = scratch.root().display().to_string();
    let name: String =
        root.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    scratch.home().join(".claude/projects").join(name)
}

fn write(scratch: &Scratch, path: &str, text: impl AsRef<[u8]>) {
    let path = scratch.root().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn local(scratch: &Scratch, settings: &Value) {
    write(scratch, ".claude/settings.local.json", serde_json::to_string_pretty(settings).unwrap());
}

/// A handler of another tool.
fn other(handler: &Value) -> Value {
    json!({"hooks": {"Notification": [{"hooks": [handler]}]}})
}

/// The example with one change.
fn wired(scratch: &Scratch, change: impl FnOnce(&mut Value)) {
    let mut settings: Value = serde_json::from_str(EXAMPLE).unwrap();
    change(&mut settings["hooks"]);
    write(scratch, ".claude/settings.json", serde_json::to_string_pretty(&settings).unwrap());
}

/// The example, as it is in a file of one's own.
fn exec_form(program: &str) -> String {
    let mut settings: Value = serde_json::from_str(EXAMPLE).unwrap();
    for groups in settings["hooks"].as_object_mut().unwrap().values_mut() {
        let handler = groups[0]["hooks"][0].as_object_mut().unwrap();
        handler.insert("command".into(), program.into());
        handler.insert("args".into(), json!(["hook"]));
    }
    serde_json::to_string_pretty(&settings).unwrap()
}

struct Report {
    code: Option<i32>,
    json: Value,
}

fn doctor(scratch: &Scratch, more: &[&str]) -> Report {
    let mut args = vec!["doctor", "--json"];
    args.extend(more);
    let run = scratch.run(&args, b"");
    assert_eq!(run.stderr, "");
    Report { code: run.code, json: serde_json::from_str(&run.stdout).unwrap() }
}

impl Report {
    /// What is not as it should be: id, level and message.
    fn problems(&self) -> Vec<(String, String, String)> {
        let text = |check: &Value, key: &str| check[key].as_str().unwrap().to_owned();
        let checks = self.json["checks"].as_array().unwrap().iter();
        let bad = checks.filter(|check| check["level"] != "ok");
        bad.map(|check| (text(check, "id"), text(check, "level"), text(check, "message"))).collect()
    }

    /// Exactly one problem, with this in its message.
    #[track_caller]
    fn only(&self, id: &str, level: &str, message: &str) {
        let problems = self.problems();
        assert_eq!(problems.len(), 1, "{id}, {message}: {problems:#?}");
        let (got, got_level, text) = &problems[0];
        assert_eq!((got.as_str(), got_level.as_str()), (id, level), "{text}");
        assert!(text.contains(message), "{id}: {text}");
        assert_eq!(self.code, Some(i32::from(level == "error")), "{id}");
    }

    fn check(&self, id: &str) -> &Value {
        self.json["checks"].as_array().unwrap().iter().find(|check| check["id"] == id).unwrap()
    }
}

#[test]
fn a_healthy_project_has_nothing_to_complain_about() {
    let report = doctor(&healthy(), &[]);
    assert_eq!(report.problems(), []);
    assert_eq!(report.code, Some(0));
    let ids: Vec<&str> = report.json["checks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| c["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, CHECKS.iter().map(|check| check.id).collect::<Vec<_>>());
    assert_eq!((&report.json["errors"], &report.json["warnings"]), (&json!(0), &json!(0)));
    let keys: Vec<&String> = report.json["checks"][0].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["id", "name", "level", "message", "hint", "fixable", "fixed"]);
}

/// Id, level, a piece of the message, and what makes it so.
type Trip = (&'static str, &'static str, &'static str, fn(&mut Scratch));

const TRIPS: &[Trip] = &[
    ("HK001", "error", ".claude/settings.json:4: the hooks run `hookkeeper`", |scratch| {
        fs::remove_file(scratch.home().join("bin/hookkeeper")).unwrap();
    }),
    ("HK002", "error", "not called for Stop", |scratch| {
        wired(scratch, |hooks| {
            hooks.as_object_mut().unwrap().shift_remove("Stop");
        });
    }),
    (
        "HK003",
        "error",
        ".claude/settings.local.json: `install` wired it on 2026-01-29",
        |scratch| {
            let file = json!({"file": "settings.local.json", "scope": "local", "command": "hookkeeper",
            "version": "0.1.0", "steps": [], "wired_at": "2026-01-29T10:30:00Z"});
            write(
                scratch,
                ".claude/state/settings/wiring.json",
                json!({"files": [file]}).to_string(),
            );
        },
    ),
    ("HK004", "error", "handled twice: SessionStart, SessionEnd,", |scratch| {
        let path = scratch.home().join("bin/hookkeeper").display().to_string();
        let twice = exec_form(&path);
        write(scratch, ".claude/settings.local.json", twice);
    }),
    ("HK005", "error", ".claude/settings.local.json:3:1: a comma", |scratch| {
        write(scratch, ".claude/settings.local.json", "{\n  \"a\": 1,\n}");
    }),
    ("HK006", "warning", ".claude/settings.local.json:9: Notification `echo hi`", |scratch| {
        local(scratch, &other(&json!({"type": "command", "command": "echo hi", "timeout": 5000})));
    }),
    ("HK007", "warning", "/nowhere/tool does not exist", |scratch| {
        local(scratch, &other(&json!({"type": "command", "command": "/nowhere/tool --x"})));
    }),
    ("HK008", "error", ".claude/settings.local.json:2: `disableAllHooks`", |scratch| {
        local(scratch, &json!({"disableAllHooks": true}));
    }),
    ("HK009", "warning", "`keep_backups` cannot be \"three\"", |scratch| {
        write(scratch, ".claude/hookkeeper.json", r#"{"keep_backups": "three"}"#);
    }),
    (
        "HK009",
        "note",
        "no setting `stuckafter_minutes`; did you mean `stuck_after_minutes`?",
        |scratch| {
            write(
                scratch,
                ".claude/hookkeeper.json",
                r#"{"stuckafter_minutes": 9, "notify": true}"#,
            );
        },
    ),
    ("HK010", "warning", ".claude/state can be written to by other users", |scratch| {
        fs::set_permissions(scratch.state(), fs::Permissions::from_mode(0o777)).unwrap();
    }),
    ("HK011", "error", ".lock", |scratch| {
        fs::remove_file(scratch.state().join(".lock")).unwrap();
        fs::create_dir(scratch.state().join(".lock")).unwrap();
    }),
    ("HK012", "warning", "no .gitignore", |scratch| {
        fs::remove_file(scratch.state().join(".gitignore")).unwrap();
    }),
    ("HK013", "error", ".claude/state/session/current.json: ", |scratch| {
        write(scratch, ".claude/state/session/current.json", "{\"a\": ");
    }),
    ("HK014", "warning", ".claude/state/quarantine/x.json", |scratch| {
        write(scratch, ".claude/state/quarantine/x.json", "{");
    }),
    ("HK015", "warning", "1 payload could not be used", |scratch| {
        write(scratch, ".claude/state/rejected/x.txt", "{");
    }),
    ("HK016", "warning", "1 event waiting", |scratch| {
        write(scratch, ".claude/state/spool/x.json", SPOOLED);
    }),
    ("HK017", "note", "1 live session whose client is gone", |scratch| {
        let mut live = scratch.doc("session/live/s1.json");
        live["client"]["pid"] = json!(999_999_999);
        write(scratch, ".claude/state/session/live/s1.json", live.to_string());
    }),
    ("HK018", "warning", "1 of the last 2 hook runs failed; the last one was Stop", |scratch| {
        let mut log = fs::read_to_string(scratch.state().join("journal/s1.jsonl")).unwrap();
        log += "{\"v\": 1, \"kind\": \"stop\", \"time\": \"2026-01-29T10:30:00Z\", \"event\": \"Stop\", \"session\": \"s1\", \"wrote\": [], \"us\": 9, \"outcome\": \"error: disk full\"}\n";
        write(scratch, ".claude/state/journal/s1.jsonl", log);
    }),
    ("HK019", "note", "no hook has run here yet", |scratch| {
        fs::remove_dir_all(scratch.state().join("journal")).unwrap();
    }),
    ("HK021", "error", "Claude Code 2.1.138 (Claude Code) at ~/bin/claude", |scratch| {
        claude(scratch, "2.1.138 (Claude Code)");
    }),
    ("HK023", "note", "none for this project yet (~/.claude/projects/", |scratch| {
        fs::remove_dir_all(transcripts(scratch)).unwrap();
    }),
    ("HK024", "warning", ".claude/settings.json: hookkeeper 99.0.0 wired it", |scratch| {
        assert_eq!(scratch.run(&["install", "--scope", "project"], b"").code, Some(0));
        set_wired_version(scratch, "99.0.0");
    }),
    (
        "HK025",
        "warning",
        "2 on the PATH: ~/bin/hookkeeper (0.1.0), ~/old/hookkeeper (0.0.9)",
        |scratch| {
            second_on_path(scratch, "hookkeeper 0.0.9");
        },
    ),
    ("HK026", "warning", "nothing was ever sent, and no hook here does it", |scratch| {
        scratch.env.insert("HOOKKEEPER_OTLP_ENDPOINT".into(), "http://127.0.0.1:9".into());
    }),
    ("HK026", "warning", "HOOKKEEPER_OTLP_ENDPOINT: it must begin with http://", |scratch| {
        scratch.env.insert("HOOKKEEPER_OTLP_ENDPOINT".into(), "ftp://x".into());
    }),
];

/// Who wired the project's file, by the record.
fn set_wired_version(scratch: &Scratch, version: &str) {
    let mut record = scratch.doc("settings/wiring.json");
    record["files"][0]["version"] = version.into();
    write(scratch, ".claude/state/settings/wiring.json", record.to_string());
}

/// Another program of our name, behind ours on the PATH.
fn second_on_path(scratch: &mut Scratch, says: &str) {
    let dir = scratch.home().join("old");
    fs::create_dir_all(&dir).unwrap();
    program_that_says(&dir.join("hookkeeper"), says);
    let path = format!("{}:{}", scratch.env["PATH"], dir.display());
    scratch.env.insert("PATH".into(), path);
}

#[test]
fn every_check_speaks_up_alone() {
    for (id, level, message, spoil) in TRIPS {
        let mut scratch = healthy();
        spoil(&mut scratch);
        doctor(&scratch, &[]).only(id, level, message);
    }
}

fn level_of(checked: &[Checked], id: &str) -> Level {
    checked.iter().find(|one| one.check.id == id).unwrap().finding.level
}

/// What a test cannot bring about on a machine.
#[test]
fn disks_and_file_systems() {
    for (free, level) in [
        (Some(49_999_999), Level::Error),
        (Some(50_000_000), Level::Warning),
        (Some(499_999_999), Level::Warning),
        (Some(500_000_000), Level::Ok),
        (None, Level::Note),
    ] {
        let facts = Facts { free, ..Facts::default() };
        assert_eq!(level_of(&examine(&facts), "HK020"), level, "{free:?}");
    }
    for (network, level) in [(Some("NFS"), Level::Warning), (None, Level::Ok)] {
        let facts = Facts { network, ..Facts::default() };
        assert_eq!(level_of(&examine(&facts), "HK022"), level);
    }
}

#[test]
fn every_check_is_tripped_by_some_test() {
    let tripped: BTreeSet<&str> =
        TRIPS.iter().map(|trip| trip.0).chain(["HK020", "HK022"]).collect();
    assert_eq!(tripped, CHECKS.iter().map(|check| check.id).collect());
}

#[test]
fn table_and_document_agree() {
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/doctor.md");
    let document = fs::read_to_string(document).unwrap();
    let rows = document.lines().filter(|line| line.starts_with("| HK"));
    let rows: Vec<[&str; 3]> = rows
        .map(|row| {
            let cells: Vec<&str> = row.split('|').map(str::trim).collect();
            assert_eq!(cells.len(), 7, "{row}");
            assert!(!cells[4].is_empty() && !cells[5].is_empty(), "{row}");
            [cells[1], cells[2], cells[3]]
        })
        .collect();
    let table: Vec<[&str; 3]> =
        CHECKS.iter().map(|check| [check.id, check.name, check.looks_at]).collect();
    assert_eq!(rows, table);
    for (n, [id, ..]) in table.iter().enumerate() {
        assert_eq!(*id, format!("HK{:03}", n + 1));
    }
}

#[test]
fn wiring_in_forms_that_do_not_work() {
    type Change = fn(&mut Value);
    let cases: [(&str, &str, Change); 9] = [
        ("error", "SessionStart has the matcher `startup`, but needs none", |hooks| {
            hooks["SessionStart"][0]["matcher"] = json!("startup");
        }),
        ("error", "PreToolUse has the matcher `Task`, but needs `Agent|Task`", |hooks| {
            hooks["PreToolUse"][0]["matcher"] = json!("Task");
        }),
        ("warning", "PreToolUse has no matcher", |hooks| {
            hooks["PreToolUse"][0]["matcher"] = json!("*");
        }),
        ("error", "Stop is `async`", |hooks| {
            hooks["Stop"][0]["hooks"][0]["async"] = json!(true);
        }),
        ("warning", "Stop starts `hookkeeper` unguarded", |hooks| {
            hooks["Stop"][0]["hooks"][0] = json!({"type": "command", "command": "hookkeeper hook"});
        }),
        ("error", "Stop is told to be `SessionEnd`", |hooks| {
            hooks["Stop"][0]["hooks"][0] =
                json!({"type": "command", "command": "hookkeeper", "args": ["hook", "SessionEnd"]});
        }),
        ("note", "NoSuchEvent is no event of HookKeeper", |hooks| {
            hooks["NoSuchEvent"] = hooks["Stop"].clone();
        }),
        ("error", "worktrees cannot be made", |hooks| {
            hooks["WorktreeCreate"] = hooks["Stop"].clone();
        }),
        ("error", "not called for SessionStart, Stop", |hooks| {
            hooks["SessionStart"] = json!([]);
            hooks["Stop"] = Value::Null;
        }),
    ];
    let scratch = healthy();
    for (level, message, change) in cases {
        wired(&scratch, change);
        doctor(&scratch, &[]).only("HK002", level, message);
    }
    wired(&scratch, |hooks| hooks["PreToolUse"][0]["matcher"] = json!("Task|Agent"));
    assert_eq!(doctor(&scratch, &[]).problems(), []);
    // In a file of one's own there is no need for a guard.
    fs::remove_file(scratch.root().join(".claude/settings.json")).unwrap();
    local(&scratch, &serde_json::from_str(&exec_form("hookkeeper")).unwrap());
    assert_eq!(doctor(&scratch, &[]).problems(), []);
    let mut own: Value = serde_json::from_str(&exec_form("hookkeeper")).unwrap();
    own["hooks"]["Stop"][0]["hooks"][0]["args"] = json!(["hook", "stop"]);
    local(&scratch, &own);
    assert_eq!(doctor(&scratch, &[]).problems(), []);
    own["hooks"]["Stop"][0]["hooks"][0] = json!({"type": "command", "command": "hookkeeper hook"});
    local(&scratch, &own);
    doctor(&scratch, &[]).only("HK002", "warning", "Stop is in shell form");
    fs::remove_file(scratch.root().join(".claude/settings.local.json")).unwrap();
    doctor(&scratch, &[]).only("HK002", "error", "no settings file calls HookKeeper");
}

#[test]
fn events_may_be_wired_in_several_files() {
    let scratch = healthy();
    fs::rename(
        scratch.root().join(".claude/settings.json"),
        scratch.home().join(".claude/settings.json"),
    )
    .unwrap();
    let report = doctor(&scratch, &[]);
    assert_eq!(report.problems(), []);
    let events =
        serde_json::from_str::<Value>(EXAMPLE).unwrap()["hooks"].as_object().unwrap().len();
    let message = format!("all {events} events in ~/.claude/settings.json");
    assert_eq!(report.check("HK002")["message"], message);
    // Identical entries run once.
    write(&scratch, ".claude/settings.local.json", EXAMPLE);
    assert_eq!(doctor(&scratch, &[]).problems(), []);
}

#[test]
fn wiring_that_was_dropped_everywhere_is_said_once() {
    let scratch = healthy();
    write(&scratch, ".claude/settings.json", "{}");
    assert_eq!(scratch.run(&["install", "--scope", "project"], b"").code, Some(0));
    assert_eq!(doctor(&scratch, &[]).problems(), []);
    write(&scratch, ".claude/settings.json", "{}");
    let report = doctor(&scratch, &[]);
    let ids: Vec<(String, String)> =
        report.problems().into_iter().map(|(id, level, _)| (id, level)).collect();
    assert_eq!(ids, [("HK002".into(), "note".into()), ("HK003".into(), "error".to_owned())]);
    // The record of the user scope is in the client's directory.
    write(&scratch, ".claude/settings.json", EXAMPLE);
    assert_eq!(scratch.run(&["install", "--scope", "user"], b"").code, Some(0));
    fs::write(scratch.home().join(".claude/settings.json"), "{}").unwrap();
    doctor(&scratch, &[]).only("HK003", "error", "~/.claude/settings.json: `install` wired it");
}

#[test]
fn a_plugin_is_wiring_too() {
    let scratch = healthy();
    local(&scratch, &json!({"enabledPlugins": {"hookkeeper@market": true}}));
    doctor(&scratch, &[]).only("HK004", "error", "plugin hookkeeper@market is enabled");
    write(&scratch, ".claude/settings.json", "{}");
    let report = doctor(&scratch, &[]);
    assert_eq!(report.problems(), []);
    local(&scratch, &json!({"enabledPlugins": {"hookkeeper@market": false, "other@market": true}}));
    doctor(&scratch, &[]).only("HK002", "error", "no settings file");
}

/// A plugin as the client installs it: in its list, and in a folder with the program of this machine.
fn installed_plugin(scratch: &Scratch, version: &str, project: Option<&str>) -> PathBuf {
    write(scratch, ".claude/settings.json", "{}");
    local(scratch, &json!({"enabledPlugins": {"hookkeeper@market": true}}));
    let plugins = scratch.home().join(".claude/plugins");
    let folder = plugins.join("cache/market/hookkeeper").join(version);
    let mut install = json!({"scope": "user", "version": version, "installPath": folder});
    if let Some(project) = project {
        install["projectPath"] = project.into();
    }
    fs::create_dir_all(&folder).unwrap();
    let list = json!({"version": 2, "plugins": {"hookkeeper@market": [install]}});
    fs::write(plugins.join("installed_plugins.json"), list.to_string()).unwrap();
    folder
}

#[test]
fn plugins_of_another_version() {
    let scratch = healthy();
    installed_plugin(&scratch, "0.1.0", None);
    let report = doctor(&scratch, &[]);
    assert_eq!(report.problems(), []);
    assert_eq!(report.check("HK024")["message"], "the plugin and this program are 0.1.0");
    installed_plugin(&scratch, "0.0.9", None);
    let report = doctor(&scratch, &[]);
    report.only("HK024", "warning", "the plugin hookkeeper@market is 0.0.9; this program is 0.1.0");
    let hint = "Update the plugin: `claude plugin update 'hookkeeper@market'`.";
    assert_eq!(report.check("HK024")["hint"], hint);
    installed_plugin(&scratch, "0.2.0; reboot", None);
    let hint = "Update the program: `npm install --global hookkeeper@0.2.0`.";
    assert_eq!(doctor(&scratch, &[]).check("HK024")["hint"], hint);
    // One that was installed for another project is not this one's.
    installed_plugin(&scratch, "0.2.0", Some("/somewhere/else"));
    assert_eq!(doctor(&scratch, &[]).problems(), []);
    fs::write(scratch.home().join(".claude/plugins/installed_plugins.json"), "{").unwrap();
    assert_eq!(doctor(&scratch, &[]).problems(), []);
}

/// These tests run where the plugin has a package for.
#[test]
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn programs_that_plugins_bring() {
    let scratch = healthy();
    let folder = installed_plugin(&scratch, "0.1.0", None);
    let bin = folder.join("node_modules/@hookkeeper/linux-x64/bin");
    fs::create_dir_all(&bin).unwrap();
    program_that_says(&bin.join("hookkeeper"), "hookkeeper 0.1.0");
    assert_eq!(doctor(&scratch, &[]).problems(), []);
    program_that_says(&bin.join("hookkeeper"), "hookkeeper 0.0.9");
    doctor(&scratch, &[]).only("HK024", "warning", "bin/hookkeeper is \"hookkeeper 0.0.9\"");
    program(&bin.join("hookkeeper"), "#!/bin/sh\nexit 3\n");
    doctor(&scratch, &[]).only("HK024", "error", "does not run: exit code 3");
}

/// A second one of the same version is good to know; the plugin's launcher is no program, and a
/// link is the same one.
#[test]
fn programs_on_the_path() {
    let mut scratch = healthy();
    second_on_path(&mut scratch, "hookkeeper 0.1.0");
    doctor(&scratch, &[]).only("HK025", "note", "2 on the PATH: ");
    let old = scratch.home().join("old");
    fs::remove_file(old.join("hookkeeper")).unwrap();
    symlink(env!("CARGO_BIN_EXE_hookkeeper"), old.join("hookkeeper")).unwrap();
    assert_eq!(doctor(&scratch, &[]).problems(), []);
    let plugin = Path::new(env!("CARGO_MANIFEST_DIR")).join("hooks/bin");
    let path = format!("{}:{}", plugin.display(), scratch.env["PATH"]);
    scratch.env.insert("PATH".into(), path);
    let report = doctor(&scratch, &[]);
    assert_eq!(report.check("HK025")["message"], "one on the PATH: ~/bin/hookkeeper (0.1.0)");
}

/// Whoever looks at the wiring and finds it right is the one who wired it.
#[test]
fn install_takes_a_newer_wiring_over() {
    let scratch = healthy();
    let install = || scratch.run(&["install", "--scope", "project"], b"");
    assert_eq!(install().code, Some(0));
    set_wired_version(&scratch, "99.0.0");
    assert!(install().stdout.contains("wired already"));
    assert_eq!(doctor(&scratch, &[]).problems(), []);
    set_wired_version(&scratch, "0.0.9");
    assert_eq!(doctor(&scratch, &[]).problems(), []);
}

#[test]
fn programs_that_are_not_ours_or_are_old() {
    let scratch = healthy();
    let there = scratch.home().join("bin/hookkeeper");
    let fake = |line: &str| {
        fs::remove_file(&there).unwrap();
        program(&there, &format!("#!/bin/sh\n{line}\n"));
    };
    fake("echo hookkeeper 0.0.9");
    doctor(&scratch, &[]).only("HK001", "warning", "which is hookkeeper 0.0.9; this is 0.1.0");
    fake("echo keeper of hooks");
    doctor(&scratch, &[]).only("HK001", "error", "is not HookKeeper");
    fake("echo oh >&2; exit 3");
    doctor(&scratch, &[]).only("HK001", "error", "does not run: exit code 3: oh");
    // What the project brings along is looked at, and not started.
    let inside = scratch.root().join("tools/hookkeeper");
    fs::create_dir(scratch.root().join("tools")).unwrap();
    program(&inside, "#!/bin/sh\ntouch \"$HOME/started\"\n");
    let there = exec_form("${CLAUDE_PROJECT_DIR}/tools/hookkeeper");
    write(&scratch, ".claude/settings.json", there);
    doctor(&scratch, &[]).only("HK001", "note", "tools/hookkeeper is part of the project");
    assert!(!scratch.home().join("started").exists());
}

#[test]
fn time_outs_of_ours() {
    let scratch = healthy();
    let timeout = |event: &'static str, value: Value| {
        wired(&scratch, |hooks| hooks[event][0]["hooks"][0]["timeout"] = value);
        doctor(&scratch, &[])
    };
    timeout("Stop", json!(10000)).only(
        "HK006",
        "error",
        "hook; head -n 1 >/dev/null`: time-out of 10000 s",
    );
    timeout("SessionEnd", json!(1)).only("HK006", "warning", "not between 2 and 60");
    timeout("SessionEnd", json!(90)).only("HK006", "warning", "not between 2 and 60");
    timeout("SessionEnd", Value::Null).only("HK006", "warning", "no time-out");
    assert_eq!(timeout("Stop", json!(600)).problems(), []);
}

#[test]
fn an_entry_that_the_client_drops_does_not_count_as_wired() {
    let scratch = healthy();
    for (message, change) in [
        (
            "not called for any event: Claude Code passes over",
            (|hooks| hooks["PreToolUse"][0]["matcher"] = json!(7)) as fn(&mut Value),
        ),
        ("not called for Stop: Claude Code passes over", |hooks| {
            hooks["Stop"][0]["hooks"][0]["timeout"] = json!("10");
        }),
    ] {
        wired(&scratch, change);
        let report = doctor(&scratch, &[]);
        let found = report.check("HK002");
        assert_eq!(found["level"], "error", "{found}");
        assert!(found["message"].as_str().unwrap().contains(message), "{found}");
        assert_ne!(report.check("HK005")["level"], "ok");
    }
}

#[test]
fn other_tools_hooks_are_only_reported_when_it_is_certain() {
    let scratch = healthy();
    write(&scratch, "tool.sh", "echo");
    let report = |handler: Value| {
        local(&scratch, &other(&handler));
        doctor(&scratch, &["--fix"])
    };
    let shell = |command: &str| json!({"type": "command", "command": command});
    let only = |handler: Value, message: &str| report(handler).only("HK007", "warning", message);
    only(shell("no-such-tool-of-ours -x"), "`no-such-tool-of-ours` is not on the PATH here");
    only(shell("\"$CLAUDE_PROJECT_DIR\"/gone.sh"), "/shop/gone.sh does not exist");
    only(shell("./tool.sh"), "tool.sh is not executable");
    only(shell("sh ${CLAUDE_PROJECT_DIR}/gone.sh"), "/shop/gone.sh does not exist");
    only(json!({"type": "command", "command": "/gone", "args": []}), "/gone does not exist");
    only(shell("\"~/tool.sh\" x"), "`~/tool.sh` stands in quotes");
    report(shell("no-such-tool-of-ours || true")).only("HK007", "note", "is not on the PATH here");
    let entries = |commands: &[&str]| {
        let handlers: Vec<Value> = commands.iter().map(|command| shell(command)).collect();
        json!({"hooks": {"Notification": [{"hooks": handlers}]}})
    };
    local(&scratch, &entries(&["no-such-tool-of-ours a", "no-such-tool-of-ours b"]));
    doctor(&scratch, &[]).only("HK007", "warning", "on the PATH here (and 1 other hook with it)");
    local(&scratch, &entries(&["no-such-tool-of-ours a || true", "no-such-tool-of-ours b"]));
    let named = "Notification `no-such-tool-of-ours b`: `no-such-tool-of-ours` is not";
    doctor(&scratch, &[]).only("HK007", "warning", named);
    let quoted = report(shell("\"~/tool.sh\" x"));
    let hint = "Take `~` out of the quotes, or write `$HOME` in its place.";
    assert!(quoted.check("HK007")["hint"].as_str().unwrap().ends_with(hint));
    for fine in ["sh $CLAUDE_PROJECT_DIR/tool.sh", "cd gone && ./gone", "if true; then x; fi", "ls"]
    {
        assert_eq!(report(shell(fine)).problems(), [], "{fine}");
    }
    assert_eq!(report(json!({"type": "prompt", "prompt": "x"})).problems(), []);
}

#[test]
fn switches_in_the_environment_and_in_settings() {
    let mut scratch = healthy();
    local(&scratch, &json!({"env": {"HOOKKEEPER_OFF": "1"}}));
    doctor(&scratch, &[]).only("HK008", "warning", ".claude/settings.local.json:3: HOOKKEEPER_OFF");
    local(&scratch, &json!({"env": {"HOOKKEEPER_OFF": "0"}, "disableAllHooks": false}));
    scratch.env.insert("HOOKKEEPER_OFF".into(), "1".into());
    doctor(&scratch, &[]).only("HK008", "warning", "HOOKKEEPER_OFF=1 is set here");
}

#[test]
fn settings_that_cannot_be_used() {
    let scratch = healthy();
    for (text, level, message) in [
        (&b"{\"hooks\": []}"[..], "error", "settings.local.json:1:11: `hooks` must be an object"),
        (b"\xff\xfe", "error", "settings.local.json: it is not UTF-8"),
        (
            b"{\"hooks\": {\"Notification\": [\n7]}}",
            "warning",
            "settings.local.json:2: Notification: an entry",
        ),
        (
            b"{\"hooks\": {\"PreToolUse\": [\n7]}}",
            "error",
            "settings.local.json:2: PreToolUse: an entry",
        ),
    ] {
        write(&scratch, ".claude/settings.local.json", text);
        doctor(&scratch, &[]).only("HK005", level, message);
    }
    let file = scratch.root().join(".claude/settings.local.json");
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    doctor(&scratch, &[]).only("HK005", "error", "it is a directory");
    fs::remove_dir(&file).unwrap();
    symlink("/nowhere", &file).unwrap();
    doctor(&scratch, &[]).only("HK005", "error", "symlink that leads nowhere");
}

#[test]
fn a_state_directory_that_leads_elsewhere() {
    let scratch = healthy();
    let away = scratch.home().join("away");
    fs::rename(scratch.state(), &away).unwrap();
    symlink(&away, scratch.state()).unwrap();
    let report = doctor(&scratch, &[]);
    let ids: Vec<(String, String)> =
        report.problems().into_iter().map(|(id, level, _)| (id, level)).collect();
    assert_eq!(ids, [("HK010".to_owned(), "error".to_owned()), ("HK019".into(), "note".into())]);
    assert_eq!(report.code, Some(1));
}

#[test]
fn a_lock_that_is_held() {
    let scratch = healthy();
    let lock = fs::File::open(scratch.state().join(".lock")).unwrap();
    fs2::FileExt::lock_exclusive(&lock).unwrap();
    doctor(&scratch, &[]).only("HK011", "error", "held by a process for more than a second");
    drop(lock);
    assert_eq!(doctor(&scratch, &[]).problems(), []);
}

#[test]
fn books_in_git() {
    let scratch = healthy();
    let git = |args: &[&str]| {
        let done = Command::new("git").args(args).current_dir(scratch.root()).status().unwrap();
        assert!(done.success());
    };
    git(&["init", "-q"]);
    assert_eq!(doctor(&scratch, &[]).problems(), []);
    git(&["add", "-f", ".claude/state/session/current.json"]);
    let report = doctor(&scratch, &["--fix"]);
    report.only(
        "HK012",
        "warning",
        "git tracks 1 file in .claude/state: sessions get into commits",
    );
    let hint = report.check("HK012")["hint"].as_str().unwrap();
    assert!(hint.contains("git rm -r --cached"), "{hint}");
}

#[test]
fn a_payload_that_was_refused_is_found_in_both_places() {
    let scratch = healthy();
    assert_eq!(scratch.run(&["hook"], b"junk\n").code, Some(1));
    let report = doctor(&scratch, &[]);
    let ids: Vec<String> = report.problems().into_iter().map(|(id, ..)| id).collect();
    assert_eq!(ids, ["HK015", "HK018"]);
    let failed = report.check("HK018")["message"].as_str().unwrap();
    assert!(failed.contains("the last one was of an unknown event at "), "{failed}");
    assert_eq!(report.code, Some(0));
}

#[test]
fn older_and_unknown_clients() {
    let scratch = healthy();
    claude(&scratch, "2.1.144 (Claude Code)");
    doctor(&scratch, &[]).only("HK021", "warning", "loops do not wait for agents");
    for (version, harm) in
        [("2.1.138", "exec form"), ("2.1.100", "ignores the whole settings file")]
    {
        claude(&scratch, version);
        doctor(&scratch, &[]).only("HK021", "error", harm);
        // What an old client cannot use is not put back either.
        let wired = fs::read(scratch.root().join(".claude/settings.json")).unwrap();
        write(&scratch, ".claude/settings.json", "{}");
        doctor(&scratch, &["--fix"]);
        assert_eq!(fs::read(scratch.root().join(".claude/settings.json")).unwrap(), b"{}");
        write(&scratch, ".claude/settings.json", wired);
    }
    claude(&scratch, "some other program");
    doctor(&scratch, &[]).only("HK021", "note", "this is no version");
    fs::remove_file(scratch.home().join("bin/claude")).unwrap();
    doctor(&scratch, &[]).only("HK021", "note", "not on the PATH here");
}

#[test]
fn fix_writes_the_ignore_file_and_says_so() {
    let scratch = healthy();
    fs::remove_file(scratch.state().join(".gitignore")).unwrap();
    let before = doctor(&scratch, &[]);
    assert_eq!(before.check("HK012")["fixable"], true);
    assert!(!scratch.exists(".gitignore"), "without --fix nothing is changed");
    let text = scratch.run(&["doctor", "--fix"], b"");
    assert!(
        text.stdout.contains("fixed HK012 git: wrote .claude/state/.gitignore\n"),
        "{}",
        text.stdout
    );
    assert!(text.stdout.ends_with("0 errors, 0 warnings, 0 notes, 1 fixed\n"), "{}", text.stdout);
    assert_eq!(fs::read(scratch.state().join(".gitignore")).unwrap(), b"*\n");
    fs::remove_file(scratch.state().join(".gitignore")).unwrap();
    let after = doctor(&scratch, &["--fix"]);
    assert_eq!(
        (&after.check("HK012")["level"], &after.check("HK012")["fixed"]),
        (&json!("ok"), &json!(true))
    );
}

#[test]
fn wiring_is_mended_where_it_was() {
    let scratch = healthy();
    let theirs = json!({"type": "command", "command": "true", "timeout": 9000});
    let before = other(&theirs).to_string();
    write(&scratch, ".claude/settings.json", &before);
    assert_eq!(scratch.run(&["install", "--scope", "project"], b"").code, Some(0));
    let wired = fs::read(scratch.root().join(".claude/settings.json")).unwrap();
    // Somebody wrote the file anew without us.
    write(&scratch, ".claude/settings.json", &before);
    assert_eq!(doctor(&scratch, &[]).check("HK003")["fixable"], true);
    let report = doctor(&scratch, &["--fix"]);
    assert_eq!(
        (&report.check("HK003")["level"], &report.check("HK003")["fixed"]),
        (&json!("ok"), &json!(true))
    );
    assert_eq!(fs::read(scratch.root().join(".claude/settings.json")).unwrap(), wired);
    report.only("HK006", "warning", "time-out of 9000");
    // Ours in milliseconds.
    let text = String::from_utf8(wired.clone()).unwrap().replacen(
        "\"timeout\":10}",
        "\"timeout\":10000}",
        1,
    );
    write(&scratch, ".claude/settings.json", text);
    assert_eq!(doctor(&scratch, &[]).code, Some(1));
    let report = doctor(&scratch, &["--fix"]);
    assert_eq!(report.code, Some(0));
    report.only("HK006", "warning", "time-out of 9000");
}

#[test]
fn events_that_wait_can_be_entered() {
    let scratch = healthy();
    write(&scratch, ".claude/state/spool/x.json", SPOOLED);
    let report = doctor(&scratch, &["--fix"]);
    assert_eq!(report.check("HK016")["fixed"], true);
    assert_eq!(report.problems(), []);
    assert_eq!(scratch.doc("agents/active.json")["total_spawned"], 1);
}

#[test]
fn text_is_one_line_for_each_check_with_the_hint_below() {
    let mut scratch = healthy();
    write(&scratch, ".claude/state/spool/x.json", SPOOLED);
    let run = scratch.run(&["doctor"], b"");
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert_eq!(lines.len(), CHECKS.len() + 2);
    assert_eq!(lines[0], "ok    HK001 binary: hookkeeper 0.1.0 at ~/bin/hookkeeper");
    let at = lines.iter().position(|line| line.starts_with("warn  HK016 spool: ")).unwrap();
    assert!(lines[at + 1].starts_with("      The next hook"), "{}", lines[at + 1]);
    assert_eq!(
        *lines.last().unwrap(),
        "0 errors, 1 warning, 0 notes; `hookkeeper doctor --fix` can mend 1"
    );
    scratch.env.insert("CLICOLOR_FORCE".into(), "1".into());
    let run = scratch.run(&["doctor"], b"");
    assert!(run.stdout.contains("\x1b[33mwarn \x1b[0m HK016"), "{}", run.stdout);
}

#[test]
fn people_read_their_own_time_and_programs_utc() {
    let mut scratch = healthy();
    scratch.env.insert("TZ".into(), "XYZ-5".into());
    let log = "{\"v\": 1, \"kind\": \"stop\", \"time\": \"2025-01-29T10:30:00.125Z\", \"event\": \"Stop\", \
               \"session\": \"s1\", \"wrote\": [], \"us\": 9, \"outcome\": \"error: disk full\"}\n";
    write(&scratch, ".claude/state/journal/s1.jsonl", log);
    let text = scratch.run(&["doctor"], b"").stdout;
    for words in [
        "the last one was Stop at 2025-01-29 15:30: error: disk full",
        "the last hook was Stop at 2025-01-29 15:30\n",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let report = doctor(&scratch, &[]);
    assert_eq!(
        report.check("HK019")["message"],
        "the last hook was Stop at 2025-01-29T10:30:00.125Z"
    );
}

#[test]
fn it_reports_where_there_is_nothing() {
    // No project, no home.
    let mut scratch = Scratch::new();
    scratch.env.remove("HOME");
    scratch.env.insert("PATH".into(), "/nowhere".into());
    let report = doctor(&scratch, &[]);
    assert_eq!(report.code, Some(1));
    let ids: Vec<String> = report.problems().into_iter().map(|(id, ..)| id).collect();
    assert_eq!(ids, ["HK002", "HK005", "HK019", "HK021", "HK023"]);
    assert!(!scratch.root().join(".claude").exists(), "looking makes nothing");
    let run = scratch.run(&["doctor", "--timings"], b"");
    assert_eq!(run.code, Some(0));
    let run = scratch.run(&["doctor", "--fix", "--timings"], b"");
    assert_eq!(run.code, Some(64));
}

fn run_line(kind: &str, event: &str, command: &str, millis: u64, more: &Value) -> String {
    let mut attachment = json!({"type": kind, "hookName": format!("{event}:Bash"), "hookEvent": event,
        "toolUseID": "t1", "command": command, "exitCode": 0, "durationMs": millis});
    attachment.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({"type": "attachment", "attachment": attachment, "timestamp": format!("2026-01-29T10:{:02}:00.000Z", millis % 60)})
        .to_string()
}

#[test]
fn timings_are_counted_and_sorted() {
    let scratch = healthy();
    let dir = transcripts(&scratch);
    let none = json!({});
    // 100 runs of ours, 1 to 100 ms; the agent's transcript has the second half.
    let ours = |range: std::ops::RangeInclusive<u64>| -> String {
        range
            .map(|n| run_line("hook_success", "PostToolUse", "hookkeeper hook", n, &none) + "\n")
            .collect()
    };
    let mut session = ours(1..=50);
    for (kind, millis, more) in [
        ("hook_success", 200, json!({})),
        ("hook_success", 300, json!({"exitCode": 1})),
        ("hook_non_blocking_error", 400, json!({"exitCode": 1})),
        ("hook_cancelled", 5000, json!({})),
        ("hook_blocking_error", 100, json!({})),
        // These are what a hook said, not that it ran.
        ("hook_additional_context", 1, json!({})),
        ("hook_system_message", 1, json!({})),
    ] {
        session += &(run_line(kind, "PreToolUse", "/opt/slow check", millis, &more) + "\n");
    }
    // A stop that is noted twice counts once; one that is only in the summary counts too.
    session += &(run_line("hook_success", "Stop", "hookkeeper hook", 3, &none) + "\n");
    let summary = json!({"type": "system", "subtype": "stop_hook_summary", "toolUseID": "t1", "hookErrors": [],
        "hookInfos": [{"command": "hookkeeper hook", "durationMs": 3}, {"command": "say done", "durationMs": 9}]});
    session += &format!(
        "{summary}\nnonsense \"hookEvent\"\n{{\"type\": \"attachment\", \"attachment\": {{\"hookEvent\": 7}}}}\n{{\"cut"
    );
    fs::write(dir.join("a.jsonl"), session).unwrap();
    fs::create_dir_all(dir.join("a/subagents")).unwrap();
    fs::write(dir.join("a/subagents/agent-1.jsonl"), ours(51..=100)).unwrap();
    fs::write(dir.join("a/subagents/agent-1.meta.json"), "{}").unwrap();

    let run = scratch.run(&["doctor", "--timings", "--json"], b"");
    assert_eq!(run.code, Some(0));
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    let row = |event: &str,
               command: &str,
               ours: bool,
               count: u64,
               times: [u64; 3],
               ended: [u64; 3]| {
        json!({"event": event, "count": count, "p50_ms": times[0], "p95_ms": times[1], "max_ms": times[2],
            "failures": ended[0], "timeouts": ended[1], "blocked": ended[2], "command": command, "ours": ours})
    };
    assert_eq!(
        report["commands"],
        json!([
            row("PreToolUse", "/opt/slow check", false, 5, [300, 5000, 5000], [3, 1, 1]),
            row("PostToolUse", "hookkeeper hook", true, 100, [50, 95, 100], [0, 0, 0]),
            row("Stop", "say done", false, 1, [9, 9, 9], [0, 0, 0]),
            row("Stop", "hookkeeper hook", true, 1, [3, 3, 3], [0, 0, 0]),
        ])
    );
    assert_eq!(report["transcripts"], 2);
    assert_eq!(report["looked_in"], json!(dir));
    assert_eq!(
        (&report["from"], &report["to"]),
        (&json!("2026-01-29T10:00:00.000Z"), &json!("2026-01-29T10:59:00.000Z"))
    );
    let stop =
        report["events"].as_array().unwrap().iter().find(|row| row["event"] == "Stop").unwrap();
    assert_eq!((&stop["count"], &stop["max_ms"]), (&json!(2), &json!(9)));

    let text = scratch.run(&["doctor", "--timings"], b"").stdout;
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "event        runs  p50   p95   max  failed  timed out  command");
    assert_eq!(
        lines[1],
        "PreToolUse      5  300  5000  5000       3          1    /opt/slow check"
    );
    assert_eq!(
        lines[2],
        "PostToolUse   100   50    95   100       0          0  * hookkeeper hook"
    );
    assert!(text.contains("From 2 transcripts in ~/.claude/projects/"), "{text}");
}

#[test]
fn timings_of_recorded_transcripts() {
    let scratch = healthy();
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts");
    for scenario in ["background-agent", "implement-login", "resume-and-compact"] {
        for (name, bytes) in support::tree(&recorded.join(scenario)) {
            let to = transcripts(&scratch).join(name);
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::write(to, bytes).unwrap();
        }
    }
    let run = scratch.run(&["doctor", "--timings", "--json"], b"");
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    let rows = report["commands"].as_array().unwrap();
    assert_eq!(rows.len(), 1, "{rows:#?}");
    let row = |key: &str| rows[0][key].clone();
    assert_eq!((row("event"), row("command")), (json!("Stop"), json!("/home/dev/capture.sh Stop")));
    assert_eq!(
        (row("count"), row("p50_ms"), row("p95_ms"), row("failures"), row("ours")),
        (json!(4), json!(13), json!(25), json!(0), json!(false))
    );
    assert_eq!(report["transcripts"], 6);
}

#[test]
fn timings_without_transcripts_say_where_they_looked() {
    let scratch = healthy();
    let run = scratch.run(&["doctor", "--timings"], b"");
    assert_eq!(run.code, Some(0));
    assert!(
        run.stdout
            .starts_with("No hook runs are noted: looked at 0 transcripts in ~/.claude/projects/"),
        "{}",
        run.stdout
    );
    // A live session's own transcript is found wherever it is.
    let elsewhere = scratch.home().join("elsewhere.jsonl");
    fs::write(&elsewhere, run_line("hook_success", "Stop", "x", 5, &json!({}))).unwrap();
    let mut live = scratch.doc("session/live/s1.json");
    live["transcript_path"] = json!(elsewhere);
    write(&scratch, ".claude/state/session/live/s1.json", live.to_string());
    let run = scratch.run(&["doctor", "--timings", "--json"], b"");
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((&report["transcripts"], &report["commands"][0]["max_ms"]), (&json!(1), &json!(5)));
}
