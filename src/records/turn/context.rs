//! What a decision may depend on beside event and documents.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::client::context_window::ContextUse;
use crate::client::plan_file::{IsBelieved, PlanFile};
use crate::client::settings::scope::Scope;
use crate::client::side_file::SideFile;
use crate::client::todos::Todo;
use crate::client::transcript::spent::Spent;
use crate::client::transcript::usage::Cost;
use crate::client::transcript::{AgentWork, InContext};
use crate::core::event::Kind;
use crate::core::redaction::Redactor;
use crate::core::settings::Settings;
use crate::core::text::relative;
use crate::core::time::{self, Time};
use crate::execute::unfinished::Unfinished;
use crate::git::history::Claim;
use crate::git::refs::Git;
use crate::process::client::Client;
use crate::state::State;

const LONGEST_TASK: usize = 200;

pub struct Context<'a> {
    pub now: Time,
    /// For one new thing per event; empty for events that make none.
    pub fresh_id: String,
    pub root: String,
    pub settings: Settings,
    pub redact: Redactor,
    /// How often the client lets itself be blocked in a row; 0: without end.
    pub block_cap: u64,
    /// Whether the reply reaches somebody.
    pub is_heard: bool,
    pub facts: &'a dyn Facts,
}

impl Context<'_> {
    /// The time as documents have it.
    pub fn spelled(&self) -> String {
        time::spell(self.now)
    }

    /// A task's text as documents have it: redacted, short, on one line.
    pub fn task(&self, text: &str) -> String {
        task_line(text, &self.redact)
    }

    /// The plan of a branch, if it was written here.
    pub fn plan_file(&self, branch: &str, state: &State) -> Option<PlanFile> {
        let is_believed = |name: &str| state.source().believes(&format!("plans/{name}"));
        self.facts.plan_file(Path::new(&self.root), branch, &self.redact, &is_believed)
    }

    /// A path as the project sees it.
    pub fn relative(&self, path: &str) -> String {
        relative(path, &self.root)
    }
}

/// A settings file that `install` wired, and that does not call us any more for some events.
#[derive(Clone, Debug, PartialEq)]
pub struct LostWiring {
    /// The file, for people.
    pub file: String,
    /// Not empty.
    pub events: Vec<Kind>,
    /// Why the client passes over entries of ours that are still there.
    pub cause: Option<String>,
}

/// A task's text as documents have it.
pub fn task_line(text: &str, redact: &Redactor) -> String {
    redact.line(text, LONGEST_TASK)
}

/// What is read from outside, when it is asked for: git, processes, the client's files. A test that
/// does not say otherwise finds nothing there.
pub trait Facts {
    /// What was checked out when the event came.
    fn git(&self) -> Git {
        Git::default()
    }

    /// The client that the event came from.
    fn client(&self) -> Client {
        Client::default()
    }

    /// The version of the plugin whose hook started us, where that is not the plugin's own program.
    fn plugin_version(&self) -> Option<String> {
        None
    }

    /// This machine's name.
    fn host(&self) -> String {
        String::new()
    }

    /// Whether our slash commands are there, and the program that they run.
    fn has_slash_commands(&self) -> bool {
        false
    }

    /// Whether a client of this machine runs no more.
    fn is_gone(&self, _client: &Client) -> bool {
        false
    }

    /// Asks git, in the project; all questions of one event together take two seconds at most.
    /// `None`: git says no. An error says why it could not be asked.
    fn ask_git(&self, _args: &[&str]) -> Result<Option<String>, String> {
        Ok(None)
    }

    /// A digest of what a file, or a folder, has in it; `None` if there is nothing.
    fn digest(&self, _path: &Path) -> Option<String> {
        None
    }

    /// Whether git has its directory there.
    fn is_checkout(&self, _dir: &Path) -> bool {
        false
    }

    /// Whether the repository that a directory is in has a branch of this name.
    fn has_branch(&self, _checkout: &Path, _branch: &str) -> bool {
        false
    }

    /// What is wrong with each of these claims, by git in one of these checkouts. All questions of
    /// an event together take two seconds at most.
    fn faults(&self, _checkouts: &[PathBuf], claims: &[Claim]) -> Vec<Option<String>> {
        claims.iter().map(|_| Some("there is no git to ask".to_owned())).collect()
    }

    /// When a file was last written to.
    fn modified(&self, _path: &Path) -> Option<Time> {
        None
    }

    /// Which of these files are in one of these places and are not empty.
    fn present(&self, _places: &[PathBuf], _names: Vec<&str>) -> BTreeSet<String> {
        BTreeSet::new()
    }

    /// What the client's side file says about an agent of the session with this transcript.
    fn side_file(&self, _transcript: &str, _agent_id: &str) -> Option<SideFile> {
        None
    }

    /// What an agent's transcript says about its work.
    fn agent_work(&self, _transcript: &Path) -> AgentWork {
        AgentWork::default()
    }

    /// What is in a session's context, and, if that is wanted, what it has set out to do.
    fn in_context(&self, _transcript: &Path, _with_todos: bool) -> (InContext, Vec<Todo>) {
        Default::default()
    }

    /// How much is in a session's context.
    fn context_use(&self, _transcript: &Path) -> Option<ContextUse> {
        None
    }

    /// What a transcript says that a session has set out to do.
    fn todos(&self, _transcript: &Path) -> Vec<Todo> {
        Vec::new()
    }

    /// The version of the client that wrote a transcript last.
    fn client_version(&self, _transcript: &Path) -> Option<String> {
        None
    }

    fn cost(&self, _transcript: &Path) -> Cost {
        Cost::default()
    }

    /// What was spent by now; of a transcript that is new to us, since this time.
    fn spent(&self, _transcript: &Path, before: &Spent, _since: &str) -> Spent {
        before.clone()
    }

    /// The session that a transcript was forked from.
    fn fork_parent(&self, _transcript: &Path, _session_id: &str) -> Option<String> {
        None
    }

    /// The plan of a branch.
    fn plan_file(
        &self,
        _root: &Path,
        _branch: &str,
        _redact: &Redactor,
        _is_believed: IsBelieved,
    ) -> Option<PlanFile> {
        None
    }

    /// What a settings file that `install` wired has lost of it; an error says why it could not be
    /// looked at.
    fn lost_wiring(&self, _scope: Scope) -> Result<Option<LostWiring>, String> {
        Ok(None)
    }

    /// How far an execution is, if it is not complete.
    fn unfinished(&self, _tasks: &Path) -> Option<Unfinished> {
        None
    }
}
