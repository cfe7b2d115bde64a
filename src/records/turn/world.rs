//! The facts of the real world, for hooks.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::client::context_window::ContextUse;
use crate::client::plan_file::{self, IsBelieved, PlanFile};
use crate::client::settings::handler::PROGRAM;
use crate::client::settings::scope::Scope;
use crate::client::settings::unwired::{Unwired, unwired};
use crate::client::side_file::{self, SideFile};
use crate::client::slash_commands;
use crate::client::todos::{self, Todo};
use crate::client::transcript::context_use::context_use;
use crate::client::transcript::spent::Spent;
use crate::client::transcript::usage::{self, Cost};
use crate::client::transcript::{self, AgentWork, InContext};
use crate::core::event::Kind;
use crate::core::redaction::Redactor;
use crate::core::time::Time;
use crate::execute::unfinished::{self, Unfinished};
use crate::git::command::{self, explain_start_error};
use crate::git::history::{self, Claim};
use crate::git::refs::{self, Git};
use crate::process::client::{self, Client};
use crate::process::{Process, digest, files};
use crate::store::settings_file::SettingsPaths;
use crate::turn::context::{Facts, LostWiring};
use crate::turn::root;

/// So long may git take for all that one event asks. A little is left of two seconds for its end.
const GIT: Duration = Duration::from_millis(1800);

/// Reads what is asked for. What belongs to the moment when an event came is read once; a spooled
/// event brings its own.
pub struct World<'a> {
    process: &'a Process,
    root: &'a Path,
    git: OnceCell<Git>,
    /// Git as a program, within the time that one event has for it.
    asked: command::Git,
    client: OnceCell<Client>,
}

impl<'a> World<'a> {
    pub fn new(process: &'a Process, root: &'a Path) -> Self {
        let asked = command::Git::within(root, GIT);
        Self { process, root, git: OnceCell::new(), asked, client: OnceCell::new() }
    }

    /// As it was when an event came that had to wait.
    pub fn at(process: &'a Process, root: &'a Path, git: Git, client: Client) -> Self {
        Self {
            git: OnceCell::from(git),
            client: OnceCell::from(client),
            ..Self::new(process, root)
        }
    }
}

impl Facts for World<'_> {
    fn git(&self) -> Git {
        self.git.get_or_init(|| refs::read(self.root)).clone()
    }

    fn client(&self) -> Client {
        self.client.get_or_init(|| self.process.client()).clone()
    }

    fn plugin_version(&self) -> Option<String> {
        self.process.env("HOOKKEEPER_PLUGIN")
    }

    fn host(&self) -> String {
        self.process.host()
    }

    fn has_slash_commands(&self) -> bool {
        let (commands, own) = slash_commands::FOLDER;
        let has = |dir: PathBuf| dir.join(commands).join(own).join("loop.md").is_file();
        let is_there = has(self.root.join(".claude"))
            || self.process.env("CLAUDE_PLUGIN_ROOT").is_some()
            || self.process.client_dir().is_some_and(has);
        is_there && self.process.on_path(PROGRAM).is_some()
    }

    fn is_gone(&self, client: &Client) -> bool {
        client::is_gone(client, &self.host())
    }

    fn ask_git(&self, args: &[&str]) -> Result<Option<String>, String> {
        let said = self.asked.ask(args).map_err(|error| explain_start_error(&error))?;
        match said.code {
            Some(0) => Ok(Some(said.out)),
            Some(_) => Ok(None),
            None => Err("git does not answer".into()),
        }
    }

    fn digest(&self, path: &Path) -> Option<String> {
        digest::digest(path)
    }

    fn is_checkout(&self, dir: &Path) -> bool {
        refs::is_checkout(dir)
    }

    fn has_branch(&self, checkout: &Path, branch: &str) -> bool {
        refs::has_branch(checkout, branch)
    }

    fn faults(&self, checkouts: &[PathBuf], claims: &[Claim]) -> Vec<Option<String>> {
        // A linked worktree of the project, but no other repository.
        let root = self.root.canonicalize().ok();
        let is_ours =
            |dir: &&PathBuf| dir.as_path() == self.root || refs::main_checkout(dir) == root;
        let checkouts: Vec<&PathBuf> = checkouts.iter().filter(is_ours).collect();
        let fault = |claim: &Claim| {
            let mut found = Some("there is no checkout to ask git in".to_owned());
            for checkout in &checkouts {
                found = history::fault(&self.asked.at(checkout), claim);
                if found.is_none() {
                    break;
                }
            }
            found
        };
        claims.iter().map(fault).collect()
    }

    fn modified(&self, path: &Path) -> Option<Time> {
        files::modified(path)
    }

    fn present(&self, places: &[PathBuf], names: Vec<&str>) -> BTreeSet<String> {
        files::present(places, names)
    }

    fn side_file(&self, transcript: &str, agent_id: &str) -> Option<SideFile> {
        side_file::find(transcript, agent_id)
    }

    fn agent_work(&self, transcript: &Path) -> AgentWork {
        transcript::agent_work(transcript)
    }

    fn in_context(&self, transcript: &Path, with_todos: bool) -> (InContext, Vec<Todo>) {
        transcript::in_context(transcript, with_todos.then(todos::Search::default))
    }

    fn context_use(&self, transcript: &Path) -> Option<ContextUse> {
        context_use(transcript)
    }

    fn todos(&self, transcript: &Path) -> Vec<Todo> {
        todos::read(transcript)
    }

    fn client_version(&self, transcript: &Path) -> Option<String> {
        transcript::client_version(transcript)
    }

    fn cost(&self, transcript: &Path) -> Cost {
        usage::cost(transcript, usage::AT_END)
    }

    fn spent(&self, transcript: &Path, before: &Spent, since: &str) -> Spent {
        let mut spent = before.clone();
        spent.read_on(transcript, since);
        spent
    }

    fn fork_parent(&self, transcript: &Path, session_id: &str) -> Option<String> {
        transcript::fork_parent(transcript, session_id)
    }

    fn plan_file(
        &self,
        root: &Path,
        branch: &str,
        redact: &Redactor,
        is_believed: IsBelieved,
    ) -> Option<PlanFile> {
        plan_file::find(root, branch, redact, is_believed)
    }

    fn lost_wiring(&self, scope: Scope) -> Result<Option<LostWiring>, String> {
        let (home, client) = (self.process.home(), self.process.client_dir());
        let paths =
            SettingsPaths { root: self.root, home: home.as_deref(), client: client.as_deref() };
        let Some(wired) = paths.wired_file(scope).map_err(|error| error.to_string())? else {
            return Ok(None);
        };
        let bytes = paths.read(scope).map_err(|error| error.to_string())?.unwrap_or_default();
        let Unwired { events, cause } = unwired(&String::from_utf8_lossy(&bytes));
        // Another version of ours did not wire all events; then it counts only if none is left.
        let is_ours = wired.version == env!("CARGO_PKG_VERSION");
        let is_lost = !events.is_empty() && (is_ours || events.len() == Kind::COUNT);
        let path = paths.path(scope).map_err(|error| error.to_string())?;
        let file = root::shown(&path, self.root, home.as_deref());
        Ok(is_lost.then_some(LostWiring { file, events, cause }))
    }

    fn unfinished(&self, tasks: &Path) -> Option<Unfinished> {
        unfinished::unfinished(tasks)
    }
}
