//! Git, started by the command line. Facts that hooks need are read from files (`facts::git`).

use std::cell::Cell;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use crate::process::child::{self, Ended, Input, Run};

/// A repository to run git in.
#[derive(Clone, Debug)]
pub struct Git {
    pub dir: PathBuf,
    /// What is left of the time that all its answers together may take, where somebody waits.
    left: Option<Rc<Cell<Duration>>>,
}

#[derive(Debug)]
pub struct GitOutput {
    /// `None`: a signal ended it.
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

/// An empty value takes a variable away: those that would lead git elsewhere than to `dir`, which a
/// command has that runs in a git hook.
const ENV: [(&str, &str); 9] = [
    ("GIT_DIR", ""),
    ("GIT_WORK_TREE", ""),
    ("GIT_INDEX_FILE", ""),
    ("GIT_OBJECT_DIRECTORY", ""),
    ("GIT_COMMON_DIR", ""),
    ("GIT_PREFIX", ""),
    ("LC_ALL", "C"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_OPTIONAL_LOCKS", "0"),
];
/// No work in the background that outlives the command, names as they are, and no program of a
/// repository's choice: no file system monitor, no signatures to check or make, no repository without
/// a checkout that lies in the checkout.
const SET: [&str; 8] = [
    "gc.auto=0",
    "maintenance.auto=false",
    "core.quotePath=false",
    "core.fsmonitor=false",
    "safe.bareRepository=explicit",
    "log.showSignature=false",
    "commit.gpgSign=false",
    "core.askPass=",
];
/// Settings of a repository's own that name programs, which git would run on contents.
const PROGRAMS: &str = r"^(filter\..*\.(clean|smudge|process)|diff\..*\.(textconv|command)|diff\.external|merge\..*\.driver|gpg(\..*)?\.program)$";
/// What looks at contents, or writes them.
const ON_CONTENTS: [&str; 6] = ["status", "diff", "cat-file", "merge", "merge-tree", "worktree"];
/// An answer comes soon; a change may have to write a large tree.
const ANSWER: Duration = Duration::from_secs(60);
const CHANGE: Duration = Duration::from_secs(15 * 60);
/// A remote may be far away, and what is pushed large.
const NETWORK: Duration = Duration::from_secs(5 * 60);
/// What refs there are is a short answer: who is silent for so long is away.
const LISTING: Duration = Duration::from_secs(30);
/// Nothing but what is asked for goes over the network, and who does not answer is given up.
const NETWORK_SET: [&str; 9] = [
    "push.gpgSign=false",
    "push.followTags=false",
    "push.recurseSubmodules=no",
    "push.useForceIfIncludes=false",
    "fetch.recurseSubmodules=no",
    "fetch.writeCommitGraph=false",
    "protocol.ext.allow=never",
    "http.lowSpeedLimit=1",
    "http.lowSpeedTime=60",
];
/// Without a terminal ssh must not ask for anything either.
const SSH: &str = "core.sshCommand=ssh -o BatchMode=yes -o ConnectTimeout=20";

impl Git {
    pub fn in_dir(dir: &Path) -> Self {
        Self { dir: dir.to_owned(), left: None }
    }

    /// All answers together take no longer than this; what is asked after that is an error.
    pub fn within(dir: &Path, limit: Duration) -> Self {
        Self { dir: dir.to_owned(), left: Some(Rc::new(Cell::new(limit))) }
    }

    /// Git in another directory, with what is left of this one's time.
    pub fn at(&self, dir: &Path) -> Self {
        Self { dir: dir.to_owned(), left: self.left.clone() }
    }

    /// Asks git something. An error means that it could not be started.
    pub fn ask<A: AsRef<OsStr>>(&self, args: &[A]) -> io::Result<GitOutput> {
        self.run(args, Input::Nothing, ANSWER)
    }

    /// What it answers, without the last line break; `None` if it says no.
    pub fn answer<A: AsRef<OsStr>>(&self, args: &[A]) -> io::Result<Option<String>> {
        let said = self.ask(args)?;
        Ok(said.is_good().then(|| said.out.trim_end_matches('\n').to_owned()))
    }

    /// Lets git change something while `held` is locked: git inherits the lock, so that it is held
    /// for as long as git runs, even if we are killed before git is done.
    pub fn act<A: AsRef<OsStr>>(&self, args: &[A], held: &File) -> io::Result<GitOutput> {
        self.run(args, Input::Open(held), CHANGE)
    }

    /// Gives git something to read. What it prints is not text: objects have bytes.
    pub fn feed(&self, args: &[&str], bytes: &[u8]) -> io::Result<(Option<i32>, Vec<u8>)> {
        let ended = self.start_raw(args, &[], Input::Bytes(bytes), ANSWER)?;
        Ok((ended.code, ended.stdout))
    }

    /// Lets git talk to a remote that the user has named: as `git push` would there, but nobody is
    /// asked for anything.
    pub fn contact(&self, args: &[&str]) -> io::Result<GitOutput> {
        let own = self.answer(&["config", "--get", "core.sshCommand"])?;
        let ssh = own.is_none().then_some(SSH);
        let set: Vec<&str> = NETWORK_SET.into_iter().chain(ssh).collect();
        self.start(args, &set, Input::Nothing, patience(args))
    }

    fn run<A: AsRef<OsStr>>(
        &self,
        args: &[A],
        input: Input,
        limit: Duration,
    ) -> io::Result<GitOutput> {
        let first = args.first().map(AsRef::as_ref).and_then(OsStr::to_str).unwrap_or_default();
        let off = match ON_CONTENTS.contains(&first) {
            true => self.own_programs(),
            false => Vec::new(),
        };
        let off: Vec<&str> = off.iter().map(String::as_str).collect();
        self.start(args, &off, input, limit)
    }

    /// Settings that turn off what the repository's own configuration would run. What the user has
    /// configured for all repositories stays (git-lfs is one of these).
    fn own_programs(&self) -> Vec<String> {
        let list =
            ["config", "--local", "--includes", "--name-only", "-z", "--get-regexp", PROGRAMS];
        let names = self.start(&list, &[], Input::Nothing, ANSWER).map(|said| said.out);
        let names = names.unwrap_or_default();
        let mut off = Vec::new();
        for name in names.split('\0').filter(|name| !name.is_empty()) {
            off.push(format!("{name}="));
            if let Some((filter, _)) = name.rsplit_once('.').filter(|_| name.starts_with("filter."))
            {
                off.push(format!("{filter}.required=false"));
            }
        }
        off
    }

    fn start<A: AsRef<OsStr>>(
        &self,
        args: &[A],
        off: &[&str],
        input: Input,
        limit: Duration,
    ) -> io::Result<GitOutput> {
        let ended = self.start_raw(args, off, input, limit)?;
        Ok(GitOutput {
            code: ended.code,
            out: String::from_utf8_lossy(&ended.stdout).into_owned(),
            err: String::from_utf8_lossy(&ended.stderr).into_owned(),
        })
    }

    fn start_raw<A: AsRef<OsStr>>(
        &self,
        args: &[A],
        off: &[&str],
        input: Input,
        limit: Duration,
    ) -> io::Result<Ended> {
        // Git goes there itself: a start in another directory is a slow fork.
        let dir = ["-C".as_ref(), self.dir.as_os_str(), "--literal-pathspecs".as_ref()];
        let set = SET.iter().chain(off).flat_map(|set| ["-c".as_ref(), OsStr::new(*set)]);
        let args: Vec<&OsStr> =
            dir.into_iter().chain(set).chain(args.iter().map(AsRef::as_ref)).collect();
        let left = self.left.as_ref().map(|left| left.get());
        let limit = left.map_or(limit, |left| limit.min(left));
        if limit.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let ended = child::run(&Run {
            program: Path::new("git"),
            args: &args,
            dir: None,
            env: &ENV,
            input,
            limit,
        })?;
        if let (Some(cell), Some(left)) = (&self.left, left) {
            cell.set(left.saturating_sub(Duration::from_micros(ended.micros)));
        }
        Ok(ended)
    }
}

/// How long a remote is waited for.
fn patience(args: &[&str]) -> Duration {
    match args.first() {
        Some(&"ls-remote") => LISTING,
        _ => NETWORK,
    }
}

/// Why git could not be started.
pub fn explain_start_error(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "git is not installed, or not on PATH".into(),
        io::ErrorKind::TimedOut => "git does not answer".into(),
        _ => format!("git cannot be started: {error}"),
    }
}

impl GitOutput {
    pub fn is_good(&self) -> bool {
        self.code == Some(0)
    }

    /// What git complained of, in one line.
    pub fn complaint(&self) -> String {
        let text = if self.err.trim().is_empty() { &self.out } else { &self.err };
        crate::core::text::clip(text, 300)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_at_a_remote_is_not_waited_for_as_long_as_what_it_sends() {
        assert_eq!(patience(&["ls-remote", "--", "origin"]), Duration::from_secs(30));
        assert_eq!(patience(&["push", "--", "origin"]), NETWORK);
        assert_eq!(patience(&["fetch", "--", "origin"]), NETWORK);
    }
}
