//! What shells and manuals want to know about the command line, out of the same definition.

use clap::{Command, CommandFactory as _};

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
    // `help` has no page of its own.
    let mut whole = Arguments::command().disable_help_subcommand(true);
    whole.build();
    let mut command = &whole;
    for name in &options.command {
        let found = command.find_subcommand(name);
        let none = || usage(format!("there is no command `{}`", options.command.join(" ")));
        command = found.ok_or_else(none)?;
    }
    Ok(Outcome::printed(page(command)?))
}

/// clap_mangen fills the lines of examples like any other text, leaves the date out where it is empty,
/// so that the source takes its place, and gives commands below the first no source.
fn page(command: &Command) -> anyhow::Result<String> {
    let mut body = Vec::new();
    clap_mangen::Man::new(command.clone().after_help(None::<&str>)).render(&mut body)?;
    let body = String::from_utf8(body)?;
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    let title = format!(
        ".TH {} 1 \"\" \"hookkeeper {}\" \"HookKeeper\"",
        escaped(name),
        env!("CARGO_PKG_VERSION")
    );
    let mut page = String::new();
    for line in body.lines() {
        page.push_str(if line.starts_with(".TH ") { &title } else { line });
        page.push('\n');
    }
    let below = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    page.push_str(&sections(&below));
    Ok(page)
}

/// What stands below the help, as sections of a manual page: each line stays one.
fn sections(text: &str) -> String {
    let mut sections = String::new();
    for part in text.split("\n\n").filter(|part| !part.trim().is_empty()) {
        let (heading, lines) = match part.split_once('\n') {
            Some((first, rest)) if first.ends_with(':') => (first.trim_end_matches(':'), rest),
            _ => ("Notes", part),
        };
        let heading = if heading == "Example" { "Examples" } else { heading };
        sections.push_str(&format!(".SH {}\n.nf\n", escaped(&heading.to_uppercase())));
        for line in lines.lines() {
            sections.push_str(&escaped(line.strip_prefix("  ").unwrap_or(line)));
            sections.push('\n');
        }
        sections.push_str(".fi\n");
    }
    sections
}

/// A line as it stands, so that it can be copied out of the page.
fn escaped(line: &str) -> String {
    let mut text = String::new();
    // These would be requests.
    if line.starts_with(['.', '\'']) {
        text.push_str("\\&");
    }
    for c in line.chars() {
        match c {
            '\\' => text.push_str("\\(rs"),
            '-' => text.push_str("\\-"),
            '\'' => text.push_str("\\(aq"),
            '`' => text.push_str("\\(ga"),
            '^' => text.push_str("\\(ha"),
            '~' => text.push_str("\\(ti"),
            c => text.push(c),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_below_the_help_becomes_sections() {
        let text = "Examples:\n  hookkeeper a 'b c' \\\n    --d\n  .x\n\nWhich loop when:\n  loop  x\n\n`it` says so.";
        assert_eq!(
            sections(text),
            ".SH EXAMPLES\n.nf\nhookkeeper a \\(aqb c\\(aq \\(rs\n  \\-\\-d\n\\&.x\n.fi\n\
             .SH WHICH LOOP WHEN\n.nf\nloop  x\n.fi\n.SH NOTES\n.nf\n\\(gait\\(ga says so.\n.fi\n"
        );
        assert_eq!(sections(""), "");
    }
}
