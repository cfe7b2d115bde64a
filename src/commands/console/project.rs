//! The project that a command is about, and what commands say.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde_json::Value;

use crate::console::style::ColourChoice;
use crate::console::usage::usage;
use crate::core::error::Result;
use crate::core::gate::Printed;
use crate::core::outcome::Outcome;
use crate::core::redaction::Redactor;
use crate::core::settings::Settings;
use crate::process::Process;
use crate::session::locked_store::{PlaySpool, locked_store, unplayed_store};
use crate::session::notices::keep_remarks;
use crate::state::{Document, State};
use crate::store::view::{Lookup, View};
use crate::store::{Store, home};
use crate::turn::root;

pub const NOT_BELIEVED: &str = "There is state that was not made on this machine, so it is not read; \
                            `hookkeeper trust` in a terminal shows it and takes it up.";

/// How state begins where there is none.
pub const STATE_BEGINS: &str =
    "It begins when Claude Code runs a hook here. Wire it: hookkeeper install";

/// The commands that list what can be named.
const LISTS: [(&str, &str); 6] = [
    ("session", "hookkeeper sessions"),
    ("agent", "hookkeeper agents"),
    ("running agent", "hookkeeper agents"),
    ("error", "hookkeeper errors --all"),
    ("item", "hookkeeper queue list"),
    ("backup", "hookkeeper backup list"),
];

/// A document or a list, as JSON that people can read too.
pub fn print_json<T: serde::Serialize + ?Sized>(value: &T) -> anyhow::Result<Outcome> {
    Ok(Outcome::printed(Printed::json(value)?))
}

/// What a command did, and where things stand after it.
pub fn said_with(done: Outcome, stands: Value) -> anyhow::Result<Outcome> {
    let mut all = serde_json::Map::new();
    all.insert("said".into(), done.stdout.unwrap_or_default().to_string().into());
    match stands {
        Value::Object(fields) => all.extend(fields),
        other => all.extend([("now".to_owned(), other)]),
    }
    Ok(Outcome { stdout: Some(Printed::json(&all)?), ..done })
}

/// The one of these that is meant: itself, or the only one that begins so, with or without the
/// prefix that they all have.
pub fn one_of(named: &str, known: &[String], what: &str, prefix: &str) -> anyhow::Result<String> {
    let with_prefix = format!("{prefix}{named}");
    if let Some(id) = known.iter().find(|id| *id == named || **id == with_prefix) {
        return Ok(id.clone());
    }
    let begins = |id: &&String| id.starts_with(named) || id.starts_with(&with_prefix);
    let mut found: Vec<&String> = known.iter().filter(begins).collect();
    found.sort_unstable();
    found.dedup();
    match found.as_slice() {
        _ if named.is_empty() => anyhow::bail!(usage(format!("which {what}? The name is empty"))),
        [] => anyhow::bail!(unknown(what, named)),
        [id] => Ok((*id).clone()),
        several => {
            let several: Vec<&str> = several.iter().take(5).map(|id| id.as_str()).collect();
            anyhow::bail!("`{named}` could be several: {}", several.join(", "))
        }
    }
}

/// That nothing of a kind is called so, and which command lists what there is.
pub fn unknown(what: &str, named: &str) -> String {
    let lists = LISTS.iter().find(|(kind, _)| *kind == what).map(|(_, command)| command);
    let lists = lists.map(|command| format!(" ({command})")).unwrap_or_default();
    format!("there is no {what} `{named}`{lists}")
}

/// The project that a command is about.
pub struct Project<'a> {
    pub process: &'a Process,
    /// `-C DIR`
    pub named: Option<&'a Path>,
    /// `--color`
    pub colour: ColourChoice,
    pub play_spool: PlaySpool,
}

impl Project<'_> {
    /// `-C DIR`; else, for a command that the model runs, the project whose live sessions have its
    /// id; else the project around the working directory.
    pub fn root(&self) -> anyhow::Result<PathBuf> {
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
    pub fn settings(&self) -> anyhow::Result<Settings> {
        let home = self.process.home();
        Ok(home::current_settings(&self.root()?, home.as_deref())?.0)
    }

    /// Takes secrets out of what a person types, before it is stored.
    pub fn redactor(&self) -> anyhow::Result<Redactor> {
        Ok(Redactor::new(&self.settings()?.redact))
    }

    /// Works on the locked store. What the user should hear of is kept, whatever comes of it.
    pub fn change<T>(
        &self,
        work: impl FnOnce(&Store, &State) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let root = self.root()?;
        self.change_in(&root, locked_store(self.process, &root, self.play_spool), work)
    }

    /// Works on the locked store while events that wait go on waiting.
    pub fn change_unplayed<T>(
        &self,
        work: impl FnOnce(&Store, &State) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let root = self.root()?;
        self.change_in(&root, unplayed_store(self.process, &root), work)
    }

    fn change_in<T>(
        &self,
        root: &Path,
        opened: Result<Store>,
        work: impl FnOnce(&Store, &State) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let store =
            opened.with_context(|| format!("the state of {} cannot be changed", root.display()))?;
        let state = State::new(&store);
        let done = work(&store, &state);
        // Where reading has failed, an answer that was made without it is none.
        let done = state.check().map_err(anyhow::Error::from).and(done);
        keep_remarks(&store, &state, self.process.now())?;
        anyhow::ensure!(
            store.is_in_place(),
            "somebody removed .claude/state while it was changed; try again"
        );
        done
    }

    /// A document that there is once, for reading. Absent is `None`, unreadable an error with its name.
    pub fn document<T: Document<Key = ()> + Clone>(&self) -> anyhow::Result<Option<T>> {
        self.view()?.map_or(Ok(None), |view| read_document(&view, &()))
    }

    /// What is said where there is nothing to show; and if there is something that is not believed, how
    /// to have it.
    pub fn nothing_here(&self, says: &str) -> anyhow::Result<String> {
        let is_left_out = home::has_unbelieved(&self.root()?, self.process.home().as_deref());
        Ok(match is_left_out {
            false => says.to_owned(),
            true => format!("{}. {NOT_BELIEVED}", says.trim_end_matches('.')),
        })
    }

    /// There is no state, and how to have it.
    pub fn no_state_here(&self) -> anyhow::Result<String> {
        let says = "There is no state here yet.";
        let said = self.nothing_here(says)?;
        Ok(if said == says { format!("{says} {STATE_BEGINS}") } else { said })
    }

    /// A path as people write it: relative to the project, or from `~`.
    pub fn shown(&self, path: &Path) -> String {
        let (root, home) = (self.root().unwrap_or_default(), self.process.home());
        root::shown(path, &root, home.as_deref())
    }

    /// The state, for reading. `None` if there is none yet.
    pub fn view(&self) -> anyhow::Result<Option<View>> {
        let root = self.root()?;
        View::open(&root, self.process.home().as_deref())
            .with_context(|| format!("the state of {} cannot be read", root.display()))
    }
}

/// A document. One that is there and cannot be read is an error with its name.
pub fn read_document<T: Document + Clone>(view: &View, key: &T::Key) -> anyhow::Result<Option<T>> {
    match view.look_up::<T>(key) {
        Lookup::Good(document) => Ok(Some(document)),
        Lookup::None => Ok(None),
        Lookup::Bad => {
            anyhow::bail!("{} cannot be read; `hookkeeper validate` says why", T::doc(key).path())
        }
    }
}
