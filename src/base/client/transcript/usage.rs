//! What a session and its agents used, by day, agent and model: tokens, and dollars by the client's
//! own cost lines or else by the price table.
//!
//! - The session's transcript and its agents' are counted once, at its end: 64 MB of them, and
//!   `usage_partial` says if that was not all. Each answer counts once, by its message's id.
//! - The client's own total holds ([`cost_line`](crate::client::transcript::cost_line)), for tokens
//!   too. What it has beyond the answers (the summary of a compaction, titles) is the main
//!   thread's, on the day of the newest answer.
//! - Seen with real clients (`tests/transcripts/client-*`): 0.2.126 wrote `costUSD` beside each
//!   answer. 1.0.8 to 2.1.200 wrote nothing, so requests that no transcript keeps are not in the
//!   count. 2.1.325 and 2.1.327 write `cost-state` when they leave, over all stretches of a
//!   session.
//! - In a fork that total has the other session's too: answers with its `requestSessionId` are
//!   taken out, by the price table.
//! - Answers behind the total (a session that went on) are added by the price table, and rows by
//!   agent, day and model are shares of it.
//! - The metrics keep rows by day and model, the `end` line of the journal also by agent: the
//!   metrics are written anew at each end, the line once. Where a transcript is gone, what an
//!   earlier end knew stays.

use std::collections::BTreeMap;
use std::fs::File;
use std::ops::ControlFlow;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::client::hook_runs;
use crate::client::prices;
use crate::client::transcript::cost_line::CostLine;
use crate::client::transcript::spent::used;
use crate::client::transcript::{Kind, Tokens, has, kind};
use crate::core::json::Object;
use crate::core::text::clip;
use crate::process::{files, tail};

/// At the end of a session, so much of its transcript and its agents' together.
pub const AT_END: u64 = 64 << 20;
/// The client's own words have no model and cost nothing.
const SYNTHETIC: &str = "<synthetic>";
/// Characters of a model's name or an agent's id.
const LONGEST_NAME: usize = 80;
/// Of an agent whose transcript does not say who it is, and of those that are too many to be told apart.
const OTHER_AGENTS: &str = "others";
/// Of a model that the transcript does not name.
pub const NO_MODEL: &str = "unknown";

/// What one model used on one day, in the main thread or in an agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
pub struct Usage {
    /// In UTC; empty if the transcript does not say.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub day: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    pub model: String,
    #[serde(flatten)]
    pub tokens: Tokens,
    /// `null` if the model's price is not known.
    pub usd: Option<f64>,
}

/// What a session's transcripts say about its cost; its agents are in all of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cost {
    /// `None` if no answer was found.
    pub tokens: Option<Tokens>,
    /// `None` if the client does not say, and the price of a model is not known.
    pub usd: Option<f64>,
    /// Whether the dollars are made of the price table, at least in part.
    pub is_estimate: bool,
    /// Whether there was more than was read.
    pub is_partial: bool,
    pub rows: Vec<Usage>,
}

/// One answer.
struct Answer {
    time: String,
    agent: Option<String>,
    /// Whether it stands in the session's own transcript, as an agent's.
    is_aside: bool,
    model: String,
    tokens: Tokens,
    usd: Option<f64>,
    is_priced_by_us: bool,
    /// Whether it is in the newest total that the client wrote.
    is_in_total: bool,
}

/// The cost of a whole session; at most so many bytes are read.
pub fn cost(path: &Path, most: u64) -> Cost {
    let Some(file) = files::open(path) else { return Cost::default() };
    let mut count = Count { left: most, ..Count::default() };
    count.read(&file, None);
    for path in hook_runs::agents_of(&path.with_extension("")) {
        let name = path.file_stem().map(|name| name.to_string_lossy().into_owned());
        let Some(name) = name else { continue };
        let agent = clip(name.strip_prefix("agent-").unwrap_or(&name), LONGEST_NAME);
        if let Some(file) = files::open(&path) {
            count.read(&file, Some(&agent));
        }
    }
    count.cost()
}

#[derive(Default)]
struct Count {
    left: u64,
    is_partial: bool,
    /// By the id of the message: one answer is several lines, the last one complete.
    answers: BTreeMap<String, Answer>,
    /// Answers that a fork has from another session, which counts them itself.
    copied: BTreeMap<String, Answer>,
    total: Option<CostLine>,
    /// When the first answer was given that is too new to be in the total: in a session that went on,
    /// and whose client wrote no further one.
    newer_since: Option<String>,
}

impl Count {
    fn read(&mut self, file: &File, agent: Option<&str>) {
        let length = file.metadata().map_or(0, |meta| meta.len());
        self.is_partial |= length > self.left;
        tail::lines(file, self.left, |begins, line| {
            self.line(begins, line, agent);
            ControlFlow::Continue(())
        });
        self.left = self.left.saturating_sub(length);
    }

    fn line(&mut self, begins: u64, line: &[u8], agent: Option<&str>) {
        if kind(line) == Kind::User {
            return;
        }
        if has(line, b"\"totalCostUSD\"") && agent.is_none() && self.total.is_none() {
            self.total = Object::parse(line).ok().and_then(|line| CostLine::parse(&line));
        }
        if !has(line, b"\"usage\"") && !has(line, b"\"costUSD\"") {
            return;
        }
        let Ok(line) = Object::parse(line) else { return };
        let Some(message) = line.object("message") else { return };
        let model = message.word("model").unwrap_or_else(|| NO_MODEL.to_owned());
        if line.word("type").as_deref() != Some("assistant") || model == SYNTHETIC {
            return;
        }
        let is_aside = agent.is_none() && line.flag("isSidechain");
        let nameless = || format!("{} {begins}", agent.unwrap_or_default());
        let id = message.word("id").or_else(|| line.word("uuid")).unwrap_or_else(nameless);
        // From the end: the first line of an answer that is met is the complete one. What an agent
        // says in the session's transcript, newer clients write in its own.
        let is_known =
            self.answers.get(&id).is_some_and(|known| agent.is_none() || !known.is_aside);
        if is_known {
            return;
        }
        let used = used(&message).unwrap_or_default();
        let client = line.float("costUSD").filter(|usd| usd.is_finite() && *usd >= 0.0);
        let is_free = used == prices::Used::default();
        let ours = || prices::micro_usd(&model, &used).or(is_free.then_some(0));
        let time = line.word("timestamp").unwrap_or_default();
        let is_in_total = match agent {
            None => self.total.is_some(),
            Some(_) => {
                let is_older = |since: &String| time < *since;
                self.total.is_some() && self.newer_since.as_ref().is_none_or(is_older)
            }
        };
        if agent.is_none() && !is_in_total && !is_copied(&line) {
            self.newer_since = Some(time.clone());
        }
        let aside = || line.word("agentId").unwrap_or_else(|| OTHER_AGENTS.to_owned());
        let answer = Answer {
            time,
            agent: agent.map(str::to_owned).or_else(|| is_aside.then(aside)),
            is_aside,
            tokens: Tokens::from(&used),
            usd: client.or_else(|| ours().map(|micro| micro as f64 / 1e6)),
            is_priced_by_us: client.is_none(),
            is_in_total,
            model: clip(&model, LONGEST_NAME),
        };
        match is_copied(&line) {
            true => drop(self.copied.entry(id).or_insert(answer)),
            false => drop(self.answers.insert(id, answer)),
        };
    }

    /// The client's total without what was copied, by the price table.
    fn own_total(&self) -> f64 {
        let copied: f64 = self.copied.values().filter_map(|answer| answer.usd).sum();
        self.total.as_ref().map_or(0.0, |total| (total.usd - copied).max(0.0))
    }

    /// The answers, and what the client counts beside them: on the day of the newest answer.
    fn rows(&self) -> Vec<Usage> {
        let mut all = rows(self.answers.values());
        let Some(total) = &self.total else { return all };
        let in_total = self.answers.values().filter(|answer| answer.is_in_total);
        let day = in_total.clone().filter_map(|answer| answer.time.get(..10)).max();
        let known = in_total.chain(self.copied.values());
        let known: Vec<_> = known.map(|one| (one.model.as_str(), &one.tokens)).collect();
        let beyond = total.beyond(&known).into_iter().map(|(model, tokens, usd)| {
            // A model has one name here, with its date or without.
            let named = self.answers.values().find(|answer| answer.model.starts_with(&model));
            let model = named.map_or(clip(&model, LONGEST_NAME), |answer| answer.model.clone());
            Usage { day: day.unwrap_or_default().to_owned(), agent: None, model, tokens, usd }
        });
        all.extend(beyond);
        merged(&all, Usage::clone)
    }

    fn cost(self) -> Cost {
        let rows = self.rows();
        let all = || self.answers.values();
        // Without a total, this is all of them.
        let mut newer = all().filter(|answer| !answer.is_in_total);
        let is_any_newer = newer.clone().next().is_some();
        let newer = newer.try_fold(0.0, |sum, answer| Some(sum + answer.usd?));
        let usd = match self.total {
            None if self.answers.is_empty() => None,
            _ => newer.map(|newer| self.own_total() + newer),
        };
        let by_us = all().any(|answer| answer.is_priced_by_us);
        let is_whole = self.total.is_some() && !is_any_newer && self.copied.is_empty();
        let is_estimate = by_us && !is_whole;
        // Where one model has no price, the dollars of the others are shown all the same.
        let is_any_ours =
            usd.is_some() || all().any(|one| one.is_priced_by_us && one.usd.is_some());
        let rows = match usd {
            Some(usd) if !is_estimate => shared_out(rows, usd),
            _ => rows,
        };
        Cost {
            tokens: (!rows.is_empty()).then(|| sum_of(&rows)),
            usd: usd.map(cents),
            is_estimate: is_estimate && is_any_ours,
            is_partial: self.is_partial,
            rows,
        }
    }
}

/// Whether an answer was copied from the session that this one was forked from.
fn is_copied(line: &Object) -> bool {
    let asked_in = line.word("requestSessionId");
    line.object("forkedFrom").is_some()
        || asked_in.is_some_and(|id| line.word("sessionId") != Some(id))
}

fn rows<'a>(answers: impl Iterator<Item = &'a Answer>) -> Vec<Usage> {
    let mut rows: BTreeMap<(&str, Option<&str>, &str), Usage> = BTreeMap::new();
    for answer in answers {
        let day = answer.time.get(..10).unwrap_or_default();
        let key = (day, answer.agent.as_deref(), answer.model.as_str());
        rows.entry(key).and_modify(|row| row.add(&answer.tokens, answer.usd)).or_insert_with(
            || Usage {
                day: day.to_owned(),
                agent: answer.agent.clone(),
                model: answer.model.clone(),
                tokens: answer.tokens.clone(),
                usd: answer.usd,
            },
        );
    }
    let rows = rows.into_values().map(|row| Usage { usd: row.usd.map(cents), ..row });
    rows.collect()
}

/// The client's own total, shared out in proportion to what the price table says. Where that does not
/// know a model, nobody can say which part is whose.
fn shared_out(mut rows: Vec<Usage>, total: f64) -> Vec<Usage> {
    let priced = rows.iter().try_fold(0.0, |sum, row| Some(sum + row.usd?));
    let Some(priced) = priced.filter(|priced| *priced > 0.0) else { return rows };
    for row in &mut rows {
        row.usd = row.usd.map(|usd| cents(usd * total / priced));
    }
    rows
}

impl Usage {
    fn add(&mut self, tokens: &Tokens, usd: Option<f64>) {
        self.tokens.add(tokens);
        self.usd = self.usd.zip(usd).map(|(one, other)| cents(one + other));
    }
}

/// What these rows had that is not known here stays with the row of the same day, agent and model.
pub fn keep_extra(rows: &mut [Usage], earlier: Vec<Usage>) {
    for was in earlier {
        let is_same = |row: &&mut Usage| {
            (&row.day, &row.agent, &row.model) == (&was.day, &was.agent, &was.model)
        };
        if let Some(row) = rows.iter_mut().find(is_same) {
            row.tokens.extra = was.tokens.extra;
        }
    }
}

pub fn sum_of(rows: &[Usage]) -> Tokens {
    let mut all = Tokens::default();
    rows.iter().for_each(|row| all.add(&row.tokens));
    all
}

/// No more than so many rows: the smallest agents become one, then all of them, then all days.
pub fn at_most(rows: &[Usage], most: usize) -> Vec<Usage> {
    let mut agents: BTreeMap<&str, u64> = BTreeMap::new();
    for row in rows {
        if let Some(agent) = &row.agent {
            *agents.entry(agent).or_default() += row.tokens.sum();
        }
    }
    let mut largest: Vec<(&str, u64)> = agents.into_iter().collect();
    largest.sort_by_key(|(_, tokens)| std::cmp::Reverse(*tokens));
    let mut keep = largest.len();
    loop {
        let kept: Vec<&str> = largest.iter().take(keep).map(|(agent, _)| *agent).collect();
        let named = |row: &Usage| {
            let agent = row.agent.as_deref()?;
            Some(if kept.contains(&agent) { agent } else { OTHER_AGENTS }.to_owned())
        };
        let fewer = merged(rows, |row| Usage { agent: named(row), ..row.clone() });
        match fewer.len() <= most || keep == 0 {
            true => return bounded(fewer, most),
            false => keep /= 2,
        }
    }
}

/// Rows that do not tell agents from the main thread; no more than so many.
pub fn without_agents(rows: &[Usage], most: usize) -> Vec<Usage> {
    bounded(merged(rows, |row| Usage { agent: None, ..row.clone() }), most)
}

/// If there are more rows, days become one, and then models.
fn bounded(mut rows: Vec<Usage>, most: usize) -> Vec<Usage> {
    if rows.len() > most {
        rows = merged(&rows, |row| Usage { day: String::new(), ..row.clone() });
    }
    if rows.len() > most {
        rows = merged(&rows, |row| Usage { model: NO_MODEL.to_owned(), ..row.clone() });
    }
    rows
}

/// Rows that have become alike are one.
fn merged(rows: &[Usage], change: impl Fn(&Usage) -> Usage) -> Vec<Usage> {
    let mut all: Vec<Usage> = Vec::new();
    for row in rows.iter().map(change) {
        let is_same = |known: &&mut Usage| {
            (&known.day, &known.agent, &known.model) == (&row.day, &row.agent, &row.model)
        };
        match all.iter_mut().find(is_same) {
            Some(known) => known.add(&row.tokens, row.usd),
            None => all.push(row),
        }
    }
    all
}

/// Dollars with no more digits than there is to say.
pub fn cents(usd: f64) -> f64 {
    (usd * 1e6).round() / 1e6
}
