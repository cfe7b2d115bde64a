//! The payload from stdin: bounded in size, bounded in patience.
//!
//! The client writes one JSON object and a newline, and usually closes the stream. Some versions
//! never close it, so a newline that ends a complete object ends the payload too. A writer that
//! falls silent in the middle is not waited for.

use std::io;
use std::time::Duration;

use crate::core::json::scan;
use crate::process::system::streams::{Stdin, is_passing};

/// Payloads hold whole files, but not more than this. What is larger is refused, not truncated.
const LARGEST: usize = 16 << 20;
/// How long the writer may pause. The client writes at once; this only ends a hang.
const PATIENCE: Duration = Duration::from_secs(1);
const CHUNK: usize = 8 << 10;
/// A refused payload is kept only this far.
const KEPT: usize = 1 << 20;

pub enum Payload {
    Whole(Vec<u8>),
    /// The first bytes of something that cannot be a payload, and why.
    Refused(Vec<u8>, &'static str),
}

pub fn read() -> Payload {
    let mut stdin = Stdin::open();
    let mut bytes = Vec::new();
    loop {
        if let Ended::Yes = ended(&bytes, &mut stdin) {
            return Payload::Whole(bytes);
        }
        if !stdin.is_readable(PATIENCE) {
            return Payload::Refused(bytes, "stdin went silent in the middle of the payload");
        }
        let most = if bytes.len() > CHUNK { CHUNK * 16 } else { CHUNK };
        match stdin.read(&mut bytes, most) {
            Ok(0) => return Payload::Whole(bytes),
            Ok(_) => {}
            Err(error) if is_passing(&error) => {}
            Err(_) => return Payload::Refused(bytes, "stdin cannot be read"),
        }
        if bytes.len() > LARGEST {
            bytes.truncate(KEPT);
            drain(&mut stdin);
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
fn ended(bytes: &[u8], stdin: &mut Stdin) -> Ended {
    let complete = bytes.ends_with(b"\n")
        && bytes.trim_ascii_end().ends_with(b"}")
        && (bytes.len() <= CHUNK || !stdin.is_readable(Duration::ZERO))
        && scan::is_value(bytes);
    if complete { Ended::Yes } else { Ended::NotYet }
}

/// Reads on to the end, so that the client sees no broken pipe.
fn drain(stdin: &mut Stdin) {
    let mut chunk = Vec::new();
    while stdin.is_readable(PATIENCE) {
        chunk.clear();
        match stdin.read(&mut chunk, CHUNK * 16) {
            Ok(n) if n > 0 => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            _ => return,
        }
    }
}
