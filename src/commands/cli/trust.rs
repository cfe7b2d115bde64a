//! `hookkeeper trust`: state that was not made on this machine is shown, with names and sizes, and
//! taken up if a person says so: all of it, or the paths that are named. The rest is moved to a
//! room before there is a mark. What has been written here since stays, and is named.
//!
//! It refuses to run inside Claude Code. No loop is driven by it.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use crate::console::project::Project;
use crate::core::gate::shell_word;
use crate::core::outcome::Outcome;
use crate::core::text::{clip, plural};
use crate::store::execution::StateFile;
use crate::store::home;
use crate::store::origin::Origin;
use crate::store::projects;
use crate::store::untrusted::{self, Chosen, From, Item};

/// What is shown of a long list.
const SHOWN: usize = 200;
const LONGEST_NAME: usize = 200;
const UNASKED: &str = "hookkeeper trust --yes";

#[derive(clap::Args)]
pub struct Arguments {
    /// Only these, as they are listed: files, or folders with all that is in them
    #[arg(value_name = "PATH", conflicts_with = "tasks")]
    paths: Vec<String>,
    /// Do not ask
    #[arg(long)]
    yes: bool,
    /// The state of an execution instead, by the folder of its tasks
    #[arg(long, value_name = "DIR")]
    tasks: Option<PathBuf>,
}

pub fn run(project: &Project, options: &Arguments) -> anyhow::Result<Outcome> {
    if project.process.is_in_client() {
        bail!(
            "only a person can say whose state this is: run `hookkeeper trust` in a terminal, not from Claude Code"
        );
    }
    if let Some(tasks) = &options.tasks {
        return trust_execution(project, tasks, options.yes);
    }
    let root = project.root()?;
    let home = project.process.home();
    let claude = home::existing_claude_dir(&root, home.as_deref())?;
    let nothing = || Outcome::printed("There is nothing here that is not this machine's.");
    let Some(claude) = claude else { return Ok(nothing()) };
    let state = claude.sub("state")?;
    let origin = state.as_ref().map_or(Ok(None), Origin::peek)?;
    let mut items = untrusted::list(&claude, state.as_ref(), origin.as_ref())?;
    let paths: Vec<String> = options.paths.iter().map(|path| below_claude(path)).collect();
    let chosen = Chosen(&paths);
    for path in &paths {
        let one = std::slice::from_ref(path);
        if !items.iter().any(|item| Chosen(one).has(&item.path)) {
            bail!("{}: there is nothing of this name that waits to be taken up", shown(path));
        }
        // What is beside the state is believed folder by folder.
        let parts = path.split('/').count();
        if !path.starts_with("state/") && parts > 2 {
            bail!("{}: its folder can only be taken up as one", shown(path));
        }
    }
    items.retain(|item| chosen.has(&item.path));
    if items.is_empty() {
        return Ok(nothing());
    }
    let list = describe(&items);
    let mut unasked = UNASKED.to_owned();
    for path in &options.paths {
        unasked = format!("{unasked} {}", shell_word(path));
    }
    if !options.yes && !asked(project, &list, &unasked)? {
        return Ok(Outcome::printed("Nothing was changed."));
    }
    let left = home::take_up(&root, home.as_deref(), &chosen)?;
    if let Some(client) = project.process.client_dir() {
        projects::note(&client, &root);
    }
    let mut said = if options.yes { list } else { String::new() };
    said.push_str("Taken up.");
    for path in left {
        said.push_str(&format!(
            "\nStays where it is, because there is one of ours by now: {}",
            shown(&path)
        ));
    }
    Ok(Outcome::printed(said))
}

/// A path as the list has it, from `.claude`.
fn below_claude(path: &str) -> String {
    let path = path.trim_start_matches("./").trim_end_matches('/');
    path.strip_prefix(".claude/").unwrap_or(path).to_owned()
}

/// Whether a person says yes. `unasked` is the command that asks nobody.
fn asked(project: &Project, list: &str, unasked: &str) -> anyhow::Result<bool> {
    let question = format!(
        "{list}Once taken up, it reaches the model and your terminal as if it had been made here.\nTake it up? [y/N] "
    );
    let answer = project.process.ask(&question);
    let answer =
        answer.with_context(|| format!("there is nobody to ask; `{unasked}` takes it up"))?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

fn trust_execution(project: &Project, tasks: &Path, yes: bool) -> anyhow::Result<Outcome> {
    let tasks = project.process.cwd().unwrap_or_default().join(tasks);
    let file = StateFile::open(&tasks)?;
    let bytes = file.read()?.context("there is no execute-state.json in that folder")?;
    let list = format!("Not made on this machine: execute-state.json  {} bytes\n", bytes.len());
    let folder = shell_word(&tasks.display().to_string());
    if !yes && !asked(project, &list, &format!("{UNASKED} --tasks {folder}"))? {
        return Ok(Outcome::printed("Nothing was changed."));
    }
    // Written anew, it is not what git brought.
    file.lock()?.replace(&bytes)?;
    Ok(Outcome::printed(format!("{list}Taken up.")))
}

fn describe(items: &[Item]) -> String {
    let files = items.iter().filter(|item| !item.is_dir).count();
    let mut text = format!("Not made on this machine: {}\n", plural(files, "file"));
    for item in items.iter().filter(|item| !item.is_dir).take(SHOWN) {
        let from = match &item.source {
            From::Place => String::new(),
            From::Room(room) => format!("  (in .claude/state/{room})"),
        };
        text.push_str(&format!("  .claude/{}  {} bytes{from}\n", shown(&item.path), item.size));
    }
    if files > SHOWN {
        text.push_str(&format!("  … and {} more\n", files - SHOWN));
    }
    text
}

/// A name that somebody else gave, so that a terminal shows it and nothing else.
fn shown(name: &str) -> String {
    let plain = |c: char| !c.is_control() && (c.is_ascii() || c.is_alphanumeric());
    let name: String = name.chars().map(|c| if plain(c) { c } else { '?' }).collect();
    clip(&name, LONGEST_NAME)
}
