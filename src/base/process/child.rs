//! Other programs, started by the command line. The hook path starts none.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use crate::process::pipe::Reading;
use crate::process::processes;
use crate::process::system;
use crate::process::system::programs::{Group, code_of, shell};

/// A program to run to its end.
pub struct Run<'a> {
    pub program: &'a Path,
    pub args: &'a [&'a OsStr],
    pub dir: Option<&'a Path>,
    /// Set on top of our own environment; `None` takes the variable away.
    pub env: &'a [(&'a str, Option<&'a str>)],
    pub input: Input<'a>,
    /// It is killed after this.
    pub limit: Duration,
}

/// What a program has on its stdin.
pub enum Input<'a> {
    Nothing,
    Bytes(&'a [u8]),
    /// It keeps the file open, and so holds a lock on it, for as long as it runs.
    Open(&'a File),
}

pub struct Ended {
    /// `None`: a signal ended it, ours included.
    pub code: Option<i32>,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    pub micros: u64,
}

/// After its end, what it left running in the background has so long to let go of the output.
const GRACE: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(100);

/// Runs a program; an error means that it could not be started.
pub fn run(what: &Run) -> io::Result<Ended> {
    let mut command = Command::new(what.program);
    command.args(what.args);
    if let Some(dir) = what.dir {
        command.current_dir(dir);
    }
    for (name, value) in what.env {
        match value {
            None => command.env_remove(name),
            Some(value) => command.env(name, value),
        };
    }
    command.stdin(match what.input {
        Input::Nothing => Stdio::null(),
        Input::Bytes(_) => Stdio::piped(),
        Input::Open(file) => Stdio::from(file.try_clone()?),
    });
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    // A group of its own: what it has started ends with it.
    let began = Instant::now();
    let (mut child, group) = Group::spawn(&mut command)?;
    let (stdout, stderr) = (Reading::all(child.stdout.take()), Reading::all(child.stderr.take()));
    if let (Input::Bytes(bytes), Some(mut pipe)) = (&what.input, child.stdin.take()) {
        let bytes = bytes.to_vec();
        // A program that does not read its input is no error of ours.
        thread::spawn(move || pipe.write_all(&bytes));
    }
    let ended = waited_for(child, began);
    let end = ended.recv_timeout(what.limit).or_else(|_| {
        group.end();
        ended.recv()
    });
    let (status, took) = end.map_err(|_| io::Error::other("it cannot be waited for"))?;
    let (stdout, stderr) = (printed(&stdout, &group), printed(&stderr, &group));
    let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
    Ok(Ended { code: status?.code(), stdout, stderr, micros })
}

/// Who waits for nothing else sees the end when it comes.
fn waited_for(mut child: Child, began: Instant) -> Receiver<(io::Result<ExitStatus>, Duration)> {
    let (sender, ended) = mpsc::channel();
    thread::spawn(move || sender.send((child.wait(), began.elapsed())));
    ended
}

/// What a program that has ended printed.
fn printed(from: &Reading, group: &Group) -> Vec<u8> {
    if !from.ends_within(GRACE) {
        group.end();
        from.ends_within(GRACE);
    }
    from.seen()
}

/// A program that ran to its end in front of the user.
pub struct Shown {
    /// As a shell says it: 128 and the signal's number if a signal ended it.
    pub code: u8,
    pub millis: u64,
    pub last_line: Option<String>,
    /// The end of what it printed, stdout before stderr.
    pub tail: String,
}

/// Runs a program with our stdin, its output passed through as it comes.
pub fn pass_through(program: &Path, args: &[String], dir: &Path) -> io::Result<Shown> {
    let mut command = Command::new(program);
    command.args(args).current_dir(dir).stdout(Stdio::piped()).stderr(Stdio::piped());
    let began = Instant::now();
    let mut child = command.spawn()?;
    let stdout = Reading::tail(child.stdout.take(), io::stdout());
    let stderr = Reading::tail(child.stderr.take(), io::stderr());
    stdout.wait();
    stderr.wait();
    let code = code_of(child.wait()?);
    let millis = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    // Where it failed, what it complained of says more.
    let (stdout, stderr) = (stdout.seen(), stderr.seen());
    let (out, err) = (last_line(&stdout), last_line(&stderr));
    let last_line = if code == 0 { out.or(err) } else { err.or(out) };
    let tail = String::from_utf8_lossy(&[stdout, b"\n".to_vec(), stderr].concat()).into_owned();
    Ok(Shown { code: u8::try_from(code).unwrap_or(1), millis, last_line, tail })
}

/// The last line that says something.
fn last_line(tail: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(tail);
    text.lines().rev().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
}

/// A command of a shell, with a time limit, and what it came to.
pub struct Tried {
    pub end: End,
    pub millis: u64,
    /// The end of what it printed, stdout before stderr.
    pub tail: String,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum End {
    /// As a shell says it.
    Code(i32),
    TooLong,
    /// We were told to end.
    Interrupted,
}

/// In the environment of all that a line has started: whose it is.
pub const MARK: &str = "HOOKKEEPER_STARTED_BY";

/// Runs a line as a shell would, its output passed through to stderr if it is to be shown. Whatever
/// it has started ends with it; if we are killed before, it can be found by `mark`. Until it ends,
/// `tick` is called every moment.
pub fn try_line(
    line: &str,
    mark: &str,
    dir: &Path,
    limit: Duration,
    shown: bool,
    tick: &mut dyn FnMut(),
) -> io::Result<Tried> {
    let signals = crate::process::signals::Signals::noted()?;
    let mut command = shell(line);
    command.env(MARK, mark).current_dir(dir);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let began = Instant::now();
    let (mut child, group) = Group::spawn(&mut command)?;
    let sink = || -> Box<dyn Write + Send> {
        if shown { Box::new(io::stderr()) } else { Box::new(io::sink()) }
    };
    let stdout = Reading::tail(child.stdout.take(), sink());
    let stderr = Reading::tail(child.stderr.take(), sink());
    let ended = waited_for(child, began);
    let end = loop {
        match ended.recv_timeout(TICK) {
            Ok((status, _)) => break End::Code(code_of(status?)),
            Err(_) if signals.say_end() => break End::Interrupted,
            Err(_) if began.elapsed() >= limit => break End::TooLong,
            Err(_) => tick(),
        }
    };
    let millis = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    if !matches!(end, End::Code(_)) {
        group.end();
    }
    let bytes = [printed(&stdout, &group), printed(&stderr, &group)].concat();
    group.end();
    Ok(Tried { end, millis, tail: String::from_utf8_lossy(&bytes).into_owned() })
}

/// Ends what was started under a mark by a process that is gone. What it starts while it is looked
/// for is found in the next round.
pub fn end_marked(mark: &str) {
    for _ in 0..10 {
        let found = processes::with_environment(MARK, mark);
        if found.is_empty() {
            return;
        }
        found.into_iter().for_each(system::kill);
        thread::sleep(TICK);
    }
}
