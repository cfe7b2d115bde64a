//! What people and models run. The only room that knows clap.
//!
//! One file per command: its `Arguments`, and a `run` that takes the [`Project`] and gives an
//! [`Outcome`].

mod agents;
mod autonomous;
mod backup;
mod branch;
mod checkout;
mod command;
mod diff;
mod doctor;
mod errors;
mod install;
mod iterative;
pub(crate) mod loop_command;
mod record;
mod replay;
mod reset;
mod schema;
mod self_test;
mod sessions;
mod settings;
mod shell;
mod status;
mod statusline;
pub(crate) mod table;
mod uninstall;
mod validate;
mod work;

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Parser;
use clap::error::ErrorKind;
use serde_json::Value;

use command::Command;

use crate::Outcome;
use crate::books::settings::Settings;
use crate::facts::secrets::Redactor;
use crate::process::Process;
use crate::state::{Document, State};
use crate::store::view::{Lookup, View};
use crate::store::{Store, home};
use crate::{hook_path, root};

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
        Err(help) => return Outcome::said(help.to_string()),
    };
    let project = Project { process, named: arguments.dir.as_deref() };
    let done = match &arguments.command {
        Command::Install(options) => install::run(&project, options),
        Command::Uninstall(options) => uninstall::run(&project, options),
        Command::Record(options) => record::run(&project, options),
        Command::Replay(options) => replay::run(&project, options),
        Command::Status(options) => status::run(&project, options),
        Command::Agents(options) => agents::run(&project, options),
        Command::Errors(options) => errors::run(&project, options),
        Command::Sessions(options) => sessions::run(&project, options),
        Command::Backup(options) => backup::run(&project, options),
        Command::Reset(options) => reset::run(&project, options),
        Command::Completions(options) => shell::completions(options),
        Command::Man(options) => shell::man(options),
        Command::Schema(options) => schema::run(options),
        Command::Validate(options) => validate::run(&project, options),
        Command::Statusline(options) => Ok(statusline::run(&project, options)),
        Command::Doctor(options) => doctor::run(&project, options),
        Command::Autonomous(options) => autonomous::run(&project, options),
        Command::Branch(options) => branch::run(&project, options),
        Command::Iterative(options) => iterative::run(&project, options),
        Command::Loop(options) => work::queue_loop::run(&project, options),
        Command::Execute(options) => crate::execute::commands::run(&project, options),
        Command::Queue(options) => work::items::run(&project, options),
        Command::Gate(options) => work::gate::run(&project, options),
        Command::Hook { .. } => {
            Err(anyhow::anyhow!("usage: hookkeeper hook [EVENT] < payload.json"))
        }
    };
    done.unwrap_or_else(|error| Outcome {
        stdout: None,
        stderr: Some(format!("{error:#}")),
        code: 1,
    })
}

/// A document or a list, as JSON that people can read too.
pub(crate) fn said_json<T: serde::Serialize + ?Sized>(value: &T) -> anyhow::Result<Outcome> {
    Ok(Outcome::said(serde_json::to_string_pretty(value)?))
}

/// What a command did, and where things stand after it.
fn said_with(done: Outcome, stands: Value) -> anyhow::Result<Outcome> {
    let mut all = serde_json::Map::new();
    all.insert("said".into(), done.stdout.unwrap_or_default().into());
    match stands {
        Value::Object(fields) => all.extend(fields),
        other => all.extend([("now".to_owned(), other)]),
    }
    Ok(Outcome { stdout: Some(serde_json::to_string_pretty(&all)?), ..done })
}

/// The one of these that is meant: itself, or the only one that begins so, with or without the
/// prefix that they all have.
fn one_of(named: &str, known: &[String], what: &str, prefix: &str) -> anyhow::Result<String> {
    let with_prefix = format!("{prefix}{named}");
    if let Some(id) = known.iter().find(|id| *id == named || **id == with_prefix) {
        return Ok(id.clone());
    }
    let begins = |id: &&String| id.starts_with(named) || id.starts_with(&with_prefix);
    let mut found: Vec<&String> = known.iter().filter(begins).collect();
    found.sort_unstable();
    found.dedup();
    match found.as_slice() {
        _ if named.is_empty() => anyhow::bail!("which {what}? The name is empty"),
        [] => anyhow::bail!("there is no {what} `{named}`"),
        [id] => Ok((*id).clone()),
        several => {
            let several: Vec<&str> = several.iter().take(5).map(|id| id.as_str()).collect();
            anyhow::bail!("`{named}` could be several: {}", several.join(", "))
        }
    }
}

/// The project that a command is about.
pub(crate) struct Project<'a> {
    pub(crate) process: &'a Process,
    /// `-C DIR`
    pub(crate) named: Option<&'a Path>,
}

impl Project<'_> {
    /// `-C DIR`; else, for a command that the model runs, the project whose live sessions have its
    /// id; else the project around the working directory.
    pub(crate) fn root(&self) -> anyhow::Result<PathBuf> {
        let cwd = || self.process.cwd().context("there is no working directory");
        if let Some(dir) = self.named {
            let dir = if dir.is_absolute() { dir.to_owned() } else { cwd()?.join(dir) };
            let what =
                if dir.exists() { "it is not a directory" } else { "there is no such directory" };
            anyhow::ensure!(dir.is_dir(), "{}: {what}", dir.display());
            return Ok(dir);
        }
        let cwd = cwd()?;
        let session = self.process.env("CLAUDE_CODE_SESSION_ID");
        let of_session = session.and_then(|id| root::of_session(&cwd, &id));
        Ok(of_session.or_else(|| root::above(self.process, &cwd)).unwrap_or(cwd))
    }

    /// The project's own settings, with defaults for what is wrong in them.
    fn settings(&self) -> anyhow::Result<Settings> {
        let claude = home::existing_claude_dir(&self.root()?, self.process.home().as_deref())?;
        Ok(claude.map(|claude| home::settings(&claude).0).unwrap_or_default())
    }

    /// Takes secrets out of what a person types, before it is stored.
    pub(crate) fn redactor(&self) -> anyhow::Result<Redactor> {
        Ok(Redactor::new(&self.settings()?.redact))
    }

    /// Works on the locked store. What the user should hear of is kept, whatever comes of it.
    pub(crate) fn change<T>(
        &self,
        work: impl FnOnce(&Store, &State) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let root = self.root()?;
        let store = hook_path::locked_store(self.process, &root)
            .with_context(|| format!("the state of {} cannot be changed", root.display()))?;
        let state = State::new(&store);
        let done = work(&store, &state);
        hook_path::keep_remarks(&store, &state, self.process.now())?;
        done
    }

    /// A document that there is once, for reading.
    fn document<T: Document<Key = ()> + Clone>(&self) -> anyhow::Result<Option<T>> {
        self.view()?.map_or(Ok(None), |view| read_document(&view, &()))
    }

    /// A path as people write it: relative to the project, or from `~`.
    fn shown(&self, path: &Path) -> String {
        let (root, home) = (self.root().unwrap_or_default(), self.process.home());
        root::shown(path, &root, home.as_deref())
    }

    /// The books, for reading. `None` if there are none yet.
    fn view(&self) -> anyhow::Result<Option<View>> {
        let root = self.root()?;
        View::open(&root, self.process.home().as_deref())
            .with_context(|| format!("the state of {} cannot be read", root.display()))
    }
}

/// A document. One that is there and cannot be read is an error with its name.
fn read_document<T: Document + Clone>(view: &View, key: &T::Key) -> anyhow::Result<Option<T>> {
    match view.look_up::<T>(key) {
        Lookup::Good(document) => Ok(Some(document)),
        Lookup::None => Ok(None),
        Lookup::Bad => {
            anyhow::bail!("{} cannot be read; `hookkeeper validate` says why", T::doc(key).path())
        }
    }
}
