//! What shells and manuals want to know about the command line, out of the same definition.

use clap::CommandFactory as _;

use crate::cli::Arguments;
use crate::console::usage::usage;
use crate::core::outcome::Outcome;

#[derive(clap::Args)]
pub struct Completions {
    /// The shell
    #[arg(value_enum)]
    shell: clap_complete::Shell,
}

#[derive(clap::Args)]
pub struct Man {
    /// The page of a command (default: of the whole program)
    command: Vec<String>,
}

pub fn completions(options: &Completions) -> anyhow::Result<Outcome> {
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut Arguments::command(), "hookkeeper", &mut script);
    Ok(Outcome::printed(String::from_utf8(script)?))
}

pub fn man(options: &Man) -> anyhow::Result<Outcome> {
    let mut whole = Arguments::command();
    whole.build();
    let mut command = &whole;
    for name in &options.command {
        let found = command.find_subcommand(name);
        let none = || usage(format!("there is no command `{}`", options.command.join(" ")));
        command = found.ok_or_else(none)?;
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut page)?;
    Ok(Outcome::printed(String::from_utf8(page)?))
}
