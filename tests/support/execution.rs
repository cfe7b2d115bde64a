//! A repository with a plan beside it, and agents that do what they are told.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use hookkeeper::inside::validate::schema;
use hookkeeper::inside::validate::schema::checker::Checker;
use serde_json::{Value, json};

use crate::support::{Run, Scratch, finish, good, program, spawn};

pub struct Plan {
    pub scratch: Scratch,
    /// The folder with manifest.json.
    pub tasks: PathBuf,
}

/// A task of a plan: its id, its layer, what it needs, what is run to verify it.
pub type Spec<'a> = (&'a str, &'a str, &'a [&'a str], &'a str);

/// What runs the commands of a plan has a word of its own.
fn command(what: &str) -> Vec<&str> {
    if what == "verify" { vec!["run-verify"] } else { vec!["execute", what] }
}

pub const TWO: [Spec; 2] = [
    ("L1-001", "1-core", &[], "test -s L1-001.txt"),
    ("L1-002", "1-core", &[], "test -s L1-002.txt"),
];

impl Plan {
    /// A repository on branch `trunk` with one commit, and a plan outside of it.
    pub fn new(specs: &[Spec]) -> Self {
        Self::at("plans/shop", specs)
    }

    /// The plan somewhere below the home directory; the repository is `shop` there.
    pub fn at(tasks: &str, specs: &[Spec]) -> Self {
        Self::in_home(Scratch::new(), tasks, specs)
    }

    /// The same in a home that is there.
    pub fn in_home(mut scratch: Scratch, tasks: &str, specs: &[Spec]) -> Self {
        fs::remove_dir_all(scratch.root()).unwrap();
        let copied = Command::new("cp").arg("-a").arg(template()).arg(scratch.root()).status();
        assert!(copied.unwrap().success());
        for (name, value) in git_env() {
            scratch.env.insert(name.into(), value.into());
        }
        let tasks = scratch.home().join(tasks);
        fs::create_dir_all(&tasks).unwrap();
        let plan = Self { scratch, tasks };
        plan.write(specs);
        plan
    }

    /// `manifest.json`, `layer_plan.json` and the task files.
    pub fn write(&self, specs: &[Spec]) {
        let mut tasks = Vec::new();
        let mut layers = serde_json::Map::new();
        for (n, (id, layer, needs, run)) in specs.iter().enumerate() {
            let file = format!("{layer}/{id}.xml");
            fs::create_dir_all(self.tasks.join(layer)).unwrap();
            let run = run.replace('&', "&amp;").replace('<', "&lt;");
            let text = format!(
                "<task><meta><id>{id}</id><name>Do {id}</name><layer>{layer}</layer><priority>{}</priority></meta>\
                 <objective>Write {id}.txt</objective><requirements><requirement>It exists</requirement></requirements>\
                 <files-to-create><file>{id}.txt</file></files-to-create>\
                 <verification><step>Run: {run}</step><step>Check: it reads well</step></verification></task>\n",
                n + 1
            );
            fs::write(self.tasks.join(&file), text).unwrap();
            tasks.push(json!({"id": id, "layer": layer, "name": format!("Do {id}"), "file": file}));
            let entry = layers.entry(*layer).or_insert(json!({"tasks": [], "dependencies": {}}));
            entry["tasks"].as_array_mut().unwrap().push(json!({"id": id, "name": id, "files": []}));
            entry["dependencies"][id] = json!(needs);
        }
        let names: Vec<&String> = layers.keys().collect();
        self.put("manifest.json", &json!({"prd_slug": "shop", "tasks": tasks, "layers": names}));
        self.put("layer_plan.json", &json!({"layers": layers}));
    }

    pub fn put(&self, name: &str, value: &Value) {
        fs::write(self.tasks.join(name), serde_json::to_string_pretty(value).unwrap()).unwrap();
    }

    /// `hookkeeper execute WHAT TASKS_PATH ARGS…`
    pub fn run(&self, what: &str, args: &[&str]) -> Run {
        self.scratch.run(&self.args(what, args).iter().map(String::as_str).collect::<Vec<_>>(), b"")
    }

    pub fn args(&self, what: &str, args: &[&str]) -> Vec<String> {
        let tasks = self.tasks.display().to_string();
        let words = command(what).into_iter().chain([tasks.as_str()]).chain(args.iter().copied());
        words.map(str::to_owned).collect()
    }

    /// The same with a script in front of git, which finds the real one by `REAL_PATH` and a place
    /// of its own in `DIR`.
    pub fn behind(&self, script: &str, what: &str, args: &[&str]) -> Run {
        let dir = self.scratch.home().join("bin");
        fs::create_dir_all(&dir).unwrap();
        let text = format!("#!/bin/sh\n{script}\nPATH=$REAL_PATH exec git \"$@\"\n");
        program(&dir.join("git"), &text);
        let words = self.args(what, args);
        let mut command =
            self.scratch.command(&words.iter().map(String::as_str).collect::<Vec<_>>());
        let real = &self.scratch.env["PATH"];
        command.env("PATH", format!("{}:{real}", dir.display()));
        command.env("REAL_PATH", real).env("DIR", &dir);
        finish(spawn(command), b"")
    }

    /// The same in another directory, with the folder named as it is there.
    pub fn run_in(&self, dir: &Path, what: &str, tasks: &str, args: &[&str]) -> Run {
        let words: Vec<&str> =
            command(what).into_iter().chain([tasks]).chain(args.iter().copied()).collect();
        let mut command = self.scratch.command(&words);
        command.current_dir(dir);
        finish(spawn(command), b"")
    }

    /// The same; it must be able to do its work.
    pub fn good(&self, what: &str, args: &[&str]) -> String {
        good(self.run(what, args))
    }

    pub fn json(&self, what: &str, args: &[&str]) -> Value {
        let args: Vec<&str> = args.iter().copied().chain(["--json"]).collect();
        serde_json::from_str(&self.good(what, &args)).unwrap()
    }

    pub fn init(&self, args: &[&str]) -> String {
        self.good("init", args)
    }

    pub fn file(&self) -> PathBuf {
        self.tasks.join("execute-state.json")
    }

    pub fn state(&self) -> Value {
        serde_json::from_slice(&fs::read(self.file()).unwrap()).unwrap()
    }

    pub fn task(&self, id: &str) -> Value {
        self.state()["tasks"][id].clone()
    }

    pub fn status(&self, id: &str) -> String {
        self.task(id)["status"].as_str().unwrap().to_owned()
    }

    pub fn root(&self) -> PathBuf {
        self.scratch.root()
    }

    pub fn worktree(&self, id: &str) -> PathBuf {
        self.root().join(".worktrees").join(id)
    }

    /// Git in the main checkout.
    pub fn git(&self, args: &[&str]) -> String {
        self.git_in(&self.root(), args)
    }

    pub fn git_in(&self, dir: &Path, args: &[&str]) -> String {
        let output = Command::new("git")
            .args(args)
            .current_dir(dir)
            .env_clear()
            .envs(&self.scratch.env)
            .output()
            .unwrap();
        let (out, err) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "git {args:?}: {out}{err}");
        out.trim().to_owned()
    }

    /// What an agent does: a file in the task's worktree, committed.
    pub fn work(&self, id: &str, file: &str, text: &str) {
        fs::write(self.worktree(id).join(file), text).unwrap();
        self.git_in(&self.worktree(id), &["add", "-A"]);
        self.git_in(&self.worktree(id), &["commit", "-q", "-m", &format!("Work on {id}")]);
    }

    /// A whole task, from its start to the queue.
    pub fn verified(&self, id: &str) {
        self.good("start", &[id]);
        self.work(id, &format!("{id}.txt"), id);
        self.good("verify", &[id]);
    }

    /// The tasks that the base branch has, in its order.
    pub fn merged(&self) -> Vec<String> {
        let format = "--format=%(trailers:key=Task-Id,valueonly)";
        let log = self.git(&["log", "--reverse", "--first-parent", format, "trunk"]);
        log.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect()
    }

    /// Nothing is left behind: no worktree but the main one, no branch but the base, a clean checkout.
    pub fn assert_tidy(&self, open: &[&str]) {
        let mut branches: Vec<String> = open.iter().map(|id| format!("worktree-{id}")).collect();
        branches.insert(0, "trunk".into());
        let have = self.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads"]);
        assert_eq!(have.lines().collect::<Vec<_>>(), branches);
        let worktrees = self.git(&["worktree", "list", "--porcelain"]);
        assert_eq!(worktrees.matches("worktree /").count(), 1 + open.len(), "{worktrees}");
        assert_eq!(self.git(&["status", "--porcelain"]), "");
        assert_eq!(self.git(&["symbolic-ref", "--short", "HEAD"]), "trunk");
        self.git(&["fsck", "--no-dangling"]);
    }

    /// The document fits its schema, and its counts are those of its tasks.
    pub fn assert_sound(&self) {
        assert_sound(&self.state());
    }
}

pub fn assert_sound(state: &Value) {
    let checker = Checker::load(&schema::text("execute-state")).unwrap();
    let mut wrong = Vec::new();
    for fault in checker.check(state) {
        wrong.push(format!("{}: {}", fault.pointer, fault.message));
    }
    assert!(wrong.is_empty(), "{wrong:?}");
    let tasks = state["tasks"].as_object().unwrap();
    let with = |words: &[&str]| {
        tasks.values().filter(|task| words.contains(&task["status"].as_str().unwrap())).count()
    };
    let sum = |of: fn(&Value) -> u64| tasks.values().map(of).sum::<u64>();
    let commits = |task: &Value| task["commits"].as_array().map_or(0, Vec::len) as u64;
    let metrics = &state["metrics"];
    assert_eq!(metrics["total_tasks"], tasks.len());
    assert_eq!(metrics["completed_tasks"], with(&["completed"]));
    assert_eq!(metrics["failed_tasks"], with(&["failed", "abandoned"]));
    assert_eq!(metrics["total_attempts"], sum(|task| task["attempts"].as_u64().unwrap()));
    assert_eq!(metrics["total_commits"], sum(commits));
    for (name, layer) in state["layers"].as_object().unwrap() {
        let own = |words: &[&str]| {
            let own = tasks.values().filter(|task| task["layer"] == **name);
            own.filter(|task| words.is_empty() || words.contains(&task["status"].as_str().unwrap()))
                .count()
        };
        assert_eq!(layer["tasks_total"], own(&[]), "{name}");
        assert_eq!(layer["tasks_completed"], own(&["completed"]), "{name}");
        assert_eq!(layer["tasks_failed"], own(&["failed", "abandoned"]), "{name}");
    }
    for queued in state["merge_queue"].as_array().unwrap() {
        let task = &tasks[queued["task_id"].as_str().unwrap()];
        let fits: &[&str] = match queued["status"].as_str().unwrap() {
            "merged" => &["completed"],
            "merging" => &["merging"],
            _ => &["verified"],
        };
        assert!(fits.contains(&task["status"].as_str().unwrap()), "{queued}");
    }
}

/// Who commits, and when: so that the same work has the same hashes.
fn git_env() -> [(&'static str, &'static str); 8] {
    [
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_AUTHOR_NAME", "Dev"),
        ("GIT_AUTHOR_EMAIL", "dev@example.com"),
        ("GIT_COMMITTER_NAME", "Dev"),
        ("GIT_COMMITTER_EMAIL", "dev@example.com"),
        ("GIT_AUTHOR_DATE", "2026-01-29T10:00:00Z"),
        ("GIT_COMMITTER_DATE", "2026-01-29T10:00:00Z"),
    ]
}

/// One repository, made once and copied for every test.
fn template() -> &'static Path {
    static TEMPLATE: OnceLock<PathBuf> = OnceLock::new();
    TEMPLATE.get_or_init(|| {
        let dir = std::env::temp_dir().join(format!("hk{}template", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(dir.join("src")).unwrap();
        fs::write(dir.join("README"), "A shop.\n").unwrap();
        fs::write(dir.join("shared.txt"), "one\ntwo\nthree\n").unwrap();
        fs::write(dir.join("src/main.txt"), "main\n").unwrap();
        let git = |args: &[&str]| {
            let done = Command::new("git").args(args).current_dir(&dir).envs(git_env()).status();
            assert!(done.unwrap().success(), "git {args:?}");
        };
        git(&["init", "-q", "-b", "trunk"]);
        git(&["add", "-A"]);
        git(&["commit", "-q", "-m", "Begin"]);
        dir
    })
}

/// The template is nobody's scratch; it goes when the tests are over, with the system's own means.
pub fn three_by_five() -> Vec<(String, String, Vec<String>, String)> {
    let mut specs = Vec::new();
    for (layer, name) in ["0-setup", "1-core", "2-web"].into_iter().enumerate() {
        for n in 1..=5 {
            let id = format!("L{layer}-{n:03}");
            let needs = if n == 5 { vec![format!("L{layer}-001")] } else { Vec::new() };
            specs.push((
                id.clone(),
                name.to_owned(),
                needs,
                format!("grep -q {id} {id}.txt && ! test -e broken"),
            ));
        }
    }
    specs
}

/// Borrowed, as [`Plan::new`] takes them.
pub fn with_specs<T>(
    specs: &[(String, String, Vec<String>, String)],
    then: impl FnOnce(&[Spec]) -> T,
) -> T {
    let needs: Vec<Vec<&str>> =
        specs.iter().map(|(_, _, needs, _)| needs.iter().map(String::as_str).collect()).collect();
    let specs: Vec<Spec> = specs
        .iter()
        .zip(&needs)
        .map(|((id, layer, _, run), needs)| {
            (id.as_str(), layer.as_str(), needs.as_slice(), run.as_str())
        })
        .collect();
    then(&specs)
}
