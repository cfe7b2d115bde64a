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
pub mod positioned;
pub mod processes;
pub mod signals;
pub mod stdin;
#[cfg_attr(unix, path = "unix/mod.rs")]
#[cfg_attr(windows, path = "windows/mod.rs")]
pub mod system;
pub mod tail;
pub mod trace;
pub mod version;

use std::collections::BTreeMap;
use std::io::{IsTerminal, Read, Write as _};
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use chrono::{DateTime, FixedOffset, Local, NaiveDate, NaiveTime, TimeDelta, TimeZone as _, Utc};
use sha2::{Digest, Sha256};

use crate::core::time;
use crate::process::client::Client;

/// Freezes clock and ids; see the module's documentation. Behind `from ` the clock runs on from that
/// moment, and all else is as usual: `demo` plays its session that way.
pub const FIXED_TIME: &str = "HOOKKEEPER_FIXED_TIME";
pub const RUNNING: &str = "from ";

pub struct Process {
    args: Vec<String>,
    env: Env,
    started: Instant,
    fixed: Option<DateTime<Utc>>,
    shifted: Option<Shifted>,
}

/// A clock that shows another time.
#[derive(Clone, Copy)]
struct Shifted {
    from: DateTime<Utc>,
    since: Instant,
    /// How much faster it runs than others.
    speed: u32,
}

impl Shifted {
    fn now(&self) -> DateTime<Utc> {
        let passed = TimeDelta::from_std(self.since.elapsed().saturating_mul(self.speed));
        passed.ok().and_then(|passed| self.from.checked_add_signed(passed)).unwrap_or(self.from)
    }
}

#[derive(Clone)]
enum Env {
    Real,
    Given(BTreeMap<String, String>),
}

impl Process {
    /// The process that is running.
    pub fn real(args: impl IntoIterator<Item = std::ffi::OsString>) -> Self {
        system::standard_streams();
        let args = args.into_iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
        Self::with(args, Env::Real)
    }

    /// A process made up by a test: nothing is read but what is given.
    pub fn given(args: &[&str], env: &[(&str, &str)]) -> Self {
        let env = env.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        Self::with(args.iter().map(|&arg| arg.to_owned()).collect(), Env::Given(env))
    }

    fn with(args: Vec<String>, env: Env) -> Self {
        let since = Instant::now();
        let mut process = Self { args, env, started: since, fixed: None, shifted: None };
        if let Some(named) = process.env(FIXED_TIME) {
            match named.strip_prefix(RUNNING).map(time::parse) {
                Some(from) => {
                    process.shifted = from.map(|from| Shifted { from, since, speed: 1 });
                }
                None => process.fixed = time::parse(&named),
            }
        }
        process
    }

    /// This process with a clock that begins now with another time, and runs so many times as fast.
    pub fn with_clock(&self, from: DateTime<Utc>, speed: u32) -> Self {
        Self {
            args: self.args.clone(),
            env: self.env.clone(),
            started: self.started,
            fixed: None,
            shifted: Some(Shifted { from, since: Instant::now(), speed }),
        }
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
        system::HOME.iter().find_map(|name| self.env(name)).map(PathBuf::from)
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
        self.all_on_path(name).into_iter().next()
    }

    /// Every program of a name that the PATH leads to, the one that the shell would start first.
    pub fn all_on_path(&self, name: &str) -> Vec<PathBuf> {
        // Without a PATH there is nothing to split: an empty one would lead to the working directory.
        let Some(path) = self.env("PATH") else { return Vec::new() };
        let named = |dir: PathBuf| {
            system::PROGRAM_ENDS.iter().map(move |end| dir.join(format!("{name}{end}")))
        };
        std::env::split_paths(&path).flat_map(named).filter(|file| is_program(file)).collect()
    }

    pub fn temp_dir(&self) -> PathBuf {
        let named = system::TEMP_DIR.iter().find_map(|name| self.env(name));
        PathBuf::from(named.unwrap_or_else(|| system::USUAL_TEMP_DIR.into()))
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
        let shifted = || self.shifted.as_ref().map(Shifted::now);
        self.fixed.or_else(shifted).unwrap_or_else(|| DateTime::from(SystemTime::now()))
    }

    /// A time as the clock on this person's wall has it: `TZ`, else the machine's time zone. Only
    /// commands ask.
    pub fn local(&self, time: DateTime<Utc>) -> DateTime<FixedOffset> {
        time.with_timezone(&Local).fixed_offset()
    }

    /// When a day begins on this person's clock; where the clocks skip midnight, at the first hour that
    /// there is.
    pub fn day_begins(&self, day: NaiveDate) -> DateTime<Utc> {
        let hours = (0..24).filter_map(|hour| day.and_hms_opt(hour, 0, 0));
        let mut local = hours.filter_map(|time| Local.from_local_datetime(&time).earliest());
        local
            .next()
            .map_or_else(|| day.and_time(NaiveTime::MIN).and_utc(), |time| time.with_timezone(&Utc))
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

    /// An id that nobody else has, on any machine, whatever the clock says.
    pub fn unique_id(&self, seed: &str) -> String {
        let random = files::small(std::path::Path::new("/proc/sys/kernel/random/uuid"));
        let moment = format!("{:?} {:?}", SystemTime::now(), self.started.elapsed());
        let digest = Sha256::digest(format!("{seed} {moment} {random:?} {:?}", self.own_process()));
        digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
    }

    /// What this machine is called where others see it: a container's own name says nothing.
    pub fn shown_host(&self) -> String {
        self.env("HOOKKEEPER_HOST").unwrap_or_else(processes::host_name)
    }

    pub fn pid(&self) -> u32 {
        if self.fixed.is_some() { 1 } else { std::process::id() }
    }

    /// The Claude Code process that started us: `CLAUDE_PID`, else our parent.
    pub fn client(&self) -> Client {
        let named = self.env("CLAUDE_PID").and_then(|pid| pid.parse().ok());
        let pid = named.unwrap_or_else(system::parent_id);
        match self.fixed {
            Some(_) => Client { pid, host: "fixed".into(), ..Client::default() },
            None => Client {
                pid,
                started: processes::start_time(pid),
                host: processes::host_name(),
                ..Client::default()
            },
        }
    }

    /// This process, as others can see whether it still runs. A fixed clock changes nothing here:
    /// a made-up process could not be seen to be gone.
    pub fn own_process(&self) -> Client {
        let pid = std::process::id();
        let host = processes::host_name();
        Client { pid, started: processes::start_time(pid), host, ..Client::default() }
    }

    /// Whether Claude Code started us, or what started us: the model's shell has its mark.
    pub fn is_in_client(&self) -> bool {
        self.env("CLAUDECODE").is_some() || {
            processes::is_below_variable(system::parent_id(), "CLAUDECODE")
        }
    }

    /// The name of this machine, as `client()` records it.
    pub fn host(&self) -> String {
        if self.fixed.is_some() { "fixed".into() } else { processes::host_name() }
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

pub use system::is_program;

/// The clock of this machine, whatever time it is for hooks: files are dated by it.
pub fn wall_clock() -> (i64, u32) {
    let now = DateTime::<Utc>::from(SystemTime::now());
    (now.timestamp(), now.timestamp_subsec_nanos())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_path_nothing_is_found() {
        // From the working directory of this test there is such a program.
        let program = "../../hooks/hookkeeper.sh";
        let found = |env: &[(&str, &str)]| Process::given(&["x"], env).all_on_path(program);
        assert_eq!(found(&[]), Vec::<PathBuf>::new());
        assert_eq!(found(&[("PATH", "")]), Vec::<PathBuf>::new());
        assert_eq!(found(&[("PATH", ".")]), [PathBuf::from("./../../hooks/hookkeeper.sh")]);
    }

    fn at(time: &str) -> Process {
        Process::given(&[], &[(FIXED_TIME, time)])
    }

    #[test]
    fn a_clock_stands_still_or_runs_on_from_a_moment() {
        let moment = time::parse("2026-01-29T10:30:00Z").unwrap();
        let fixed = at("2026-01-29T10:30:00Z");
        assert_eq!((fixed.now(), fixed.micros()), (moment, 0));
        let running = at("from 2026-01-29T10:30:00Z");
        std::thread::sleep(Duration::from_millis(2));
        let passed = running.now() - moment;
        assert!(passed >= TimeDelta::milliseconds(2) && passed < TimeDelta::minutes(1));
        assert!(running.micros() >= 2000, "what hooks take is real");
        assert_ne!(running.fresh_id("x"), running.fresh_id("x"), "and so are ids");
        let real = at("from nowhere").now() - DateTime::from(SystemTime::now());
        assert!(real.abs() < TimeDelta::minutes(1), "{real}");
    }

    #[test]
    fn a_clock_can_run_faster() {
        let moment = time::parse("2026-01-29T10:30:00Z").unwrap();
        let fast = Process::given(&[], &[]).with_clock(moment, 1000);
        std::thread::sleep(Duration::from_millis(2));
        assert!(fast.now() - moment >= TimeDelta::seconds(2));
    }
}
