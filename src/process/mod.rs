//! The one seam to the world outside: arguments, environment, clock, ids, stdin, other processes.
//!
//! Everything else takes a `&Process`, so that a test can hand in a fixed one. A fixed clock can
//! also be had from outside, through `HOOKKEEPER_FIXED_TIME`: then time, ids and the client's
//! identity depend on nothing but the input. The case folders under `tests/cases` run that way,
//! through the real binary.
#![expect(clippy::disallowed_methods, reason = "this is the room that reads the world")]

pub mod browser;
pub mod child;
pub mod client;
pub mod deadline;
pub mod digest;
pub mod disk;
pub mod files;
pub mod lines;
pub mod output;
pub mod pipe;
pub mod processes;
pub mod signals;
pub mod stdin;
pub mod tail;
pub mod trace;
pub mod version;

use std::collections::BTreeMap;
use std::io::{IsTerminal, Read, Write as _};
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use chrono::{DateTime, FixedOffset, Local, Utc};
use sha2::{Digest, Sha256};

use crate::core::time;
use crate::process::client::Client;

/// Freezes clock and ids; see the module's documentation.
const FIXED_TIME: &str = "HOOKKEEPER_FIXED_TIME";

pub struct Process {
    args: Vec<String>,
    env: Env,
    started: Instant,
    fixed: Option<DateTime<Utc>>,
}

enum Env {
    Real,
    Given(BTreeMap<String, String>),
}

impl Process {
    /// The process that is running.
    pub fn real() -> Self {
        standard_streams();
        let args = std::env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect();
        Self::with(args, Env::Real)
    }

    /// A process made up by a test: nothing is read but what is given.
    pub fn given(args: &[&str], env: &[(&str, &str)]) -> Self {
        let env = env.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        Self::with(args.iter().map(|&arg| arg.to_owned()).collect(), Env::Given(env))
    }

    fn with(args: Vec<String>, env: Env) -> Self {
        let mut process = Self { args, env, started: Instant::now(), fixed: None };
        process.fixed = process.env(FIXED_TIME).as_deref().and_then(time::parse);
        process
    }

    pub fn args(&self) -> &[String] {
        &self.args
    }

    /// An environment variable that is set and not empty.
    pub fn env(&self, name: &str) -> Option<String> {
        match &self.env {
            Env::Real => std::env::var(name).ok(),
            Env::Given(vars) => vars.get(name).cloned(),
        }
        .filter(|value| !value.is_empty())
    }

    pub fn cwd(&self) -> Option<PathBuf> {
        std::env::current_dir().ok()
    }

    pub fn home(&self) -> Option<PathBuf> {
        self.env("HOME").map(PathBuf::from)
    }

    /// The client's own directory, where its settings and transcripts are.
    pub fn client_dir(&self) -> Option<PathBuf> {
        let named = self.env("CLAUDE_CONFIG_DIR").map(PathBuf::from);
        let named = named.map(|dir| self.cwd().map(|cwd| cwd.join(&dir)).unwrap_or(dir));
        named.or_else(|| Some(self.home()?.join(".claude")))
    }

    /// The program that is running, symlinks resolved.
    pub fn program(&self) -> Option<PathBuf> {
        std::env::current_exe().ok()
    }

    /// Where the shell would find a program.
    pub fn on_path(&self, name: &str) -> Option<PathBuf> {
        let path = self.env("PATH")?;
        let found = std::env::split_paths(&path).map(|dir| dir.join(name));
        found.into_iter().find(|file| is_program(file))
    }

    pub fn temp_dir(&self) -> PathBuf {
        self.env("TMPDIR").map_or_else(|| PathBuf::from("/tmp"), PathBuf::from)
    }

    /// All of stdin, for commands.
    pub fn stdin(&self) -> std::io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        std::io::stdin().lock().read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Asks a person who sits at a terminal; `None` if nobody does.
    pub fn ask(&self, question: &str) -> Option<String> {
        let stdin = std::io::stdin();
        if !stdin.is_terminal() {
            return None;
        }
        let mut out = std::io::stdout();
        out.write_all(question.as_bytes()).and_then(|()| out.flush()).ok()?;
        let mut answer = String::new();
        stdin.read_line(&mut answer).ok()?;
        Some(answer)
    }

    /// What is on the other end of stdout.
    pub fn terminal(&self) -> Terminal {
        let is_terminal = matches!(self.env, Env::Real) && std::io::stdout().is_terminal();
        let dumb = self.env("TERM").is_none_or(|term| term == "dumb");
        let wanted = self.env("NO_COLOR").is_none() && is_terminal && !dumb;
        let colour = wanted || self.env("CLICOLOR_FORCE").is_some_and(|force| force != "0");
        Terminal { is_terminal, dumb, colour }
    }

    pub fn now(&self) -> DateTime<Utc> {
        self.fixed.unwrap_or_else(|| DateTime::from(SystemTime::now()))
    }

    /// A time as the clock on this person's wall has it: `TZ`, else the machine's time zone. Only
    /// commands ask.
    pub fn local(&self, time: DateTime<Utc>) -> DateTime<FixedOffset> {
        time.with_timezone(&Local).fixed_offset()
    }

    /// Microseconds since this process began to run our code.
    pub fn micros(&self) -> u64 {
        match self.fixed {
            Some(_) => 0,
            None => u64::try_from(self.elapsed().as_micros()).unwrap_or(u64::MAX),
        }
    }

    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// A new id, derived from `seed` (which call it is for), the time and this process. Random
    /// bytes can be refused, and asking for them costs more. With a fixed clock only the seed
    /// counts, so that a replay gives the same id.
    pub fn fresh_id(&self, seed: &str) -> String {
        let moment = match self.fixed {
            Some(_) => String::new(),
            None => format!("{:?} {}", SystemTime::now(), std::process::id()),
        };
        let digest = Sha256::digest(format!("{seed} {moment}"));
        let mut bytes = [0; 16];
        bytes.iter_mut().zip(digest.iter()).for_each(|(to, from)| *to = *from);
        uuid::Builder::from_custom_bytes(bytes).into_uuid().to_string()
    }

    pub fn pid(&self) -> u32 {
        if self.fixed.is_some() { 1 } else { std::process::id() }
    }

    /// The Claude Code process that started us: `CLAUDE_PID`, else our parent.
    pub fn client(&self) -> Client {
        let named = self.env("CLAUDE_PID").and_then(|pid| pid.parse().ok());
        let pid = named.unwrap_or_else(std::os::unix::process::parent_id);
        match self.fixed {
            Some(_) => Client { pid, host: "fixed".into(), ..Client::default() },
            None => Client {
                pid,
                started: client::start_time(pid),
                host: client::host_name(),
                ..Client::default()
            },
        }
    }

    /// This process, as others can see whether it still runs. A fixed clock changes nothing here:
    /// a made-up process could not be seen to be gone.
    pub fn own_process(&self) -> Client {
        let pid = std::process::id();
        let host = client::host_name();
        Client { pid, started: client::start_time(pid), host, ..Client::default() }
    }

    /// Whether Claude Code started us, or what started us: the model's shell has its mark.
    pub fn is_in_client(&self) -> bool {
        self.env("CLAUDECODE").is_some() || client::is_marked(std::os::unix::process::parent_id())
    }

    /// The name of this machine, as `client()` records it.
    pub fn host(&self) -> String {
        if self.fixed.is_some() { "fixed".into() } else { client::host_name() }
    }
}

/// What the command line may do on stdout.
#[derive(Clone, Copy, Debug)]
pub struct Terminal {
    pub is_terminal: bool,
    /// It knows no escape sequences.
    pub dumb: bool,
    pub colour: bool,
}

/// Whether a file can be started.
pub fn is_program(file: &std::path::Path) -> bool {
    file.is_file() && rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok()
}

/// Makes sure that 0, 1 and 2 are taken. Where a caller closed one of them, the next file that is
/// opened would get its number, and a reply would be written into it.
fn standard_streams() {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let (stdin, stdout, stderr) =
        (rustix::stdio::stdin(), rustix::stdio::stdout(), rustix::stdio::stderr());
    let mut fds = [&stdin, &stdout, &stderr].map(|fd| PollFd::new(fd, PollFlags::empty()));
    let polled = poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
    if polled == Ok(0) {
        return;
    }
    for fd in fds.iter().filter(|fd| fd.revents().contains(PollFlags::NVAL)) {
        let _ = fd;
        // The lowest free number is the one that is missing. It stays open for good.
        if let Ok(null) = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null") {
            std::mem::forget(null);
        }
    }
}

/// The clock of this machine, whatever time it is for hooks: files are dated by it.
pub fn wall_clock() -> (i64, u32) {
    let now = DateTime::<Utc>::from(SystemTime::now());
    (now.timestamp(), now.timestamp_subsec_nanos())
}
