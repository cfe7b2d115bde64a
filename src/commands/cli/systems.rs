//! Systems that are switched off: their commands that change something refuse, those that show what
//! is there say so.

use clap::ArgMatches;

use crate::console::project::Project;
use crate::core::outcome::Outcome;

/// Commands of a system.
struct SystemCommands {
    /// As it is typed: `branch loop`.
    command: &'static str,
    /// The switch, in the settings.
    key: &'static str,
    /// What of it changes nothing that hooks would go on with; an empty word is the command itself.
    shows: Shows,
}

enum Shows {
    All,
    These(&'static [&'static str]),
}

const fn all(command: &'static str, key: &'static str) -> SystemCommands {
    SystemCommands { command, key, shows: Shows::All }
}

const fn these(
    command: &'static str,
    key: &'static str,
    shows: &'static [&'static str],
) -> SystemCommands {
    SystemCommands { command, key, shows: Shows::These(shows) }
}

const TABLE: &[SystemCommands] = &[
    these("loop", "systems.loop", &["status", "cancel"]),
    these("queue", "systems.loop", &["list"]),
    these("gate", "systems.loop", &[]),
    these("run-gate", "systems.loop", &[]),
    these("branch", "systems.branches", &["show", "plan"]),
    these("branch loop", "systems.branch_loop", &["status", "cancel"]),
    these("branch handoff", "systems.handoffs", &["list"]),
    these("autonomous", "systems.autonomous", &["status", "cancel"]),
    these("iterative", "systems.iterative", &["list", "status", "cancel", "archive", "remove"]),
    these("execute", "systems.execute", &["status"]),
    these("run-verify", "systems.execute", &[]),
    these("agents", "systems.agents", &["", "show", "stuck"]),
    these("export", "systems.export", &["status", "test"]),
    all("errors", "systems.errors"),
    all("backup", "systems.compaction"),
    all("log", "systems.journal"),
    all("search", "systems.journal"),
    all("report", "systems.journal"),
    all("recap", "systems.journal"),
    all("cost", "systems.journal"),
];

/// The words of a command and of what is below it.
pub fn typed_path(matches: &ArgMatches) -> Vec<String> {
    let mut path = Vec::new();
    let mut at = matches.subcommand();
    while let Some((name, below)) = at {
        path.push(name.to_owned());
        at = below.subcommand();
    }
    path
}

/// Refuses what a system that is off would have to go on with; else what has to be said.
pub fn check(project: &Project, path: &[String]) -> anyhow::Result<Option<String>> {
    let mut said = None;
    for row in TABLE {
        let mut rest = path.iter().map(String::as_str);
        if !row.command.split(' ').all(|word| rest.next() == Some(word)) {
            continue;
        }
        let next = rest.next().unwrap_or_default();
        match &row.shows {
            Shows::These(shows) if !shows.contains(&next) => project.ensure_on(row.key)?,
            _ => said = said.or(project.off_note(row.key)?),
        }
    }
    Ok(said)
}

/// A command's outcome, with what has to be said of its system.
pub fn add_note(outcome: Outcome, note: Option<String>) -> Outcome {
    match note {
        Some(note) if outcome.stderr.is_none() => Outcome { stderr: Some(note.into()), ..outcome },
        _ => outcome,
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::core::settings::table;

    #[test]
    fn rows_name_what_there_is_and_every_switch_with_commands_has_a_row() {
        let mut known = crate::cli::Arguments::command();
        known.build();
        for row in TABLE {
            let mut at = &known;
            for word in row.command.split(' ') {
                at = at.find_subcommand(word).unwrap_or_else(|| panic!("{}", row.command));
            }
            if let Shows::These(shows) = &row.shows {
                for name in shows.iter().filter(|name| !name.is_empty()) {
                    assert!(at.find_subcommand(name).is_some(), "{} {name}", row.command);
                }
            }
            assert!(table::TABLE.iter().any(|setting| setting.key == row.key), "{}", row.key);
        }
        let switches = table::TABLE.iter().map(|setting| setting.key);
        for key in switches.filter(|key| key.starts_with("systems.") && *key != "systems.notices") {
            assert!(TABLE.iter().any(|row| row.key == key), "{key} has no command");
        }
    }
}
