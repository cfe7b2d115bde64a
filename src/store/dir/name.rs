//! Which names may stand in a directory of ours.

/// Whether this is the name of one thing in this directory. One with a `/` in it would be a way
/// through links, and out of here.
pub fn is_plain(name: &str) -> bool {
    !matches!(name, "" | "." | "..") && !name.contains('/') && (!cfg!(windows) || is_literal(name))
}

/// Whether Windows takes a name for what is written there, and for nothing else: no other folder, no
/// stream of another file, no device, no name that loses its end.
fn is_literal(name: &str) -> bool {
    let is_special = |c: char| c.is_control() || "\\/:*?\"<>|".contains(c);
    !name.contains(is_special)
        && !name.ends_with(['.', ' '])
        && !crate::core::id::is_device_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_literal_name_is_nothing_else_on_windows() {
        for name in [".lock", ".new", "a.json", "settings.json.3", "é", "console", "com", "a b"] {
            assert!(is_literal(name), "{name}");
        }
        let devices = ["con", "NUL", "aux.txt", "com1", "LPT9.json", "con .x", "conin$"];
        let others = ["a\\b", "C:", "x:y", ".lock::$DATA", "a.", "a ", "a\0", "a\nb", "*", "a|b"];
        for name in devices.into_iter().chain(others) {
            assert!(!is_literal(name), "{name}");
        }
    }
}
