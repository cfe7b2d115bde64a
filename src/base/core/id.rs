//! The only way from an id in a payload to a file name.
//!
//! An id that is already a safe, portable name stays readable. Anything else (separators, dots,
//! capitals that a case-insensitive file system would fold, device names, names that we use
//! ourselves, anything too long) becomes a digest. Names of digests begin with `x-`, and ids that
//! begin so are digested too: two ids never share a file.

use std::fmt;

use sha2::{Digest, Sha256};

use crate::core::gate::{one_line, shell_word};

const LONGEST: usize = 64;
const DIGEST_MARK: &str = "x-";

/// File names of our own that stand in a folder together with names made from ids.
const OURS: [&str; 4] = ["synthesis", "current", "metrics", "no-session"];

/// A file name without its extension, safe in any of our folders.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileStem(String);

impl FileStem {
    pub fn from_id(id: &str) -> Self {
        if is_plain(id) { Self(id.to_owned()) } else { Self(digest_name(id)) }
    }

    /// Whether this is a name of our own, which no id has.
    pub fn is_reserved(stem: &str) -> bool {
        OURS.contains(&stem)
    }

    pub fn json(&self) -> String {
        format!("{}.json", self.0)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The folder of a branch: its name with dashes for slashes. Two branches may come to the same; the
/// second one gets a digest behind it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BranchKey(String);

impl BranchKey {
    pub fn from_branch(branch: &str) -> Self {
        let dashed = branch.replace('/', "-");
        let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '#' | '@' | '+');
        let good = !dashed.starts_with('.') && dashed.len() <= 100 && dashed.chars().all(plain);
        let good = good && !dashed.is_empty() && (!cfg!(windows) || is_name_on_windows(&dashed));
        if good { Self(dashed) } else { Self(digest_name(branch)) }
    }

    /// A branch's key with a digest, for when another branch has the name.
    pub fn beside(branch: &str, digits: usize) -> Self {
        let digest: String = sha256_hex(branch.as_bytes()).chars().take(digits).collect();
        Self(format!("{}-{digest}", Self::from_branch(branch).0))
    }

    /// A key that was made before.
    pub fn known(key: &str) -> Option<Self> {
        let fine =
            !key.is_empty() && !key.starts_with('.') && !key.contains('/') && key.len() <= 120;
        fine.then(|| Self(key.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The folder of a task. People choose it, so a name that would not do is refused, not changed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TaskSlug(String);

impl TaskSlug {
    /// Where finished tasks go; no task can be called that.
    pub const ARCHIVE: &'static str = "archive";

    /// A name for a new task; an error says what is wrong with it.
    pub fn new(name: &str) -> Result<Self, String> {
        let plain =
            |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'_');
        let begins =
            name.bytes().next().is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
        if name == Self::ARCHIVE || is_device(name) {
            return Err(format!("`{name}` cannot be a task's name"));
        }
        if begins && name.len() <= LONGEST && name.bytes().all(plain) {
            return Ok(Self(name.to_owned()));
        }
        let short: String = name.chars().filter(|c| !c.is_control()).take(40).collect();
        Err(format!(
            "`{short}` cannot be a task's name: up to {LONGEST} lower-case letters, digits, - and _, \
             the first one a letter or a digit"
        ))
    }

    /// The name of a folder that is there; others may have made it.
    pub fn known(name: &str) -> Option<Self> {
        let fine = !name.is_empty()
            && !name.starts_with('.')
            && !name.contains('/')
            // One that cannot be shown as it is could pass for another.
            && one_line(name) == name
            && name.len() <= 120
            && name != Self::ARCHIVE;
        fine.then(|| Self(name.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// As it has to stand in a command.
    pub fn word(&self) -> String {
        shell_word(&self.0)
    }
}

impl fmt::Display for TaskSlug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for FileStem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The lower-case hexadecimal SHA-256 of some bytes.
pub fn sha256_hex(bytes: &[u8]) -> String {
    use fmt::Write;
    Sha256::digest(bytes).iter().fold(String::with_capacity(64), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

fn is_plain(id: &str) -> bool {
    let mut bytes = id.bytes();
    let first = bytes.next().is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    first
        && id.len() <= LONGEST
        && bytes.all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-')
        && !id.starts_with(DIGEST_MARK)
        && !OURS.contains(&id)
        && !is_device(id)
}

fn is_device(id: &str) -> bool {
    matches!(id, "con" | "prn" | "aux" | "nul")
        || id
            .strip_prefix("com")
            .or_else(|| id.strip_prefix("lpt"))
            .is_some_and(|rest| rest.len() == 1 && rest.bytes().all(|b| b.is_ascii_digit()))
}

/// Whether Windows takes a name for a device, whatever its case and its extension.
pub fn is_device_name(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default().trim_end_matches(' ').to_lowercase();
    let digit = |c: char| stem.strip_suffix(c).is_some_and(|rest| matches!(rest, "com" | "lpt"));
    is_device(&stem)
        || matches!(stem.as_str(), "conin$" | "conout$")
        || ['\u{b9}', '\u{b2}', '\u{b3}'].into_iter().any(digit)
}

/// Whether Windows can have a folder of this name, whose characters it knows.
fn is_name_on_windows(name: &str) -> bool {
    !name.ends_with('.') && !is_device_name(name)
}

fn digest_name(id: &str) -> String {
    let mut name = sha256_hex(id.as_bytes());
    name.truncate(40);
    format!("{DIGEST_MARK}{name}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn plain_ids_stay_readable() {
        for id in ["a849e6a7ce0708706", "9f99b61b-a627-4cde-9856-7e07b84da7b2", "agent_1"] {
            assert_eq!(FileStem::from_id(id).as_str(), id);
        }
    }

    #[test]
    fn everything_else_is_digested() {
        let long = "a".repeat(65);
        for id in ["", "..", "a/b", "A", "con", "lpt1", "synthesis", "-x", "a.b", "x-1", &long] {
            assert!(FileStem::from_id(id).as_str().starts_with("x-"), "{id}");
        }
    }

    #[test]
    fn a_branch_of_a_device_is_no_name_on_windows() {
        for branch in ["con", "NUL", "aux.c", "com1", "com\u{b2}", "a."] {
            assert!(!is_name_on_windows(branch), "{branch}");
        }
        for branch in ["main", "feat-con", "console", "com", "com10", "v1.2", "nulls"] {
            assert!(is_name_on_windows(branch), "{branch}");
        }
    }

    #[test]
    fn ten_thousand_hostile_ids_never_share_a_file_or_leave_the_folder() {
        let seeds =
            ["..", "/", "\0", "CON", "con", "é", "e\u{301}", "Agent", "agent", "🦀", ".", "x-"];
        let long = "é/".repeat(2048);
        let mut ids = BTreeSet::new();
        for n in 0..1000_u32 {
            for seed in seeds {
                ids.insert(format!("{seed}{n}"));
                ids.insert(format!("{n}{seed}"));
            }
            ids.insert(format!("{long}{n}"));
        }
        for id in ids.clone() {
            ids.insert(FileStem::from_id(&id).as_str().to_owned());
        }
        let names: BTreeSet<String> =
            ids.iter().map(|id| FileStem::from_id(id).as_str().to_lowercase()).collect();
        assert!(ids.len() > 10_000);
        assert_eq!(names.len(), ids.len());
        assert!(names.iter().all(|name| !name.contains(['/', '.', '\0']) && name.len() <= 64));
    }
}
