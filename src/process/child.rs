//! Other programs, started by the command line. The hook path starts none.

use std::io::{self, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// A program to run to its end.
pub struct Run<'a> {
    pub program: &'a Path,
    pub args: &'a [&'a str],
    pub dir: &'a Path,
    /// Set on top of our own environment; an empty value takes the variable away.
    pub env: &'a [(&'a str, &'a str)],
    pub stdin: &'a [u8],
    /// It is killed after this.
    pub limit: Duration,
}

pub struct Ended {
    /// `None`: a signal ended it, ours included.
    pub code: Option<i32>,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    pub micros: u64,
}

/// Runs a program; an error means that it could not be started.
pub fn run(what: &Run) -> io::Result<Ended> {
    let mut command = Command::new(what.program);
    command.args(what.args).current_dir(what.dir);
    for (name, value) in what.env {
        match value.is_empty() {
            true => command.env_remove(name),
            false => command.env(name, value),
        };
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // A group of its own: what it has started ends with it.
    command.process_group(0);
    let began = Instant::now();
    let mut child = command.spawn()?;
    let group = rustix::process::Pid::from_child(&child);
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        // A program that does not read its input is no error of ours.
        scope.spawn(move || stdin.map(|mut pipe| pipe.write_all(what.stdin)));
        let stdout = scope.spawn(move || drain(stdout));
        let stderr = scope.spawn(move || drain(stderr));
        // Who waits for nothing else sees the end when it comes.
        let waiter = scope.spawn(move || {
            let status = child.wait();
            let micros = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
            let _ = sender.send(());
            status.map(|status| (status, micros))
        });
        if receiver.recv_timeout(what.limit).is_err() {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        let gone = || io::Error::other("it cannot be waited for");
        let (status, micros) = waiter.join().map_err(|_| gone())??;
        let text = |reader: thread::ScopedJoinHandle<Vec<u8>>| reader.join().unwrap_or_default();
        Ok(Ended { code: status.code(), stdout: text(stdout), stderr: text(stderr), micros })
    })
}

fn drain(pipe: Option<impl Read>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        let _ = pipe.read_to_end(&mut bytes);
    }
    bytes
}

/// A program that ran to its end in front of the user.
pub struct Shown {
    /// As a shell says it: 128 and the signal's number if a signal ended it.
    pub code: u8,
    pub millis: u64,
    pub last_line: Option<String>,
}

/// Runs a program with our stdin, its output passed through as it comes.
pub fn pass_through(program: &Path, args: &[String], dir: &Path) -> io::Result<Shown> {
    let mut command = Command::new(program);
    command.args(args).current_dir(dir).stdout(Stdio::piped()).stderr(Stdio::piped());
    let began = Instant::now();
    let mut child = command.spawn()?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let (out, err) = thread::scope(|scope| {
        let stderr = scope.spawn(move || tee(stderr, io::stderr()));
        (tee(stdout, io::stdout()), stderr.join().ok())
    });
    let status = child.wait()?;
    let millis = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    // Where it failed, what it complained of says more.
    let (out, err) = (last_line(&out), err.as_deref().and_then(last_line));
    let last_line = if code == 0 { out.or(err) } else { err.or(out) };
    Ok(Shown { code: u8::try_from(code).unwrap_or(1), millis, last_line })
}

/// Passes on what comes, and remembers its end.
fn tee(pipe: Option<impl Read>, mut to: impl Write) -> Vec<u8> {
    let mut tail: Vec<u8> = Vec::new();
    let Some(mut pipe) = pipe else { return tail };
    let mut chunk = [0; 8192];
    while let Ok(n @ 1..) = pipe.read(&mut chunk) {
        let new = chunk.get(..n).unwrap_or_default();
        let _ = to.write_all(new).and_then(|()| to.flush());
        tail.extend_from_slice(new);
        if tail.len() > 64 << 10 {
            tail.drain(..tail.len() - (16 << 10));
        }
    }
    tail
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

/// After its end, what it left running in the background has so long to let go of the output.
const GRACE: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(100);

/// Runs a line as a shell would, its output passed through to stderr if it is to be shown. Whatever
/// it has started ends with it.
pub fn try_line(line: &str, dir: &Path, limit: Duration, shown: bool) -> io::Result<Tried> {
    let signals = super::signals::Signals::noted()?;
    let mut command = Command::new("sh");
    command.args(["-c", line]).current_dir(dir).process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let began = Instant::now();
    let mut child = command.spawn()?;
    let group = rustix::process::Pid::from_child(&child);
    let kill = || rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    let (sender, ended) = mpsc::channel();
    let (out, err) = (reader(child.stdout.take(), shown), reader(child.stderr.take(), shown));
    thread::spawn(move || sender.send(child.wait()));
    let end = loop {
        match ended.recv_timeout(TICK) {
            Ok(status) => {
                let status = status?;
                let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
                break End::Code(code);
            }
            Err(_) if signals.say_end() => break End::Interrupted,
            Err(_) if began.elapsed() >= limit => break End::TooLong,
            Err(_) => {}
        }
    };
    let millis = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    let tail = |from: mpsc::Receiver<Vec<u8>>| {
        from.recv_timeout(GRACE).or_else(|_| {
            let _ = kill();
            from.recv_timeout(GRACE)
        })
    };
    if !matches!(end, End::Code(_)) {
        let _ = kill();
    }
    let bytes = [tail(out).unwrap_or_default(), tail(err).unwrap_or_default()].concat();
    let _ = kill();
    Ok(Tried { end, millis, tail: String::from_utf8_lossy(&bytes).into_owned() })
}

/// Reads a pipe to its end in the background.
fn reader(pipe: Option<impl Read + Send + 'static>, shown: bool) -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let tail = if shown { tee(pipe, io::stderr()) } else { tee(pipe, io::sink()) };
        sender.send(tail)
    });
    receiver
}
