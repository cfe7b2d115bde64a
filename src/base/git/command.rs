//! Git, started by the command line. Facts that hooks need are read from files (`refs`).

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

/// Those are taken away that would lead git elsewhere than to `dir`, which a command has that runs in
/// a git hook.
const ENV: [(&str, Option<&str>); 11] = [
    ("GIT_DIR", None),
    ("GIT_WORK_TREE", None),
    ("GIT_INDEX_FILE", None),
    ("GIT_OBJECT_DIRECTORY", None),
    ("GIT_COMMON_DIR", None),
    ("GIT_PREFIX", None),
    ("LC_ALL", Some("C")),
    ("GIT_TERMINAL_PROMPT", Some("0")),
    ("GIT_OPTIONAL_LOCKS", Some("0")),
    (NOTHING, Some("")),
    (FALSE, Some("false")),
];
/// Values for settings whose name has a `=` in it.
const NOTHING: &str = "HOOKKEEPER_NOTHING";
const FALSE: &str = "HOOKKEEPER_FALSE";
/// No work in the background that outlives the command, names as they are, and no program of a
/// repository's choice: no hooks (models may start our commands unasked, and may write hooks), no file
/// system monitor, no signatures to check or make, no repository without a checkout that lies in the
/// checkout.
const SET: [&str; 9] = [
    "gc.auto=0",
    "maintenance.auto=false",
    "core.quotePath=false",
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "safe.bareRepository=explicit",
    "log.showSignature=false",
    "commit.gpgSign=false",
    "core.askPass=",
];
/// Settings that name programs, which git would run on contents.
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
        let set = NETWORK_SET.into_iter().chain(ssh);
        let set: Vec<String> = set.flat_map(|set| ["-c".into(), set.into()]).collect();
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
            true => self.own_programs()?,
            false => Ok(Vec::new()),
        };
        match off {
            Ok(off) => self.start(args, &off, input, limit),
            // Without the list git would run what it names.
            Err(said) => Ok(said),
        }
    }

    /// Arguments that turn off what the repository's own configuration would run, that of this
    /// worktree and what they include too; else what git says. What the user has configured for all
    /// repositories stays (git-lfs is one of these).
    fn own_programs(&self) -> io::Result<Result<Vec<String>, GitOutput>> {
        let list = ["--includes", "--name-only", "-z", "--get-regexp", PROGRAMS];
        let ask = |scope: &str| -> io::Result<GitOutput> {
            let args: Vec<&str> = ["config", scope].into_iter().chain(list).collect();
            let ended = self.start_raw(&args, &[], Input::Nothing, ANSWER)?;
            let out = String::from_utf8(ended.stdout);
            // A name that cannot be repeated cannot be turned off.
            let code = if out.is_ok() { ended.code } else { None };
            let err = String::from_utf8_lossy(&ended.stderr).into_owned();
            Ok(GitOutput { code, out: out.unwrap_or_default(), err })
        };
        let said = ask("--show-scope")?;
        match said.code {
            Some(0) => {
                let fields: Vec<&str> = said.out.split('\0').collect();
                let names = fields.chunks_exact(2).filter_map(|pair| match pair {
                    ["local" | "worktree", name] => Some(*name),
                    _ => None,
                });
                Ok(Ok(turned_off(names)))
            }
            Some(1) => Ok(Ok(Vec::new())),
            // Git before 2.26 does not say whose a setting is.
            Some(129) => {
                let both = [ask("--local")?, ask("--worktree")?];
                let names = both.iter().flat_map(|said| said.out.split('\0'));
                Ok(Ok(turned_off(names.filter(|name| !name.is_empty()))))
            }
            _ => Ok(Err(said)),
        }
    }

    fn start<A: AsRef<OsStr>>(
        &self,
        args: &[A],
        set: &[String],
        input: Input,
        limit: Duration,
    ) -> io::Result<GitOutput> {
        let ended = self.start_raw(args, set, input, limit)?;
        Ok(GitOutput {
            code: ended.code,
            out: String::from_utf8_lossy(&ended.stdout).into_owned(),
            err: String::from_utf8_lossy(&ended.stderr).into_owned(),
        })
    }

    fn start_raw<A: AsRef<OsStr>>(
        &self,
        args: &[A],
        more: &[String],
        input: Input,
        limit: Duration,
    ) -> io::Result<Ended> {
        // Git goes there itself: a start in another directory is a slow fork.
        let dir = ["-C".as_ref(), self.dir.as_os_str(), "--literal-pathspecs".as_ref()];
        let set = SET.iter().flat_map(|set| ["-c".as_ref(), OsStr::new(*set)]);
        let set = set.chain(more.iter().map(OsStr::new));
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

/// Arguments that take their programs away from settings, and let git go on without these.
fn turned_off<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut args = Vec::new();
    let mut set = |name: &str, value: &str, named: &str| match name.contains('=') {
        // `-c` would cut the name there. Git has this since 2.31; an older one refuses to run.
        true => args.push(format!("--config-env={name}={named}")),
        false => args.extend(["-c".to_owned(), format!("{name}={value}")]),
    };
    for name in names {
        set(name, "", NOTHING);
        if let Some((filter, _)) = name.rsplit_once('.').filter(|_| name.starts_with("filter.")) {
            set(&format!("{filter}.required"), "false", FALSE);
        }
    }
    args
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
