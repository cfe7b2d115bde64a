//! Texts with and without secrets. What is secret in them is made up when the test runs, so that
//! nothing in the repository looks like a secret.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::dice::Dice;

pub const PROVIDERS: &str = include_str!("../corpus/providers.txt");
pub const FORMS: &str = include_str!("../corpus/forms.txt");
const ORDINARY: &str = include_str!("../corpus/ordinary.txt");

/// Shorter parts may be in the text by chance.
const SHORTEST: usize = 5;

pub struct Shape {
    pub name: String,
    pub text: String,
    /// What must not be left.
    pub secrets: Vec<String>,
}

/// Every line of a table, filled in.
pub fn shapes(table: &str, dice: &mut Dice) -> Vec<Shape> {
    let rows = table.lines().filter(|line| !line.starts_with('#'));
    rows.map(|row| {
        let Some((name, template)) = row.split_once('\t') else {
            panic!("not a name, a tab and a text: {row}");
        };
        let (text, parts) = fill(template, dice);
        // What is too short by itself is secret with the rest of its value.
        let secrets = parts.into_iter().filter(|part| part.len() >= SHORTEST).collect();
        Shape { name: name.to_owned(), text, secrets }
    })
    .collect()
}

/// The text of a template, and the parts that were made up.
fn fill(template: &str, dice: &mut Dice) -> (String, Vec<String>) {
    let template = template.replace("\\n", "\n").replace("\\e", "\u{1b}");
    let mut text = String::new();
    let mut parts = Vec::new();
    let mut rest = template.as_str();
    while let Some((before, from)) = rest.split_once('{') {
        text.push_str(before);
        let part = from.split_once('}').and_then(|(what, after)| Some((part(what, dice)?, after)));
        let Some((part, after)) = part else {
            text.push('{');
            rest = from;
            continue;
        };
        text.push_str(&part);
        if part != DASHES {
            parts.push(part);
        }
        rest = after;
    }
    text.push_str(rest);
    (text, parts)
}

const DASHES: &str = "-----";

fn part(what: &str, dice: &mut Dice) -> Option<String> {
    const SMALL: &str = "abcdefghijklmnopqrstuvwxyz";
    const LARGE: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const DIGITS: &str = "0123456789";
    if what == "dash" {
        return Some(DASHES.into());
    }
    if what == "U" {
        let groups = [8, 4, 4, 4, 12].map(|length| part(&format!("h{length}"), dice));
        return Some(groups.map(Option::unwrap_or_default).join("-"));
    }
    let (kind, length) = what.split_at_checked(1)?;
    let length: usize = length.parse().ok()?;
    let letters = match kind {
        "a" => format!("{SMALL}{LARGE}{DIGITS}"),
        "l" => format!("{SMALL}{DIGITS}"),
        "x" => format!("{SMALL}{LARGE}"),
        "u" => format!("{LARGE}{DIGITS}"),
        "t" => format!("{LARGE}234567"),
        "h" => format!("{DIGITS}abcdef"),
        "d" => DIGITS.into(),
        "k" => format!("{SMALL}{LARGE}{DIGITS}-_"),
        "b" => format!("{SMALL}{LARGE}{DIGITS}+/"),
        _ => return None,
    };
    let letters: Vec<char> = letters.chars().collect();
    let mut made: String = (0..length).map(|_| dice.one(&letters)).collect();
    // A value as people and machines make them has a digit, and no sign at its ends.
    if length >= 8 && !matches!(kind, "x" | "d") {
        let digit = dice.roll(8) + 2;
        made.replace_range(length / 2..=length / 2, &digit.to_string());
        made.replace_range(..1, if kind == "u" || kind == "t" { "Q" } else { "b" });
        made.replace_range(length - 1.., &digit.to_string());
    }
    Some(made)
}

/// Lines that have no secret: of this repository, and such as come near to one.
pub fn ordinary(count: usize, dice: &mut Dice) -> Vec<String> {
    let mut near = BTreeSet::new();
    for template in ORDINARY.lines() {
        for _ in 0..10 {
            near.insert(fill(template, dice).0);
        }
    }
    let own = own_lines();
    // Those that speak of secrets first, then the others, evenly.
    let speaks = |line: &String| {
        let line = line.to_lowercase();
        ["token", "password", "secret", "key"].iter().any(|word| line.contains(word))
    };
    let (speaking, others): (Vec<String>, Vec<String>) = own.into_iter().partition(speaks);
    let mut lines: Vec<String> = near.into_iter().collect();
    lines.extend(every(speaking, 300));
    let missing = count.saturating_sub(lines.len());
    lines.extend(every(others, missing));
    lines
}

/// So many of a list, evenly.
fn every(list: Vec<String>, count: usize) -> Vec<String> {
    let step = (list.len() / count.max(1)).max(1);
    list.into_iter().step_by(step).take(count).collect()
}

/// The lines of the repository, but for those that are about secrets to test with.
fn own_lines() -> BTreeSet<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut lines = BTreeSet::new();
    let mut waiting: Vec<PathBuf> =
        ["src", "docs", "tests/transcripts", "tests/payloads", "benches", "hooks"]
            .map(|name| root.join(name))
            .into();
    waiting.extend(["README.md", "ARCHITECTURE.md", "Cargo.lock"].map(|name| root.join(name)));
    while let Some(path) = waiting.pop() {
        if path.ends_with("core/redaction") {
            continue;
        }
        if path.is_dir() {
            waiting.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if let Ok(text) = fs::read_to_string(&path) {
            lines.extend(text.lines().filter(|line| line.len() > 3).map(str::to_owned));
        }
    }
    lines
}
