//! A text in everything that is kept: journals, results of agents, hand-offs.
//!
//! The text is looked for in raw bytes (`store/journal/matching.rs`, [`needle`]), and only lines
//! that have it are parsed. Sessions come newest first. The search stops when it has enough that is
//! newer than all of the next session.

pub mod hits;
pub mod needle;

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use memchr::{memchr, memmem};

use crate::agents::result::AgentResult;
use crate::branch::folder::BRANCHES;
use crate::core::id::FileStem;
use crate::core::time::{self, Time};
use crate::handoff::file::HandoffFile;
use crate::state::Source as _;
use crate::store::journal::read::parse;
use crate::store::view::View;
use hits::{Hit, HitKind, in_entry, in_result};
use needle::Needle;

/// Bytes of a line in which its time stands.
const HEAD: usize = 64;
const RESULTS: &str = "state/agents/results";
const ARCHIVE: &str = "state/agents/results-archive";
/// So many hits are kept in any case before they are sorted.
const SPARE: usize = 64;
/// Seconds that a line may be newer than its file says.
const SLACK: i64 = 120;

pub struct Search {
    pub needle: Needle,
    pub kind: Option<HitKind>,
    /// As journals spell it.
    pub since: Option<String>,
    /// How many of the newest.
    pub most: usize,
}

#[derive(Default)]
pub struct Found {
    /// The newest first.
    pub hits: Vec<Hit>,
    /// Whether there are more, older ones.
    pub has_more: bool,
    /// Of as many hits as will be shown the time of the last: what is older is not needed.
    oldest: Option<String>,
    /// Lines and documents that have it somewhere and cannot be read.
    pub unreadable: usize,
}

impl Search {
    pub fn run(&self, view: &View) -> Found {
        let mut found = Found::default();
        // What is short and not in order of time first.
        if matches!(self.kind, None | Some(HitKind::Handoff)) {
            self.in_handoffs(view, &mut found);
        }
        if !matches!(self.kind, Some(HitKind::Handoff | HitKind::Error)) {
            self.in_results(view, &mut found);
        }
        self.in_journals(view, &mut found);
        found.hits.sort_by(|one, other| other.time.cmp(&one.time));
        remove_repeated(&mut found.hits);
        found.has_more |= found.hits.len() > self.most;
        found.hits.truncate(self.most);
        found
    }

    fn admits(&self, hit: &Hit) -> bool {
        self.kind.is_none_or(|kind| hit.kind == kind)
            && self.since.as_ref().is_none_or(|since| hit.time >= *since)
    }

    /// Keeps what is asked for; no more of it than a few times as much as will be shown.
    fn keep(&self, hits: Vec<Hit>, found: &mut Found) {
        found.hits.extend(hits.into_iter().filter(|hit| self.admits(hit)));
        let is_too_much = found.hits.len() > self.most.saturating_mul(2).max(SPARE);
        if is_too_much {
            found.hits.sort_by(|one, other| other.time.cmp(&one.time));
            remove_repeated(&mut found.hits);
            if found.hits.len() >= self.most {
                found.has_more |= found.hits.len() > self.most;
                found.hits.truncate(self.most);
                found.oldest = found.hits.last().map(|hit| hit.time.clone());
            }
        }
    }

    fn in_journals(&self, view: &View, found: &mut Found) {
        let journal = view.journal();
        found.unreadable += usize::from(journal.trouble().is_some());
        let find = |bytes: &[u8]| self.needle.find_raw(bytes);
        let since = self.since.as_deref().and_then(time::parse).map(|time| time.timestamp());
        for files in journal.sessions() {
            let newest = files.modified.saturating_add(SLACK);
            if since.is_some_and(|since| newest < since) {
                continue;
            }
            // Sessions come with the one first that was last added to: with enough that is newer than
            // all of the next one, it only matters whether there is anything more.
            let is_enough = self.is_full_with_newer(&mut found.hits, newest);
            found.has_more |= is_enough && found.hits.len() > self.most;
            if is_enough && found.has_more {
                break;
            }
            found.unreadable += journal.matching(&files, &find, |line| {
                // What is older than all that will be shown need not be kept.
                let is_older =
                    |time: &str| found.oldest.as_deref().is_some_and(|last| time <= last);
                if !is_enough && !time_of(line).is_some_and(is_older) {
                    match parse(line) {
                        Some(entry) => self.keep(in_entry(&entry, &self.needle), found),
                        None => found.unreadable += 1,
                    }
                } else if !found.has_more {
                    let hits = parse(line).map(|entry| in_entry(&entry, &self.needle));
                    found.has_more = hits.is_some_and(|hits| self.has_another(&hits, &found.hits));
                }
                match is_enough && found.has_more {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                }
            });
        }
    }

    /// Whether one of these is asked for, and is not among what is known.
    fn has_another(&self, hits: &[Hit], known: &[Hit]) -> bool {
        let is_known =
            |hit: &Hit| !hit.id.is_empty() && known.iter().any(|one| key(one) == key(hit));
        hits.iter().any(|hit| self.admits(hit) && !is_known(hit))
    }

    fn is_full_with_newer(&self, hits: &mut Vec<Hit>, seconds: i64) -> bool {
        if hits.len() < self.most {
            return false;
        }
        hits.sort_by(|one, other| other.time.cmp(&one.time));
        remove_repeated(hits);
        let last = self.most.checked_sub(1).and_then(|at| hits.get(at));
        let last = last.and_then(|hit| time::parse(&hit.time));
        last.is_some_and(|last| last.timestamp() > seconds)
    }

    /// Whole, where the journal has only their beginnings.
    fn in_results(&self, view: &View, found: &mut Found) {
        let sessions = view.names(ARCHIVE);
        let archived = sessions.iter().map(|session| format!("{ARCHIVE}/{session}"));
        for folder in archived.chain([RESULTS.to_owned()]) {
            for name in view.names(&folder) {
                let stem = name.strip_suffix(".json");
                if stem.is_none_or(FileStem::is_reserved) {
                    continue;
                }
                let Some(bytes) = bytes_of(view, &format!("{folder}/{name}"), found) else {
                    continue;
                };
                if self.needle.find_raw(&bytes).is_none() {
                    continue;
                }
                match serde_json::from_slice::<AgentResult>(&bytes) {
                    Ok(result) => {
                        self.keep(in_result(&result, &result.completed, &self.needle), found);
                    }
                    Err(_) => found.unreadable += 1,
                }
            }
        }
    }

    fn in_handoffs(&self, view: &View, found: &mut Found) {
        for branch in view.names(BRANCHES) {
            let folder = format!("{BRANCHES}/{branch}/handoffs");
            for name in view.names(&folder).iter().filter(|name| name.ends_with(".md")) {
                let path = format!("{folder}/{name}");
                let Some(bytes) = bytes_of(view, &path, found) else { continue };
                let text = String::from_utf8_lossy(&bytes);
                let Some(excerpt) = self.needle.excerpt(&text) else { continue };
                let file = HandoffFile::parse(name, &text);
                let look = format!(".claude/{path}");
                let written = time::parse(&file.timestamp);
                let written = written.or_else(|| Time::from_timestamp(view.modified(&path), 0));
                let hit = Hit {
                    time: written.map(time::spell_millis).unwrap_or_default(),
                    kind: HitKind::Handoff,
                    session: file.session.unwrap_or_default(),
                    agent: None,
                    id: look.clone(),
                    text: excerpt,
                    look,
                };
                self.keep(vec![hit], found);
            }
        }
    }
}

/// A file; one that is there and cannot be read is counted.
fn bytes_of(view: &View, path: &str, found: &mut Found) -> Option<Vec<u8>> {
    let read = view.bytes(path);
    found.unreadable += usize::from(read.is_err());
    read.ok().flatten()
}

/// The time of a line of ours, which stands at its beginning.
fn time_of(line: &[u8]) -> Option<&str> {
    let head = line.get(..HEAD.min(line.len()))?;
    let begin = memmem::find(head, b"\"time\":\"")? + 8;
    let length = memchr(b'"', head.get(begin..)?)?;
    std::str::from_utf8(head.get(begin..begin + length)?).ok()
}

/// Takes out what is found in several places: a result in its archive and in the journal, an error at each time
/// that it came again, a call's prompt at the call and at the agent's end.
fn remove_repeated(hits: &mut Vec<Hit>) {
    let mut seen = BTreeSet::new();
    hits.retain(|hit| {
        let (kind, agent, id) = key(hit);
        hit.id.is_empty() || seen.insert((kind, agent.map(str::to_owned), id.to_owned()))
    });
}

/// What is the same in all places where a thing is; nothing of what has no id.
fn key(hit: &Hit) -> (HitKind, Option<&str>, &str) {
    // A call is the caller's, a prompt its agent's.
    let agent = hit.agent.as_deref().filter(|_| hit.kind != HitKind::Prompt);
    (hit.kind, agent, &hit.id)
}
