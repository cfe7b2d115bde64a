//! `hookkeeper demo` through the binary: what it leaves, what it says of that, and what it leaves alone.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::{self, Run, Scratch, good, tree};

/// A home with a client's directory, a project and a place for temporary files.
fn home() -> Scratch {
    let mut scratch = Scratch::new();
    for folder in [".claude/projects", "tmp"] {
        fs::create_dir_all(scratch.home().join(folder)).unwrap();
    }
    let tmp = scratch.home().join("tmp").display().to_string();
    scratch.env.insert("TMPDIR".into(), tmp);
    scratch
}

fn fast(scratch: &Scratch) -> String {
    good(scratch.run(&["demo", "--fast"], b""))
}

/// The directory that it says how to remove.
fn top(said: &str) -> PathBuf {
    let line = said.lines().find_map(|line| line.trim().strip_prefix("rm -r "));
    PathBuf::from(line.unwrap_or_else(|| panic!("{said}")))
}

fn json(path: &Path) -> Value {
    let text = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&text).unwrap()
}

fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The only file in a folder.
fn only_file(folder: &Path) -> PathBuf {
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    files.remove(0)
}

#[test]
fn it_leaves_a_whole_session_and_counts_it() {
    let scratch = home();
    let said = fast(&scratch);
    let shop = top(&said).join("shop");
    let state = shop.join(".claude/state");
    let entry = json(&state.join("session/metrics.json"))["sessions"][0].clone();
    assert_eq!(entry["agents"]["spawned"], 4, "{entry}");
    assert_eq!(entry["agents"]["completed"], 4, "{entry}");
    assert_eq!(entry["errors"]["recovered"], 2, "{entry}");
    assert_eq!(entry["errors"]["escalated"], 1, "{entry}");
    assert_eq!((&entry["compactions"], &entry["loop"]), (&1.into(), &"complete".into()));
    assert_eq!(entry["git_branch"], "main");
    assert!(entry["cost_usd"].as_f64().unwrap() > 0.1, "{entry}");
    let queue = json(&state.join("loop/work_queue.json"));
    assert_eq!(queue["gate_results"]["checks"]["exit_code"], 0);
    let items = queue["items"].as_array().unwrap();
    assert!(items.len() > 4 && items.iter().all(|item| item["status"] == "done"), "{items:#?}");
    let gates: Vec<bool> =
        queue["history"].as_array().unwrap().iter().map(|past| past["passed"] == true).collect();
    assert_eq!(gates, [false, true, true], "the gate fails once");
    for trouble in ["rejected", "quarantine", "spool"] {
        assert!(!state.join(trouble).exists(), "{trouble}");
    }
    let backup = json(&only_file(&state.join("compaction")));
    assert!(backup["preserved"]["work_queue"].is_object(), "{backup}");

    // What it says is what is there.
    let journal = lines(&only_file(&state.join("journal")));
    let runs: Vec<&Value> = journal.iter().filter(|line| line["us"].is_u64()).collect();
    let slowest = runs.iter().map(|run| run["us"].as_u64().unwrap()).max().unwrap();
    let counted = format!(
        "  {} events, {} agents, {} findings, {} errors ({} recovered), {} compaction\n  \
         loop {} in {} iterations; slowest hook {:.1} ms\n",
        runs.len(),
        entry["agents"]["spawned"],
        entry["quality"]["findings"],
        entry["errors"]["total"],
        entry["errors"]["recovered"],
        entry["compactions"],
        entry["loop"].as_str().unwrap(),
        queue["iteration"],
        slowest as f64 / 1000.0
    );
    assert!(said.contains(&counted), "{counted}\n{said}");
    assert!(said.contains(" (real client, scripted model), played through the hooks:\n"), "{said}");
    for told in ["network error", "recovered:", "permission error", "compaction (auto)", "complete"]
    {
        assert!(said.contains(told), "{told}: {said}");
    }
    // The model's edits and commands were carried out, not only told of.
    let checks = Command::new("sh").arg("checks.sh").current_dir(&shop).output().unwrap();
    assert!(checks.status.success(), "{checks:?}");
    assert!(slowest > 0, "hooks are timed by the real clock");
}

/// The session takes minutes, by its own clock, and has just ended.
#[test]
fn its_times_are_those_of_a_session_that_just_ended() {
    let scratch = home();
    let before = chrono::Utc::now();
    let said = fast(&scratch);
    let journal = only_file(&top(&said).join("shop/.claude/state/journal"));
    let times: Vec<_> = lines(&journal)
        .iter()
        .map(|line| chrono::DateTime::parse_from_rfc3339(line["time"].as_str().unwrap()).unwrap())
        .collect();
    let (first, last) = (times.iter().min().unwrap(), times.iter().max().unwrap());
    assert!((*last - *first).num_seconds() > 200, "{first} to {last}");
    let late = before.signed_duration_since(*last).num_seconds();
    assert!((0..30).contains(&late.max(0)), "it ended at {last}, it was played at {before}");
    assert!(*last <= chrono::Utc::now(), "nothing is of the future");
}

/// The commands that it names at its end work, with the user's own environment.
#[test]
fn what_it_says_to_look_at_can_be_looked_at() {
    let scratch = home();
    let said = fast(&scratch);
    let place = top(&said).join("shop").display().to_string();
    let named: Vec<Vec<&str>> = said
        .lines()
        .filter_map(|line| line.split_once(&format!(" -C {place} ")))
        .map(|(_, command)| command.split(' ').filter(|word| *word != "--open").collect())
        .collect();
    assert_eq!(named.len(), 4, "{said}");
    for command in named {
        let text = good(scratch.run(&[&["-C", &place], command.as_slice()].concat(), b""));
        assert!(!text.trim().is_empty(), "{command:?}");
        if command[0] == "sessions" {
            for word in ["Audit the login", "S0", "cost: $", "loop: complete"] {
                assert!(text.contains(word), "{word}: {text}");
            }
        }
    }
    let report = only_file_that_ends(&scratch.root(), ".html");
    let page = fs::read_to_string(report).unwrap();
    for word in ["Review the checkout", "Check the dependencies", "Login attempts are not limited"]
    {
        assert!(page.contains(word), "{word}");
    }
    good(scratch.run(&["-C", &place, "validate"], b""));
}

fn only_file_that_ends(folder: &Path, end: &str) -> PathBuf {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        files.filter(|file| file.to_string_lossy().ends_with(end)).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    files.remove(0)
}

/// Whatever the environment says: no file of the user's own changes, and no project is noted.
#[test]
fn nothing_of_the_users_is_touched() {
    let mut scratch = home();
    fs::write(scratch.home().join(".claude/settings.json"), "{}").unwrap();
    scratch.hook(&support::event("s1", "UserPromptSubmit", serde_json::json!({"prompt": "hi"})));
    let config = scratch.home().join(".claude").display().to_string();
    let elsewhere = scratch.root().display().to_string();
    for (name, value) in [
        ("CLAUDE_CONFIG_DIR", config.as_str()),
        ("HOOKKEEPER_STATE_ROOT", &elsewhere),
        ("CLAUDE_CODE_SESSION_ID", "s1"),
        ("CLAUDE_CODE_STOP_HOOK_BLOCK_CAP", "1"),
        ("CLAUDECODE", "1"),
        ("HOOKKEEPER_OFF", "1"),
        ("HOOKKEEPER_LOG", "trace"),
        ("GIT_DIR", "/nowhere"),
    ] {
        scratch.env.insert(name.into(), value.into());
    }
    let own = |scratch: &Scratch| {
        let mut all = tree(scratch.home());
        all.retain(|path, _| !path.starts_with("tmp/") && !path.contains("/tmp/"));
        all
    };
    let before = own(&scratch);
    let said = fast(&scratch);
    assert!(said.contains("loop complete in 3 iterations"), "{said}");
    assert_eq!(own(&scratch), before);
}

#[test]
fn a_place_that_cannot_be_used_is_named() {
    let mut scratch = home();
    let file = scratch.home().join("a-file");
    fs::write(&file, "").unwrap();
    for place in [file, scratch.home().join("nowhere"), PathBuf::from("/proc")] {
        scratch.env.insert("TMPDIR".into(), place.display().to_string());
        let run = scratch.run(&["demo", "--fast"], b"");
        assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{}", run.stderr);
        let says = "hookkeeper: there is no place for a scratch project: ";
        assert!(run.stderr.starts_with(says), "{}", run.stderr);
        assert!(run.stderr.contains(&*place.to_string_lossy()), "{}", run.stderr);
        assert_eq!(run.stderr.trim_end().lines().count(), 1, "{}", run.stderr);
    }
}

#[test]
fn a_place_can_be_named() {
    let scratch = home();
    let odd = scratch.home().join("it's \"odd\" é");
    fs::create_dir(&odd).unwrap();
    let said = good(scratch.run(&["-C", odd.to_str().unwrap(), "demo", "--fast"], b""));
    assert!(said.contains("loop complete in 3 iterations"), "{said}");
    let made = only_file(&odd);
    assert!(made.join("shop/.claude/state/session/metrics.json").exists());
    assert!(only_file(&made.join("client/projects")).is_dir(), "transcripts are where they belong");
    // As a shell reads it, the last line but some removes it.
    let remove = said.lines().find(|line| line.trim().starts_with("rm -r ")).unwrap();
    assert!(Command::new("sh").args(["-c", remove]).status().unwrap().success());
    assert!(!made.exists(), "{remove}");
    let run = scratch.run(&["-C", "/no/such/place", "demo", "--fast"], b"");
    assert_eq!(run.code, Some(1), "{}", run.stderr);
}

/// Without a terminal it goes on line by line. Told to end, it says where it is, and ends.
#[test]
fn an_interrupt_ends_it_cleanly() {
    let scratch = home();
    let mut command = scratch.command(&["demo"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let began = Instant::now();
    let child = command.spawn().unwrap();
    std::thread::sleep(Duration::from_secs(2));
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert!(began.elapsed() < Duration::from_secs(12), "{:?}", began.elapsed());
    let run = Run {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    };
    let said = good(run);
    assert!(said.contains("\nStopped before the end. So far:\n"), "{said}");
    assert!(said.contains("session starts (startup)") && !said.contains("session ended"), "{said}");
    assert!(top(&said).join("shop/.claude/state").is_dir());
}

/// Nobody would learn where it is.
#[test]
fn a_reader_that_goes_away_leaves_no_scratch_project() {
    let scratch = home();
    let mut command = scratch.command(&["demo", "--fast"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    child.wait().unwrap();
    let left: Vec<_> = fs::read_dir(scratch.home().join("tmp")).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}
