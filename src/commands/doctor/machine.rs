//! HK020 to HK023: what is around the state: disk, file system, client, transcripts.

use crate::client::version::{ClientVersion, OLDEST, Support};
use crate::core::text::{clip, plural};
use crate::doctor::facts::Facts;
use crate::doctor::finding::Finding;

const MEGABYTE: u64 = 1_000_000;
/// Replacing a document needs room for a second copy of it.
const TOO_LITTLE: u64 = 50 * MEGABYTE;
const LITTLE: u64 = 500 * MEGABYTE;

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
    let must = format!("It must be {OLDEST} or later.");
    vec![match &facts.client {
        ClientVersion::NotFound => {
            Finding::note("`claude` is not on the PATH here, so its version is not known", must)
        }
        ClientVersion::Failed(path, why) => Finding::note(
            format!("{} does not tell its version: {}", facts.show(path), clip(why, 200)),
            must,
        ),
        ClientVersion::NotAsked(path) => Finding::note(
            format!(
                "{} is part of the project, and is not asked for its version",
                facts.show(path)
            ),
            must,
        ),
        ClientVersion::Line(path, line) => {
            let at = format!("Claude Code {} at {}", clip(line, 60), facts.show(path));
            match (Support::of(line), Support::of(line).harm()) {
                (_, Some(harm)) => Finding::error(
                    format!("{at}: {harm}"),
                    format!(
                        "Update Claude Code to {OLDEST} or later; until then `hookkeeper uninstall`."
                    ),
                ),
                (Support::Unknown, None) => {
                    Finding::note(format!("{at}: this is no version"), must)
                }
                (Support::Older, None) => Finding::warning(
                    format!("{at}: loops do not wait for agents that run in the background"),
                    "Update Claude Code to 2.1.145 or later.",
                ),
                _ => Finding::ok(at),
            }
        }
    }]
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
