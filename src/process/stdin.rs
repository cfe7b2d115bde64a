//! The payload from stdin: bounded in size, bounded in patience.
//!
//! The client writes one JSON object and a newline, and usually closes the stream. Some versions
//! never close it, so a newline that ends a complete object ends the payload too. A writer that
//! falls silent in the middle is not waited for.

use std::io;

use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::core::json::scan;

/// Payloads hold whole files, but not more than this. What is larger is refused, not truncated.
const LARGEST: usize = 16 << 20;
/// How long the writer may pause. The client writes at once; this only ends a hang.
const PATIENCE: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };
const NOW: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };
const CHUNK: usize = 8 << 10;
/// A refused payload is kept only this far.
const KEPT: usize = 1 << 20;

pub enum Payload {
    Whole(Vec<u8>),
    /// The first bytes of something that cannot be a payload, and why.
    Refused(Vec<u8>, &'static str),
}

pub fn read() -> Payload {
    let mut bytes = Vec::new();
    loop {
        if let Ended::Yes = ended(&bytes) {
            return Payload::Whole(bytes);
        }
        if !readable(&PATIENCE) {
            return Payload::Refused(bytes, "stdin went silent in the middle of the payload");
        }
        bytes.reserve(if bytes.len() > CHUNK { CHUNK * 16 } else { CHUNK });
        match rustix::io::read(rustix::stdio::stdin(), spare_capacity(&mut bytes)) {
            Ok(0) => return Payload::Whole(bytes),
            Ok(_) => {}
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
            Err(_) => return Payload::Refused(bytes, "stdin cannot be read"),
        }
        if bytes.len() > LARGEST {
            bytes.truncate(KEPT);
            drain();
            return Payload::Refused(bytes, "the payload is larger than 16 MiB");
        }
    }
}

enum Ended {
    Yes,
    NotYet,
}

/// Whether a newline has ended a complete object. What came in one piece is looked at once; a
/// longer payload only where the writer pauses, or it would be parsed again and again.
fn ended(bytes: &[u8]) -> Ended {
    let complete = bytes.ends_with(b"\n")
        && bytes.trim_ascii_end().ends_with(b"}")
        && (bytes.len() <= CHUNK || !readable(&NOW))
        && scan::is_value(bytes);
    if complete { Ended::Yes } else { Ended::NotYet }
}

/// Whether there is something to read (the end of the stream counts) within some time.
fn readable(patience: &Timespec) -> bool {
    let stdin = rustix::stdio::stdin();
    let mut fds = [PollFd::new(&stdin, PollFlags::IN)];
    loop {
        match poll(&mut fds, Some(patience)) {
            Ok(n) => return n > 0,
            Err(rustix::io::Errno::INTR) => {}
            // What cannot be polled is read: the read says what is wrong.
            Err(_) => return true,
        }
    }
}

/// Reads on to the end, so that the client sees no broken pipe.
fn drain() {
    let mut chunk = vec![0; CHUNK * 16];
    while readable(&PATIENCE) {
        match rustix::io::read(rustix::stdio::stdin(), &mut chunk[..]) {
            Ok(n) if n > 0 => {}
            Err(error) if io::Error::from(error).kind() == io::ErrorKind::Interrupted => {}
            _ => return,
        }
    }
}
