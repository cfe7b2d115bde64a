//! What people and models run. The only room that knows clap.

mod status;

use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Parser, Subcommand};

use crate::Outcome;
use crate::process::Process;
use crate::root;

/// Keeps the books for Claude Code hooks.
#[derive(Parser)]
#[command(name = "hookkeeper", version, about, arg_required_else_help = true)]
#[command(
    after_help = "Claude Code runs `hookkeeper hook` at every lifecycle event, with the payload on stdin.\n\
    The books are in .claude/state/ of the project; what each hook did is in .claude/state/log/hooks.jsonl."
)]
struct Arguments {
    /// The project (default: the one that the working directory is in)
    #[arg(short = 'C', long = "dir", value_name = "DIR", global = true)]
    dir: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// What is going on: sessions, agents, errors, backups
    #[command(
        after_help = "Examples:\n  hookkeeper status\n  hookkeeper status --json | jq .sessions\n  hookkeeper -C ~/shop status"
    )]
    Status(status::Arguments),
    /// Handle one hook event; the payload comes on stdin
    #[command(after_help = "Example:\n  hookkeeper hook Stop < payload.json")]
    Hook {
        /// The event, if the payload does not say (SessionStart, subagent-stop, …)
        event: Option<String>,
    },
}

const USAGE: u8 = 64;

pub fn run(process: &Process) -> Outcome {
    let arguments = match Arguments::try_parse_from(process.args()) {
        Ok(arguments) => arguments,
        Err(help) if help.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            return Outcome { stdout: Some(help.to_string()), stderr: None, code: USAGE };
        }
        Err(error) if error.use_stderr() => {
            let text = error.to_string();
            let text = text.strip_prefix("error: ").unwrap_or(&text).trim_end().to_owned();
            return Outcome { stdout: None, stderr: Some(text), code: USAGE };
        }
        Err(help) => {
            return Outcome { stdout: Some(help.to_string()), stderr: None, code: 0 };
        }
    };
    let done = match &arguments.command {
        Command::Status(options) => project(process, arguments.dir.as_deref())
            .and_then(|root| status::run(process, &root, options)),
        Command::Hook { .. } => {
            Err(anyhow::anyhow!("usage: hookkeeper hook [EVENT] < payload.json"))
        }
    };
    match done {
        Ok(text) => Outcome { stdout: Some(text), stderr: None, code: 0 },
        Err(error) => Outcome { stdout: None, stderr: Some(format!("{error:#}")), code: 1 },
    }
}

/// `-C DIR`; else, for a command that the model runs, the project whose live sessions have its id;
/// else the project around the working directory.
fn project(process: &Process, named: Option<&std::path::Path>) -> anyhow::Result<PathBuf> {
    let cwd = || process.cwd().ok_or_else(|| anyhow::anyhow!("there is no working directory"));
    if let Some(dir) = named {
        let dir = if dir.is_absolute() { dir.to_owned() } else { cwd()?.join(dir) };
        anyhow::ensure!(dir.is_dir(), "{}: there is no such directory", dir.display());
        return Ok(dir);
    }
    let cwd = cwd()?;
    let session = process.env("CLAUDE_CODE_SESSION_ID");
    let of_session = session.and_then(|id| root::of_session(&cwd, &id));
    Ok(of_session.or_else(|| root::above(process, &cwd)).unwrap_or(cwd))
}
