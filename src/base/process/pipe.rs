//! What a program prints, read while it runs.

use std::io::{Read, Write};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// How much of the end of a long output is kept.
const TAIL: usize = 16 << 10;

/// A pipe that is read in the background.
pub struct Reading {
    seen: Arc<Mutex<Vec<u8>>>,
    ended: Receiver<()>,
}

impl Reading {
    /// Keeps everything.
    pub fn all(pipe: Option<impl Read + Send + 'static>) -> Self {
        Self::begin(pipe, |seen, new| seen.extend_from_slice(new))
    }

    /// Passes everything on, and keeps the end of it.
    pub fn tail(
        pipe: Option<impl Read + Send + 'static>,
        mut to: impl Write + Send + 'static,
    ) -> Self {
        Self::begin(pipe, move |seen, new| {
            let _ = to.write_all(new).and_then(|()| to.flush());
            seen.extend_from_slice(new);
            if seen.len() > 4 * TAIL {
                seen.drain(..seen.len() - TAIL);
            }
        })
    }

    fn begin(
        pipe: Option<impl Read + Send + 'static>,
        mut keep: impl FnMut(&mut Vec<u8>, &[u8]) + Send + 'static,
    ) -> Self {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (sender, ended) = mpsc::channel();
        let kept = Arc::clone(&seen);
        thread::spawn(move || {
            let mut chunk = [0; 8192];
            let Some(mut pipe) = pipe else { return sender.send(()) };
            loop {
                match pipe.read(&mut chunk) {
                    Ok(0) => return sender.send(()),
                    Ok(n) => {
                        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                        keep(&mut kept, chunk.get(..n).unwrap_or_default());
                    }
                    Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                    Err(_) => return sender.send(()),
                }
            }
        });
        Self { seen, ended }
    }

    /// Waits for the end of the pipe.
    pub fn wait(&self) {
        let _ = self.ended.recv();
    }

    /// Whether it ended within this time.
    pub fn ends_within(&self, patience: Duration) -> bool {
        !matches!(self.ended.recv_timeout(patience), Err(mpsc::RecvTimeoutError::Timeout))
    }

    /// What came until now. The other side may be held open for ever, by whoever inherited it.
    pub fn seen(&self) -> Vec<u8> {
        std::mem::take(&mut *self.seen.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
