//! The lines of a file from its end. Transcripts grow to hundreds of megabytes, and what we want
//! is near the end; one small buffer is read again and again, so that memory stays small and warm.

use std::fs::File;
use std::ops::ControlFlow;

use crate::process::positioned::FileExt;

const CHUNK: usize = 64 << 10;
/// A line that is longer than this is passed over: it holds a file, not a fact.
const LONGEST_LINE: usize = 8 << 20;

/// Calls `each` with every complete line of the last `most` bytes, newest first, without its
/// newline, and with where it begins, until it breaks off. Bytes after the last newline are a line that is being written or
/// was cut off: they are passed too, and the caller's parser decides.
pub fn lines(file: &File, most: u64, mut each: impl FnMut(u64, &[u8]) -> ControlFlow<()>) {
    let Ok(length) = file.metadata().map(|meta| meta.len()) else { return };
    let start = length.saturating_sub(most);
    let mut end = length;
    // No larger than need be: every page of it is touched.
    let mut chunk = vec![0; (end - start).min(CHUNK as u64) as usize];
    // The beginning of the line that spans chunks, as pieces from back to front.
    let mut pieces: Vec<Vec<u8>> = Vec::new();
    let mut held = 0;
    while end > start {
        let size = (end - start).min(CHUNK as u64);
        end -= size;
        let Some(bytes) = chunk.get_mut(..size as usize) else { return };
        if file.read_exact_at(bytes, end).is_err() {
            return;
        }
        let mut rest: &[u8] = bytes;
        while let Some(at) = memchr::memrchr(b'\n', rest) {
            let (before, line) = rest.split_at(at);
            let line = line.get(1..).unwrap_or_default();
            let begins = end + at as u64 + 1;
            let flow = if pieces.is_empty() {
                call(begins, line, &mut each)
            } else {
                held += line.len();
                pieces.push(line.to_owned());
                let whole = join(&mut pieces, &mut held);
                call(begins, &whole, &mut each)
            };
            if flow.is_break() {
                return;
            }
            rest = before;
        }
        held += rest.len();
        if held <= LONGEST_LINE {
            pieces.push(rest.to_owned());
        }
    }
    if start == 0 {
        let first = join(&mut pieces, &mut held);
        let _ = call(0, &first, &mut each);
    }
}

fn call(
    begins: u64,
    line: &[u8],
    each: &mut impl FnMut(u64, &[u8]) -> ControlFlow<()>,
) -> ControlFlow<()> {
    if line.is_empty() { ControlFlow::Continue(()) } else { each(begins, line) }
}

/// The pieces in order; nothing if the line was too long.
fn join(pieces: &mut Vec<Vec<u8>>, held: &mut usize) -> Vec<u8> {
    let too_long = std::mem::take(held) > LONGEST_LINE;
    let mut line = Vec::new();
    for piece in pieces.drain(..).rev() {
        if !too_long {
            line.extend_from_slice(&piece);
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn read_back(text: &str, most: u64) -> Vec<String> {
        let path = std::env::temp_dir().join(format!("hookkeeper-tail-{:p}", text));
        #[expect(clippy::disallowed_methods, reason = "a test makes its own files")]
        let mut file = File::create(&path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
        let file = crate::process::files::open(&path).unwrap();
        let mut seen = Vec::new();
        lines(&file, most, |begins, line| {
            let begins = begins as usize;
            assert_eq!(text.as_bytes().get(begins..begins + line.len()), Some(line));
            seen.push(String::from_utf8(line.to_vec()).unwrap());
            ControlFlow::Continue(())
        });
        #[expect(clippy::disallowed_methods, reason = "a test removes its own files")]
        std::fs::remove_file(&path).unwrap();
        seen
    }

    #[test]
    fn lines_come_back_to_front_across_chunks() {
        let long = "x".repeat(CHUNK * 3 + 17);
        let text = format!("first\n{long}\nsecond\n\nlast, cut");
        assert_eq!(read_back(&text, u64::MAX), ["last, cut", "second", &long, "first"]);
        assert_eq!(read_back(&text, 12), ["last, cut"]);
        assert_eq!(read_back("", 9), Vec::<String>::new());
    }

    #[test]
    fn a_line_that_is_too_long_is_passed_over() {
        let text = format!("first\n{}\nlast\n", "y".repeat(LONGEST_LINE + 1));
        let lengths: Vec<usize> = read_back(&text, u64::MAX).iter().map(String::len).collect();
        assert_eq!(lengths, ["last".len(), "first".len()]);
    }
}
