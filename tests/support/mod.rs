//! A scratch project, and the binary started in it as the client would start it.
#![allow(dead_code, reason = "every test program uses a part of this")]

pub mod autonomous;
pub mod books;
pub mod collector;
pub mod dice;
pub mod execution;
pub mod iterative;
pub mod planting;
pub mod secrets;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::mem::ManuallyDrop;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

/// The home directory that recorded payloads speak of; the project is `shop` in it.
pub const RECORDED_HOME: &str = "/home/dev";
/// A process that is always there: sessions of a test are not abandoned.
pub const ALIVE: &str = "1";

pub struct Scratch {
    home: PathBuf,
    pub env: BTreeMap<String, String>,
}

pub struct Run {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Scratch {
    /// A new home with an empty project in it.
    pub fn new() -> Self {
        Self::below(&std::env::temp_dir())
    }

    /// The same in another place.
    pub fn below(dir: &Path) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let home = dir.join(format!("hk{}x{n}", std::process::id()));
        fs::create_dir_all(home.join("shop")).unwrap();
        let home = home.canonicalize().unwrap();
        let mut env = BTreeMap::new();
        env.insert("HOME".into(), home.display().to_string());
        env.insert("PATH".into(), std::env::var("PATH").unwrap_or_default());
        env.insert("CLAUDE_PID".into(), ALIVE.into());
        env.insert("CLAUDE_PROJECT_DIR".into(), home.join("shop").display().to_string());
        Self { home, env }
    }

    /// The same project, with an environment of its own. It is not removed.
    pub fn same(&self) -> Self {
        Self { home: self.home.clone(), env: self.env.clone() }
    }

    /// The same project at another time; who made it removes it.
    pub fn at(&self, time: &str) -> ManuallyDrop<Self> {
        let mut same = ManuallyDrop::new(self.same());
        same.env.insert("HOOKKEEPER_FIXED_TIME".into(), time.into());
        same
    }

    pub fn home(&self) -> &Path {
        &self.home
    }

    pub fn root(&self) -> PathBuf {
        self.home.join("shop")
    }

    pub fn state(&self) -> PathBuf {
        self.root().join(".claude/state")
    }

    /// Recorded paths to paths here.
    pub fn here(&self, text: &str) -> String {
        text.replace(RECORDED_HOME, &self.home.display().to_string())
    }

    /// And back.
    pub fn recorded(&self, text: &str) -> String {
        text.replace(&self.home.display().to_string(), RECORDED_HOME)
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hookkeeper"));
        command.args(args).env_clear().envs(&self.env).current_dir(self.root());
        command
    }

    pub fn run_as(&self, argv0: &str, args: &[&str], stdin: &[u8]) -> Run {
        let mut command = self.command(args);
        command.arg0(argv0);
        finish(spawn(command), stdin)
    }

    pub fn run(&self, args: &[&str], stdin: &[u8]) -> Run {
        finish(spawn(self.command(args)), stdin)
    }

    /// Files that a test has put into the project are this machine's from now on: the mark that
    /// `hookkeeper trust` would make, in the form that needs no birth times.
    pub fn trust(&self) {
        self.trust_with("");
    }

    /// The same, with loops that a command started here: one on each line.
    pub fn trust_with(&self, begun: &str) {
        let (lock, ignore) = (self.state().join(".lock"), self.state().join(".gitignore"));
        fs::create_dir_all(self.state()).unwrap();
        fs::write(&lock, "").unwrap();
        let meta = fs::metadata(&lock).unwrap();
        let (ino, at, nanos) = (meta.ino(), meta.ctime(), meta.ctime_nsec());
        let mut text = format!("*\n# c {ino} {at}.{nanos:09} since 0.0\n");
        text.extend(begun.lines().map(|begun| format!("# + {begun}\n")));
        fs::write(ignore, text).unwrap();
    }

    /// One event; it must be taken without complaint.
    pub fn hook(&self, payload: &Value) -> Run {
        let run = self.run(&["hook"], format!("{}\n", self.here(&payload.to_string())).as_bytes());
        assert_eq!(run.code, Some(0), "{payload}: {}", run.stderr);
        assert_eq!(run.stderr, "", "{payload}");
        run
    }

    /// A document below `.claude/state`.
    pub fn doc(&self, path: &str) -> Value {
        let path = self.state().join(path);
        let bytes = fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        serde_json::from_slice(&bytes).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    }

    pub fn exists(&self, path: &str) -> bool {
        self.state().join(path).exists()
    }

    /// Names in a folder below `.claude/state`; none if there is no such folder.
    pub fn names(&self, path: &str) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.state().join(path)) else { return Vec::new() };
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if std::env::var_os("KEEP_SCRATCH").is_none() {
            let _ = fs::remove_dir_all(&self.home);
        }
    }
}

pub fn spawn(mut command: Command) -> Child {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

pub fn finish(mut child: Child, stdin: &[u8]) -> Run {
    let _ = child.stdin.take().unwrap().write_all(stdin);
    let output = child.wait_with_output().unwrap();
    Run {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A program that a test starts, or has started. A shell writes it: a file that we have open for writing cannot be
/// started, and what another thread starts in that moment has it open too.
pub fn program(file: &Path, text: &str) {
    let mut shell = Command::new("sh");
    shell.args(["-c", "cat > \"$1\" && chmod 755 \"$1\"", "sh"]).arg(file);
    let run = finish(spawn(shell), text.as_bytes());
    assert_eq!(run.code, Some(0), "{}", run.stderr);
}

/// Until somebody has made a file, or done what else is waited for; it must not take for ever.
pub fn wait_until(is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(60), "it does not come");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The recorded payloads of a scenario, in order.
pub fn recorded_payloads(scenario: &str) -> Vec<(String, Value)> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/payloads").join(scenario);
    let mut files: Vec<PathBuf> = fs::read_dir(&dir).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    let read = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        (name, serde_json::from_slice(&fs::read(path).unwrap()).unwrap())
    };
    files.iter().map(read).collect()
}

/// Every file below a directory, by its path in it.
pub fn tree(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    collect(dir, dir, &mut files);
    files
}

fn collect(base: &Path, dir: &Path, files: &mut BTreeMap<String, Vec<u8>>) {
    let Ok(entries) = fs::read_dir(dir) else { return };
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.is_symlink() {
            collect(base, &path, files);
        } else {
            let name = path.strip_prefix(base).unwrap().to_string_lossy().into_owned();
            files.insert(name, fs::read(&path).unwrap_or_default());
        }
    }
}

/// An event of a session in the project.
pub fn event(session: &str, name: &str, fields: Value) -> Value {
    let mut event = serde_json::json!({"session_id": session, "hook_event_name": name, "cwd": "/home/dev/shop"});
    event.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    event
}

/// What a command printed that could do its work.
pub fn good(run: Run) -> String {
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{}", run.stdout);
    run.stdout
}

/// A command that could not: it says so in these words, and prints nothing else.
pub fn refused(run: &Run, says: &str) {
    ended_with(1, run, says);
}

/// A command that was not called as it can be.
pub fn misused(run: &Run, says: &str) {
    ended_with(64, run, says);
}

fn ended_with(code: i32, run: &Run, says: &str) {
    assert_eq!((run.code, run.stdout.as_str()), (Some(code), ""), "{}", run.stderr);
    assert!(run.stderr.contains(says), "{}", run.stderr);
}
