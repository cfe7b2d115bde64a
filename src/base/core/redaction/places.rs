//! Places that secrets stand in: private keys, headers, URLs, and flags of programs that log in.

use crate::core::redaction::classes::Class;
use crate::core::redaction::names;
use crate::core::redaction::runs::Runs;
use crate::core::redaction::scan::Secret;

/// Longest title of a key, and longest run of blanks that is passed over.
const TITLE: usize = 64;
const BLANKS: usize = 40;

/// `-----BEGIN … PRIVATE KEY-----` to its end, or to the end of the text.
pub fn private_key(runs: &Runs, at: usize) -> Option<Secret> {
    if !runs.starts(at, "-----BEGIN ") && !runs.starts(at, "---- BEGIN ") {
        return None;
    }
    let head = runs.bytes.get(at + 11..)?;
    let head = head.get(..TITLE).unwrap_or(head);
    let title = head.windows(4).position(|part| part == b"----");
    let title = match title {
        Some(end) => head.get(..end)?,
        None if runs.is_cut(runs.bytes.len()) && head.len() < TITLE => head,
        None => return None,
    };
    let is_private = title.windows(11).any(|part| part == b"PRIVATE KEY");
    if !is_private && title.len() != head.len() {
        return None;
    }
    let rest = runs.text.get(at + 11..)?;
    let end = rest.find("---END ").or_else(|| rest.find("--- END ")).and_then(|end| {
        let from = at + 11 + end + 7;
        let tail = runs.text.get(from..)?;
        Some(from + tail.find("----")? + 4)
    });
    let end = end.map(|end| end + usize::from(runs.byte(end) == Some(b'-')));
    Some(at..end.unwrap_or(runs.bytes.len()))
}

pub fn after_blanks(runs: &Runs, at: usize) -> usize {
    let rest = runs.bytes.get(at..).unwrap_or_default();
    at + rest.iter().take(BLANKS).take_while(|b| matches!(b, b' ' | b'\t')).count()
}

/// `Bearer TOKEN` anywhere, and the values of headers that carry credentials.
pub fn header(runs: &mut Runs, at: usize, end: usize) -> Option<Secret> {
    let name = runs.bytes.get(at..end)?;
    if name.eq_ignore_ascii_case(b"bearer") {
        let start = after_blanks(runs, end);
        let stop = runs.end(Class::Value, start);
        let looks = stop - start >= 6 && (runs.is_mixed(start, stop) || runs.is_cut(stop));
        return (start > end && looks).then_some(start..stop);
    }
    if !names::is_header(name) {
        return None;
    }
    // In JSON the name and the value have quotes, in JSON within a text escaped ones.
    let unquoted = |at: usize| {
        let marks = ["\\\"", "\"", "'"];
        marks.iter().find(|mark| runs.starts(at, mark)).map_or(at, |mark| at + mark.len())
    };
    let colon = after_blanks(runs, unquoted(end));
    if runs.byte(colon) != Some(b':') {
        return None;
    }
    let value = unquoted(after_blanks(runs, colon + 1));
    if runs.starts_caseless(value, "bearer ") {
        return None;
    }
    let schemes = ["basic ", "token ", "digest ", "negotiate ", "apikey ", "aws4-hmac-sha256 "];
    let scheme = schemes.iter().find(|scheme| runs.starts_caseless(value, scheme));
    let start = value + scheme.map_or(0, |scheme| scheme.len());
    let stop = runs.end(Class::Header, start);
    let looks = scheme.is_some() || runs.has_digit(start, stop) || runs.is_cut(stop);
    (stop > start && looks).then_some(start..stop)
}

/// `scheme://user:PASSWORD@host`, and a long token in the user's place.
pub fn url_password(runs: &mut Runs, at: usize) -> Option<Secret> {
    let scheme = runs.before(at).is_some_and(|b| b.is_ascii_alphanumeric());
    if !scheme || !runs.starts(at, "://") {
        return None;
    }
    let start = at + 3;
    let end = runs.end(Class::Authority, start);
    let authority = runs.bytes.get(start..end)?;
    let user_info = match authority.iter().rposition(|b| *b == b'@') {
        Some(length) => authority.get(..length)?,
        None if runs.is_cut(end) => authority,
        None => return None,
    };
    let stop = start + user_info.len();
    match user_info.iter().position(|b| *b == b':') {
        Some(colon) if start + colon + 1 < stop => {
            let password = start + colon + 1;
            let text = runs.bytes.get(password..stop)?;
            let is_reference = text.starts_with(b"$") || text.starts_with(b"{");
            (!is_reference).then_some(password..stop)
        }
        _ => (user_info.len() >= 16).then_some(start..stop),
    }
}

/// A program that takes a password by a flag.
struct Program {
    name: &'static str,
    flag: &'static str,
    /// The password follows the flag without a blank.
    glued: bool,
    /// Only behind the word `login`: `docker run -p` is something else.
    logs_in: bool,
}

const fn program(name: &'static str, flag: &'static str, glued: bool, logs_in: bool) -> Program {
    Program { name, flag, glued, logs_in }
}

/// With `USER%PASSWORD` behind it.
const SAMBA: &str = "-U";

const PROGRAMS: [Program; 27] = [
    program("mysql", "-p", true, false),
    program("mysqldump", "-p", true, false),
    program("mysqladmin", "-p", true, false),
    program("mysqlimport", "-p", true, false),
    program("mariadb", "-p", true, false),
    program("mariadb-dump", "-p", true, false),
    program("7z", "-p", true, false),
    program("sshpass", "-p", true, false),
    program("sshpass", "-p", false, false),
    program("docker", "-p", false, true),
    program("podman", "-p", false, true),
    program("buildah", "-p", false, true),
    program("helm", "-p", false, true),
    program("oc", "-p", false, true),
    program("az", "-p", false, true),
    program("cf", "-p", false, true),
    program("mongo", "-p", false, false),
    program("mongosh", "-p", false, false),
    program("mongodump", "-p", false, false),
    program("redis-cli", "-a", false, false),
    program("ldapsearch", "-w", false, false),
    program("sqlcmd", "-P", false, false),
    program("zip", "-P", false, false),
    program("unzip", "-P", false, false),
    program("smbclient", SAMBA, false, false),
    program("rpcclient", SAMBA, false, false),
    program("smbget", SAMBA, false, false),
];

/// What is known of the command that a flag belongs to.
#[derive(Default)]
pub struct Login {
    name: &'static str,
    logs_in: bool,
}

impl Login {
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    pub fn word(&mut self, runs: &Runs, at: usize, end: usize) {
        let word = runs.bytes.get(at..end).unwrap_or_default();
        if !(2..=12).contains(&word.len()) {
        } else if word == b"login" {
            self.logs_in = true;
        } else if let Some(known) = PROGRAMS.iter().find(|row| row.name.as_bytes() == word) {
            *self = Self { name: known.name, logs_in: false };
        }
    }

    /// `curl -u name:PASSWORD`, `sshpass -p PASSWORD`, `mysql -pPASSWORD`.
    pub fn flag(&self, runs: &mut Runs, at: usize) -> Option<Secret> {
        if runs.before(at).is_some_and(|b| !b.is_ascii_whitespace() && !b"\"'".contains(&b)) {
            return None;
        }
        if runs.starts(at, "-u ") || runs.starts(at, "--user ") || runs.starts(at, "--user=") {
            let flag = if runs.starts(at, "-u ") { 3 } else { 7 };
            let is_samba = PROGRAMS.iter().any(|row| row.name == self.name && row.flag == SAMBA);
            return user_and_password(runs, at + flag, if is_samba { b'%' } else { b':' });
        }
        let rows = PROGRAMS.iter().filter(|row| row.name == self.name);
        let flags = rows.filter(|row| self.logs_in || !row.logs_in);
        flags.into_iter().find_map(|row| {
            let after = at + row.flag.len();
            let blank = runs.byte(after).is_some_and(|b| b == b' ' || b == b'=');
            if !runs.starts(at, row.flag) || blank == row.glued {
                return None;
            }
            if row.flag == SAMBA {
                return user_and_password(runs, after + usize::from(blank), b'%');
            }
            let start = opened(runs, after + usize::from(blank));
            let end = runs.end(Class::Value, start);
            let is_reference = runs.byte(start) == Some(b'$');
            (end > start && !is_reference).then_some(start..end)
        })
    }
}

/// Behind blanks and quotes.
fn opened(runs: &Runs, at: usize) -> usize {
    let rest = runs.bytes.get(at..).unwrap_or_default();
    at + rest.iter().take(BLANKS).take_while(|b| matches!(b, b' ' | b'"' | b'\'')).count()
}

fn user_and_password(runs: &mut Runs, at: usize, joint: u8) -> Option<Secret> {
    let start = opened(runs, at);
    let end = runs.end(Class::Value, start);
    // `DOMAIN\user`
    let has_domain = runs.byte(end) == Some(b'\\');
    let end = if has_domain { runs.end(Class::Value, end + 1) } else { end };
    let value = runs.bytes.get(start..end)?;
    let password = start + value.iter().position(|b| *b == joint)? + 1;
    let is_reference = runs.byte(password) == Some(b'$');
    (password < end && !is_reference).then_some(password..end)
}
