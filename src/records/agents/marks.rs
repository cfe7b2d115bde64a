//! Severity marks: `[S1]`, `**High**`, `P2:`. Only whole marks count, and only where they are marked
//! as such; a word that merely contains "s3" is none.

use crate::core::words::{find_phrase, words};

/// The severity mark of an item and the item without it: bracketed anywhere, or bold or before a
/// colon at the beginning.
pub fn split_severity(item: &str) -> Option<(&'static str, String)> {
    leading(item).or_else(|| bracketed(item)).or_else(|| named(item))
}

fn leading(item: &str) -> Option<(&'static str, String)> {
    let item = item.trim_start_matches(|c: char| !c.is_ascii() || c == ' ');
    let plain = item.trim_start_matches(['*', '_', '`', '[', '(', ' ']);
    let decorated = plain.len() < item.len();
    let length = plain.bytes().take_while(u8::is_ascii_alphanumeric).count();
    let severity = severity(plain.get(..length)?)?;
    let rest = plain.get(length..)?;
    let rest = [" severity", " priority"].iter().find_map(|w| rest.strip_prefix(w)).unwrap_or(rest);
    let behind = rest.trim_start_matches(['*', '_', '`', ']', ')', ':']);
    let text = behind.trim_start_matches([' ', '-', '–', '—', '|', ':']);
    let closed = rest.starts_with(['*', '_', '`', ']', ')']) && decorated;
    let colon = rest.starts_with(':');
    // A whole bold line, as in `**S1 – Missing limit**`, or `High - Missing limit`.
    let dashed = match item.starts_with("**") {
        true => rest.trim_start().starts_with(['-', '–', '—', '|']),
        false => [" - ", " – ", " — "].iter().any(|dash| rest.starts_with(dash)),
    };
    // The mark stands inside what is bold: the rest of that is bold, too.
    let mark = rest.get(..rest.len() - behind.len())?;
    let is_bold = item.starts_with("**") && !mark.contains("**") && text.contains("**");
    let text = if is_bold { format!("**{text}") } else { text.to_owned() };
    (closed || colon || dashed).then_some((severity, text))
}

/// The severity mark at the beginning of a paragraph: only what is clearly meant as one.
pub fn split_paragraph(line: &str) -> Option<(&'static str, String)> {
    let is_dashed = || {
        let rest = line.trim_start_matches(|c: char| c.is_ascii_alphabetic());
        [" - ", " – ", " — "].iter().any(|dash| rest.starts_with(dash))
    };
    let is_meant = line.starts_with("**") || line.starts_with('[') || is_dashed();
    leading(line).filter(|(_, text)| is_meant && !text.trim().is_empty())
}

/// Whether a heading is a severity and nothing else: `Critical Issues (2)`, `🔴 High`, but not
/// `High-level overview`.
pub fn severity_heading(text: &str) -> Option<&'static str> {
    let lower = text.to_ascii_lowercase();
    if lower.contains("-level") || text.len() > 60 {
        return None;
    }
    let mut found = None;
    for word in words(&lower) {
        match heading_severity(word) {
            Some(severity) if found.is_none() => found = Some(severity),
            Some(_) => return None,
            None if ASIDE.contains(&word) || word.bytes().all(|b| b.is_ascii_digit()) => {}
            None => return None,
        }
    }
    found
}

/// Words that may stand beside the severity in a heading.
const ASIDE: &[&str] = &[
    "issue",
    "issues",
    "priority",
    "severity",
    "finding",
    "findings",
    "problem",
    "problems",
    "risk",
    "risks",
    "bug",
    "bugs",
    "level",
    "impact",
    "concern",
    "concerns",
    "security",
    "found",
    "fix",
    "must",
    "should",
    "vulnerabilities",
];

fn heading_severity(word: &str) -> Option<&'static str> {
    match word {
        "blockers" => Some("S0"),
        "nits" => Some("S3"),
        "s0" | "p0" => Some("S0"),
        "s1" | "p1" => Some("S1"),
        "s2" | "p2" => Some("S2"),
        "s3" | "p3" => Some("S3"),
        word => severity(word),
    }
}

/// The severity that a short text begins with: `🔴 Critical`, `**High** (8.1)`.
pub fn first_severity(text: &str) -> Option<&'static str> {
    words(text).next().and_then(severity)
}

/// The severity in `(severity: high)`, `[High severity]` or `(**High**)`.
fn inside_brackets(text: &str) -> Option<&'static str> {
    let mut words = words(text);
    let (first, second) = (words.next()?, words.next());
    let is_name =
        |word: &str| ["severity", "priority"].iter().any(|name| word.eq_ignore_ascii_case(name));
    match (second, words.next()) {
        (None, _) if text.trim_matches(['*', '`', ' ']) == first => severity(first),
        (Some(second), None) if is_name(first) => severity(second),
        (Some(second), None) if is_name(second) => severity(first),
        _ => None,
    }
}

/// `severity: high` or `severity=high` somewhere in an item.
fn named(item: &str) -> Option<(&'static str, String)> {
    let head = item.get(..item.floor_char_boundary(600))?;
    let at = find_phrase(head, "severity")?;
    let rest = item.get(at + "severity".len()..)?;
    let value = rest.trim_start_matches(['*', ' ']).strip_prefix([':', '='])?;
    let value = value.trim_start_matches(['*', ' ']);
    let length = value.bytes().take_while(u8::is_ascii_alphanumeric).count();
    let severity = severity(value.get(..length)?)?;
    let before = item.get(..at)?.trim_end_matches([' ', '*', '-', '–', '—', ',', ';', '(', '[']);
    Some((severity, format!("{before}\n{}", value.get(length..)?.trim_start())))
}

fn bracketed(item: &str) -> Option<(&'static str, String)> {
    // A mark stands in the first lines, and is short.
    const LONGEST: usize = 40;
    let head = item.get(..item.floor_char_boundary(600))?;
    for (open, close) in [("[", "]"), ("(", ")"), ("**", "**")] {
        let mut from = 0;
        while let Some(at) = head.get(from..).and_then(|rest| rest.find(open)) {
            let at = from + at;
            let inside = item.get(at + open.len()..)?;
            let near = inside.get(..inside.floor_char_boundary(LONGEST))?;
            if let Some(end) = near.find(close)
                && let Some(severity) = near.get(..end).and_then(inside_brackets)
            {
                let before = item.get(..at)?.trim_end_matches([' ', '*', '-', '–', '—']);
                let after = inside.get(end + close.len()..)?.trim_start_matches('*');
                // What stands before the mark is the title.
                let between = if after.trim().is_empty() { "" } else { "\n" };
                return Some((severity, format!("{before}{between}{}", after.trim_start())));
            }
            from = at + open.len();
        }
    }
    None
}

/// `S1`, `P1`, `High` and the like as the seed's S0–S3.
pub fn severity(word: &str) -> Option<&'static str> {
    Some(match word {
        "S0" | "P0" => "S0",
        "S1" | "P1" => "S1",
        "S2" | "P2" => "S2",
        "S3" | "P3" => "S3",
        word if word.eq_ignore_ascii_case("critical") => "S0",
        word if word.eq_ignore_ascii_case("blocker") => "S0",
        word if word.eq_ignore_ascii_case("major") => "S1",
        word if word.eq_ignore_ascii_case("moderate") => "S2",
        word if word.eq_ignore_ascii_case("minor") => "S3",
        word if word.eq_ignore_ascii_case("nit") => "S3",
        word if word.eq_ignore_ascii_case("high") => "S1",
        word if word.eq_ignore_ascii_case("medium") => "S2",
        word if word.eq_ignore_ascii_case("low") => "S3",
        _ => return None,
    })
}
