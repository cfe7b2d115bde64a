//! HK020 to HK023: what is around the state: disk, file system, client, transcripts.

use crate::core::text::{clip, plural};
use crate::doctor::facts::{ClientVersion, Facts};
use crate::doctor::finding::Finding;

const MEGABYTE: u64 = 1_000_000;
/// Replacing a document needs room for a second copy of it.
const TOO_LITTLE: u64 = 50 * MEGABYTE;
const LITTLE: u64 = 500 * MEGABYTE;
/// The first version that knows exec form (`args`), which is how we are wired.
const EXEC_FORM: [u64; 3] = [2, 1, 139];
/// The oldest version that we support.
const SUPPORTED: [u64; 3] = [2, 1, 145];

pub fn disk(facts: &Facts) -> Vec<Finding> {
    let Some(free) = facts.free else {
        return vec![Finding::note("it cannot be told how much space is free", "")];
    };
    let text = format!("{} MB free where the state is", free / MEGABYTE);
    vec![match free {
        0..TOO_LITTLE => Finding::error(text, "Make room: without it, hooks cannot write."),
        TOO_LITTLE..LITTLE => Finding::warning(text, "Make room before it runs out."),
        _ => Finding::ok(text),
    }]
}

pub fn client(facts: &Facts) -> Vec<Finding> {
    vec![match &facts.client {
        ClientVersion::NotFound => Finding::note(
            "`claude` is not on the PATH here, so its version is not known",
            "It must be 2.1.145 or later.",
        ),
        ClientVersion::Failed(path, why) => Finding::note(
            format!("{} does not tell its version: {}", facts.show(path), clip(why, 200)),
            "It must be 2.1.145 or later.",
        ),
        ClientVersion::Line(path, line) => {
            let at = format!("Claude Code {} at {}", clip(line, 60), facts.show(path));
            match parse_version(line) {
                None => Finding::note(
                    format!("{at}: this is no version"),
                    "It must be 2.1.145 or later.",
                ),
                Some(version) if version < EXEC_FORM => Finding::error(
                    format!("{at}: it does not know hooks in exec form, so ours do not run"),
                    "Update Claude Code to 2.1.145 or later.",
                ),
                Some(version) if version < SUPPORTED => Finding::warning(
                    format!("{at}: older than what HookKeeper supports"),
                    "Update Claude Code to 2.1.145 or later.",
                ),
                Some(_) => Finding::ok(at),
            }
        }
    }]
}

/// The first three numbers: `2.1.139 (Claude Code)`.
fn parse_version(line: &str) -> Option<[u64; 3]> {
    let digits =
        line.split(|c: char| !c.is_ascii_digit() && c != '.').find(|word| word.contains('.'))?;
    let mut numbers = digits.split('.').map(|number| number.parse().ok());
    Some([numbers.next()??, numbers.next()??, numbers.next()??])
}

pub fn file_system(facts: &Facts) -> Vec<Finding> {
    vec![match facts.network {
        Some(name) => Finding::warning(
            format!(
                "the state is on {name}: locks may not work there, and two hooks could write at once"
            ),
            "Keep the project on a local disk, or use only one machine at a time.",
        ),
        None => Finding::ok("local, as far as can be told"),
    }]
}

pub fn transcripts(facts: &Facts) -> Vec<Finding> {
    let transcripts = &facts.transcripts;
    let Some(dir) = transcripts.dir.as_deref().map(|dir| facts.show(dir)) else {
        return vec![Finding::note("without a home directory there is no place to look", "")];
    };
    vec![match (&transcripts.unreadable, transcripts.files) {
        (Some(why), _) => Finding::note(
            format!("{dir}: {why}"),
            "Then backups have no context size, and `--timings` sees nothing.",
        ),
        (None, None) => {
            Finding::note(format!("Claude Code has written none for this project yet ({dir})"), "")
        }
        (None, Some(files)) => Finding::ok(format!("{} in {dir}", plural(files, "transcript"))),
    }]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_out_of_a_line() {
        assert_eq!(parse_version("2.1.139 (Claude Code)"), Some([2, 1, 139]));
        assert_eq!(parse_version("claude v2.10.3-beta.1"), Some([2, 10, 3]));
        assert_eq!(parse_version("2.1"), None);
        assert_eq!(parse_version("hello"), None);
        assert_eq!(parse_version("1.99999999999999999999999.1"), None);
    }
}
