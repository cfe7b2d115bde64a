//! The three standard streams, with patience. Pipes cannot be asked whether they have something to
//! read, so a second thread reads and we wait for it.

use std::io::{self, Read as _};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use crate::process::lines::Woken;

const CHUNK: usize = 64 << 10;

/// Whoever is closed here gives no number to the next file.
pub fn standard_streams() {}

/// Stdin for who does not wait for ever.
pub struct Stdin {
    /// `None` until somebody wants to read.
    chunks: Option<Receiver<io::Result<Vec<u8>>>>,
    /// What has come and was not read yet.
    next: Option<io::Result<Vec<u8>>>,
    has_ended: bool,
}

impl Stdin {
    pub fn open() -> Self {
        Self { chunks: None, next: None, has_ended: false }
    }

    /// Whether there is something to read (the end of the stream counts) within some time.
    pub fn is_readable(&mut self, patience: Duration) -> bool {
        if self.next.is_some() || self.has_ended {
            return true;
        }
        let chunks = self.chunks.get_or_insert_with(read_on);
        match chunks.recv_timeout(patience) {
            Ok(chunk) => self.next = Some(chunk),
            Err(RecvTimeoutError::Disconnected) => self.has_ended = true,
            Err(RecvTimeoutError::Timeout) => return false,
        }
        true
    }

    /// Adds what comes next; nothing is the end of the stream.
    pub fn read(&mut self, bytes: &mut Vec<u8>, _: usize) -> io::Result<usize> {
        while self.next.is_none() && !self.has_ended {
            self.is_readable(Duration::MAX);
        }
        match self.next.take() {
            Some(Ok(chunk)) => {
                bytes.extend_from_slice(&chunk);
                Ok(chunk.len())
            }
            Some(Err(error)) => Err(error),
            None => Ok(0),
        }
    }

    /// Waits for a line. That the reader of our output went away shows at the next write.
    pub fn wait(&mut self, patience: Duration, has_ended: bool) -> Woken {
        if has_ended {
            thread::sleep(patience);
            return Woken::Nothing;
        }
        if !self.is_readable(patience) {
            return Woken::Nothing;
        }
        let mut typed = Vec::new();
        match self.read(&mut typed, CHUNK) {
            Ok(1..) => Woken::Typed(typed),
            Ok(_) | Err(_) => Woken::StdinEnded,
        }
    }
}

/// Whether a read may be tried again.
pub fn is_passing(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::Interrupted
}

/// Nobody can tell before something is written.
pub fn stdout_is_gone() -> bool {
    false
}

/// Reads stdin to its end, a chunk at a time. It ends with the process.
fn read_on() -> Receiver<io::Result<Vec<u8>>> {
    let (sender, chunks) = sync_channel(4);
    thread::spawn(move || {
        let mut stdin = io::stdin().lock();
        loop {
            let mut chunk = vec![0; CHUNK];
            let read = stdin.read(&mut chunk).map(|length| {
                chunk.truncate(length);
                chunk
            });
            let is_last = !matches!(&read, Ok(chunk) if !chunk.is_empty());
            let is_end = matches!(&read, Ok(chunk) if chunk.is_empty());
            if is_end || sender.send(read).is_err() || is_last {
                return;
            }
        }
    });
    chunks
}
