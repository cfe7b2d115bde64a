//! The commands that all loops have, with one behaviour: who may change a loop, what becomes of it,
//! and who is told, as the first page of `loops` says.

pub mod autonomous;
pub mod branch;
mod drivers;
pub mod iterative;
pub mod queue;
mod who;

use anyhow::{Error, bail};

use crate::branch::folder::find_key;
use crate::console::project::Project;
use crate::core::gate::{Words, one_line, shell_word};
use crate::core::outcome::Outcome;
use crate::core::time::Time;
use crate::git::refs;
use crate::loops::journal_line::changed;
use crate::loops::ownership::{LoopName, driven_by, waiting};
use crate::loops::{Ending, Loop, LoopKind, Verdict, left};
use crate::session::live::Live;
use crate::session::metrics::Metrics;
use crate::session::record::is_live;
use crate::state::plan::Plan;
use crate::state::{Source as _, State};
use crate::store::Store;
pub use drivers::forget_loop;
use drivers::note_drivers;
pub use who::Who;
use who::the_session;

pub const CANCELLED: &str = "cancelled by a command";

/// A command that changes a loop.
pub struct LoopCommand<'a> {
    pub project: &'a Project<'a>,
    /// For whom it acts; a person's command acts for all.
    pub session: Option<String>,
    pub now: Time,
    /// Whether it starts a loop, also in the place of one that is over.
    pub is_start: bool,
}

/// What a loop was before a command changed it.
pub struct Before {
    owner: Option<String>,
    is_running: bool,
    ending: Ending,
}

impl Before {
    pub fn new(the_loop: &dyn Loop) -> Self {
        Self {
            owner: the_loop.owner().map(str::to_owned),
            is_running: the_loop.is_running(),
            ending: the_loop.ending().clone(),
        }
    }
}

impl LoopCommand<'_> {
    /// This command, as one that starts a loop.
    pub fn starting(&self) -> Self {
        Self { is_start: true, session: self.session.clone(), ..*self }
    }

    /// Changes a loop under the lock, with what the sessions around it know of it. `load` refuses
    /// documents that must stay as they are.
    pub fn change<L: Loop>(
        &self,
        load: impl FnOnce(&Store, &State) -> anyhow::Result<Option<L>>,
        work: impl FnOnce(&mut Option<L>, &State) -> anyhow::Result<String>,
    ) -> anyhow::Result<Outcome> {
        self.project.change(|store, state| {
            let mut the_loop = load(store, state)?;
            if let Some(the_loop) = &mut the_loop {
                left::end_left(the_loop, state, self.now);
            }
            let before = the_loop.as_ref().map(|the_loop| Before::new(the_loop));
            let said = work(&mut the_loop, state)?;
            if let Some(the_loop) = &the_loop {
                self.write(the_loop, before.as_ref(), store, state)?;
            }
            Ok(Outcome::printed(said))
        })
    }

    /// Writes a loop down, and tells the sessions whose it is or was.
    pub fn write(
        &self,
        the_loop: &dyn Loop,
        before: Option<&Before>,
        store: &Store,
        state: &State,
    ) -> anyhow::Result<()> {
        let mut plan = Plan::default();
        the_loop.put(&mut plan, state);
        if plan.changes.is_empty() && !left::is_noted(the_loop, state) {
            return Ok(());
        }
        if let Some(before) = before {
            self.tell_user(the_loop, before, store, state);
        }
        let caller = self.project.process.env("CLAUDE_CODE_SESSION_ID");
        note_drivers(&mut plan, the_loop, before, caller.as_deref(), state);
        store.commit(&plan.changes, state)?;
        let (was_running, old_owner) =
            before.map_or((false, None), |it| (it.is_running, it.owner.as_deref()));
        let is_new = self.is_start || before.is_none();
        if let Some(line) = changed(the_loop, was_running, old_owner, is_new) {
            store.tell(caller.as_deref(), line);
        }
        // One that a person has started, or goes on with, waits for the next session.
        let waits = the_loop.is_running() && the_loop.owner().is_none();
        let is_started = before.is_none_or(|before| !before.is_running);
        let key = the_loop.kind().key(the_loop.folder());
        let was_started = store.has_begun(&key);
        Ok(store.note_begun(&key, waits && (is_started || was_started))?)
    }

    /// The user hears, with the next event that can say so, of a loop that another one than the
    /// session that drives it has ended or handed on.
    fn tell_user(&self, the_loop: &dyn Loop, before: &Before, store: &Store, state: &State) {
        let (owner, title) = (the_loop.owner(), the_loop.title());
        let caller = self.project.process.env("CLAUDE_CODE_SESSION_ID");
        let ending = the_loop.ending();
        if let (true, Some(verdict)) = (before.is_running, &ending.verdict)
            && before.owner.is_some()
            && caller != before.owner
        {
            let why = ending.verdict_reason.as_deref().unwrap_or_default();
            let at = ending.verdict_at.as_deref().unwrap_or_default();
            let text = format!("HookKeeper: the {title} is {verdict}: {why}.");
            store.remark(format!("loop {at}"), text);
        }
        if let (Some(left), Some(now)) = (before.owner.as_deref(), owner)
            && left != now
            && is_live(left, state)
        {
            let text =
                format!("HookKeeper: the {title} is now driven by session {now}, not by {left}.");
            store.remark(format!("loop left {left} {now}"), text);
        }
    }

    /// A command that a model runs acts for its session; a person's acts for all.
    pub fn ensure_own(&self, the_loop: &dyn Loop, state: &State) -> anyhow::Result<()> {
        self.ensure_acts_for(
            the_loop.owner(),
            || the_loop.title(),
            &the_loop.command("adopt"),
            state,
        )
    }

    pub fn ensure_acts_for(
        &self,
        owner: Option<&str>,
        title: impl FnOnce() -> String,
        adopt: &str,
        state: &State,
    ) -> anyhow::Result<()> {
        match (self.session.as_deref(), owner) {
            (Some(own), Some(owner)) if own != owner && !is_live(owner, state) => bail!(
                "the {} was driven by session {owner}, which has ended; `{adopt}` takes it over",
                title()
            ),
            (Some(own), Some(owner)) if own != owner => bail!(
                "the {} is driven by session {owner}; to act for it: --session {}",
                title(),
                shell_word(owner)
            ),
            _ => Ok(()),
        }
    }

    /// The loop, if it runs and is this session's to change.
    pub fn ensure_running(&self, the_loop: &dyn Loop, state: &State) -> anyhow::Result<()> {
        self.ensure_own(the_loop, state)?;
        ensure_open(the_loop)
    }

    /// No second loop: neither in the place of one that runs, nor for a session that drives one.
    pub fn ensure_none(
        &self,
        open: Option<&dyn Loop>,
        kind: LoopKind,
        folder: &str,
        state: &State,
    ) -> anyhow::Result<()> {
        if let Some(open) = open.filter(|open| open.is_running()) {
            let title = open.title();
            let article = if title.starts_with('a') { "an" } else { "a" };
            let more = if kind == LoopKind::Queue { ", `--reset` starts anew" } else { "" };
            let adopt = match open.owner() {
                Some(_) => String::new(),
                None => format!("`{}` goes on with it, ", open.command("adopt")),
            };
            bail!("{article} {title} is open: {adopt}`{}` ends it{more}", open.command("cancel"));
        }
        let driver = self.starter(state)?;
        self.ensure_none_waits(driver.as_deref(), kind, folder, state)?;
        driver.map_or(Ok(()), |id| ensure_free(&id, kind, folder, state))
    }

    /// The next session, or the one that is alone here, takes up a loop that waits: this would be a
    /// second one for it. A branch's loop waits for a session on that branch.
    fn ensure_none_waits(
        &self,
        driver: Option<&str>,
        kind: LoopKind,
        folder: &str,
        state: &State,
    ) -> anyhow::Result<()> {
        if state.all::<Live>().any(|live| Some(live.session_id.as_str()) != driver) {
            return Ok(());
        }
        let root = self.project.root()?;
        let here = refs::branch_name(&refs::read(&root));
        let here = find_key(state.source(), &here, |name| refs::has_branch(&root, name))?;
        let concerns_it =
            |kind: LoopKind, folder: &str| kind != LoopKind::Branch || folder == here.as_str();
        let is_other =
            |it: &LoopName| (it.0, it.1.as_str()) != (kind, folder) && concerns_it(it.0, &it.1);
        match waiting(state).into_iter().find(is_other).filter(|_| concerns_it(kind, folder)) {
            Some((kind, folder, title)) => {
                let of_task = match kind {
                    LoopKind::Iterative => format!(" {}", shell_word(&folder)),
                    LoopKind::Queue | LoopKind::Autonomous | LoopKind::Branch => String::new(),
                };
                let command_word = format!("{} cancel{of_task}", kind.command());
                bail!(
                    "another loop waits for the next session already, the {title}: \
                     `{command_word}` ends it"
                )
            }
            None => Ok(()),
        }
    }

    pub fn adopt(&self, the_loop: &mut dyn Loop, state: &State) -> anyhow::Result<String> {
        ensure_open(the_loop)?;
        let id = the_session(self.session.clone(), state)?;
        ensure_free(&id, the_loop.kind(), the_loop.folder(), state)?;
        the_loop.clamp();
        the_loop.bind(&id);
        let line = format!("{}: now driven by session {id}", the_loop.title());
        // Whoever drives it from now on has not heard how it works.
        Ok(match self.session.as_deref() == Some(id.as_str()) {
            true => with_reason(&line, the_loop),
            false => line,
        })
    }

    /// Goes on with a loop that has ended, or whose session has; a live session takes it over then.
    pub fn resume(
        &self,
        the_loop: &mut dyn Loop,
        most: Option<u64>,
        state: &State,
    ) -> anyhow::Result<String> {
        let owner = the_loop.owner().map(str::to_owned);
        let has_driver = owner.as_deref().is_some_and(|owner| is_live(owner, state));
        let heir = self.session.as_deref().filter(|id| !has_driver && is_live(id, state));
        if heir.is_none() {
            self.ensure_own(the_loop, state)?;
        }
        if the_loop.is_complete() {
            bail!("the {} is complete; start a new one", the_loop.noun());
        }
        if the_loop.is_running() && (has_driver || owner.is_none() && heir.is_none()) {
            bail!(
                "the {} is running; `{}` shows where it stands",
                the_loop.noun(),
                the_loop.command("status")
            );
        }
        let driver = heir.or(owner.as_deref());
        self.ensure_none_waits(driver, the_loop.kind(), the_loop.folder(), state)?;
        if let Some(id) = driver {
            ensure_free(id, the_loop.kind(), the_loop.folder(), state)?;
        }
        if !the_loop.is_running() {
            the_loop.reopen(most, self.now).map_err(Error::msg)?;
        }
        if let Some(id) = driver {
            the_loop.bind(id);
        }
        the_loop.begin_next().map_err(Error::msg)?;
        let goes_on = format!("Goes on: {}.{}", the_loop.title(), absence(the_loop, state));
        Ok(with_reason(&goes_on, the_loop))
    }

    pub fn cancel(&self, the_loop: &mut dyn Loop, state: &State) -> anyhow::Result<String> {
        self.ensure_running(the_loop, state)?;
        let title = the_loop.title();
        the_loop.end(Verdict::Cancelled, CANCELLED, self.now);
        Ok(format!("Cancelled: {title}"))
    }

    /// What is said of a loop that has just been started.
    pub fn started(&self, the_loop: &dyn Loop, state: &State) -> String {
        let (title, driver) = (the_loop.title(), driver(the_loop.owner()));
        let unseen = unseen(the_loop.owner(), state);
        with_reason(&format!("Started: {title}, driven by {driver}.{unseen}"), the_loop)
    }

    /// The session that is to drive a loop that is started now: the one that the command acts for,
    /// else the only one that lives. `None`: the next one.
    pub fn starter(&self, state: &State) -> anyhow::Result<Option<String>> {
        match &self.session {
            None if state.all::<Live>().next().is_none() => Ok(None),
            None => the_session(None, state).map(Some),
            named => Ok(named.clone()),
        }
    }
}

/// Who drives a loop that has just been started.
pub fn driver(owner: Option<&str>) -> String {
    match owner {
        Some(id) => format!("session {id}"),
        None => "the next session here, if it is the only one".into(),
    }
}

/// What there is to say besides where no hook has run yet that could drive it.
pub fn unseen(owner: Option<&str>, state: &State) -> &'static str {
    let has_sessions = || state.all::<Live>().next().is_some() || state.get::<Metrics>().is_some();
    match owner.is_some() || has_sessions() {
        true => "",
        false => {
            " No session has been seen here yet: `hookkeeper install` wires the hooks, if they are not."
        }
    }
}

/// A line, and below it what there is to do.
fn with_reason(line: &str, the_loop: &dyn Loop) -> String {
    format!("{}\n{}", one_line(line), the_loop.reason())
}

/// The loop, or that there is none of this name.
pub fn existing<'l, L>(
    the_loop: &'l mut Option<L>,
    kind: LoopKind,
    name: &str,
) -> anyhow::Result<&'l mut L> {
    match the_loop {
        Some(the_loop) => Ok(the_loop),
        None => bail!("there is no {name}; `{}` starts one", kind.start()),
    }
}

/// Which loop, who drives it, and how it ended.
pub fn headline(the_loop: &dyn Loop) -> String {
    let owner = the_loop.owner().unwrap_or("nobody yet");
    let mut lines = vec![format!("{}, driven by {owner}", the_loop.title())];
    lines.extend(the_loop.ending().line().map(|line| format!("ended: {line}")));
    Words::lines(lines).to_string()
}

/// What to say of an owner that is not there to go on.
pub fn absence(the_loop: &dyn Loop, state: &State) -> String {
    match the_loop.owner() {
        Some(owner) if !is_live(owner, state) => format!(
            " Its session {owner} is not live: resume that one, or hand the loop to another with `{}`.",
            the_loop.command("adopt")
        ),
        _ => String::new(),
    }
}

pub fn ensure_open(the_loop: &dyn Loop) -> anyhow::Result<()> {
    if the_loop.is_running() {
        return Ok(());
    }
    let verdict = the_loop.ending().verdict.as_deref();
    let verdict = verdict.map(|verdict| format!(" ({verdict})")).unwrap_or_default();
    bail!(
        "the {} has ended{verdict}; `{}` goes on with one that is not complete",
        the_loop.noun(),
        the_loop.command("resume")
    )
}

/// One session drives one loop; this is the one that it is about to drive.
fn ensure_free(session: &str, kind: LoopKind, folder: &str, state: &State) -> anyhow::Result<()> {
    let driven = driven_by(session, state);
    match driven.into_iter().find(|other| (other.0, other.1.as_str()) != (kind, folder)) {
        Some((kind, _, title)) => {
            bail!("session {session} drives the {title}: `{} cancel` ends it", kind.command())
        }
        None => Ok(()),
    }
}
