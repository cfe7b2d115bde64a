//! The slash commands that `install --commands` writes for Claude Code: the plugin's own, compiled in
//! from `slash/`. The plugin's copies in `hooks/commands/` are made from them: `UPDATE_WIRING=1 cargo
//! test -p hookkeeper-base wiring_files`.
//!
//! A file called `commands/hookkeeper/loop.md` below `.claude`, or in the client's own directory,
//! is `/hookkeeper:loop`, as the plugin's is (tried with 2.1.325,
//! `tests/client/scenarios/install.py`). Each file has a digest of its other lines as a key of its
//! front matter, which the client passes over and the model does not see. So there is no record of
//! what was written: any version, on any machine, knows a file of any version that nobody has
//! changed. A checkout may bring a file with a right digest; all that follows is that `install`
//! replaces it and `uninstall` removes it.

use crate::core::id::sha256_hex;

/// Below `.claude`, or the client's own directory.
pub const FOLDER: (&str, &str) = ("commands", "hookkeeper");

const BEGIN: &str = "---\n";
const MARK: &str = "hookkeeper-digest: ";

pub struct SlashCommand {
    pub name: &'static str,
    /// As the plugin has it.
    pub text: &'static str,
}

/// One for each system, in the order in which people see them.
pub const ALL: [SlashCommand; 7] = [
    SlashCommand { name: "loop", text: include_str!("slash/loop.md") },
    SlashCommand { name: "branch-loop", text: include_str!("slash/branch-loop.md") },
    SlashCommand { name: "autonomous", text: include_str!("slash/autonomous.md") },
    SlashCommand { name: "iterative", text: include_str!("slash/iterative.md") },
    SlashCommand { name: "execute", text: include_str!("slash/execute.md") },
    SlashCommand { name: "handoff", text: include_str!("slash/handoff.md") },
    SlashCommand { name: "status", text: include_str!("slash/status.md") },
];

impl SlashCommand {
    pub fn file_name(&self) -> String {
        format!("{}.md", self.name)
    }

    /// What `install` writes: the text with its digest.
    pub fn file_text(&self) -> String {
        let rest = self.text.strip_prefix(BEGIN).unwrap_or(self.text);
        format!("{BEGIN}{MARK}{}\n{rest}", sha256_hex(self.text.as_bytes()))
    }
}

/// Whether a file is as some version of this program wrote it.
pub fn is_as_written(bytes: &[u8]) -> bool {
    let parts = std::str::from_utf8(bytes).ok().and_then(|text| {
        let marked = text.strip_prefix(BEGIN)?.strip_prefix(MARK)?;
        marked.split_once('\n')
    });
    parts.is_some_and(|(digest, rest)| sha256_hex(format!("{BEGIN}{rest}").as_bytes()) == digest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test reads the folder of the texts")]
    fn all_of_the_plugins_commands_are_written_and_known_again() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("client/slash");
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
        let mut files: Vec<String> = files.map(|name| name.into_string().unwrap()).collect();
        let mut names: Vec<String> = ALL.iter().map(SlashCommand::file_name).collect();
        files.sort();
        names.sort();
        assert_eq!(names, files);
        for command in &ALL {
            let text = command.file_text();
            assert!(is_as_written(text.as_bytes()), "{}", command.name);
            assert!(!is_as_written(format!("{text} ").as_bytes()), "{}", command.name);
            assert!(!is_as_written(command.text.as_bytes()), "{}", command.name);
        }
        for other in [&b""[..], b"---\n", b"---\nhookkeeper-digest: 00\n", b"\xff"] {
            assert!(!is_as_written(other));
        }
    }
}
