//! Which Claude Code is here, and whether our hooks work with it.

use std::path::{Path, PathBuf};

use crate::process::version::{self, VersionAnswer};
use crate::process::{Process, is_program};

/// The oldest version that our hooks work with.
pub const OLDEST: &str = "2.1.139";
/// The first one that runs hooks with `args`. Those before it run the bare program at every event.
const KNOWS_ARGS: [u64; 3] = [2, 1, 139];
/// The first one whose Stop says what runs in the background. Before it, loops do not wait for agents.
const TELLS_BACKGROUND: [u64; 3] = [2, 1, 145];
/// The first one that goes on after a Stop with what the model is told, without a block.
const CONTINUES_QUIETLY: [u64; 3] = [2, 1, 163];
/// The first one that skips an event that it does not know. Those before it throw the whole
/// settings file away, with its permission rules and everybody's hooks.
const SKIPS_UNKNOWN_EVENTS: [u64; 3] = [2, 1, 101];

/// Whether a client takes `additionalContext` of a Stop for a reason to go on. A block reaches the
/// model twice.
pub fn continues_quietly(version: &str) -> bool {
    parse(version).is_some_and(|version| version >= CONTINUES_QUIETLY)
}

#[derive(Default)]
pub enum ClientVersion {
    #[default]
    NotFound,
    Line(PathBuf, String),
    /// It is there and does not answer, or not as it should.
    Failed(PathBuf, String),
    /// It is part of the project, whose code is not started.
    NotAsked(PathBuf),
}

/// What a client makes of our entries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Support {
    /// What it said is no version.
    Unknown,
    ThrowsSettingsAway,
    IgnoresArgs,
    /// All of it works but for loops that wait for agents.
    Older,
    Works,
}

impl Support {
    pub fn of(version_line: &str) -> Self {
        match parse(version_line) {
            None => Self::Unknown,
            Some(version) if version < SKIPS_UNKNOWN_EVENTS => Self::ThrowsSettingsAway,
            Some(version) if version < KNOWS_ARGS => Self::IgnoresArgs,
            Some(version) if version < TELLS_BACKGROUND => Self::Older,
            Some(_) => Self::Works,
        }
    }

    /// What would happen, if that is bad.
    pub fn harm(self) -> Option<&'static str> {
        match self {
            Self::ThrowsSettingsAway => Some(
                "it does not know all of our events, and then ignores the whole settings file, \
                 permission rules and other tools' hooks included",
            ),
            Self::IgnoresArgs => {
                Some("it does not know hooks in exec form, so ours would all fail")
            }
            Self::Unknown | Self::Older | Self::Works => None,
        }
    }
}

/// Asks the client that the shell would start, or the one where its installers put it.
pub fn find(process: &Process, root: &Path) -> ClientVersion {
    let installed = [
        process.client_dir().map(|dir| dir.join("local/claude")),
        process.home().map(|home| home.join(".local/bin/claude")),
    ];
    let installed = || installed.into_iter().flatten().find(|file| is_program(file));
    let Some(path) = process.on_path("claude").or_else(installed) else {
        return ClientVersion::NotFound;
    };
    match version::ask(&path, root) {
        VersionAnswer::Line(line) => ClientVersion::Line(path, line),
        VersionAnswer::Failed(why) => ClientVersion::Failed(path, why),
        VersionAnswer::NotAsked => ClientVersion::NotAsked(path),
    }
}

/// The first three numbers: `2.1.139 (Claude Code)`.
pub fn parse(line: &str) -> Option<[u64; 3]> {
    let digits =
        line.split(|c: char| !c.is_ascii_digit() && c != '.').find(|word| word.contains('.'))?;
    let mut numbers = digits.split('.').map(|number| number.parse().ok());
    Some([numbers.next()??, numbers.next()??, numbers.next()??])
}

/// The three numbers, and nothing else that may have stood in the line.
pub fn spell(version: [u64; 3]) -> String {
    version.map(|number| number.to_string()).join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_out_of_a_line() {
        assert_eq!(parse("2.1.139 (Claude Code)"), Some([2, 1, 139]));
        assert_eq!(parse("claude v2.10.3-beta.1"), Some([2, 10, 3]));
        assert_eq!(parse("2.1"), None);
        assert_eq!(parse("hello"), None);
        assert_eq!(parse("1.99999999999999999999999.1"), None);
        assert_eq!(parse("2.1.9; reboot").map(spell).as_deref(), Some("2.1.9"));
    }

    #[test]
    fn what_a_version_makes_of_our_entries() {
        assert_eq!(Support::of("2.1.100 (Claude Code)"), Support::ThrowsSettingsAway);
        assert_eq!(Support::of("2.1.101"), Support::IgnoresArgs);
        assert_eq!(Support::of("2.1.138"), Support::IgnoresArgs);
        assert_eq!(Support::of(OLDEST), Support::Older);
        assert_eq!(Support::of("2.1.145"), Support::Works);
        assert_eq!(Support::of("hello"), Support::Unknown);
    }
}
