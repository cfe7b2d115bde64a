//! What compilers, type checkers and linters print: whether a message has such a diagnostic, and
//! whether it is about syntax.

use crate::core::words::has_phrase;
use crate::errors::document::Class;

/// The class of the first diagnostic in a message.
pub fn class(message: &str) -> Option<Class> {
    let mut lines = message.lines().peekable();
    while let Some(line) = lines.next() {
        let next = lines.peek().copied().unwrap_or_default();
        if let Some(is_syntax) = diagnostic(line, next) {
            return Some(if is_syntax { Class::Syntax } else { Class::Deterministic });
        }
    }
    None
}

/// Whether a line is a diagnostic, and then whether it is about syntax.
fn diagnostic(line: &str, next: &str) -> Option<bool> {
    if line.starts_with("error[E") {
        return Some(false);
    }
    if let Some(text) = line.strip_prefix("error: ")
        && next.trim_start().starts_with("--> ")
    {
        return Some(is_grammar(text));
    }
    if let Some(number) = code(line, "error TS") {
        // The grammar of the language has the numbers up to here.
        return Some((1000..1200).contains(&number));
    }
    if let Some(number) = code(line, "error CS") {
        return Some(matches!(number, 1001..=1003 | 1026 | 1513 | 1514 | 1519 | 1525));
    }
    if has_phrase(line, "parsing error") {
        return Some(true);
    }
    let text = behind_place(line)?;
    match text.strip_prefix("error: ").or_else(|| text.strip_prefix("fatal error: ")) {
        Some(text) => Some(is_grammar(text)),
        None => {
            let is_go = line.contains(".go:");
            (is_go || line.contains(":[")).then(|| text.starts_with("syntax error"))
        }
    }
}

/// Words in which parsers say what they did not find.
fn is_grammar(text: &str) -> bool {
    text.starts_with("expected ")
        || text.ends_with("' expected")
        || [
            "unclosed delimiter",
            "closing delimiter",
            "unexpected token",
            "unterminated",
            "reached end of file while parsing",
            "illegal start of",
            "class, interface, enum",
            "invalid syntax",
            "syntax error",
        ]
        .iter()
        .any(|phrase| has_phrase(text, phrase))
}

/// The number behind `error TS` and the like.
fn code(line: &str, mark: &str) -> Option<u32> {
    let (_, rest) = line.split_once(mark)?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// What stands behind `src/a.c:3:7: `, `a.java:3: ` or `A.java:[3,7] `.
fn behind_place(line: &str) -> Option<&str> {
    let (place, text) = line.split_once(": ").or_else(|| line.split_once("] "))?;
    let (place, text) = match place {
        "vet" | "[ERROR" => text.split_once(": ").or_else(|| text.split_once("] "))?,
        _ => (place, text),
    };
    let (file, position) = place.split_once(':')?;
    let is_position = |c: char| c.is_ascii_digit() || matches!(c, ':' | ',' | '[');
    (file.contains('.') && !position.is_empty() && position.chars().all(is_position))
        .then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn diagnostics_are_about_syntax_or_not() {
        for (line, is_syntax) in [
            ("error[E0382]: borrow of moved value", Some(false)),
            ("src/a.ts(3,9): error TS1005: ';' expected.", Some(true)),
            ("src/a.ts(3,9): error TS2304: Cannot find name", Some(false)),
            ("src/main.c:8:14: error: expected ';' before 'return'", Some(true)),
            ("src/Main.java:5: error: ';' expected", Some(true)),
            ("cmd/main.go:12:2: undefined: timeout", Some(false)),
            ("vet: cmd/main.go:9:1: syntax error: unexpected }", Some(true)),
            ("error: failed to get `serde` as a dependency", None),
            ("src/net.ts:12:  if (e.code === x)", None),
            ("curl: (7) Failed to connect", None),
            ("2026-01-12 10:00:00: error: x", None),
        ] {
            assert_eq!(diagnostic(line, ""), is_syntax, "{line}");
        }
    }
}
