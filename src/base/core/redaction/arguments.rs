//! Words of commands that are secret by their place: what is piped to `sudo -S`, the password of
//! `htpasswd -b`, that of SQL's `IDENTIFIED BY`. They are found from the first word on, so that
//! nothing has to be looked up backwards.

use crate::core::redaction::places::after_blanks;
use crate::core::redaction::runs::Runs;
use crate::core::redaction::scan::Secret;

/// So much is looked at for one word, and of who reads from a pipe.
const LONGEST: usize = 256;
const READER: usize = 64;

pub fn find(runs: &mut Runs, at: usize, end: usize) -> Option<Secret> {
    let secret = match runs.bytes.get(at..end)? {
        b"echo" | b"printf" => piped(runs, end),
        b"htpasswd" => of_htpasswd(runs, end),
        word if word.eq_ignore_ascii_case(b"identified") => identified(runs, end),
        _ => None,
    }?;
    let text = runs.bytes.get(secret.clone())?;
    let is_reference = text.starts_with(b"$") || text.starts_with(b"`") || text.starts_with(b"<");
    (!text.is_empty() && !is_reference).then_some(secret)
}

/// What is said by `echo` or `printf` to a program that reads a password.
fn piped(runs: &mut Runs, at: usize) -> Option<Secret> {
    let (mut said, mut after) = word(runs, at)?;
    for _ in 0..2 {
        // `-n`, and the format of `printf`.
        let text = runs.bytes.get(said.clone())?;
        let is_flag =
            text.strip_prefix(b"-").is_some_and(|it| it.iter().all(|b| b"neE".contains(b)));
        if is_flag || text.starts_with(b"%") {
            (said, after) = word(runs, after)?;
        }
    }
    let pipe = after_blanks(runs, after);
    if runs.byte(pipe) != Some(b'|') {
        return None;
    }
    let reader = runs.bytes.get(pipe + 1..)?;
    let reader = reader.get(..READER).unwrap_or(reader);
    let reader = reader.split(|b| matches!(b, b'\n' | b';' | b'|')).next()?;
    runs.steps += reader.len() as u64;
    let words = || reader.split(u8::is_ascii_whitespace);
    // `/usr/bin/sudo` is `sudo`.
    let has = |word: &[u8]| words().any(|other| other.rsplit(|b| *b == b'/').next() == Some(word));
    let asks =
        |word: &[u8]| word.starts_with(b"-") && !word.starts_with(b"--") && word.contains(&b'S');
    if has(b"chpasswd") {
        let colon = runs.bytes.get(said.clone())?.iter().position(|b| *b == b':')?;
        return Some(said.start + colon + 1..said.end);
    }
    let reads = has(b"--password-stdin")
        || (has(b"passwd") && has(b"--stdin"))
        || (has(b"sudo") && (words().any(asks) || has(b"--stdin")));
    reads.then_some(said)
}

/// `htpasswd -b FILE USER PASSWORD`, `htpasswd -nb USER PASSWORD`.
fn of_htpasswd(runs: &mut Runs, at: usize) -> Option<Secret> {
    let (mut after, mut flags, mut given) = (at, Vec::new(), 0);
    for _ in 0..8 {
        let (found, end) = word(runs, after)?;
        after = end;
        let text = runs.bytes.get(found.clone())?;
        if text.starts_with(b"-") {
            flags.extend_from_slice(text);
            // `-C COST`, `-r ROUNDS`
            if text.ends_with(b"C") || text.ends_with(b"r") {
                after = word(runs, after)?.1;
            }
            continue;
        }
        if !flags.contains(&b'b') {
            return None;
        }
        given += 1;
        if given == (if flags.contains(&b'n') { 2 } else { 3 }) {
            return Some(found);
        }
    }
    None
}

/// `IDENTIFIED BY 'PASSWORD'`, `IDENTIFIED WITH plugin BY "PASSWORD"`.
fn identified(runs: &mut Runs, at: usize) -> Option<Secret> {
    let mut at = after_blanks(runs, at);
    if runs.starts_caseless(at, "with ") {
        let (_, end) = word(runs, at + 5)?;
        at = after_blanks(runs, end);
    }
    if !runs.starts_caseless(at, "by ") {
        return None;
    }
    at = after_blanks(runs, at + 3);
    if runs.starts_caseless(at, "password ") {
        at = after_blanks(runs, at + 9);
    }
    matches!(runs.byte(at), Some(b'"' | b'\'')).then_some(())?;
    Some(word(runs, at)?.0)
}

/// The next word of a line without its quotes, and where it ends with them.
fn word(runs: &mut Runs, at: usize) -> Option<(Secret, usize)> {
    let at = after_blanks(runs, at);
    let rest = runs.bytes.get(at..)?;
    let rest = rest.get(..LONGEST).unwrap_or(rest);
    let ends = |b: &u8| b.is_ascii_whitespace() || matches!(b, b'|' | b';' | b'&' | b'<' | b'>');
    let quote = rest.first().copied().filter(|b| matches!(b, b'"' | b'\''));
    let start = at + usize::from(quote.is_some());
    let inner = rest.get(start - at..)?;
    let length = match quote {
        Some(quote) => inner.iter().position(|b| *b == quote),
        None => inner.iter().position(ends),
    };
    let length = length.unwrap_or(inner.len());
    runs.steps += length as u64 + 1;
    let end = start + length;
    (end > at).then_some((start..end, end + usize::from(quote.is_some())))
}
