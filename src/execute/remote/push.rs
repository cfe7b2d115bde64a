//! Pushes: refs of the remote moved all or none, with the value that each must have before.

use std::time::Duration;

use crate::core::text::clip;
use crate::execute::remote::remote_name::{ensure_remote, is_ref_name};
use crate::execute::remote::wire::{TRIES, Trouble, Wire};
use crate::execute::{Result, ensure_started};
use crate::process::{deadline, lines};

/// What git puts before a server's own no.
pub const REMOTE_REJECTED: &str = "[remote rejected]";

/// A ref that a push moves.
#[derive(Clone, Debug)]
pub struct Update {
    pub name: String,
    /// What it must be at; nothing: it must not be there. `None`: whatever it is at.
    pub expected: Option<Option<String>>,
    pub to: String,
}

/// What came of a push.
#[derive(Debug, PartialEq)]
pub enum Pushed {
    Done,
    /// Another value is there than was expected.
    Changed,
    Refused(String),
    Offline(String),
}

impl From<Trouble> for Pushed {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Offline(why) => Self::Offline(why),
            Trouble::Refused(why) => Self::Refused(why),
        }
    }
}

impl Wire<'_> {
    /// Moves refs, all or none. Whatever git says of it, the remote is asked what is so.
    pub fn push(&self, updates: &[Update]) -> Result<Pushed> {
        let Some(first) = updates.first() else { return Ok(Pushed::Done) };
        let mut refused = None;
        for _ in 0..TRIES {
            let said = self.try_push(updates, &[])?;
            if said == Pushed::Done {
                return Ok(Pushed::Done);
            }
            let names: Vec<String> = updates.iter().map(|update| update.name.clone()).collect();
            let refs = match self.list(&names) {
                Ok(refs) => refs,
                Err(Trouble::Offline(why) | Trouble::Refused(why)) => {
                    return Ok(Pushed::Offline(why));
                }
            };
            // The first is a claim, whose commit nobody else can have made.
            if refs.get(&first.name) == Some(&first.to) {
                return Ok(Pushed::Done);
            }
            let moved = updates.iter().any(|update| {
                let expected = update.expected.as_ref();
                expected.is_some_and(|old| old.as_ref() != refs.get(&update.name))
            });
            match said {
                _ if moved => return Ok(Pushed::Changed),
                Pushed::Refused(why) => refused = Some(why),
                // It answers now: the next try tells.
                Pushed::Offline(why) => refused = refused.or(Some(why)),
                Pushed::Done | Pushed::Changed => {}
            }
            if refused.is_some() {
                deadline::pause(Duration::from_millis(200));
            }
        }
        Ok(Pushed::Refused(refused.unwrap_or_else(|| "others push at the same time".into())))
    }

    /// Whether the remote takes pushes of several refs, all or none; nothing is pushed.
    pub fn probe(&self, name: &str, to: &str) -> Result<Pushed> {
        let update = Update { name: name.to_owned(), expected: None, to: to.to_owned() };
        self.try_push(&[update], &["--dry-run", "--atomic"])
    }

    fn try_push(&self, updates: &[Update], more: &[&str]) -> Result<Pushed> {
        let leases = updates.iter().filter_map(|update| {
            let old = update.expected.as_ref()?.as_deref().unwrap_or_default();
            Some(format!("--force-with-lease={}:{old}", update.name))
        });
        let leases: Vec<String> = leases.collect();
        let specs = updates.iter().map(|update| {
            let force = if update.expected.is_none() { "+" } else { "" };
            format!("{force}{}:{}", update.to, update.name)
        });
        let specs: Vec<String> = specs.collect();
        let mut args = vec!["push", "--porcelain", "--no-verify"];
        if updates.len() > 1 {
            args.push("--atomic");
        }
        args.extend(more);
        args.extend(leases.iter().map(String::as_str));
        args.extend(["--", self.remote]);
        args.extend(specs.iter().map(String::as_str));
        if let Some(wrong) = updates.iter().find(|update| !is_ref_name(&update.name)) {
            refuse!("{} is no name of a ref", clip(&wrong.name, 80));
        }
        ensure_remote(self.repository, self.remote)?;
        lines::hint(&format!("{}: pushing …", self.remote).into());
        let output = ensure_started(self.repository.git().contact(&args))?;
        if output.is_good() {
            return Ok(Pushed::Done);
        }
        // Git itself ends at that, without a word about any ref.
        if output.err.contains("does not support --atomic") {
            let why = "it cannot move several refs as one (git push --atomic)";
            return Ok(Pushed::Refused(why.into()));
        }
        let rejected: Vec<&str> = output.out.lines().filter(|line| line.starts_with('!')).collect();
        if rejected.is_empty() {
            return Ok(Pushed::Offline(output.complaint()));
        }
        let told = |line: &&&str| {
            line.contains(REMOTE_REJECTED)
                && !line.contains("atomic")
                && !["cannot lock", "failed to lock", "incorrect old value", "failed to update"]
                    .iter()
                    .any(|race| line.contains(race))
        };
        let why = rejected.iter().find(told).map(|line| {
            let remote = output.err.lines().filter_map(|line| line.strip_prefix("remote:"));
            let remote: Vec<&str> = remote.map(str::trim).filter(|l| !l.is_empty()).collect();
            let reason = line.rsplit('\t').next().unwrap_or_default();
            clip(&format!("{reason} {}", remote.join(" ")), 300)
        });
        Ok(match why {
            Some(why) => Pushed::Refused(why.trim().to_owned()),
            None => Pushed::Changed,
        })
    }
}
