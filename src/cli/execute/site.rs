//! The folder of an execution, as the commands work on it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use super::elsewhere;
use super::repository::Repository;
use crate::books::execute::{self, Claim, Execution, FILE, Step, Task};
use crate::books::executions::Executions;
use crate::books::to_bytes;
use crate::cli::Project;
use crate::execute::schedule;
use crate::facts::client;
use crate::plan::Plan;
use crate::store::execution::{Folder, Held};
use crate::time;

/// A process on another machine that was silent for so long is taken for gone, as sessions are.
const SILENCE: u64 = 24 * 60 * 60;

pub struct Site<'a> {
    pub project: &'a Project<'a>,
    pub folder: Folder,
    /// As the user named it, for commands in messages.
    pub named: String,
}

impl<'a> Site<'a> {
    pub fn open(project: &'a Project<'a>, named: &Path) -> anyhow::Result<Self> {
        let path = absolute(project, named)?;
        let is = if path.exists() { "it is not a folder" } else { "there is no such folder" };
        anyhow::ensure!(path.is_dir(), "{}: {is}", path.display());
        let path = path.canonicalize().with_context(|| path.display().to_string())?;
        elsewhere::refuse_copy(project, &path)?;
        let folder = Folder::open(&path)?;
        Ok(Self { project, folder, named: named.display().to_string() })
    }

    /// The state, for reading; what it says about its tasks as a whole is computed.
    pub fn load(&self) -> anyhow::Result<Execution> {
        let mut state = self.parsed(self.folder.read()?)?;
        self.name_agents(&mut state);
        self.settle(&mut state);
        Ok(state)
    }

    /// The repository of an execution.
    pub fn repository(&self, state: &Execution) -> anyhow::Result<Repository> {
        self.repository_at(Path::new(&state.project_path))
    }

    pub fn repository_at(&self, project: &Path) -> anyhow::Result<Repository> {
        Repository::open(project, self.command("rebuild"))
    }

    /// Works on the state under its lock; if that fails, nothing is written.
    pub fn change<T>(
        &self,
        work: impl FnOnce(&mut Execution) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let held = self.folder.lock()?;
        let before = self.parsed(held.read()?)?;
        let mut after = before.clone();
        self.settle(&mut after);
        let done = work(&mut after)?;
        self.write(&held, Some(&before), after)?;
        Ok(done)
    }

    /// Computes what follows from the tasks, and replaces the file if anything is different.
    pub fn write(
        &self,
        held: &Held,
        before: Option<&Execution>,
        mut after: Execution,
    ) -> anyhow::Result<Execution> {
        self.name_agents(&mut after);
        after.settle(&self.now());
        schedule::next_batch(&mut after);
        if let Some(before) = before {
            let mut same = after.clone();
            same.updated_at.clone_from(&before.updated_at);
            same.metrics.elapsed_time_seconds = before.metrics.elapsed_time_seconds;
            if same == *before {
                return Ok(same);
            }
        }
        held.put(&to_bytes(&after))?;
        Ok(after)
    }

    pub fn settle(&self, state: &mut Execution) {
        let updated = state.updated_at.take();
        state.settle(&self.now());
        state.updated_at = updated;
    }

    /// The agents that hooks saw at tasks.
    fn name_agents(&self, state: &mut Execution) {
        let known = elsewhere::known(self.project, Path::new(&state.project_path));
        for known in known.into_iter().filter(|known| known.tasks_path == state.tasks_path) {
            for (id, seen) in known.agents.into_iter().filter(|(_, seen)| seen.stopped.is_none()) {
                if let Some(task) = state.tasks.get_mut(&id).filter(|task| task.status.is_running())
                {
                    task.agent_id = Some(seen.agent_id);
                    task.session_id = Some(seen.session_id);
                }
            }
        }
    }

    /// Changes what the project's books know of its executions.
    pub fn register(
        &self,
        state: &Execution,
        work: impl FnOnce(&mut Executions),
    ) -> anyhow::Result<()> {
        let root = PathBuf::from(&state.project_path);
        let project = Project { process: self.project.process, named: Some(&root) };
        project.change(|store, around| {
            let read = around.read::<Executions>(&());
            let mut known = read.value.cloned().unwrap_or_default();
            work(&mut known);
            let mut plan = Plan::default();
            plan.put(&read, &known);
            Ok(store.commit(&plan.changes, around)?)
        })
    }

    pub fn now(&self) -> String {
        time::spell(self.project.process.now())
    }

    /// A claim on a step, by this process.
    pub fn claim(&self, step: Step) -> Claim {
        crate::execute::steps::claim(step, self.project.process.own(), &self.now())
    }

    /// Whether a step was begun by a process that is gone.
    pub fn is_dead(&self, claim: &Claim) -> bool {
        let host = client::host_name();
        let silent = time::age(&claim.at, self.project.process.now()) > SILENCE;
        client::is_gone(&claim.by, &host) || (claim.by.host != host && silent)
    }

    /// Somebody is at this task right now.
    pub fn refuse_busy(&self, id: &str, task: &Task) -> anyhow::Result<()> {
        match &task.claim {
            Some(claim) if !self.is_dead(claim) => bail!(
                "{id} is being {} by process {} since {}",
                claim.step.word(),
                claim.by.pid,
                claim.at
            ),
            _ => Ok(()),
        }
    }

    pub fn busy(&self, state: &Execution) -> BTreeSet<String> {
        let live = |task: &Task| task.claim.as_ref().is_some_and(|claim| !self.is_dead(claim));
        let busy = state.tasks.iter().filter(|(_, task)| live(task));
        busy.map(|(id, _)| id.clone()).collect()
    }

    /// `hookkeeper execute WHAT TASKS_PATH`, for messages.
    pub fn command(&self, what: &str) -> String {
        command(what, &self.named)
    }

    /// The same for an agent, who works in another directory.
    pub fn command_anywhere(&self, what: &str) -> String {
        command(what, &self.folder.path().display().to_string())
    }

    pub fn parsed(&self, bytes: Option<Vec<u8>>) -> anyhow::Result<Execution> {
        let file = self.folder.path().join(FILE);
        let Some(bytes) = bytes else {
            bail!(
                "{} has no {FILE}; {} begins one",
                self.folder.path().display(),
                self.command("init")
            );
        };
        let state = execute::parse(&bytes);
        let foreign = |state: &Execution| {
            let has_layers = state.tasks.values().all(|task| task.layer.is_some());
            state.base_branch.is_none() || !has_layers
        };
        match state {
            Ok(state) if foreign(&state) => bail!(
                "{} was not begun by `hookkeeper execute init`; {} completes it from the task files and git",
                file.display(),
                self.command("rebuild")
            ),
            Ok(state) => elsewhere::moved(self, state),
            Err(why) => bail!(
                "{} cannot be used: {why}. {} makes a new one from git and keeps this one as {FILE}.bak",
                file.display(),
                self.command("rebuild")
            ),
        }
    }
}

/// The task that is meant.
pub fn task<'a>(state: &'a Execution, id: &str) -> anyhow::Result<&'a Task> {
    state.tasks.get(id).with_context(|| format!("there is no task {id} in {}", state.prd_slug))
}

pub fn task_mut<'a>(state: &'a mut Execution, id: &str) -> anyhow::Result<&'a mut Task> {
    state.tasks.get_mut(id).with_context(|| format!("there is no task {id}"))
}

/// What a pure step refuses, as an error of a command.
pub fn done<T>(id: &str, step: Result<T, String>) -> anyhow::Result<T> {
    step.map_err(|why| anyhow::anyhow!("{id}: {why}"))
}

/// From the working directory, or from `-C DIR`.
pub fn absolute(project: &Project, path: &Path) -> anyhow::Result<PathBuf> {
    if path.is_absolute() {
        return Ok(path.to_owned());
    }
    let base = match project.named {
        Some(_) => project.root()?,
        None => project.process.cwd().context("there is no working directory")?,
    };
    Ok(base.join(path))
}

fn command(what: &str, tasks: &str) -> String {
    let (verb, rest) = what.split_once(' ').unwrap_or((what, ""));
    let line = format!("hookkeeper execute {verb} {} {rest}", shell_word(tasks));
    format!("`{}`", line.trim_end())
}

fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '-' | '_' | '~' | '+');
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}
