//! Files and lines that a text names.

/// The file and line that a syntax error names: `src/a.ts:3`, `File "a.py", line 3`.
pub fn find(message: &str) -> Option<(String, u64)> {
    message.lines().find_map(|line| python_place(line).or_else(|| colon_place(line)))
}

fn python_place(line: &str) -> Option<(String, u64)> {
    let (_, rest) = line.split_once("File \"")?;
    let (file, rest) = rest.split_once("\", line ")?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    Some((file.to_owned(), digits.parse().ok()?))
}

fn colon_place(line: &str) -> Option<(String, u64)> {
    line.split([' ', '\t', '(', ')', ',', '\'', '"']).find_map(file_and_line)
}

/// `src/a.ts:3` or `src/a.ts:3:7`; the file has an extension, so that hosts and ports do not count.
pub fn file_and_line(word: &str) -> Option<(String, u64)> {
    let mut parts = word.split(':');
    let file = parts.next()?;
    let line: String = parts.next()?.chars().take_while(char::is_ascii_digit).collect();
    is_file_name(file).then_some(())?;
    Some((file.to_owned(), line.parse().ok()?))
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
        assert_eq!(find("[eval]:1\n127.0.0.1:80 node:internal/vm:185:14"), None);
    }
}
