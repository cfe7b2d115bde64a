//! What all sessions came to: those that have ended as the metrics and their archive have them, those
//! that live as their records and transcripts say.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::client::prices;
use crate::client::transcript::Tokens;
use crate::client::transcript::usage::{self, Cost, Usage};
use crate::core::gate::one_line;
use crate::core::journal::EntryKind;
use crate::core::spelling::dollars;
use crate::core::time::Time;
use crate::loops::queue::document::Queue;
use crate::process::files;
use crate::session::live::Live;
use crate::session::metrics::{Entry, Metrics};
use crate::session::record::archived_metrics;
use crate::session::record::lives;
use crate::store::journal::read::Order;
use crate::store::journal::{self, Journal};
use crate::store::view::View;

#[derive(Default)]
pub struct Ledger {
    /// Those that live first, then the newest.
    pub sessions: Vec<Session>,
    /// Lines of the archive that cannot be read.
    pub damaged: usize,
}

pub struct Session {
    pub entry: Entry,
    pub is_live: bool,
    /// What it used; agents are told apart if `has_agents`.
    pub usage: Vec<Usage>,
    pub has_agents: bool,
    /// Whether its usage is not all of it, because it began before the time that is asked for.
    pub is_cut: bool,
    /// Which project it is from, where several are one ledger.
    pub source: usize,
}

/// What is asked for.
#[derive(Clone, Copy, Default)]
pub struct Asked<'a> {
    /// Not what was before this day, in UTC.
    pub since: Option<&'a str>,
    /// Whether agents are to be told apart: that is in the journals.
    pub agents: bool,
}

impl Ledger {
    pub fn read(view: &View, metrics: &Metrics, asked: Asked, now: Time) -> Self {
        let mut ledger = Self::default();
        let mut known = BTreeSet::new();
        let work = view.get::<Queue>();
        let journal = asked.agents.then(|| view.journal());
        for live in lives(view) {
            if live.worked {
                ledger.sessions.push(alive(&live, work.as_ref(), metrics, journal.as_ref(), now));
                known.insert(live.session_id);
            }
        }
        let (archived, damaged) = archived_metrics(view);
        ledger.damaged = damaged;
        for entry in metrics.newest(usize::MAX).into_iter().chain(archived) {
            if known.insert(entry.session_id.clone()) {
                ledger.sessions.push(ended(entry, journal.as_ref()));
            }
        }
        ledger.sessions.retain_mut(|session| session.cut(asked.since));
        ledger
    }
}

/// One session: as it lives, or as the metrics have it, with its agents told apart; of its usage what
/// was since this day.
pub fn session(
    view: &View,
    lives: &[Live],
    metrics: &Metrics,
    id: &str,
    since: Option<&str>,
    now: Time,
) -> Option<Session> {
    let journal = view.journal();
    let mut one = match lives.iter().find(|live| live.session_id == id) {
        Some(live) => alive(live, view.get::<Queue>().as_ref(), metrics, Some(&journal), now),
        None => ended(metrics.find(id)?, Some(&journal)),
    };
    one.cut(since);
    Some(one)
}

fn alive(
    live: &Live,
    work: Option<&Queue>,
    metrics: &Metrics,
    journal: Option<&Journal>,
    now: Time,
) -> Session {
    let path = live.transcript_path.as_deref().map(Path::new);
    let is_there = path.is_some_and(|path| files::open(path).is_some());
    let cost = path.map(|path| usage::cost(path, u64::MAX)).unwrap_or_default();
    let work = work.map(|queue| queue.work_of(&live.session_id));
    let mut entry = Entry::new(live, "", cost, work.unwrap_or_default(), now);
    let earlier = metrics.find(&live.session_id).filter(|_| !is_there);
    let (usage, has_agents) = match earlier {
        None => (entry.usage.clone(), true),
        Some(earlier) => {
            entry.keep_cost(&earlier);
            let earlier = ended(earlier, journal);
            (earlier.usage, earlier.has_agents)
        }
    };
    Session { usage, entry, is_live: true, has_agents, is_cut: false, source: 0 }
}

fn ended(entry: Entry, journal: Option<&Journal>) -> Session {
    let told = journal.and_then(|journal| {
        let stem = journal::stem(&entry.session_id);
        let lines = journal.of_stem(&stem, Order::NewestFirst).with_any(&["\"end\""]);
        let ends = lines.filter(|line| line.kind == EntryKind::End);
        let told = ends.filter_map(|line| line.record?.read::<Entry>());
        // An end that the metrics do not have is another one.
        let same = told.filter(|told| told.tokens == entry.tokens && !told.usage.is_empty());
        // Without agents there is nothing to look for in older lines.
        let most = if entry.agents.spawned > 0 { usize::MAX } else { 1 };
        named_agents(same.take(most).map(|told| told.usage))
    });
    let has_agents = told.is_some();
    let usage = told.unwrap_or_else(|| entry.usage.clone());
    Session { usage, entry, is_live: false, has_agents, is_cut: false, source: 0 }
}

/// What the ends of a session told of one and the same use, the newest first: one that came after the
/// transcripts were gone only kept the sums, an earlier one has the agents.
fn named_agents(told: impl Iterator<Item = Vec<Usage>>) -> Option<Vec<Usage>> {
    let mut newest = None;
    for usage in told {
        if usage.iter().any(|row| row.agent.is_some()) {
            return Some(usage);
        }
        newest.get_or_insert(usage);
    }
    newest
}

impl Session {
    /// One that has ended; its agents are told apart if the entry does it.
    pub fn of_entry(entry: Entry, since: Option<&str>) -> Self {
        let mut one = ended(entry, None);
        one.has_agents = one.usage.iter().any(|row| row.agent.is_some());
        one.cut(since);
        one
    }

    /// What it used, as far as that is known.
    pub fn sum(&self) -> Sum {
        total([self])
    }

    /// Takes out what was before this day; whether anything of the session is left.
    fn cut(&mut self, since: Option<&str>) -> bool {
        let entry = &self.entry;
        if self.usage.is_empty() && (entry.tokens.is_some() || entry.cost_usd.is_some()) {
            // Of a version that kept only the sums.
            self.has_agents = false;
            self.usage.push(Usage {
                model: entry.model.clone().unwrap_or_else(|| usage::NO_MODEL.to_owned()),
                tokens: entry.tokens.clone().unwrap_or_default(),
                usd: entry.cost_usd,
                ..Usage::default()
            });
        }
        for row in self.usage.iter_mut().filter(|row| row.day.is_empty()) {
            row.day.clone_from(&entry.date);
        }
        let Some(since) = since else { return true };
        let before = self.usage.len();
        self.usage.retain(|row| row.day.as_str() >= since);
        self.is_cut = self.usage.len() < before;
        self.is_live || entry.date.as_str() >= since || !self.usage.is_empty()
    }

    /// Whether anything is known of what it used. One that was cut to nothing used nothing since.
    pub fn is_counted(&self) -> bool {
        self.is_cut || !self.usage.is_empty()
    }

    /// The models that it used, the one with the most tokens first.
    pub fn models(&self) -> Vec<String> {
        let mut tokens: BTreeMap<&str, u64> = BTreeMap::new();
        for row in self.usage.iter().filter(|row| row.model != usage::NO_MODEL) {
            *tokens.entry(&row.model).or_default() += row.tokens.sum();
        }
        let mut models: Vec<(&str, u64)> = tokens.into_iter().collect();
        models.sort_by_key(|(_, tokens)| std::cmp::Reverse(*tokens));
        models.into_iter().map(|(model, _)| model.to_owned()).collect()
    }

    /// What it cost, if that is known.
    pub fn usd(&self) -> Option<f64> {
        match self.is_cut {
            false => self.entry.cost_usd,
            true => self.usage.iter().try_fold(0.0, |sum, row| Some(sum + row.usd?)),
        }
    }

    /// The models whose price is not known.
    pub fn unpriced(&self) -> BTreeSet<String> {
        let rows = self.usage.iter().filter(|row| row.usd.is_none());
        rows.map(|row| row.model.clone()).collect()
    }
}

/// Sums over sessions or parts of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sum {
    pub sessions: BTreeSet<String>,
    pub cost: Cost,
    /// Models whose price is not known: they are not in the dollars.
    pub unpriced: BTreeSet<String>,
}

impl Sum {
    /// Adds a part of a session.
    pub fn add(&mut self, session: &Session, row: &Usage) {
        self.add_tokens(session, row);
        self.add_usd(row.usd);
        if row.usd.is_none() {
            self.unpriced.insert(row.model.clone());
        }
    }

    /// Adds a session: what it cost may be known where that of its parts is not.
    pub fn add_whole(&mut self, session: &Session) {
        session.usage.iter().for_each(|row| self.add_tokens(session, row));
        let usd = session.usd();
        self.add_usd(usd);
        if usd.is_none() {
            self.unpriced.extend(session.unpriced());
            let known: Vec<f64> = session.usage.iter().filter_map(|row| row.usd).collect();
            if !known.is_empty() {
                self.add_usd(Some(known.iter().sum()));
            }
        }
    }

    fn add_tokens(&mut self, session: &Session, row: &Usage) {
        self.sessions.insert(session.entry.session_id.clone());
        self.cost.tokens.get_or_insert_default().add(&row.tokens);
        self.cost.is_estimate |= session.entry.cost_estimated;
        self.cost.is_partial |= session.entry.usage_partial;
    }

    fn add_usd(&mut self, usd: Option<f64>) {
        if let Some(usd) = usd {
            self.cost.usd = Some(usage::cents(self.cost.usd.unwrap_or(0.0) + usd));
        }
    }

    /// All tokens together; `None` if nobody knows of any.
    pub fn tokens(&self) -> Option<u64> {
        self.cost.tokens.as_ref().map(Tokens::sum)
    }

    /// `$1.25`; with `~` if it is an estimate, and with `+` if something is not in it.
    pub fn spelled(&self) -> String {
        let Some(usd) = self.cost.usd else { return "not known".to_owned() };
        let about = if self.cost.is_estimate { "~" } else { "" };
        let more = if self.unpriced.is_empty() && !self.cost.is_partial { "" } else { "+" };
        format!("{about}{}{more}", dollars(usd))
    }

    /// What the signs beside the dollars mean.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.cost.is_estimate {
            let as_of = prices::AS_OF;
            notes.push(format!("~: not the client's own figures; list prices of {as_of}."));
        }
        if !self.unpriced.is_empty() {
            let models = self.unpriced_models();
            notes.push(format!("+: not in the dollars, because the price is not known: {models}."));
        }
        if self.cost.is_partial {
            notes.push("+: some transcripts were too long to be counted as a whole.".to_owned());
        }
        notes
    }

    /// The models whose price is not known, in a line.
    pub fn unpriced_models(&self) -> String {
        let models: Vec<&str> = self.unpriced.iter().map(String::as_str).collect();
        one_line(&models.join(", ")).into_owned()
    }
}

/// All that is asked for, as one.
pub fn total<'a>(sessions: impl IntoIterator<Item = &'a Session>) -> Sum {
    let mut all = Sum::default();
    sessions.into_iter().filter(|session| session.is_counted()).for_each(|one| all.add_whole(one));
    all
}

/// Sums by a name, in the order of the names.
pub fn sums_by<'a>(
    sessions: impl IntoIterator<Item = &'a Session>,
    name: impl Fn(&Session, &Usage) -> String,
) -> BTreeMap<String, Sum> {
    let mut sums: BTreeMap<String, Sum> = BTreeMap::new();
    for session in sessions {
        for row in &session.usage {
            sums.entry(name(session, row)).or_default().add(session, row);
        }
    }
    sums
}
