//! What a secret looks like. A rule looks at the text from the beginning of a word and says which
//! bytes behind it are secret.

use std::ops::Range;

use crate::core::redaction::MARK;

pub type Rule = fn(&str) -> Option<Range<usize>>;

/// Each looks at the text from a word's beginning and gives the secret's bytes, counted from there.
pub const ALL: [Rule; 7] =
    [private_key, known_key, jwt, authorization, url_password, login_flag, assignment];

/// `-----BEGIN … PRIVATE KEY-----` to its end, or to the end of the text.
fn private_key(rest: &str) -> Option<Range<usize>> {
    let head = rest.strip_prefix("-----BEGIN ")?;
    let title = head.get(..head.find("-----")?)?;
    if !title.contains("PRIVATE KEY") {
        return None;
    }
    let end = rest.find("-----END ").and_then(|at| {
        let tail = rest.get(at + 9..)?;
        Some(at + 9 + tail.find("-----")? + 5)
    });
    Some(0..end.unwrap_or(rest.len()))
}

/// Prefixes that only keys have, and how much must follow.
const PREFIXES: [(&str, usize); 62] = [
    ("sk-", 16),
    ("sk_live_", 10),
    ("sk_test_", 10),
    ("rk_live_", 10),
    ("rk_test_", 10),
    ("pk_live_", 10),
    ("whsec_", 16),
    ("ghp_", 20),
    ("gho_", 20),
    ("ghu_", 20),
    ("ghs_", 20),
    ("ghr_", 20),
    ("github_pat_", 20),
    ("glpat-", 16),
    ("gldt-", 16),
    ("glrt-", 16),
    ("glcbt-", 16),
    ("xoxb-", 10),
    ("xoxp-", 10),
    ("xoxa-", 10),
    ("xoxr-", 10),
    ("xoxs-", 10),
    ("xoxe.", 10),
    ("xapp-", 10),
    ("AKIA", 16),
    ("ASIA", 16),
    ("AIza", 30),
    ("ya29.", 20),
    ("GOCSPX-", 16),
    ("npm_", 30),
    ("pypi-", 30),
    ("dckr_pat_", 16),
    ("hf_", 20),
    ("SG.", 20),
    ("shpat_", 20),
    ("shpss_", 20),
    ("shpca_", 20),
    ("lin_api_", 20),
    ("dop_v1_", 20),
    ("doo_v1_", 20),
    ("sq0atp-", 16),
    ("sq0csp-", 16),
    ("sntrys_", 20),
    ("figd_", 20),
    ("rubygems_", 20),
    ("nvapi-", 20),
    ("gsk_", 20),
    ("xai-", 20),
    ("pplx-", 20),
    ("r8_", 20),
    ("tvly-", 16),
    ("secret_", 30),
    ("ntn_", 20),
    ("PMAK-", 20),
    ("NRAK-", 16),
    ("dapi", 32),
    ("AGE-SECRET-KEY-1", 20),
    ("hvs.", 20),
    ("hvb.", 20),
    ("tskey-", 12),
    ("sbp_", 20),
    ("ATATT3", 20),
];

fn known_key(rest: &str) -> Option<Range<usize>> {
    let (prefix, least) = PREFIXES.iter().find(|(prefix, _)| rest.starts_with(prefix))?;
    let length = rest.bytes().take_while(|b| is_key_byte(*b)).count();
    let body = rest.get(prefix.len()..length)?;
    let upper = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit();
    let fits = match *prefix {
        "AKIA" | "ASIA" => body.len() == *least && body.bytes().all(upper),
        "dapi" => body.len() >= *least && body.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-'),
        // Names such as `sk-learn-something-long` are words; keys have digits.
        _ => body.len() >= *least && body.bytes().any(|b| b.is_ascii_digit()),
    };
    fits.then_some(0..length)
}

/// Three parts of base64, the first two of them JSON objects.
fn jwt(rest: &str) -> Option<Range<usize>> {
    rest.strip_prefix("eyJ")?;
    let length = rest.bytes().take_while(|b| is_key_byte(*b)).count();
    let token = rest.get(..length)?;
    let mut parts = token.split('.');
    let long = |part: Option<&str>| part.is_some_and(|part| part.len() >= 8);
    (long(parts.next()) && long(parts.next())).then_some(0..length)
}

/// Headers that carry credentials.
const HEADERS: [&str; 4] = ["authorization", "proxy-authorization", "cookie", "set-cookie"];

pub fn is_secret_header(name: &str) -> bool {
    HEADERS.iter().any(|header| header.eq_ignore_ascii_case(name))
}

/// `Bearer TOKEN` anywhere, and the values of headers that carry credentials.
fn authorization(rest: &str) -> Option<Range<usize>> {
    if let Some(after) = strip_word(rest, "bearer") {
        let blanks = after.bytes().take_while(|b| *b == b' ').count();
        let token = after.get(blanks..)?;
        let length = token.bytes().take_while(|b| !ends_value(*b)).count();
        let start = rest.len() - token.len();
        return (blanks > 0 && length >= 6).then_some(start..start + length);
    }
    let after = HEADERS.iter().find_map(|name| strip_word(rest, name))?;
    // In JSON the name and the value have quotes, in JSON within a text escaped ones.
    let unquoted = |text| {
        let marks = ["\\\"", "\"", "'"];
        marks.iter().find_map(|mark| str::strip_prefix(text, *mark)).unwrap_or(text)
    };
    let value = unquoted(after).trim_start_matches(' ').strip_prefix(':')?;
    let value = unquoted(value.trim_start_matches(' '));
    let value = ["basic ", "token ", "digest ", "negotiate ", "apikey "]
        .iter()
        .find_map(|scheme| strip_caseless(value, scheme))
        .unwrap_or(value);
    let length = value.find(['"', '\'', '\n', '\r', '\\']).unwrap_or(value.len());
    let start = rest.len() - value.len();
    (length > 0 && !value.to_ascii_lowercase().starts_with("bearer "))
        .then_some(start..start + length)
}

/// `scheme://user:PASSWORD@host`, and a long token in the user's place. Also the webhooks whose
/// path is the secret.
fn url_password(rest: &str) -> Option<Range<usize>> {
    let scheme =
        rest.bytes().take_while(|b| b.is_ascii_alphanumeric() || b"+.-".contains(b)).count();
    let after = rest.get(scheme..)?.strip_prefix("://")?;
    if scheme == 0 {
        return None;
    }
    let start = scheme + 3;
    for hook in ["hooks.slack.com/services/", "discord.com/api/webhooks/"] {
        if let Some(path) = after.strip_prefix(hook) {
            let length = path.bytes().take_while(|b| !ends_value(*b)).count();
            return Some(start + hook.len()..start + hook.len() + length);
        }
    }
    let authority = after.find(['/', ' ', '"', '\'', '\n', '?', '#']).unwrap_or(after.len());
    let user_info = after.get(..after.get(..authority)?.rfind('@')?)?;
    match user_info.split_once(':') {
        Some((user, password)) if !password.is_empty() => {
            let at = start + user.len() + 1;
            Some(at..at + password.len())
        }
        _ => (user_info.len() >= 16).then_some(start..start + user_info.len()),
    }
}

/// `curl -u name:PASSWORD`, `sshpass -p PASSWORD`, `mysql -pPASSWORD`.
fn login_flag(rest: &str) -> Option<Range<usize>> {
    if let Some(after) = rest.strip_prefix("-u ").or_else(|| rest.strip_prefix("--user ")) {
        let value = after.trim_start_matches([' ', '"', '\'']);
        let length = value.bytes().take_while(|b| !ends_value(*b)).count();
        let (name, password) = value.get(..length)?.split_once(':')?;
        let at = rest.len() - value.len() + name.len() + 1;
        return (!password.is_empty()).then_some(at..at + password.len());
    }
    if let Some(after) = rest.strip_prefix("sshpass -p") {
        let value = after.trim_start_matches([' ', '"', '\'']);
        let start = rest.len() - value.len();
        return Some(start..start + value.bytes().take_while(|b| !ends_value(*b)).count());
    }
    let glued = ["mysql ", "mysqldump ", "mysqladmin ", "mariadb "];
    let spaced = ["docker login ", "podman login ", "helm registry login ", "oc login "];
    let is = |names: &[&str]| names.iter().any(|name| rest.starts_with(name));
    let flag = match (is(&glued), is(&spaced)) {
        (true, _) => " -p",
        (_, true) => " -p ",
        _ => return None,
    };
    let line = rest.get(..rest.find(['\n', '|', ';']).unwrap_or(rest.len()))?;
    let at = line.find(flag)? + flag.len();
    let value = line.get(at..)?.trim_start_matches(['"', '\'']);
    let at = line.len() - value.len();
    Some(at..at + value.bytes().take_while(|b| !ends_value(*b)).count())
}

/// Names whose values are secret, alone or at the end of a longer name (`DB_PASSWORD`).
const SECRET_NAMES: [&str; 24] = [
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "secret",
    "token",
    "api_key",
    "apikey",
    "access_key",
    "accesskey",
    "secret_key",
    "secretkey",
    "private_key",
    "privatekey",
    "auth_key",
    "account_key",
    "accountkey",
    "client_secret",
    "credential",
    "credentials",
    "session_key",
    "encryption_key",
    "signing_key",
    "authtoken",
];

/// `DB_PASSWORD`, `api-key`, `accessToken`.
pub fn is_secret_name(name: &str) -> bool {
    let lower = name.to_ascii_lowercase().replace('-', "_");
    let camel = |at: usize| name.as_bytes().get(at).is_some_and(u8::is_ascii_uppercase);
    SECRET_NAMES.iter().any(|known| {
        lower
            .strip_suffix(known)
            .is_some_and(|before| before.is_empty() || before.ends_with('_') || camel(before.len()))
    }) || lower.ends_with("password")
        || lower.ends_with("secret")
}

/// Up to the closing quote. Inside a JSON text the quotes themselves are escaped, and what is
/// escaped inside a plain quoted text does not end it.
fn quoted_length(inner: &str, quote: char, quotes_are_escaped: bool) -> usize {
    let mut before = None;
    for (at, c) in inner.char_indices() {
        let escaped = before == Some('\\');
        if c == quote && escaped == quotes_are_escaped {
            return if escaped { at - 1 } else { at };
        }
        before = if escaped && c == '\\' { None } else { Some(c) };
    }
    inner.len()
}

/// `NAME=value`, `--name value`, `"name": "value"`, `name: value`.
fn assignment(rest: &str) -> Option<Range<usize>> {
    let dashes = rest.bytes().take_while(|b| *b == b'-').count();
    let name_length = rest
        .bytes()
        .skip(dashes)
        .take_while(|b| b.is_ascii_alphanumeric() || *b == b'_' || *b == b'-')
        .count();
    let end = dashes + name_length;
    let name = rest.get(dashes..end)?;
    if !is_secret_name(name) {
        return None;
    }
    let after = rest.get(end..)?;
    // A quoted name closes its quote first: `"password": "…"`, also inside an escaped string.
    let unquoted = after.trim_start_matches(['\\', '"', '\'']);
    let quoted_name = unquoted.len() < after.len();
    let spaced = unquoted.trim_start_matches(' ');
    let flag = dashes > 0 || quoted_name;
    let (value, sure) = match spaced.chars().next() {
        Some('=') => (spaced.get(1..)?, true),
        Some(':') => (spaced.get(1..)?, flag),
        Some(_) if dashes > 0 && spaced.len() < unquoted.len() => (spaced, true),
        Some(_) if name.eq_ignore_ascii_case("password") && spaced.len() < unquoted.len() => {
            (spaced, false)
        }
        _ => return None,
    };
    let value = value.trim_start_matches(' ');
    let opened = value.trim_start_matches('\\');
    let quote = opened.chars().next().filter(|c| matches!(c, '"' | '\''));
    let (start, length) = match quote {
        Some(quote) => {
            let inner = opened.get(1..)?;
            let escaped = opened.len() < value.len();
            (rest.len() - inner.len(), quoted_length(inner, quote, escaped))
        }
        None => {
            let length = value.bytes().take_while(|b| !ends_value(*b)).count();
            (rest.len() - value.len(), length)
        }
    };
    let text = rest.get(start..start + length)?;
    // In prose ("unexpected token: foo") only what looks like a secret is one. A reference to a
    // variable is none.
    let looks = text.len() >= 6 && text.bytes().any(|b| b.is_ascii_digit());
    let reference = text.starts_with('$') || text.starts_with("{{") || text.starts_with(MARK);
    (length > 0 && !reference && (sure || quote.is_some() || looks))
        .then_some(start..start + length)
}

fn is_key_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b"_-.=/+".contains(&b)
}

fn ends_value(b: u8) -> bool {
    b.is_ascii_whitespace() || b"\"'`&|;,<>()[]{}\\".contains(&b)
}

fn strip_caseless<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let head = text.get(..prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then(|| text.get(prefix.len()..)).flatten()
}

/// The text behind a word that ends there.
fn strip_word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let rest = strip_caseless(text, word)?;
    let goes_on = rest.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric() || b == b'_');
    (!goes_on).then_some(rest)
}
