//! The folder of an execution's tasks, with its state, as the commands work on it.

use std::collections::BTreeSet;
use std::path::Path;

use crate::core::gate::shell_word;
use crate::core::text::to_bytes;
use crate::core::time;
use crate::execute::document::{
    self, Claim, ClaimedStep, Execution, FILE, QueueStatus, TaskRecord, TaskStatus,
};
use crate::execute::{Error, Repository, Result, foreign, locate, schedule, transitions};
use crate::process::{Process, client, processes};
use crate::store::execution::{LockedStateFile, StateFile};

/// A process on another machine that was silent for so long is taken for gone, as sessions are.
const SILENCE: u64 = 24 * 60 * 60;

pub struct TasksFolder<'a> {
    pub process: &'a Process,
    pub state_file: StateFile,
    /// As the user named it, for commands in messages.
    named: String,
}

impl<'a> TasksFolder<'a> {
    pub fn open(process: &'a Process, path: &Path, named: &Path) -> Result<Self> {
        let is = if path.exists() { "it is not a folder" } else { "there is no such folder" };
        if !path.is_dir() {
            return Err(Error::at(path, is));
        }
        let path = path.canonicalize().map_err(|error| Error::at(path, error))?;
        locate::refuse_worktree_copy(process, &path)?;
        let state_file = StateFile::open(&path)?;
        Ok(Self { process, state_file, named: named.display().to_string() })
    }

    pub fn path(&self) -> &Path {
        self.state_file.folder()
    }

    /// The state, for reading; what it says about its tasks as a whole is computed.
    pub fn load(&self) -> Result<Execution> {
        let mut state = self.parse_state(self.state_file.read()?)?;
        self.link_agents(&mut state);
        self.recompute(&mut state);
        Ok(state)
    }

    /// The repository of an execution.
    pub fn repository(&self, state: &Execution) -> Result<Repository> {
        self.open_repository(Path::new(&state.project_path))
    }

    pub fn open_repository(&self, project: &Path) -> Result<Repository> {
        Repository::open(project, self.command("rebuild"))
    }

    /// Works on the state under its lock; if that fails, nothing is written.
    pub fn update<T>(&self, work: impl FnOnce(&mut Execution) -> Result<T>) -> Result<T> {
        let locked = self.state_file.lock()?;
        let before = self.parse_state(locked.read()?)?;
        let mut after = before.clone();
        self.recompute(&mut after);
        let result = work(&mut after)?;
        self.write(&locked, Some(&before), after)?;
        Ok(result)
    }

    /// Computes what follows from the tasks, and replaces the file if anything is different.
    pub fn write(
        &self,
        locked: &LockedStateFile,
        before: Option<&Execution>,
        mut after: Execution,
    ) -> Result<Execution> {
        self.link_agents(&mut after);
        after.recompute(&self.now());
        schedule::update_batch(&mut after);
        if let Some(before) = before {
            let mut same = after.clone();
            same.updated_at.clone_from(&before.updated_at);
            same.metrics.elapsed_time_seconds = before.metrics.elapsed_time_seconds;
            if same == *before {
                return Ok(same);
            }
        }
        locked.replace(&to_bytes(&after))?;
        Ok(after)
    }

    /// Computes what follows from the tasks; when the file was written stays as it is.
    pub fn recompute(&self, state: &mut Execution) {
        let updated = state.updated_at.take();
        state.recompute(&self.now());
        state.updated_at = updated;
    }

    /// The agents that hooks saw at tasks.
    fn link_agents(&self, state: &mut Execution) {
        let known = locate::known_executions(self.process, Path::new(&state.project_path));
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

    pub fn now(&self) -> String {
        time::spell(self.process.now())
    }

    /// A claim on a step, by this process.
    pub fn new_claim(&self, step: ClaimedStep) -> Claim {
        Claim { step, by: self.process.own_process(), at: self.now(), ..Claim::default() }
    }

    /// Whether a step was begun by a process that is gone.
    pub fn is_orphaned(&self, claim: &Claim) -> bool {
        let host = processes::host_name();
        let silent = time::age(&claim.at, self.process.now()) > SILENCE;
        client::is_gone(&claim.by, &host) || (claim.by.host != host && silent)
    }

    /// Nobody is at this task right now.
    pub fn ensure_unclaimed(&self, id: &str, task: &TaskRecord) -> Result<()> {
        match &task.claim {
            Some(claim) if !self.is_orphaned(claim) => refuse!(
                "{id} is being {} by process {} since {}",
                claim.step.participle(),
                claim.by.pid,
                claim.at
            ),
            _ => Ok(()),
        }
    }

    /// Gives a claim up: the task is where the step found it.
    pub fn release_claim(&self, id: &str, status: TaskStatus) -> Result<()> {
        self.update(|state| {
            match status {
                TaskStatus::Verified => state.set_queue_status(id, QueueStatus::Pending),
                _ => state.dequeue(id),
            }
            let task = state.task_mut(id)?;
            if task.status != status {
                transitions::advance(id, task, status)?;
            }
            task.claim = None;
            Ok(())
        })
    }

    /// The tasks that a living process is at, here or in another clone.
    pub fn claimed_tasks(&self, state: &Execution) -> BTreeSet<String> {
        let live =
            |task: &TaskRecord| task.claim.as_ref().is_some_and(|claim| !self.is_orphaned(claim));
        let claimed = state.tasks.iter().filter(|(_, task)| live(task) || task.is_elsewhere());
        claimed.map(|(id, _)| id.clone()).collect()
    }

    /// `hookkeeper execute WHAT TASKS_PATH`, for messages.
    pub fn command(&self, what: &str) -> String {
        command(what, &self.named)
    }

    /// Such a command for an agent, who works in another directory.
    pub fn absolute_command(&self, what: &str) -> String {
        command(what, &self.path().display().to_string())
    }

    /// Whether a state was written here: its lock proves that, or the project that it is for, whose
    /// own state knows it.
    pub fn is_own(&self, state: Option<&Execution>) -> Result<bool> {
        let here = self.path().display().to_string();
        let is_known = || {
            let project = state.map(|state| Path::new(&state.project_path));
            let known = project.map(|path| locate::known_executions(self.process, path));
            known.iter().flatten().any(|known| known.tasks_path == here)
        };
        Ok(self.state_file.is_own(is_known)?)
    }

    /// A state that this program began and may go on with.
    pub fn parse_state(&self, bytes: Option<Vec<u8>>) -> Result<Execution> {
        let file = self.path().join(FILE);
        let Some(bytes) = bytes else {
            let (path, init) = (self.path().display(), self.command("init"));
            refuse!("{path} has no {FILE}; {init} begins one");
        };
        let state = document::parse(&bytes);
        let is_own = match &state {
            Ok(state) => self.is_own(Some(state))?,
            Err(_) => false,
        };
        let state = state.map(|state| match is_own && foreign::is_foreign(&state) {
            true => foreign::complete(self, state),
            false => state,
        });
        match state {
            Ok(_) if !is_own => refuse!(
                "{} was not made on this machine, so it is not read; `hookkeeper trust --tasks {}` in a terminal takes it up, {} makes a new one from the task files and git",
                file.display(),
                shell_word(&self.path().display().to_string()),
                self.command("rebuild")
            ),
            Ok(state) if foreign::is_foreign(&state) => refuse!(
                "{} was not begun by `hookkeeper execute init`; {} completes it from the task files and git",
                file.display(),
                self.command("rebuild")
            ),
            Ok(state) => locate::follow_move(self, state),
            Err(why) => refuse!(
                "{} cannot be used: {why}. {} makes a new one from git and keeps this one as {FILE}.bak",
                file.display(),
                self.command("rebuild")
            ),
        }
    }
}

fn command(what: &str, tasks: &str) -> String {
    let (verb, rest) = what.split_once(' ').unwrap_or((what, ""));
    let verb = match verb {
        "verify" => "run-verify".to_owned(),
        other => format!("execute {other}"),
    };
    let line = format!("hookkeeper {verb} {} {rest}", shell_word(tasks));
    format!("`{}`", line.trim_end())
}
