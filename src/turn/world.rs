//! The facts of the real world, for hooks.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::client::plan_file::{self, IsBelieved, PlanFile};
use crate::client::side_file::{self, SideFile};
use crate::client::todos::{self, Todo};
use crate::client::transcript::{self, AgentWork, Cost, InContext};
use crate::core::redaction::Redactor;
use crate::core::time::Time;
use crate::execute::unfinished::{self, Unfinished};
use crate::git::refs::{self, Git};
use crate::process::client::{self, Client};
use crate::process::{Process, files};
use crate::turn::context::Facts;

/// Reads what is asked for. What belongs to the moment when an event came is read once; a spooled
/// event brings its own.
pub struct World<'a> {
    process: &'a Process,
    root: &'a Path,
    git: OnceCell<Git>,
    client: OnceCell<Client>,
}

impl<'a> World<'a> {
    pub fn new(process: &'a Process, root: &'a Path) -> Self {
        Self { process, root, git: OnceCell::new(), client: OnceCell::new() }
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

    fn host(&self) -> String {
        self.process.host()
    }

    fn is_gone(&self, client: &Client) -> bool {
        client::is_gone(client, &self.host())
    }

    fn has_branch(&self, checkout: &Path, branch: &str) -> bool {
        refs::has_branch(checkout, branch)
    }

    fn modified(&self, path: &Path) -> Option<Time> {
        files::modified(path)
    }

    fn present(&self, places: &[PathBuf], names: Vec<&str>) -> BTreeSet<String> {
        files::present(places, names)
    }

    fn side_file(&self, path: &Path) -> Option<SideFile> {
        side_file::read(path)
    }

    fn agent_work(&self, transcript: &Path) -> AgentWork {
        transcript::agent_work(transcript)
    }

    fn in_context(&self, transcript: &Path, with_todos: bool) -> (InContext, Vec<Todo>) {
        transcript::in_context(transcript, with_todos.then(todos::Search::default))
    }

    fn todos(&self, transcript: &Path) -> Vec<Todo> {
        todos::read(transcript)
    }

    fn client_version(&self, transcript: &Path) -> Option<String> {
        transcript::client_version(transcript)
    }

    fn cost(&self, transcript: &Path) -> Cost {
        transcript::cost(transcript)
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

    fn unfinished(&self, tasks: &Path) -> Option<Unfinished> {
        unfinished::unfinished(tasks)
    }
}
