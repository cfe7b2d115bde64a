//! One pass over a text from left to right. What could be the beginning of a secret is told by one
//! byte; what is looked up from there is bounded, or remembered in `Runs`.

use std::ops::Range;

use crate::core::redaction::MARK;
use crate::core::redaction::arguments;
use crate::core::redaction::classes::Class;
use crate::core::redaction::places::{self, Login};
use crate::core::redaction::runs::Runs;
use crate::core::redaction::tokens::{self, INFIXES, TOKENS, Token};
use crate::core::redaction::values;

/// Where a secret is. It may begin before the place where it was found.
pub type Secret = Range<usize>;

const TOKEN: u8 = 1;
const INFIX: u8 = 2;
const NAME: u8 = 4;

/// By byte, what may begin with it.
static BEGINS: [u8; 256] = table();

#[expect(clippy::indexing_slicing, reason = "made by the compiler")]
const fn table() -> [u8; 256] {
    let mut table = [0; 256];
    let mut row = 0;
    while row < TOKENS.len() {
        table[TOKENS[row].prefix.as_bytes()[0] as usize] |= TOKEN;
        row += 1;
    }
    row = 0;
    while row < INFIXES.len() {
        table[INFIXES[row].mark.as_bytes()[0] as usize] |= INFIX;
        row += 1;
    }
    let mut byte = 0u8;
    while byte < 128 {
        if byte.is_ascii_alphanumeric() || byte == b'_' {
            table[byte as usize] |= NAME;
        }
        byte += 1;
    }
    // JSON web tokens.
    table[b'e' as usize] |= TOKEN;
    table
}

/// The text without its secrets, and how much was looked at for it. A text that is `cut` goes on
/// behind its end: what may be the beginning of a secret there, is one.
pub fn redact(text: &str, cut: bool) -> (String, u64) {
    let mut runs = Runs::new(text, cut);
    let mut login = Login::default();
    let mut clean = String::with_capacity(text.len());
    let (mut kept, mut at) = (0, 0);
    while let Some(byte) = runs.byte(at) {
        runs.steps += 1;
        let Some(secret) = secret_at(&mut runs, &mut login, at, byte) else {
            at += 1;
            continue;
        };
        let start = secret.start.max(kept);
        if secret.end <= at || !text.is_char_boundary(secret.end) {
            at += 1;
            continue;
        }
        clean.push_str(text.get(kept..start).unwrap_or_default());
        clean.push_str(MARK);
        (kept, at) = (secret.end, secret.end);
    }
    clean.push_str(text.get(kept..).unwrap_or_default());
    (clean, runs.steps)
}

fn secret_at(runs: &mut Runs, login: &mut Login, at: usize, byte: u8) -> Option<Secret> {
    let begins = BEGINS.get(usize::from(byte)).copied().unwrap_or_default();
    if begins & TOKEN != 0
        && let Some(secret) = token(runs, at, byte)
    {
        return Some(secret);
    }
    if begins & INFIX != 0
        && let Some(secret) = infix(runs, at, byte)
    {
        return Some(secret);
    }
    if begins & NAME != 0 {
        if !begins_name(runs, at) {
            return None;
        }
        let end = runs.end(Class::Dash, at);
        login.word(runs, at, end);
        return places::header(runs, at, end)
            .or_else(|| arguments::find(runs, at, end))
            .or_else(|| values::assigned(runs, at, end));
    }
    match byte {
        b'-' => places::private_key(runs, at).or_else(|| login.flag(runs, at)),
        b':' => places::url_password(runs, at),
        b'\n' | b';' | b'|' => {
            login.forget();
            None
        }
        _ => None,
    }
}

/// A name begins where none was before; the dashes of a flag are no part of it.
fn begins_name(runs: &Runs, at: usize) -> bool {
    match runs.before(at) {
        None => true,
        Some(b'-') => !runs.before(at - 1).is_some_and(|b| Class::Word.has(b)),
        Some(b) => !Class::Word.has(b) || ends_code(runs, at),
    }
}

/// Whether the letter before is no part of a word: that of `\n`, of a colour code (`ESC [ 31 m`),
/// or of `%3D`.
fn ends_code(runs: &Runs, at: usize) -> bool {
    let byte = |back: usize| at.checked_sub(back).and_then(|at| runs.byte(at));
    match byte(1) {
        Some(b'n' | b't' | b'r') if byte(2) == Some(b'\\') => true,
        Some(b'm') => {
            let mut back = 2;
            while back < 12 && byte(back).is_some_and(|b| b.is_ascii_digit() || b == b';') {
                back += 1;
            }
            byte(back) == Some(b'[')
        }
        Some(b) => b.is_ascii_hexdigit() && byte(3) == Some(b'%'),
        None => true,
    }
}

fn token(runs: &mut Runs, at: usize, byte: u8) -> Option<Secret> {
    let second = runs.byte(at + 1)?;
    runs.steps += 1;
    let known = tokens::starting_with(byte, second).iter().find_map(|row| known(runs, at, row));
    if byte == b'e' { known.or_else(|| json_web_token(runs, at)) } else { known }
}

fn known(runs: &mut Runs, at: usize, row: &Token) -> Option<Secret> {
    if !runs.starts(at, row.prefix) {
        return None;
    }
    let letter_before = runs.before(at).is_some_and(|b| b.is_ascii_alphabetic());
    if letter_before && !row.anywhere && !ends_code(runs, at) {
        return None;
    }
    let body = at + row.prefix.len();
    let end = runs.end(row.class, body);
    let length = end - body;
    let fits = (row.least..=row.most).contains(&length)
        && (row.most == usize::MAX || !runs.byte(end).is_some_and(|b| Class::Word.has(b)));
    let is_secret = runs.is_cut(end) || (fits && runs.is_mixed(body, end));
    is_secret.then_some(if row.keeps_prefix { body..end } else { at..end })
}

/// Three parts of base64, the first two of them JSON objects.
fn json_web_token(runs: &mut Runs, at: usize) -> Option<Secret> {
    if !runs.starts(at, "eyJ") {
        return None;
    }
    let header = runs.end(Class::Base64Url, at);
    if runs.is_cut(header) {
        return Some(at..header);
    }
    if header - at < 8 || runs.byte(header) != Some(b'.') {
        return None;
    }
    let claims = runs.end(Class::Claims, header + 1);
    let long = claims - header > 8 || runs.is_cut(claims);
    long.then(|| at..runs.end(Class::Key, claims))
}

fn infix(runs: &mut Runs, at: usize, byte: u8) -> Option<Secret> {
    let rows = INFIXES.iter().filter(|infix| infix.mark.as_bytes().first() == Some(&byte));
    rows.into_iter().find_map(|infix| {
        runs.steps += 1;
        if !runs.starts(at, infix.mark) {
            return None;
        }
        let (class, least, most) = infix.before;
        let start = runs.start(class, at, most);
        runs.steps += (at - start) as u64;
        if at - start < least {
            return None;
        }
        let body = at + infix.mark.len();
        let (class, least) = infix.after;
        let end = runs.end(class, body);
        (end - body >= least || runs.is_cut(end)).then_some(start..end)
    })
}
