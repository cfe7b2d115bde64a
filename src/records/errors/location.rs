//! Files and lines that a text names.

/// The file and line that a diagnostic names: `src/a.ts:3`, `File "a.py", line 3`, `a.ts(3,9)`.
pub fn find(message: &str) -> Option<(String, u64)> {
    // The last frame of a Python traceback is where it happened.
    let python = message.lines().rev().find_map(python_place);
    python.or_else(|| first_place(message))
}

fn first_place(message: &str) -> Option<(String, u64)> {
    let mut above = "";
    for line in message.lines() {
        if let Some(place) = colon_place(line)
            .or_else(|| bracket_place(line))
            .or_else(|| worded_place(line))
            .or_else(|| place_below(above, line))
        {
            return Some(place);
        }
        if !line.starts_with(' ') {
            above = line;
        }
    }
    None
}

fn python_place(line: &str) -> Option<(String, u64)> {
    let (_, rest) = line.split_once("File \"")?;
    let (file, rest) = rest.split_once("\", line ")?;
    Some((is_file_name(file).then(|| file.to_owned())?, leading_number(rest)?))
}

fn colon_place(line: &str) -> Option<(String, u64)> {
    line.split([' ', '\t', '(', ')', ',', '\'', '"']).find_map(file_and_line)
}

/// `src/a.ts(3,9): ` and `A.java:[3,9] `.
fn bracket_place(line: &str) -> Option<(String, u64)> {
    line.split_whitespace().find_map(|word| {
        let (file, rest) = word.split_once(":[").or_else(|| word.split_once('('))?;
        Some((is_file_name(file).then(|| file.to_owned())?, leading_number(rest)?))
    })
}

/// `in /a/b.php on line 12` and `a.sh: line 14: `.
fn worded_place(line: &str) -> Option<(String, u64)> {
    let (before, rest) = line.split_once(" on line ").or_else(|| line.split_once(": line "))?;
    let file = before.rsplit(' ').next()?;
    Some((is_file_name(file).then(|| file.to_owned())?, leading_number(rest)?))
}

/// Linters name the file on a line of its own, and `  5:7  error` below it.
fn place_below(above: &str, line: &str) -> Option<(String, u64)> {
    let position = line.strip_prefix("  ")?.trim_start();
    let (row, rest) = position.split_once(':')?;
    let row = row.parse().ok()?;
    leading_number(rest)?;
    is_file_name(above).then(|| (above.to_owned(), row))
}

fn leading_number(text: &str) -> Option<u64> {
    let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

/// `src/a.ts:3` or `src/a.ts:3:7`; the file has an extension, so that hosts and ports do not count.
pub fn file_and_line(word: &str) -> Option<(String, u64)> {
    let mut parts = word.split(':');
    let file = parts.next()?;
    let line = leading_number(parts.next()?)?;
    is_file_name(file).then(|| (file.to_owned(), line))
}

/// Something with an extension of letters: `login.ts`, not `127.0.0.1` and not `[eval]`.
pub fn is_file_name(word: &str) -> bool {
    let Some((stem, extension)) = word.rsplit_once('.') else { return false };
    let name = stem.rsplit('/').next().unwrap_or(stem);
    !name.is_empty()
        && (1..=5).contains(&extension.len())
        && extension.bytes().all(|b| b.is_ascii_alphanumeric())
        && extension.bytes().any(|b| b.is_ascii_alphabetic())
        && !word.contains("://")
        && (word.contains('/') || !matches!(extension, "com" | "org" | "net" | "io" | "dev" | "ai"))
        && word.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-/@+~".contains(&b) || b >= 0x80)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_files() {
        assert_eq!(find("  File \"a/b.py\", line 12\n"), Some(("a/b.py".into(), 12)));
        assert_eq!(find("at src/x.ts:3:7"), Some(("src/x.ts".into(), 3)));
        assert_eq!(find("a.ts(3,9): error TS1005"), Some(("a.ts".into(), 3)));
        assert_eq!(find("x in /a/b.php on line 12"), Some(("/a/b.php".into(), 12)));
        assert_eq!(find("\n/a/b.js\n  5:7  error  x"), Some(("/a/b.js".into(), 5)));
        assert_eq!(find("[eval]:1\n127.0.0.1:80 node:internal/vm:185:14"), None);
    }
}
