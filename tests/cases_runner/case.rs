//! One case: a folder, the scratch project that it is played in, what came of it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{Run, Scratch, tree};

use super::bundle::{self, Before};
use super::documents::Files;
use super::lines;
use super::outcome;
use super::promises;
use super::step::{Step, event_of};

const FIRST_STEP: &str = "2026-01-29T10:30:00Z";
const SECONDS_PER_STEP: i64 = 10;
const EXPECTED: &str = "after.txt";
pub const WHOLE: &str = "whole.txt";
/// The session of a case whose payload has none, and of most.
pub const USUAL_SESSION: &str = "9f99b61b-a627-4cde-9856-7e07b84da7b2";

pub struct Case {
    dir: PathBuf,
    stdin: Vec<u8>,
    /// The session that the case is about: that of its payload.
    session: String,
    before: Before,
    scratch: Scratch,
    step: i64,
    /// The commits of the project, and how the case names them.
    commits: Vec<(String, String)>,
}

impl Case {
    pub fn read(dir: &Path) -> Self {
        let stdin =
            ["stdin.json", "stdin.txt"].iter().find_map(|name| fs::read(dir.join(name)).ok());
        let stdin = stdin.unwrap_or_default();
        let payload: Value = serde_json::from_slice(&stdin).unwrap_or_default();
        let session = match payload["session_id"].as_str() {
            Some(session) if !session.is_empty() => session,
            _ => USUAL_SESSION,
        };
        let session = session.to_owned();
        let before = Before::read(&dir.join("before.txt"), &session);
        let mut scratch = Scratch::new();
        for (path, file) in &before.files {
            put(&scratch, path, &file.text, file.is_program);
        }
        let commits = commit(&scratch, &before.commits);
        for (path, file) in &before.files {
            if path.ends_with(".json") && !commits.is_empty() {
                let mut text = file.text.clone();
                for (sha, named) in &commits {
                    text = text.replace(named, sha);
                }
                put(&scratch, path, &text, file.is_program);
            }
        }
        // What the project has before is this machine's, unless the case is about that.
        let has_files = before.files.keys().any(|path| !path.starts_with("~/"));
        if has_files && !before.is_untrusted {
            scratch.trust_with(&before.begun.join("\n"));
        }
        for (name, value) in &before.env {
            match value.as_str() {
                "" => scratch.env.remove(name),
                value => scratch.env.insert(name.clone(), scratch.here(value)),
            };
        }
        Self { dir: dir.to_owned(), stdin, session, before, scratch, step: 0, commits }
    }

    /// Plays the case; an error says what is not as expected.
    pub fn check(mut self) -> Result<(), String> {
        let (step, wrong) = self.play()?;
        let expected = fs::read_to_string(self.dir.join(EXPECTED)).unwrap_or_default();
        let whole = self.read_whole();
        let found = outcome::text(&step, &wrong);
        let found_whole = bundle::again(&whole, &step.after, &self.session);
        if found == expected && found_whole == whole {
            return Ok(());
        }
        if std::env::var_os("UPDATE_CASES").is_none() {
            let difference =
                lines::report(&expected, &found) + &lines::report(&whole, &found_whole);
            return Err(format!(
                "\n- expected, + found:\n{difference}\nIf that is meant: UPDATE_CASES=1 cargo test \
                 --test cases -- NAME, and read `git diff tests/cases`.\n"
            ));
        }
        for line in found.lines().filter(|line| line.starts_with("! ")) {
            if !expected.lines().any(|expected| expected == line) {
                return Err(format!("If this is right, put it into {EXPECTED} by hand:\n{line}\n"));
            }
        }
        fs::write(self.dir.join(EXPECTED), found).unwrap();
        self.write_whole(&whole, &step.after);
        Ok(())
    }

    /// Rewrites what the case says byte for byte, and nothing else.
    pub fn update_whole(mut self) {
        let (step, _) = self.play().unwrap();
        self.write_whole(&self.read_whole(), &step.after);
    }

    fn read_whole(&self) -> String {
        fs::read_to_string(self.dir.join(WHOLE)).unwrap_or_default()
    }

    fn write_whole(&self, whole: &str, after: &Files) {
        if !whole.is_empty() {
            fs::write(self.dir.join(WHOLE), bundle::again(whole, after, &self.session)).unwrap();
        }
    }

    /// All payloads in their order: the last one, and what does not hold after it.
    pub fn play(&mut self) -> Result<(Step, Vec<String>), String> {
        let given = fs::read_to_string(self.dir.join("given.txt")).unwrap_or_default();
        let given = given.replace("SESSION", &self.session);
        let stdin = serde_json::from_slice(&self.stdin).unwrap_or_default();
        let mut tree = self.tree();
        for payload in bundle::payloads(&given, &stdin) {
            let step = self.payload(payload.as_bytes(), &["hook"], "hookkeeper", tree);
            let wrong = promises::broken(&step);
            if step.code != Some(0) || !wrong.is_empty() {
                let wrong = wrong.join("\n");
                return Err(format!("{payload}{:?} {}{wrong}", step.code, step.stderr));
            }
            tree = step.after;
        }
        let args = self.before.args.clone().unwrap_or_else(|| "hook".into());
        let args: Vec<&str> = args.split_whitespace().collect();
        let argv0 = self.before.argv0.clone().unwrap_or_else(|| "hookkeeper".into());
        let step = self.payload(&self.stdin.clone(), &args, &argv0, tree);
        let wrong = promises::broken(&step);
        Ok((step, wrong))
    }

    /// Time goes on by ten seconds a step.
    fn payload(&mut self, payload: &[u8], args: &[&str], argv0: &str, before: Files) -> Step {
        let first = self.before.clock.as_deref().unwrap_or(FIRST_STEP);
        let now = chrono::DateTime::parse_from_rfc3339(first).unwrap()
            + chrono::TimeDelta::seconds(self.step * SECONDS_PER_STEP);
        self.step += 1;
        self.scratch.env.insert("HOOKKEEPER_FIXED_TIME".into(), now.to_rfc3339());
        let payload = match std::str::from_utf8(payload) {
            Ok(text) => self.scratch.here(text).into_bytes(),
            Err(_) => payload.to_owned(),
        };
        let Run { code, stdout, stderr } = self.scratch.run_as(argv0, args, &payload);
        Step {
            session: self.session.clone(),
            event: event_of(&payload),
            time: now.format("%Y-%m-%dT%H:%M:%S%.3fZ").to_string(),
            before,
            after: self.tree(),
            stdout: self.normal(&stdout),
            stderr: self.normal(&stderr),
            code,
        }
    }

    /// The project without git's own files, with recorded paths.
    fn tree(&self) -> Files {
        let mut files = Files::new();
        for (name, bytes) in tree(&self.scratch.root()) {
            if !name.starts_with(".git/") && name != ".git" {
                let text = self.normal(&unmarked(&name, &bytes));
                files.insert(name, text);
            }
        }
        files
    }

    /// Digests depend on where the scratch project is.
    fn normal(&self, text: &str) -> String {
        let mut text = self.scratch.recorded(text);
        for (sha, named) in &self.commits {
            text = text.replace(sha, named);
        }
        let mut words: Vec<&str> = text.split('"').collect();
        for word in &mut words {
            if word.len() == 64 && word.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                *word = "(sha256)";
            }
        }
        words.join("\"")
    }
}

/// What proves that state was made here is different everywhere.
fn unmarked(name: &str, bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    match name {
        ".claude/state/.lock" => String::new(),
        ".claude/state/.gitignore" => {
            let mut unmarked = String::new();
            for line in text.lines().filter(|line| !line.starts_with("# ")) {
                unmarked += &format!("{line}\n");
            }
            unmarked
        }
        _ => text.into_owned(),
    }
}

/// Makes the project a repository with these commits, one a line: a date, and the files. A file that a
/// later line has too is another one here. What a case says for each: `COMMIT-1-FULL`, `COMMIT-1`.
fn commit(scratch: &Scratch, lines: &[String]) -> Vec<(String, String)> {
    let root = scratch.root();
    let mut commits = Vec::new();
    let lines: Vec<Vec<&str>> = lines.iter().map(|line| line.split(' ').collect()).collect();
    for (n, line) in lines.iter().enumerate() {
        if n == 0 {
            git(scratch, &["init", "--quiet", "--initial-branch=feat/auth"], line[0]);
        }
        for path in &line[1..] {
            let last = fs::read_to_string(root.join(path)).unwrap_or_default();
            if lines[n + 1..].iter().any(|later| later[1..].contains(path)) {
                put(scratch, path, &format!("Version {n}.\n"), false);
            }
            git(scratch, &["add", path], line[0]);
            put(scratch, path, &last, false);
        }
        let message = format!("Commit {n}");
        let commit = ["commit", "--quiet", "--allow-empty", "--message", &message];
        git(scratch, &commit, line[0]);
        let sha = git(scratch, &["rev-parse", "HEAD"], line[0]);
        commits.push((sha.chars().take(7).collect(), format!("COMMIT-{}", n + 1)));
        commits.insert(0, (sha, format!("COMMIT-{}-FULL", n + 1)));
    }
    commits
}

fn git(scratch: &Scratch, args: &[&str], at: &str) -> String {
    let mut command = std::process::Command::new("git");
    command.args(["-c", "user.name=A", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]);
    command.args(args).current_dir(scratch.root()).env("HOME", scratch.home());
    command.env("GIT_AUTHOR_DATE", at).env("GIT_COMMITTER_DATE", at);
    let ran = command.output().unwrap();
    assert!(ran.status.success(), "{args:?}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8_lossy(&ran.stdout).trim().to_owned()
}

/// Puts a file of the project, or of the home directory (`~/`), in its place.
fn put(scratch: &Scratch, path: &str, text: &str, is_program: bool) {
    let path = match path.strip_prefix("~/") {
        Some(below) => scratch.home().join(below),
        None => scratch.root().join(path),
    };
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, scratch.here(text)).unwrap();
    if is_program {
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
}
