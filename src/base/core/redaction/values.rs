//! Names and their values: `NAME=value`, `--name value`, `"name": "value"`, `name => 'value'`,
//! `<name>value</name>`, `**name**: value`, `define('NAME', 'value')`.

use crate::core::redaction::MARK;
use crate::core::redaction::classes::Class;
use crate::core::redaction::looks;
use crate::core::redaction::names::{self, Kind};
use crate::core::redaction::places::after_blanks;
use crate::core::redaction::runs::Runs;
use crate::core::redaction::scan::Secret;

/// How a name and its value are joined.
#[derive(Clone, Copy, PartialEq)]
enum Join {
    /// `=` and its like, without blanks, and the value of a flag.
    Tight,
    /// `name = value`, as in code.
    Spaced,
    Colon,
    Element,
    /// `name('value')`: only a value in quotes is one.
    Call,
    /// `'name', 'value'`, `==`, a table, nothing but a blank: only what looks like a secret is one.
    Loose,
}

/// The value of the name that stands here, if it is secret.
pub fn assigned(runs: &mut Runs, at: usize, end: usize) -> Option<Secret> {
    let name = runs.bytes.get(at..end)?;
    let kind = names::kind(name);
    // Whatever is said of a service may be its key, but only in the plainest way.
    if kind.is_none() && !matches!(runs.byte(end)?, b'=' | b':' | b' ' | b'"' | b'\'' | b'\\') {
        return None;
    }
    let (join, value) = joined(runs, at, end, kind)?;
    let value = opened(runs, join, value);
    let (secret, is_quoted) = extent(runs, join, value)?;
    if secret.is_empty() || is_reference(runs, &secret, name) {
        return None;
    }
    if runs.is_cut(secret.end) && kind.is_some_and(|kind| kind != Kind::Weak) {
        return Some(secret);
    }
    let is_secret = match kind {
        Some(Kind::Weak) => looks::random(runs, &secret, 16),
        None => {
            runs.steps += name.len().min(names::LONGEST) as u64;
            looks::random(runs, &secret, 14) && names::names_service(name)
        }
        Some(kind) => {
            let looks = looks::secret(runs, &secret, kind, is_quoted);
            match join {
                _ if is_quoted => looks::quoted(runs, &secret, kind) && (looks || !is_loose(join)),
                Join::Element => true,
                Join::Tight => looks || !looks::code(runs, &secret, name),
                Join::Spaced => {
                    looks || (kind == Kind::Password && !looks::code(runs, &secret, name))
                }
                Join::Call => false,
                Join::Colon | Join::Loose => looks,
            }
        }
    };
    is_secret.then_some(secret)
}

fn is_loose(join: Join) -> bool {
    join == Join::Loose
}

/// What joins a name with its value, and where the value is.
fn joined(runs: &Runs, at: usize, end: usize, kind: Option<Kind>) -> Option<(Join, usize)> {
    let is_flag = runs.before(at) == Some(b'-');
    let name = at;
    let closers = |b: &&u8| matches!(**b, b'\\' | b'"' | b'\'' | b'`' | b'*' | b']' | b'_');
    let rest = runs.bytes.get(end..)?;
    // A name in quotes, bold or brackets closes them first.
    let closed = end + rest.iter().take(6).take_while(closers).count();
    let is_closed = closed > end;
    let closed = after_colour(runs, closed);
    let at = after_blanks(runs, closed);
    let is_spaced = at > closed;
    let equals = if is_spaced { Join::Spaced } else { Join::Tight };
    let is = |text: &str| runs.starts(at, text);
    Some(match runs.byte(at)? {
        b'=' if is("=>") => (Join::Tight, at + 2),
        b'=' if is("===") => (Join::Loose, at + 3),
        b'=' if is("==") => (Join::Loose, at + 2),
        b'=' => (if is_flag { Join::Tight } else { equals }, at + 1),
        b':' if is(":=") => (Join::Spaced, at + 2),
        b':' if is("::") => return None,
        b':' if is_flag || is_closed && !is(":**") => (Join::Tight, at + 1),
        b':' => (Join::Colon, at + 1),
        b'-' if is("->") => (Join::Loose, at + 2),
        b'?' if is("?=") => (Join::Spaced, at + 2),
        b'|' if is("||=") => (Join::Spaced, at + 3),
        b'+' if is("+=") => (Join::Spaced, at + 2),
        b'|' if kind.is_some() => (Join::Loose, at + 1),
        b'%' if runs.starts_caseless(at, "%3d") || runs.starts_caseless(at, "%3a") => {
            (Join::Tight, at + 3)
        }
        b'>' if is_closed || opens_element(runs, name) => (Join::Element, at + 1),
        b',' if is_closed => (Join::Loose, at + 1),
        b'(' if !is_spaced && kind.is_some() => (Join::Call, at + 1),
        _ if is_spaced && is_flag => (Join::Tight, at),
        b'v' if is_closed && is("value=") => (Join::Tight, at + 6),
        _ if is_spaced && kind.is_some() => (Join::Loose, after_verb(runs, at)),
        _ => return None,
    })
}

/// `<password>` and `<db.password>`, but not `Vec<Token>`.
fn opens_element(runs: &Runs, at: usize) -> bool {
    let start = runs.start(Class::Key, at, 40);
    let is_generic = start.checked_sub(2).and_then(|at| runs.byte(at));
    runs.before(start) == Some(b'<')
        && runs.byte(start) != Some(b'/')
        && !is_generic.is_some_and(|b| Class::Word.has(b))
}

/// `the password is …`
fn after_verb(runs: &Runs, at: usize) -> usize {
    let verbs = ["is ", "was ", "to ", "= "];
    verbs.iter().find(|verb| runs.starts(at, verb)).map_or(at, |verb| at + verb.len())
}

/// Behind a colour code: `ESC [ 31 m`.
fn after_colour(runs: &Runs, at: usize) -> usize {
    if !runs.starts(at, "\u{1b}[") {
        return at;
    }
    let rest = runs.bytes.get(at + 2..).unwrap_or_default();
    let length = rest.iter().take(12).take_while(|b| b.is_ascii_digit() || **b == b';').count();
    let end = at + 2 + length;
    if runs.byte(end) == Some(b'm') { end + 1 } else { at }
}

/// A single word on a line of its own that is indented: `password:` has it there in YAML.
fn next_line(runs: &mut Runs, at: usize) -> Option<usize> {
    if runs.byte(at) != Some(b'\n') {
        return None;
    }
    let start = after_blanks(runs, at + 1);
    let end = runs.end(Class::Value, start);
    let is_alone = matches!(runs.byte(after_blanks(runs, end)), None | Some(b'\n' | b'\r'));
    let is_word = end > start && runs.byte(start) != Some(b'-') && runs.before(end) != Some(b':');
    (start > at + 1 && is_alone && is_word).then_some(start)
}

/// Behind what stands before a value: blanks, marks of bold, a type, a block's sign, a colour.
fn opened(runs: &mut Runs, join: Join, at: usize) -> usize {
    if join == Join::Element {
        return at;
    }
    let at = after_colour(runs, after_blanks(runs, at));
    let at = if runs.starts(at, "**") { after_blanks(runs, at + 2) } else { at };
    if join == Join::Colon
        && let Some(value) = next_line(runs, at)
    {
        return value;
    }
    if join != Join::Colon && join != Join::Tight {
        return at;
    }
    // `password: |` has its value on the next line.
    if let Some(b'|' | b'>') = runs.byte(at) {
        let sign = at + 1 + usize::from(matches!(runs.byte(at + 1), Some(b'-' | b'+')));
        if runs.byte(sign) == Some(b'\n') {
            return after_blanks(runs, sign + 1);
        }
    }
    typed(runs, join, at).unwrap_or(at)
}

/// `password: &str = "…"`: the value is behind the type.
fn typed(runs: &Runs, join: Join, at: usize) -> Option<usize> {
    const TYPE: usize = 40;
    if join != Join::Colon || !runs.byte(at)?.is_ascii_graphic() {
        return None;
    }
    let head = runs.bytes.get(at..)?;
    let head = head.get(..TYPE).unwrap_or(head);
    let length = head.iter().position(|b| matches!(b, b'=' | b'"' | b'\n' | b',' | b'@'))?;
    let value = after_blanks(runs, at + length + 1);
    let is_text = matches!(runs.byte(value), Some(b'"' | b'\'' | b'`'));
    (head.get(length) == Some(&b'=') && is_text).then_some(value)
}

/// Where the value is, and whether it stands in quotes.
fn extent(runs: &mut Runs, join: Join, at: usize) -> Option<(Secret, bool)> {
    if join == Join::Element {
        return Some((at..runs.end(Class::Element, at), false));
    }
    let rest = runs.bytes.get(at..)?;
    // `b"…"`, `r'…'`, `@"…"`
    let letter = matches!(rest, [b'b' | b'r' | b'u' | b'f' | b'L' | b'@', b'"' | b'\'', ..]);
    let at = at + usize::from(letter);
    let slashes = rest.iter().take(4).take_while(|b| **b == b'\\').count();
    let open = at + slashes;
    match runs.byte(open) {
        Some(quote @ (b'"' | b'\'' | b'`')) => {
            // `"""…"""`
            let ends = [open + 1, open + 2];
            if slashes == 0 && quote != b'`' && ends.iter().all(|at| runs.byte(*at) == Some(quote))
            {
                let start = open + 3;
                let rest = runs.bytes.get(start..)?;
                let length = rest.windows(3).position(|part| part == [quote; 3]);
                let length = length.unwrap_or(rest.len());
                runs.steps += length as u64;
                return Some((start..start + length, true));
            }
            let inner = runs.bytes.get(open + 1..)?;
            let length = quoted_length(inner, quote, slashes > 0);
            runs.steps += length as u64;
            Some((open + 1..open + 1 + length, true))
        }
        _ => Some((at..runs.end(Class::Value, at), false)),
    }
}

/// Up to the closing quote. Inside a JSON text the quotes themselves are escaped, and what is
/// escaped inside a plain quoted text does not end it.
fn quoted_length(inner: &[u8], quote: u8, quotes_are_escaped: bool) -> usize {
    let mut escaped = false;
    for (at, b) in inner.iter().enumerate() {
        if *b == quote && escaped == quotes_are_escaped {
            return if escaped { at - 1 } else { at };
        }
        escaped = *b == b'\\' && !escaped;
    }
    inner.len()
}

/// A variable, a placeholder, or what was redacted before.
fn is_reference(runs: &Runs, secret: &Secret, name: &[u8]) -> bool {
    let value = runs.bytes.get(secret.clone()).unwrap_or_default();
    let words = ["null", "none", "nil", "true", "false", "undefined", "string", "str", "required"];
    let same = value.iter().all(|b| value.first() == Some(b)) && value.len() > 2;
    let opens = ["$", "{{", "{", "%s", "%(", "<", "...", "…", "process.env", "os.environ"];
    opens.iter().any(|open| value.starts_with(open.as_bytes()))
        // The mark's bracket ends a value.
        || runs.starts(secret.start, MARK)
        || words.iter().any(|word| value.eq_ignore_ascii_case(word.as_bytes()))
        || value.eq_ignore_ascii_case(name)
        || (same && b"*x.-X#".contains(value.first().unwrap_or(&b'*')))
}
