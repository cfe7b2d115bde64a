//! The remote of an execution, as the commands of a clone use it: the state in line with it, claims
//! taken and renewed.

use crate::core::text::clip;
use crate::core::time;
use crate::execute::document::{
    ClaimState, Execution, SeenClaim, SharedRemote, TaskRecord, TaskStatus,
};
use crate::execute::remote::apply::{self, Reading};
use crate::execute::remote::claim::{ClaimRecord, VERSION};
use crate::execute::remote::push::{Pushed, Update};
use crate::execute::remote::wire::{Snapshot, Trouble, Wire, claim_ref};
use crate::execute::{Correction, Error, MergedTask, Repository, Result, TasksFolder, task_branch};

pub struct Coordination<'a> {
    pub folder: &'a TasksFolder<'a>,
    pub repository: &'a Repository,
    pub remote: SharedRemote,
    base_branch: String,
}

/// A task, and commits with their times.
type TaskCommits = (String, Vec<(String, String)>);

/// What came of a look at the remote.
pub enum Contact {
    /// The state is in line with it; what people should hear of.
    Reached(Vec<Correction>),
    /// The state is as it was; why.
    Offline(String),
}

/// What a new claim says beside who makes it.
#[derive(Default)]
pub struct NewClaim {
    pub state: ClaimState,
    pub attempts: u64,
    pub head: Option<String>,
    pub error: Option<String>,
    pub feedback: Option<String>,
}

impl<'a> Coordination<'a> {
    /// None if the execution is this clone's alone.
    pub fn of(
        folder: &'a TasksFolder<'a>,
        repository: &'a Repository,
        state: &Execution,
    ) -> Option<Self> {
        let remote = state.remote.clone()?;
        Some(Self { folder, repository, remote, base_branch: state.base().to_owned() })
    }

    pub fn wire(&self) -> Wire<'_> {
        Wire { repository: self.repository, remote: &self.remote.name }
    }

    pub fn read(&self) -> std::result::Result<Snapshot, Trouble> {
        self.wire().read(&self.remote.execution, &self.base_branch)
    }

    /// Brings the state in line with the remote.
    pub fn sync(&self) -> Result<Contact> {
        let before = self.folder.load()?;
        let snapshot = match self.read() {
            Ok(snapshot) => snapshot,
            Err(trouble) => return Ok(Contact::Offline(trouble.explain(&self.remote.name))),
        };
        self.ensure_same_history(&before, &snapshot)?;
        self.apply(&before, &snapshot).map(Contact::Reached)
    }

    /// Takes in what the remote has; a remote that does not answer is an error.
    pub fn sync_or_refuse(&self, what: &str) -> Result<Vec<Correction>> {
        match self.sync()? {
            Contact::Reached(notes) => Ok(notes),
            Contact::Offline(why) => refuse!("{why}; {what}"),
        }
    }

    pub fn apply(&self, before: &Execution, snapshot: &Snapshot) -> Result<Vec<Correction>> {
        let merged = match &snapshot.base {
            Some(base) => self.repository.merged_tasks(before, base)?,
            None => Vec::new(),
        };
        let commits = self.merged_commits(before, &merged);
        let known = apply::known_claims(before);
        let now = self.folder.process.now();
        let reading = Reading { snapshot, merged: &merged, known, now };
        self.folder.update(|state| {
            let notes = apply::apply(state, &reading);
            for (id, commits) in commits {
                let task = state.task_mut(&id)?;
                if task.commits.is_empty() && task.status == TaskStatus::Completed {
                    task.set_commits(commits);
                }
            }
            Ok(notes)
        })
    }

    /// The commits of tasks that others have merged.
    fn merged_commits(&self, state: &Execution, merged: &[MergedTask]) -> Vec<TaskCommits> {
        let has = |id: &String| {
            let task = state.tasks.get(id);
            task.is_none_or(|t| t.status == TaskStatus::Completed && !t.commits.is_empty())
        };
        let new = merged.iter().filter(|merged| !has(&merged.id));
        let commits = new.filter_map(|merged| {
            let (first, second) = (format!("{}^1", merged.commit), format!("{}^2", merged.commit));
            let commits = self.repository.commits_ahead(&first, &second).ok()?;
            Some((merged.id.clone(), commits))
        });
        commits.collect()
    }

    /// The base branch of the remote still has what it had, and the execution is the same.
    fn ensure_same_history(&self, state: &Execution, snapshot: &Snapshot) -> Result<()> {
        let (name, base) = (&self.remote.name, &self.base_branch);
        let rebuild = self.folder.command("rebuild");
        let Some(tip) = &snapshot.base else {
            refuse!("{name} has no branch {base} any more; nothing is changed here");
        };
        let begun = state.base_commit.as_deref().unwrap_or_default();
        match &snapshot.record {
            Some(record) if record.base_commit == begun => {}
            None if !snapshot.has_unreadable_record => refuse!(
                "{name} has no execution {} any more: somebody has removed its refs; {} takes away what is here of it",
                self.remote.execution,
                self.folder.command("reset --force")
            ),
            _ => refuse!(
                "the execution {} on {name} is not the one that this clone has joined; {} sets this one aside, then `execute init --remote` joins the other",
                self.remote.execution,
                self.folder.command("reset --force")
            ),
        }
        let seen = self.remote.base.as_deref().unwrap_or(begun);
        if seen == tip || self.repository.contains(tip, seen)? {
            return Ok(());
        }
        if self.repository.is_shallow()? {
            return Err(shallow(self.repository, name));
        }
        let short = |commit: &str| commit.get(..12).unwrap_or(commit).to_owned();
        refuse!(
            "{base} on {name} was rewritten: it had {}, and is at {} now, without it. Nothing is changed here. `git push {name} {}:refs/heads/{base} --force-with-lease` puts the old one back; {rebuild} takes the new one for true",
            short(seen),
            short(tip),
            short(seen)
        )
    }

    /// A claim of this clone, which nobody else can have made.
    pub fn new_record(&self, task: &str, claim: &NewClaim) -> ClaimRecord {
        let process = self.folder.process;
        let lease = self.remote.lease_seconds;
        let end = chrono::Duration::try_seconds(i64::try_from(lease).unwrap_or(i64::MAX));
        let user = process.env("USER").or_else(|| process.env("LOGNAME")).unwrap_or_default();
        ClaimRecord {
            version: VERSION,
            execution: self.remote.execution.clone(),
            task: task.to_owned(),
            state: claim.state,
            attempts: claim.attempts,
            host: clip(&process.shown_host(), 100),
            user: clip(&user, 100),
            clone_id: self.remote.clone_id.clone(),
            epoch: process.unique_id(task),
            at: self.folder.now(),
            lease_end: end
                .and_then(|end| process.now().checked_add_signed(end))
                .map(time::spell)
                .unwrap_or_default(),
            lease_seconds: lease,
            head: claim.head.clone(),
            error: claim.error.clone(),
            feedback: claim.feedback.clone(),
        }
    }

    /// The step of a claim's ref from what this clone has seen there to a new claim.
    pub fn step(
        &self,
        task: &str,
        seen: Option<&SeenClaim>,
        claim: &NewClaim,
    ) -> Result<(Update, SeenClaim)> {
        let record = self.new_record(task, claim);
        let parent = seen.map(|seen| seen.commit.clone());
        // Somebody has put something else there: it is replaced, and the claim begins anew.
        let follows =
            parent.as_deref().map(|parent| self.repository.is_commit(parent)).transpose()?;
        let before = parent.as_deref().filter(|_| follows == Some(true));
        let commit = self.wire().write_commit(before, &record.message())?;
        let now = self.folder.now();
        let seen = record.seen(&commit, &self.remote.clone_id, &now);
        let name = claim_ref(&self.remote.execution, task);
        Ok((Update { name, expected: Some(parent), to: commit }, seen))
    }

    /// Moves the claim of a task, with other refs; the state knows it when it is done.
    pub fn move_claim(&self, id: &str, claim: &NewClaim, with: Vec<Update>) -> Result<Pushed> {
        let state = self.folder.load()?;
        let (update, seen) = self.step(id, state.task(id)?.remote.as_ref(), claim)?;
        let updates: Vec<Update> = [update].into_iter().chain(with).collect();
        let pushed = self.wire().push(&updates)?;
        if pushed == Pushed::Done {
            self.note(id, seen)?;
        }
        Ok(pushed)
    }

    pub fn note(&self, id: &str, seen: SeenClaim) -> Result<()> {
        self.folder.update(|state| {
            state.task_mut(id)?.remote = Some(seen);
            Ok(())
        })
    }

    /// Takes a task for this clone, or renews what it has. The state was in line with the remote a
    /// moment ago. What the remote has of it from before gets another name there, which is returned.
    pub fn hold(&self, id: &str, attempts: u64) -> Result<Option<Update>> {
        let seen = self.folder.load()?.task(id)?.remote.clone();
        let head = seen.as_ref().and_then(|seen| seen.unmerged_head().cloned());
        let claim = NewClaim { attempts, head, ..NewClaim::default() };
        let remote = &self.remote.name;
        let kept = match seen.filter(|seen| !seen.is_own(ClaimState::Held)) {
            Some(_) => self.keep_earlier(id),
            None => Ok(None),
        };
        let pushed = match &kept {
            Ok(kept) => self.move_claim(id, &claim, kept.iter().cloned().collect())?,
            Err(trouble) => trouble.clone().into(),
        };
        match pushed {
            Pushed::Done => Ok(kept.unwrap_or_default()),
            Pushed::Offline(why) => {
                refuse!("{remote} cannot be reached ({why}), so {id} is not claimed")
            }
            Pushed::Refused(why) => refuse!("{remote} refuses the claim of {id}: {why}"),
            Pushed::Changed => self.explain_changed(id).map(|()| None),
        }
    }

    /// Before a task is begun: the remote is asked who has it. While it is away, only what this clone
    /// has anyway is gone on with.
    pub fn prepare_start(&self, id: &str, take_over: bool) -> Result<Vec<Correction>> {
        let mut notes = match self.sync()? {
            Contact::Reached(notes) => notes,
            Contact::Offline(why) => {
                let state = self.folder.load()?;
                let seen = state.task(id)?.remote.as_ref();
                if seen.is_some_and(|seen| seen.is_own(ClaimState::Held)) {
                    return Ok(Vec::new());
                }
                refuse!("{why}, so {id} cannot be claimed; what is claimed here already goes on");
            }
        };
        notes.extend(self.settle(false)?);
        let text = self.folder.update(|state| {
            let task = state.task_mut(id)?;
            let is_theirs = |seen: &&mut SeenClaim| !seen.own && seen.state == ClaimState::Held;
            let Some(seen) = task.remote.as_mut().filter(is_theirs) else { return Ok(None) };
            let (who, at, attempts) = (seen.holder(), &seen.at, seen.attempts);
            let who = format!("taken over from {who}, who had it since {at} (attempt {attempts})");
            if seen.stale {
                let lease = time::human(seen.lease_seconds);
                return Ok(Some(format!("{who}: no sign of it for its lease of {lease}")));
            }
            if !take_over {
                return Err(taken(id, seen, ""));
            }
            seen.stale = true;
            apply::set_open(task, TaskStatus::Pending, attempts.saturating_sub(1));
            Ok(Some(format!("{who}: --take-over")))
        })?;
        notes.extend(text.map(|text| Correction { id: id.to_owned(), text }));
        Ok(notes)
    }

    /// A look at the remote before something is said or done that works without it too: what people
    /// should hear of, and why the remote was not reached.
    pub fn sync_if_reachable(&self) -> Result<(Vec<Correction>, Option<String>)> {
        Ok(match self.sync()? {
            Contact::Reached(notes) => (notes, None),
            Contact::Offline(why) => (Vec::new(), Some(why)),
        })
    }

    /// The claim of a task that is worked on here is renewed, or taken if it has none. Without an
    /// answer, one that this clone has had goes on.
    pub fn keep(&self, id: &str, task: &TaskRecord) -> Result<()> {
        self.ensure_here(id, task)?;
        let had = task.remote.as_ref().is_some_and(|seen| seen.is_own(ClaimState::Held));
        match self.renew(id, true)? {
            Pushed::Done if had => Ok(()),
            Pushed::Offline(_) if had => Ok(()),
            Pushed::Refused(why) if had => {
                refuse!("{} refuses the claim of {id}: {why}", self.remote.name)
            }
            Pushed::Changed if had => self.explain_changed(id),
            _ => self.hold(id, task.attempts).map(drop),
        }
    }

    /// Somebody was faster: who.
    pub fn explain_changed(&self, id: &str) -> Result<()> {
        let found = self.read().ok().and_then(|mut snapshot| snapshot.claims.remove(id));
        let Some((commit, claim)) = found else {
            refuse!("{id}: its claim on {} was taken away meanwhile; try again", self.remote.name);
        };
        let seen = claim.seen(&commit, &self.remote.clone_id, &self.folder.now());
        if seen.is_own(ClaimState::Held) {
            // An earlier push of ours, which arrived late.
            return self.note(id, seen);
        }
        Err(taken(id, &seen, &self.kept_branch(id)?))
    }

    /// What this clone has of a task is its own to go on with.
    pub fn ensure_here(&self, id: &str, task: &TaskRecord) -> Result<()> {
        match task.remote.as_ref().filter(|seen| seen.is_worked_on_elsewhere()) {
            Some(seen) => Err(taken(id, seen, &self.kept_branch(id)?)),
            None => Ok(()),
        }
    }

    /// What is said of work that nobody takes away.
    fn kept_branch(&self, id: &str) -> Result<String> {
        Ok(match self.repository.branch_exists(id)? {
            true => format!("; what was done here stays on branch {}", task_branch(id)),
            false => String::new(),
        })
    }
}

/// What cannot be told without the history that others have.
pub fn shallow(repository: &Repository, remote: &str) -> Error {
    Error::from(format!(
        "{} is a shallow clone, without the history that merges are made from; a full one is needed: `git fetch --unshallow {remote}`",
        repository.top.display()
    ))
}

/// Another clone has it.
fn taken(id: &str, seen: &SeenClaim, kept: &str) -> Error {
    let what = match seen.state {
        ClaimState::Held => "works on it",
        ClaimState::Verified => "has verified it",
        ClaimState::Merged => "has merged it",
        ClaimState::Free | ClaimState::Failed => "had it last",
    };
    Error::from(format!(
        "{id}: {} {what} (since {}, attempt {}){kept}",
        seen.holder(),
        seen.at,
        seen.attempts,
    ))
}
