//! `hookkeeper --help`: the commands in groups. clap knows no groups of commands, so the list is ours,
//! made from this table and from what clap knows of each command.
//!
//! Each command is in one group by its name; one without a group fails a test, and so does an
//! argument without a description, or an example that is longer than 80 columns.

use clap::Command;

/// The groups in the order in which somebody needs them, and the commands of each. A command that is
/// in none fails a test.
const GROUPS: [(&str, &[&str]); 4] = [
    (
        "Set up",
        &[
            "demo",
            "install",
            "uninstall",
            "config",
            "doctor",
            "trust",
            "statusline",
            "completions",
            "man",
        ],
    ),
    (
        "Look",
        &[
            "status", "agents", "errors", "sessions", "log", "search", "cost", "recap", "report",
            "backup", "export",
        ],
    ),
    (
        "Loops",
        &[
            "loop",
            "branch",
            "autonomous",
            "iterative",
            "execute",
            "fleet",
            "queue",
            "gate",
            "run-gate",
            "run-verify",
        ],
    ),
    ("Debug", &["validate", "schema", "record", "replay", "reset", "gc", "hook"]),
];

/// Which loop when: `hookkeeper help loops`, and below the help of each of them.
pub const WHICH_LOOP: &str = "\
Which loop when:
  loop         Tests, linters, a list of things to do
               ends when all gates pass and no item is open, twice in a row
  branch loop  One prompt, and a clear word for its end
               ends by that promise, alone on a line
  autonomous   A feature, from an idea to a release
               ends when it is shipped, with a receipt for each phase
  iterative    A large task that can be split into units
               ends when each unit was confirmed, and the whole reviewed
  execute      A plan of many tasks in layers, each in its own worktree
               ends when every task is verified and merged";

/// A command whose help lists its commands in groups.
pub fn with_groups(command: Command) -> Command {
    let list = list(&command);
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{list}Options:\n{{options}}{{after-help}}"
    ))
}

fn list(command: &Command) -> String {
    let names = GROUPS.iter().flat_map(|(_, names)| *names);
    let width = names.map(|name| name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (group, names) in GROUPS {
        text.push_str(&format!("{group}:\n"));
        for found in names.iter().filter_map(|name| command.find_subcommand(name)) {
            let about = found.get_about().map(ToString::to_string).unwrap_or_default();
            text.push_str(&format!("  {:<width$}  {about}\n", found.get_name()));
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::{Arguments, USAGE, run};
    use crate::process::Process;
    use crate::session::locked_store::Played;

    /// What people see at the least.
    const COLUMNS: usize = 80;

    fn whole() -> Command {
        let mut whole = Arguments::command();
        whole.build();
        whole
    }

    /// All commands below one, each with the words that name it; `help` is clap's own.
    fn walk(command: &Command, words: &[String], visit: &mut dyn FnMut(&Command, &[String])) {
        visit(command, words);
        for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
            let words = [words, &[below.get_name().to_owned()]].concat();
            walk(below, &words, visit);
        }
    }

    fn said(args: &[&str]) -> (u8, String) {
        let outcome = run(&Process::given(args, &[]), |_, _, _| Ok(Played::All));
        let text = outcome.stdout.or(outcome.stderr).map(|text| text.to_string());
        (outcome.code, text.unwrap_or_default())
    }

    #[test]
    fn every_command_is_in_one_group() {
        let whole = whole();
        let shown = whole.get_subcommands().filter(|command| !command.is_hide_set());
        let mut shown: Vec<&str> =
            shown.map(Command::get_name).filter(|name| *name != "help").collect();
        let mut listed: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        shown.sort_unstable();
        listed.sort_unstable();
        assert_eq!(listed, shown, "GROUPS of src/cli/help.rs, and the commands that there are");
        let (code, help) = said(&["hookkeeper", "--help"]);
        assert_eq!(code, 0);
        for (group, names) in GROUPS {
            let (_, part) = help.split_once(&format!("\n{group}:\n")).expect(group);
            let part = part.split("\n\n").next().unwrap();
            for name in names {
                assert!(part.contains(&format!("  {name} ")), "{name} under {group}:\n{help}");
            }
        }
        let long: Vec<&str> = help.lines().filter(|line| line.chars().count() > COLUMNS).collect();
        assert!(long.is_empty(), "over {COLUMNS} columns: {long:#?}");
    }

    #[test]
    fn every_command_and_every_argument_is_described() {
        let mut bare = Vec::new();
        walk(&whole(), &[], &mut |command, words| {
            if command.get_about().is_none() {
                bare.push(words.join(" "));
            }
            let arguments = command.get_arguments().filter(|argument| {
                let help = argument.get_help().or_else(|| argument.get_long_help());
                help.is_none_or(|help| help.to_string().trim().is_empty())
            });
            bare.extend(arguments.map(|argument| format!("{}: {argument}", words.join(" "))));
        });
        assert!(bare.is_empty(), "without a description: {bare:#?}");
    }

    /// A line that is longer would be wrapped where the terminal ends, inside of quotes too.
    #[test]
    fn examples_fit_on_their_lines() {
        let mut long = Vec::new();
        walk(&whole(), &[], &mut |command, words| {
            let below = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let over = below.lines().filter(|line| line.chars().count() > COLUMNS);
            long.extend(over.map(|line| format!("{}: {line}", words.join(" "))));
            for line in below.lines().filter(|line| line.starts_with("  hookkeeper ")) {
                let odd = |quote: char| line.matches(quote).count() % 2 != 0;
                assert!(!odd('\'') && !odd('"'), "{}: {line}", words.join(" "));
            }
        });
        assert!(long.is_empty(), "over {COLUMNS} columns: {long:#?}");
    }

    #[test]
    fn every_command_has_an_example_and_a_usage_that_fits() {
        let mut wrong = Vec::new();
        walk(&whole(), &[], &mut |command, words| {
            let below = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let is_shown = !command.is_hide_set() && !command.has_subcommands();
            if is_shown && !below.starts_with("Example") {
                wrong.push(format!("{}: no example", words.join(" ")));
            }
            let usage = command.clone().render_usage().to_string();
            let long = usage.lines().filter(|line| line.chars().count() > COLUMNS);
            wrong.extend(long.map(str::to_owned));
        });
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    /// One scheme for all: 0, 1 (it could not), 64 (it was not called as it can be).
    #[test]
    fn bad_usage_is_64_for_every_command() {
        let mut tried = 0;
        walk(&whole(), &[], &mut |command, words| {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let with = |more: &'static [&'static str]| -> Vec<&str> {
                [&["hookkeeper"], words.as_slice(), more].concat()
            };
            // `search` looks for any text, one with dashes too.
            if !command.get_positionals().any(|argument| argument.is_allow_hyphen_values_set()) {
                assert_eq!(said(&with(&["--no-such-option"])).0, USAGE, "{words:?}");
            }
            assert_eq!(said(&with(&["--help"])).0, 0, "{words:?} --help");
            if command.is_subcommand_required_set() {
                assert_eq!(said(&with(&["no-such-command"])).0, USAGE, "{words:?}");
                assert_eq!(said(&with(&[])).0, USAGE, "{words:?}");
            }
            if command.get_arguments().any(|argument| argument.is_required_set()) {
                assert_eq!(said(&with(&[])).0, USAGE, "{words:?} without its arguments");
            }
            tried += 1;
        });
        assert!(tried > 100, "{tried} commands");
    }

    #[test]
    fn which_loop_when_is_a_topic() {
        for args in [&["hookkeeper", "help", "loops"][..], &["hookkeeper", "loops"]] {
            let (code, text) = said(args);
            assert_eq!(code, 0);
            for name in ["loop", "branch loop", "autonomous", "iterative", "execute"] {
                assert!(text.contains(&format!("\n  {name} ")), "{name}: {text}");
            }
        }
    }
}
