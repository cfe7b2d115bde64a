//! Runs every folder under `tests/cases`: payload in, tree before, tree after. See README there.
//! `UPDATE_CASES=1 cargo test --test cases` rewrites what is expected.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a test fails by panicking, and makes its own files"
)]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use libtest_mimic::{Arguments, Failed, Trial};
use support::{Run, Scratch, tree};

const FIRST_STEP: &str = "2026-01-29T10:30:00Z";
const SECONDS_PER_STEP: i64 = 10;

fn main() {
    let arguments = Arguments::from_args();
    let base = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut trials = Vec::new();
    for event in folders(&base) {
        for case in folders(&event) {
            let name = case.strip_prefix(&base).unwrap().display().to_string();
            trials.push(Trial::test(name, move || Case::read(&case).check()));
        }
    }
    trials.push(Trial::test("there_are_enough_cases", {
        let count = trials.len();
        move || if count >= 80 { Ok(()) } else { Err(format!("only {count} cases").into()) }
    }));
    libtest_mimic::run(&arguments, trials).exit();
}

fn folders(dir: &Path) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> =
        fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).filter(|p| p.is_dir()).collect();
    folders.sort();
    folders
}

struct Case {
    dir: PathBuf,
    scratch: Scratch,
    step: i64,
    /// The commits of the project, and how the case names them.
    commits: Vec<(String, String)>,
}

impl Case {
    fn read(dir: &Path) -> Self {
        let mut scratch = Scratch::new();
        for (name, bytes) in tree(&dir.join("before")) {
            place(&scratch.root(), &name, scratch.here(&lossy(&bytes)).as_bytes());
        }
        let commits = commit(&scratch, &text(&dir.join("commits")).unwrap_or_default());
        for (name, bytes) in tree(&dir.join("before")) {
            let mut text = scratch.here(&lossy(&bytes));
            for (sha, named) in &commits {
                text = text.replace(named, sha);
            }
            if name.ends_with(".json") {
                place(&scratch.root(), &name, text.as_bytes());
            }
        }
        for (name, bytes) in tree(&dir.join("home")) {
            place(scratch.home(), &name, scratch.here(&lossy(&bytes)).as_bytes());
            // Programs stay programs.
            let (from, to) = (dir.join("home").join(&name), scratch.home().join(&name));
            if let (Ok(found), true) = (fs::metadata(from), to.exists()) {
                fs::set_permissions(to, found.permissions()).unwrap();
            }
        }
        // What the project has before is this machine's, unless the case is about that.
        if dir.join("before").is_dir() && !dir.join("untrusted").exists() {
            scratch.trust_with(&text(&dir.join("begun")).unwrap_or_default());
        }
        for line in text(&dir.join("env")).unwrap_or_default().lines() {
            let (name, value) = line.split_once('=').unwrap();
            match value {
                "" => scratch.env.remove(name),
                value => scratch.env.insert(name.into(), scratch.here(value)),
            };
        }
        Self { dir: dir.to_owned(), scratch, step: 0, commits }
    }

    fn check(mut self) -> Result<(), Failed> {
        for (name, payload) in tree(&self.dir.join("given")) {
            let run = self.play(&payload, &["hook"], "hookkeeper");
            if run.code != Some(0) {
                return Err(format!("given/{name}: {:?} {}", run.code, run.stderr).into());
            }
        }
        let stdin =
            ["stdin.json", "stdin.txt"].iter().find_map(|f| fs::read(self.dir.join(f)).ok());
        let args = text(&self.dir.join("args")).unwrap_or_else(|| "hook".into());
        let argv0 = text(&self.dir.join("argv0")).unwrap_or_else(|| "hookkeeper".into());
        let args: Vec<&str> = args.split_whitespace().collect();
        let run = self.play(&stdin.unwrap_or_default(), &args, argv0.trim());
        self.compare(&run)
    }

    /// Time goes on by ten seconds a step.
    fn play(&mut self, payload: &[u8], args: &[&str], argv0: &str) -> Run {
        let first = text(&self.dir.join("clock")).unwrap_or_else(|| FIRST_STEP.into());
        let now = chrono::DateTime::parse_from_rfc3339(first.trim()).unwrap()
            + chrono::TimeDelta::seconds(self.step * SECONDS_PER_STEP);
        self.step += 1;
        self.scratch.env.insert("HOOKKEEPER_FIXED_TIME".into(), now.to_rfc3339());
        let payload = match std::str::from_utf8(payload) {
            Ok(text) => self.scratch.here(text).into_bytes(),
            Err(_) => payload.to_owned(),
        };
        self.scratch.run_as(argv0, args, &payload)
    }

    fn compare(&self, run: &Run) -> Result<(), Failed> {
        let found = self.found(run);
        let expected = self.expected();
        if found == expected {
            return Ok(());
        }
        if std::env::var_os("UPDATE_CASES").is_some() {
            self.update(&found);
            return Ok(());
        }
        let names = found.keys().chain(expected.keys()).collect::<std::collections::BTreeSet<_>>();
        let mut report = String::new();
        for name in names {
            let (want, have) = (expected.get(name), found.get(name));
            if want != have {
                let show = |text: Option<&String>| text.map_or("(nothing)".into(), String::clone);
                report += &format!("\n--- {name}:\n{}", differences(&show(want), &show(have)));
            }
        }
        report += "\nIf that is meant: UPDATE_CASES=1 cargo test --test cases -- NAME, and read `git diff tests/cases`.\n";
        Err(report.into())
    }

    /// Everything that the run left, with recorded paths: `after/…`, `stdout…`, `stderr.txt`, `exit`.
    fn found(&self, run: &Run) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        for (name, bytes) in tree(&self.scratch.root()) {
            if !name.starts_with(".git/") && name != ".git" {
                found.insert(
                    format!("after/{}", stored(&name)),
                    self.normal(&unmarked(&name, &bytes)),
                );
            }
        }
        let stdout = if run.stdout.starts_with('{') { "stdout.json" } else { "stdout.txt" };
        for (name, text) in [(stdout, &run.stdout), ("stderr.txt", &run.stderr)] {
            if !text.is_empty() {
                found.insert(name.into(), self.normal(text));
            }
        }
        if run.code != Some(0) {
            found.insert(
                "exit".into(),
                format!("{}\n", run.code.map_or("signal".into(), |c| c.to_string())),
            );
        }
        found
    }

    fn expected(&self) -> BTreeMap<String, String> {
        let expected = tree(&self.dir).into_iter().filter(|(name, _)| {
            name.starts_with("after/")
                || ["stdout.json", "stdout.txt", "stderr.txt", "exit"].contains(&name.as_str())
        });
        expected.map(|(name, bytes)| (name, lossy(&bytes))).collect()
    }

    /// Digests depend on where the scratch project is.
    fn normal(&self, text: &str) -> String {
        let mut text = self.scratch.recorded(text);
        for (sha, named) in &self.commits {
            text = text.replace(sha, named);
        }
        let digest = |word: &str| word.len() == 64 && word.bytes().all(|b| b.is_ascii_hexdigit());
        let words = text.split('"').map(|word| if digest(word) { "(sha256)" } else { word });
        words.collect::<Vec<_>>().join("\"")
    }

    fn update(&self, found: &BTreeMap<String, String>) {
        for name in self.expected().keys() {
            fs::remove_file(self.dir.join(name)).unwrap();
        }
        for (name, text) in found {
            place(&self.dir, name, text.as_bytes());
        }
    }
}

/// What proves that state was made here is different everywhere.
fn unmarked(name: &str, bytes: &[u8]) -> String {
    match name {
        ".claude/state/.lock" => String::new(),
        ".claude/state/.gitignore" => {
            let text = lossy(bytes);
            text.lines()
                .filter(|line| !line.starts_with("# "))
                .map(|line| format!("{line}\n"))
                .collect()
        }
        _ => lossy(bytes),
    }
}

/// Makes the project a repository with these commits, one a line: a date, and the files. A file that a
/// later line has too is another one here. What a case says for each: `COMMIT-1-FULL`, `COMMIT-1`.
fn commit(scratch: &Scratch, lines: &str) -> Vec<(String, String)> {
    let root = scratch.root();
    let git = |args: &[&str], at: &str| {
        let mut command = std::process::Command::new("git");
        command.args(["-c", "user.name=A", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]);
        command.args(args).current_dir(&root).env("HOME", scratch.home());
        command.env("GIT_AUTHOR_DATE", at).env("GIT_COMMITTER_DATE", at);
        let ran = command.output().unwrap();
        assert!(ran.status.success(), "{args:?}: {}", lossy(&ran.stderr));
        lossy(&ran.stdout).trim().to_owned()
    };
    let mut commits = Vec::new();
    let lines: Vec<Vec<&str>> = lines.lines().map(|line| line.split(' ').collect()).collect();
    for (n, line) in lines.iter().enumerate() {
        if n == 0 {
            git(&["init", "--quiet", "--initial-branch=feat/auth"], line[0]);
        }
        for path in &line[1..] {
            let last = fs::read(root.join(path)).unwrap_or_default();
            if lines[n + 1..].iter().any(|later| later[1..].contains(path)) {
                place(&root, path, format!("Version {n}.\n").as_bytes());
            }
            git(&["add", path], line[0]);
            place(&root, path, &last);
        }
        git(&["commit", "--quiet", "--allow-empty", "--message", &format!("Commit {n}")], line[0]);
        let sha = git(&["rev-parse", "HEAD"], line[0]);
        commits.push((sha.chars().take(7).collect(), format!("COMMIT-{}", n + 1)));
        commits.insert(0, (sha, format!("COMMIT-{}-FULL", n + 1)));
    }
    commits
}

/// Files that git would read in this repository go by other names in a case.
fn stored(name: &str) -> String {
    name.replace(".git", "dot-git")
}

fn place(base: &Path, name: &str, bytes: &[u8]) {
    let unstored = name.replace("dot-git", ".git");
    let name = if name.starts_with("after/") { name } else { &unstored };
    let path = base.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

/// The lines that differ, with a little around them.
fn differences(want: &str, have: &str) -> String {
    let difference = similar::TextDiff::from_lines(want, have);
    difference.unified_diff().header("expected", "found").to_string()
}

fn text(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok()
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
