//! What people and models run: the commands of no feature, and the list of all. Only this room and those
//! named `commands` know clap.
//!
//! One file per command: its `Arguments`, and a `run` that takes the [`Project`] and gives an
//! [`Outcome`].

pub mod branch;
pub mod command;
pub mod config;
pub mod demo;
pub mod help;
pub mod record;
pub mod replay;
pub mod reset;
pub mod shell;
mod systems;
pub mod trust;
pub mod version;

use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{CommandFactory as _, FromArgMatches as _, Parser};

use command::Command;

use crate::commands::agents;
use crate::commands::client::{install, uninstall};
use crate::commands::compaction as backup;
use crate::commands::errors;
use crate::commands::loops::autonomous;
use crate::commands::loops::iterative;
use crate::commands::loops::queue as work;
use crate::commands::session as sessions;
use crate::console::project::Project;
use crate::console::style::ColourChoice;
use crate::console::usage::{UsageError, usage};
use crate::core::gate::Words;
use crate::core::outcome::Outcome;
use crate::doctor::commands as doctor;
use crate::history::commands as history;
use crate::process::Process;
use crate::report::commands as report;
use crate::session::locked_store::PlaySpool;
use crate::validate::commands as validate;
use crate::validate::commands::schema;
use crate::view as status;
use crate::view::statusline;

const ABOUT: &str =
    "Keeps state for Claude Code hooks: agents, sessions, errors, compactions, loops.";

#[derive(Parser)]
#[command(name = "hookkeeper", version, about = ABOUT, arg_required_else_help = true)]
#[command(disable_version_flag = true)]
#[command(
    after_help = "Examples: `hookkeeper help COMMAND`. Which loop when: `hookkeeper help loops`.\n\
    Exit codes: 0, 1 (it could not), 64 (it was not called as it can be);\n\
    `run-gate` ends with the code of what it ran.\n\
    Claude Code runs `hookkeeper hook` at every event, with the payload on stdin.\n\
    The state is in .claude/state/ of the project, what happened in journal/ there."
)]
struct Arguments {
    /// The project (default: the one around this directory)
    #[arg(short = 'C', long = "dir", value_name = "DIR", global = true)]
    dir: Option<PathBuf>,
    /// Colours: auto (a terminal, no NO_COLOR), always, never
    #[arg(
        long,
        value_name = "WHEN",
        global = true,
        default_value = "auto",
        hide_default_value = true,
        hide_possible_values = true
    )]
    color: ColourChoice,
    /// Print the version; with --json, how it was built
    #[arg(short = 'V', long, action = clap::ArgAction::Version)]
    version: Option<bool>,
    #[command(subcommand)]
    command: Command,
}

const USAGE: u8 = 64;

pub fn run(process: &Process, play_spool: PlaySpool) -> Outcome {
    if version::is_asked_as_json(process.args()) {
        return version::print_json();
    }
    let (arguments, path) = match parse(process.args()) {
        Ok(arguments) => arguments,
        Err(help) if help.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            return Outcome { stdout: Some(help.to_string().into()), stderr: None, code: USAGE };
        }
        Err(error) if error.use_stderr() => {
            let text = in_plain_words(&error.to_string());
            let text = text.strip_prefix("error: ").unwrap_or(&text).trim_end().to_owned();
            return Outcome { stdout: None, stderr: Some(text.into()), code: USAGE };
        }
        Err(help) => return Outcome::printed(help.to_string()),
    };
    let project =
        Project { process, named: arguments.dir.as_deref(), colour: arguments.color, play_spool };
    let note = systems::check(&project, &path);
    let done = note.and_then(|note| Ok((run_command(&project, &arguments.command)?, note)));
    done.map_or_else(
        |error| Outcome {
            stdout: None,
            stderr: Some(Words::from(format!("{error:#}")).into()),
            code: if error.is::<UsageError>() { USAGE } else { 1 },
        },
        |(outcome, note)| systems::add_note(outcome, note),
    )
}

fn run_command(project: &Project, command: &Command) -> anyhow::Result<Outcome> {
    match command {
        Command::Demo(options) => demo::run(project, options),
        Command::Install(options) => install::run(project, options),
        Command::Uninstall(options) => uninstall::run(project, options),
        Command::Config(options) => config::run(project, options),
        Command::Record(options) => record::run(project, options),
        Command::Replay(options) => replay::run(project, options),
        Command::Status(options) => status::run(project, options),
        Command::Agents(options) => agents::run(project, options),
        Command::Errors(options) => errors::run(project, options),
        Command::Sessions(options) => sessions::run(project, options),
        Command::Log(options) => history::log::run(project, options),
        Command::Search(options) => history::search::run(project, options),
        Command::Cost(options) => history::cost::run(project, options),
        Command::Recap(options) => history::recap::run(project, options),
        Command::Report(options) => report::run(project, options),
        Command::Gc(options) => history::gc::run(project, options),
        Command::Export(options) => crate::export::commands::run(project, options),
        Command::Backup(options) => backup::run(project, options),
        Command::Reset(options) => reset::run(project, options),
        Command::Trust(options) => trust::run(project, options),
        Command::Completions(options) => shell::completions(options),
        Command::Man(options) => shell::man(options),
        Command::Schema(options) => schema::run(options),
        Command::Validate(options) => validate::run(project, options),
        Command::Statusline(options) => Ok(statusline::run(project, options)),
        Command::Doctor(options) => doctor::run(project, options),
        Command::Autonomous(options) => autonomous::run(project, options),
        Command::Branch(options) => branch::run(project, options),
        Command::Iterative(options) => iterative::run(project, options),
        Command::Loop(options) => work::queue_loop::run(project, options),
        Command::Execute(options) => crate::commands::execute::run(project, options),
        Command::Fleet(options) => crate::commands::execute::fleet::run(project, options),
        Command::Queue(options) => work::items::run(project, options),
        Command::Loops => Ok(Outcome::printed(help::WHICH_LOOP)),
        Command::Gate(options) => work::gate::run(project, options),
        Command::RunGate(options) => work::gate::execute(project, options),
        Command::RunVerify(options) => crate::commands::execute::run_verify(project, options),
        Command::Hook { .. } => Err(usage("usage: hookkeeper hook [EVENT] < payload.json").into()),
    }
}

/// What was typed, and the words of the command in it.
fn parse(args: &[String]) -> clap::error::Result<(Arguments, Vec<String>)> {
    let mut command = help::with_groups(Arguments::command());
    let found =
        command.try_get_matches_from_mut(args).map_err(|error| with_likeness(error, args))?;
    let path = systems::typed_path(&found);
    let arguments =
        Arguments::from_arg_matches(&found).map_err(|error| error.format(&mut command))?;
    Ok((arguments, path))
}

/// clap's `help` has no likeness for a command that it does not know; the command line has one.
fn with_likeness(error: clap::Error, args: &[String]) -> clap::Error {
    let [program, help, named @ ..] = args else { return error };
    if help != "help" || error.kind() != ErrorKind::InvalidSubcommand {
        return error;
    }
    let without_help = std::iter::once(program).chain(named);
    let command = help::with_groups(Arguments::command());
    let of_command = command.try_get_matches_from(without_help).err();
    of_command.filter(|other| other.kind() == error.kind()).unwrap_or(error)
}

/// What the standard library says of a text that is no number, for people.
fn in_plain_words(text: &str) -> String {
    const WORDS: [(&str, &str); 5] = [
        ("invalid digit found in string", "it is no whole number"),
        ("cannot parse integer from empty string", "it is empty"),
        ("number too large to fit in target type", "the number is too large"),
        ("number too small to fit in target type", "the number is too small"),
        ("invalid float literal", "it is no number"),
    ];
    WORDS.iter().fold(text.to_owned(), |text, (theirs, ours)| text.replace(theirs, ours))
}
