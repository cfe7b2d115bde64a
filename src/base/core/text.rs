//! Small helpers for texts and lists in documents: clipping, plurals, caps.

use serde::Serialize;
use serde_json::{Map, Value};

/// Fields of a document that this version does not know.
pub type Extra = Map<String, Value>;

/// A count that is not written while there is nothing to count.
pub fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// How a document is written: indented, as people and the seeds' own tools expect it.
pub fn to_bytes<T: Serialize>(document: &T) -> Vec<u8> {
    // Our types have string keys and no failing serializers; an empty file would be the answer to
    // a bug, and the store refuses to write one.
    let mut bytes = serde_json::to_vec_pretty(document).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

/// Drops the oldest (first) entries of a list beyond its cap.
pub fn keep_newest<T>(list: &mut Vec<T>, cap: usize) {
    if list.len() > cap {
        list.drain(..list.len() - cap);
    }
}

/// The first `most` characters of a text, on one line.
pub fn clip(text: &str, most: usize) -> String {
    let blank = |c: char| c.is_whitespace() || c.is_control();
    let words = text.split(blank).filter(|word| !word.is_empty());
    let line = words.collect::<Vec<_>>().join(" ");
    if line.chars().count() <= most {
        return line;
    }
    let mut cut: String = line.chars().take(most.saturating_sub(1)).collect();
    cut.push('…');
    cut
}

/// The first `most` characters, line breaks kept.
pub fn clip_block(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((end, _)) => {
            let mut cut = text.get(..end).unwrap_or_default().to_owned();
            cut.push('…');
            cut
        }
    }
}

/// The beginning of a text, at most this many bytes and a mark that it was cut.
pub fn clip_bytes(text: &str, most: usize) -> String {
    match text.get(..text.floor_char_boundary(most)) {
        Some(head) if head.len() < text.len() => format!("{head}…"),
        _ => text.to_owned(),
    }
}

/// `1 agent`, `2 agents`, `3 tries`.
pub fn plural(count: usize, thing: &str) -> String {
    match thing.strip_suffix('y').filter(|stem| !stem.ends_with(['a', 'e', 'o', 'u'])) {
        _ if count == 1 => format!("1 {thing}"),
        Some(stem) => format!("{count} {stem}ies"),
        None => format!("{count} {thing}s"),
    }
}

/// A sentence with a large first letter.
pub fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// A path below the project's root as the project sees it.
pub fn relative(path: &str, root: &str) -> String {
    if cfg!(windows) {
        return relative_on_windows(path, root);
    }
    path.strip_prefix(root).and_then(|rest| rest.strip_prefix('/')).unwrap_or(path).to_owned()
}

/// Windows has two separators, and does not mind the case. What is below the root is written as it
/// is everywhere else.
fn relative_on_windows(path: &str, root: &str) -> String {
    const SEPARATORS: [char; 2] = ['/', '\\'];
    let root = root.trim_end_matches(SEPARATORS);
    let same = |(a, b): (char, char)| {
        a.eq_ignore_ascii_case(&b) || (SEPARATORS.contains(&a) && SEPARATORS.contains(&b))
    };
    let is_below = |above: &str| {
        above.chars().count() == root.chars().count() && above.chars().zip(root.chars()).all(same)
    };
    match path.split_at_checked(root.len()) {
        Some((above, below)) if below.starts_with(SEPARATORS) && is_below(above) => {
            below.trim_start_matches(SEPARATORS).replace('\\', "/")
        }
        _ => path.to_owned(),
    }
}

/// `src/login.rs:12`, or the file alone; `None` if no file is known.
pub fn file_and_line(file: Option<&str>, line: Option<u64>) -> Option<String> {
    let file = file?;
    Some(line.map_or_else(|| file.to_owned(), |line| format!("{file}:{line}")))
}

/// ` (src/login.rs:12)`, to stand behind a title; nothing if no file is known.
pub fn in_parentheses(file: Option<&str>, line: Option<u64>) -> String {
    file_and_line(file, line).map(|place| format!(" ({place})")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_one_thing_or_there_are_several() {
        assert_eq!((plural(1, "try"), plural(3, "try")), ("1 try".into(), "3 tries".into()));
        assert_eq!((plural(0, "agent"), plural(2, "day")), ("0 agents".into(), "2 days".into()));
    }

    #[test]
    fn a_path_of_windows_is_below_its_root() {
        let root = "C:\\Users\\dev\\shop";
        for path in ["C:\\Users\\dev\\shop\\src\\a.ts", "c:/users/dev/shop/src/a.ts"] {
            assert_eq!(relative_on_windows(path, root), "src/a.ts");
            assert_eq!(relative_on_windows(path, "C:\\Users\\dev\\shop\\"), "src/a.ts");
        }
        for path in
            ["C:\\Users\\dev\\shopping\\a", "D:\\Users\\dev\\shop\\a", root, "src\\a", "\u{e9}"]
        {
            assert_eq!(relative_on_windows(path, root), path);
        }
    }
}
