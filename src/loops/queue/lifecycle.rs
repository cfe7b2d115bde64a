//! How work items end: done by somebody or by a command that succeeds, dropped by a person, expired
//! with the session that found them.

use crate::errors::compiles;
use crate::loops::queue::document::{FINDING, Item, Queue};
use crate::session::metrics::Work;

pub const DONE: &str = "done";
/// A person says that it is no work.
pub const DROPPED: &str = "dropped";
/// Nobody took it up before the session ended that found it.
pub const EXPIRED: &str = "expired";
const PENDING: &str = "pending";

/// Where an item came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    Person,
    Agent,
    Error,
}

impl Item {
    pub fn is_open(&self) -> bool {
        !matches!(self.status.as_str(), DONE | DROPPED | EXPIRED)
    }

    pub fn origin(&self) -> Origin {
        match self.source.as_deref() {
            None => Origin::Person,
            Some(source) if source.starts_with(FINDING) => Origin::Agent,
            Some(_) => Origin::Error,
        }
    }

    fn is_of(&self, session_id: &str) -> bool {
        self.session_id.as_deref() == Some(session_id)
    }
}

impl Queue {
    /// Marks a session's items done whose error has gone: the call on their target succeeded
    /// (`target`), or a command that compiles their file did. Gives the targets of these errors.
    pub fn finish(
        &mut self,
        session_id: &str,
        target: Option<&str>,
        command: Option<&str>,
    ) -> Vec<String> {
        let iteration = self.iteration;
        let mut targets = Vec::new();
        for item in self.items.iter_mut().filter(|item| item.is_open() && item.is_of(session_id)) {
            let Some(own) = item.target.as_deref() else { continue };
            let compiled = |file: &String| command.is_some_and(|run| compiles::covers(run, file));
            if target == Some(own) || item.file.as_ref().is_some_and(compiled) {
                targets.push(own.to_owned());
                item.status = DONE.into();
                item.completed_iteration = Some(iteration);
            }
        }
        targets.dedup();
        targets
    }

    /// What hooks put in for sessions that have ended and nobody took up is no work any more, unless
    /// a loop has it to do.
    pub fn expire(&mut self, sessions: &[String]) -> bool {
        !self.has_loop_to_do() && self.move_all(sessions, PENDING, EXPIRED)
    }

    /// A session goes on: so does what expired with it.
    pub fn revive(&mut self, session_id: &str) -> bool {
        self.move_all(&[session_id.to_owned()], EXPIRED, PENDING)
    }

    fn move_all(&mut self, sessions: &[String], from: &str, to: &str) -> bool {
        let mut moved = false;
        for item in &mut self.items {
            let is_own = sessions.iter().any(|session_id| item.is_of(session_id));
            if is_own && item.status == from && item.origin() != Origin::Person {
                item.status = to.into();
                moved = true;
            }
        }
        moved
    }

    /// A loop runs, or has ended in a way from which it can go on.
    fn has_loop_to_do(&self) -> bool {
        let is_over = |verdict: &String| matches!(verdict.as_str(), "complete" | "cancelled");
        self.status != "none" && !self.ending.verdict.as_ref().is_some_and(is_over)
    }

    /// How many nobody took up before the session ended that found them.
    pub fn expired(&self) -> usize {
        self.items.iter().filter(|item| item.status == EXPIRED).count()
    }

    /// What is done or dropped is no longer of interest. What has expired comes back if its session
    /// does, and no number is given twice: somebody may still have it in mind.
    pub fn drop_finished(&mut self) {
        self.last_item = Some(self.last_number()).filter(|last| *last > 0);
        self.items.retain(|item| item.is_open() || item.status == EXPIRED);
    }

    /// What a session put in here, and how much it did: what it inherited counts where it was done.
    pub fn work_of(&self, session_id: &str) -> Work {
        let own = |owner: Option<&String>| owner.is_some_and(|owner| owner == session_id);
        let (mut added, mut done, mut items_done) = (0, 0, 0);
        for item in &self.items {
            // A finding is counted where it was found.
            let is_found = item.origin() == Origin::Agent;
            added += u64::from(!is_found && own(item.session_id.as_ref()));
            let by = item.completed_session.as_ref().or(item.session_id.as_ref());
            let is_done = item.status == DONE && own(by);
            done += u64::from(is_done);
            items_done += u64::from(is_done && !is_found);
        }
        let mine = self.session_id.as_deref() == Some(session_id);
        let coverage = self.gate_names().iter().filter(|_| mine).find_map(|name| {
            let gate = self.gate(name)?;
            Some(((gate.coverage? - gate.coverage_first?) * 10.0).round() / 10.0)
        });
        Work { added, done, items_done, coverage }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(source: Option<&str>, status: &str) -> Item {
        Item {
            status: status.into(),
            source: source.map(Into::into),
            session_id: Some("s".into()),
            target: Some("Bash node a.js".into()),
            file: Some("a.js".into()),
            ..Item::default()
        }
    }

    fn statuses(queue: &Queue) -> Vec<&str> {
        queue.items.iter().map(|item| item.status.as_str()).collect()
    }

    #[test]
    fn what_nobody_took_up_expires_with_its_session_and_comes_back_with_it() {
        let items = [
            item(Some("syntax x"), PENDING),
            item(Some("finding x"), PENDING),
            item(Some("syntax y"), "in_progress"),
            item(None, PENDING),
        ];
        let mut queue = Queue { items: items.to_vec(), ..Queue::default() };
        assert!(!queue.expire(&["other".into()]) && queue.expire(&["s".into()]));
        assert_eq!(statuses(&queue), [EXPIRED, EXPIRED, "in_progress", PENDING]);
        assert_eq!((queue.open().len(), queue.work_of("s").done), (2, 0));
        assert!(queue.revive("s") && !queue.revive("s"));
        assert_eq!(queue.open().len(), 4);
        queue.status = "BUILDING".into();
        assert!(!queue.expire(&["s".into()]), "a loop has them to do");
        queue.ending.verdict = Some("complete".into());
        assert!(queue.expire(&["s".into()]));
    }

    #[test]
    fn what_no_agent_found_is_told_apart_from_findings() {
        let items = [
            item(Some("finding x"), DONE),
            item(Some("syntax x"), DONE),
            item(None, DONE),
            item(None, DROPPED),
        ];
        let work = Queue { items: items.to_vec(), ..Queue::default() }.work_of("s");
        assert_eq!((work.added, work.done, work.items_done), (3, 3, 2));
    }

    #[test]
    fn an_item_is_done_by_its_target_or_by_a_command_that_compiles_its_file() {
        let queue = Queue { items: vec![item(Some("syntax x"), PENDING)], ..Queue::default() };
        let finish = |target, command| queue.clone().finish("s", target, command).len();
        assert_eq!(finish(Some("Bash node a.js"), None), 1);
        assert_eq!(finish(None, Some("node --check a.js")), 1);
        assert_eq!(finish(None, Some("cat a.js")), 0);
        assert_eq!(queue.clone().finish("other", Some("Bash node a.js"), None).len(), 0);
    }
}
