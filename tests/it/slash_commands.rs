//! `install --commands` and `uninstall`: our slash commands come and go, and nobody else's do.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;

use crate::support::{self, Scratch, good, program, refused, tree};

const NAMES: [&str; 7] =
    ["autonomous", "branch-loop", "execute", "handoff", "iterative", "loop", "status"];

/// A project in git, with the program in the home directory under its own name.
fn project() -> Scratch {
    let scratch = Scratch::new();
    let git = |args: &[&str]| {
        let mut git = std::process::Command::new("git");
        assert!(git.args(args).current_dir(scratch.root()).status().unwrap().success());
    };
    git(&["init", "--quiet", "--initial-branch=main"]);
    fs::write(scratch.root().join("README.md"), "shop\n").unwrap();
    scratch
}

fn folder(scratch: &Scratch) -> PathBuf {
    scratch.root().join(".claude/commands/hookkeeper")
}

fn status(scratch: &Scratch) -> String {
    let mut git = std::process::Command::new("git");
    git.args(["status", "--porcelain", "--untracked-files=all"]).current_dir(scratch.root());
    String::from_utf8(git.output().unwrap().stdout).unwrap()
}

fn install(scratch: &Scratch, more: &[&str]) -> String {
    good(scratch.run(&[&["install"], more].concat(), b""))
}

#[test]
fn they_come_with_install_and_go_with_uninstall() {
    for (scope, place) in
        [("local", "shop/.claude"), ("project", "shop/.claude"), ("user", ".claude")]
    {
        let scratch = project();
        let before = tree(&scratch.root());
        let commands = scratch.home().join(place).join("commands");
        let said = install(&scratch, &["--scope", scope, "--commands"]);
        assert!(said.contains("commands/hookkeeper: 7 slash commands written\n"), "{said}");
        assert!(said.contains("/hookkeeper:branch-loop"), "{said}");
        for name in NAMES {
            let file = commands.join(format!("hookkeeper/{name}.md"));
            let text = fs::read_to_string(&file).unwrap();
            assert!(
                text.starts_with("---\nhookkeeper-digest: ") && text.contains("\ndescription: ")
            );
            let without: String = text
                .lines()
                .filter(|line| !line.starts_with("hookkeeper-digest"))
                .map(|line| format!("{line}\n"))
                .collect();
            assert_eq!(without, fs::read_to_string(format!("hooks/commands/{name}.md")).unwrap());
            assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o077, 0o044);
        }
        // Whoever wires the file of one person shows git nothing.
        assert_eq!(status(&scratch).contains("commands"), scope == "project", "{scope}");
        let again = install(&scratch, &["--scope", scope]);
        assert!(again.contains("7 slash commands there already"), "{again}");
        let dry = good(scratch.run(&["uninstall", "--scope", scope, "--dry-run"], b""));
        assert!(dry.contains("7 slash commands would be removed") && commands.exists(), "{dry}");
        let said = good(scratch.run(&["uninstall", "--scope", scope, "--purge"], b""));
        assert!(said.contains("7 slash commands removed"), "{said}");
        assert!(!commands.exists(), "{scope}");
        let mut after = tree(&scratch.root());
        after.retain(|name, _| !name.starts_with(".git/"));
        let mut wanted = before;
        wanted.retain(|name, _| !name.starts_with(".git/"));
        assert_eq!(after, wanted, "{scope}: nothing is left");
    }
}

#[test]
fn without_a_terminal_nobody_is_asked_and_nothing_is_written() {
    let scratch = project();
    for more in [&[][..], &["--no-commands"]] {
        let said = install(&scratch, more);
        assert!(!said.contains("slash command"), "{said}");
        assert!(!folder(&scratch).exists());
    }
    let said = install(&scratch, &["--dry-run", "--commands"]);
    assert!(said.contains("7 slash commands would be written"), "{said}");
    assert!(!folder(&scratch).exists());
    let run = scratch.run(&["install", "--commands", "--no-commands"], b"");
    assert_eq!(run.code, Some(64));
}

#[test]
fn a_person_in_a_terminal_is_asked_and_enter_means_yes() {
    const PTY: &str =
        "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))";
    for (answer, is_written) in [("\n", true), ("y\n", true), ("n\n", false)] {
        let scratch = project();
        let mut command = std::process::Command::new("python3");
        command.args(["-c", PTY, env!("CARGO_BIN_EXE_hookkeeper"), "install"]);
        command.env_clear().envs(&scratch.env).current_dir(scratch.root());
        let run = support::finish(support::spawn(command), answer.as_bytes());
        assert!(
            run.code == Some(0) && run.stdout.contains("[Y/n]"),
            "{}{}",
            run.stdout,
            run.stderr
        );
        assert_eq!(folder(&scratch).join("loop.md").exists(), is_written, "{answer:?}");
    }
}

#[test]
fn what_somebody_changed_stays_and_is_said() {
    let scratch = project();
    install(&scratch, &["--commands"]);
    let (changed, other) = (folder(&scratch).join("loop.md"), folder(&scratch).join("mine.md"));
    let text = fs::read_to_string(&changed).unwrap() + "And be quick.\n";
    fs::write(&changed, &text).unwrap();
    fs::write(&other, "mine").unwrap();
    fs::remove_file(folder(&scratch).join("status.md")).unwrap();
    let said = install(&scratch, &["--commands"]);
    assert!(
        said.contains("1 slash command written")
            && said.contains("loop.md: not as HookKeeper wrote it, stays"),
        "{said}"
    );
    let said = good(scratch.run(&["uninstall"], b""));
    assert!(
        said.contains("6 slash commands removed")
            && said.contains("loop.md: not as HookKeeper wrote it, stays"),
        "{said}"
    );
    assert_eq!(fs::read_to_string(&changed).unwrap(), text);
    assert_eq!(fs::read_to_string(&other).unwrap(), "mine");
    assert_eq!(fs::read_dir(folder(&scratch)).unwrap().count(), 2);
}

#[test]
fn one_of_an_older_version_is_replaced() {
    let scratch = project();
    install(&scratch, &["--commands"]);
    let file = folder(&scratch).join("status.md");
    let new = fs::read_to_string(&file).unwrap();
    // Made as an older version would have made it: `printf -- '---\ndescription: old\n---\n' | sha256sum`.
    let old = "---\nhookkeeper-digest: DIGEST\ndescription: old\n---\n";
    let digest = sha256("---\ndescription: old\n---\n");
    fs::write(&file, old.replace("DIGEST", &digest)).unwrap();
    let said = install(&scratch, &[]);
    assert!(said.contains("1 slash command written"), "{said}");
    assert_eq!(fs::read_to_string(&file).unwrap(), new);
}

fn sha256(text: &str) -> String {
    let mut command = std::process::Command::new("sha256sum");
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let run = support::finish(command.spawn().unwrap(), text.as_bytes());
    run.stdout.split(' ').next().unwrap().to_owned()
}

#[test]
fn nothing_goes_through_a_link() {
    let scratch = project();
    let outside = scratch.home().join("outside");
    fs::create_dir_all(&outside).unwrap();
    fs::create_dir_all(scratch.root().join(".claude")).unwrap();
    symlink(&outside, scratch.root().join(".claude/commands")).unwrap();
    refused(&scratch.run(&["install", "--commands"], b""), "commands");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    assert!(!scratch.root().join(".claude/settings.local.json").exists(), "nothing is half done");
    // Whoever keeps his own commands elsewhere can have the hooks all the same.
    install(&scratch, &[]);
    good(scratch.run(&["uninstall"], b""));
    fs::remove_file(scratch.root().join(".claude/commands")).unwrap();
    install(&scratch, &["--commands"]);
    let file = folder(&scratch).join("loop.md");
    fs::rename(&file, outside.join("loop.md")).unwrap();
    symlink(outside.join("loop.md"), &file).unwrap();
    let said = good(scratch.run(&["uninstall"], b""));
    assert!(said.contains("loop.md: not as HookKeeper wrote it, stays"), "{said}");
    assert!(outside.join("loop.md").exists() && file.is_symlink());
}

#[test]
fn they_stay_while_another_file_of_the_project_wires_us() {
    let scratch = project();
    install(&scratch, &["--scope", "project", "--commands"]);
    install(&scratch, &["--scope", "local", "--no-commands"]);
    good(scratch.run(&["uninstall", "--scope", "local"], b""));
    assert!(folder(&scratch).join("loop.md").exists());
    good(scratch.run(&["uninstall", "--scope", "project"], b""));
    assert!(!folder(&scratch).exists());
}

#[test]
fn nothing_is_written_where_the_settings_are_broken() {
    for (scope, name) in [("local", "settings.local.json"), ("project", "settings.json")] {
        let scratch = project();
        let settings = scratch.root().join(".claude").join(name);
        fs::create_dir_all(settings.parent().unwrap()).unwrap();
        fs::write(&settings, "{\"hooks\": {").unwrap();
        let before = tree(&scratch.root());
        let run = scratch.run(&["install", "--scope", scope, "--commands"], b"");
        refused(&run, name);
        assert_eq!(tree(&scratch.root()), before);
    }
}

#[test]
fn all_else_goes_where_the_settings_broke_later() {
    for more in [&[][..], &["--purge"]] {
        let scratch = project();
        install(&scratch, &["--commands"]);
        let settings = scratch.root().join(".claude/settings.local.json");
        let whole = fs::read(&settings).unwrap();
        fs::write(&settings, "{\"hooks\": {").unwrap();
        let preview = scratch.run(&[&["uninstall", "--dry-run"], more].concat(), b"");
        assert_eq!(preview.code, Some(1));
        assert!(preview.stdout.contains("7 slash commands would be removed"), "{}", preview.stdout);
        assert!(folder(&scratch).join("loop.md").exists());
        let run = scratch.run(&[&["uninstall"], more].concat(), b"");
        assert_eq!(run.code, Some(1), "{}", run.stdout);
        assert!(run.stdout.contains("7 slash commands removed"), "{}", run.stdout);
        assert!(
            run.stderr.contains(".claude/settings.local.json: line 1")
                && run.stderr.contains("What HookKeeper has in that file stays"),
            "{}",
            run.stderr
        );
        assert!(!folder(&scratch).exists());
        assert_eq!(scratch.root().join(".claude/state").exists(), more.is_empty());
        // Mended, the rest of it goes too.
        fs::write(&settings, whole).unwrap();
        good(scratch.run(&["uninstall"], b""));
        let left = fs::read_to_string(&settings).unwrap_or_default();
        assert!(!left.contains("hookkeeper"), "{left}");
    }
}

#[test]
fn git_sees_them_once_they_are_the_teams() {
    let scratch = project();
    install(&scratch, &["--commands"]);
    assert_eq!(status(&scratch), "?? README.md\n");
    let said = install(&scratch, &["--scope", "project", "--commands"]);
    assert!(said.contains(".git/info/exclude: without **/.claude/commands/hookkeeper\n"), "{said}");
    let seen = status(&scratch);
    assert!(seen.contains("?? .claude/commands/hookkeeper/loop.md"), "{seen}");
    assert!(!seen.contains("settings.local.json"), "one's own file stays hidden: {seen}");
}

/// The commands start the program by its name, whichever file the hooks are wired in.
#[test]
fn install_says_when_the_name_in_them_leads_nowhere() {
    let mut scratch = project();
    scratch.env.insert("PATH".into(), "/usr/bin:/bin".into());
    let said = install(&scratch, &["--no-commands"]);
    assert!(!said.contains("not on your PATH"), "{said}");
    let warning = "Warning: the slash commands name `hookkeeper`, which is not on your PATH. Add ";
    let said = install(&scratch, &["--commands"]);
    assert!(said.contains(warning), "{said}");
    assert!(install(&scratch, &[]).contains(warning), "they are there already");
    let doctor = || {
        let run = scratch.run(&["doctor", "--json"], b"");
        let report: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
        let checks = report["checks"].as_array().unwrap();
        checks.iter().find(|check| check["id"] == "HK025").unwrap().clone()
    };
    let check = doctor();
    assert_eq!(check["level"], "warning", "{check}");
    let message = check["message"].as_str().unwrap();
    assert!(message.contains("the slash commands in .claude/commands/hookkeeper"), "{message}");
    assert!(check["hint"].as_str().unwrap().starts_with("Add "), "{check}");
    good(scratch.run(&["uninstall"], b""));
    assert_eq!(doctor()["level"], "ok");
    let said = install(&scratch, &["--scope", "project", "--commands"]);
    let both =
        "Warning: the file and the slash commands name `hookkeeper`, which is not on your PATH.";
    assert!(said.contains(both), "{said}");
}

#[test]
fn install_says_when_the_name_in_them_leads_to_another_program() {
    let mut scratch = project();
    let other = scratch.home().join("bin/hookkeeper");
    fs::create_dir(other.parent().unwrap()).unwrap();
    program(&other, "#!/bin/sh\n");
    let path = format!("{}:/usr/bin:/bin", scratch.home().join("bin").display());
    scratch.env.insert("PATH".into(), path);
    let said = install(&scratch, &["--commands"]);
    let warning = "the slash commands name `hookkeeper`, which is another program on your PATH: ~/bin/hookkeeper";
    assert!(said.contains(warning), "{said}");
}
