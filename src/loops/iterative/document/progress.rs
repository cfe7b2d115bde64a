//! `progress.md`: what happened, entry by entry. Entries are only ever added. Models and people add
//! their own in the same form; what moves something is ours, and has a mark.

use crate::core::text::clip;
use crate::core::time;
use crate::loops::iterative::document::lifecycle::Status;
use crate::loops::iterative::document::mark::MARK;
pub use crate::loops::iterative::document::step::Step;

pub const HEAD: &str = "# Progress Log\n";
/// The subject of entries that are about the whole task.
pub const TASK: &str = "Task";
const LONGEST: usize = 1000;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Entry {
    /// A unit, or the task.
    pub subject: String,
    /// `Iteration 2`, or what happened to the task.
    pub what: String,
    pub at: String,
    pub did: Option<String>,
    pub remaining: Option<String>,
    pub blockers: Option<String>,
    pub signal: Option<String>,
    pub commit: Option<String>,
    /// What the output was like when the unit began.
    pub output: Option<String>,
    pub step: Option<Step>,
    pub phase: Option<String>,
    /// The session that drives the task; `none` if nobody does.
    pub session: Option<String>,
    /// How the task has ended and why; `none` if it goes on.
    pub verdict: Option<String>,
    /// The whole state at this point, where the log does not tell how it came about.
    pub state: Option<String>,
}

pub const NONE: &str = "none";
/// What an entry about the review of the whole is called.
pub const REVIEW: &str = "Review";
/// Where nobody has said what is left.
pub const NOT_SAID: &str = "Not said; see its criteria.";

impl Entry {
    pub fn of_unit(unit: &str, iteration: u64) -> Self {
        let what = format!("Iteration {iteration}");
        Self { subject: unit.to_owned(), what, ..Self::default() }
    }

    pub fn of_task(what: &str) -> Self {
        Self { subject: TASK.to_owned(), what: what.to_owned(), ..Self::default() }
    }

    /// The log knows from here on where everything stands.
    pub fn is_anchor(&self) -> bool {
        self.subject == TASK && (self.what == CREATED || self.state.is_some())
    }

    /// As it will be read again: one line each, and nothing that is empty.
    pub fn tidy(&mut self) {
        let Self {
            did, remaining, blockers, signal, commit, output, phase, session, verdict, ..
        } = self;
        for field in [did, remaining, blockers, signal, commit, output, phase, session, verdict] {
            *field = field.take().map(|text| clip(&text, LONGEST)).filter(|text| !text.is_empty());
        }
    }

    /// As it stands in the file, with the blank line before it.
    pub fn markdown(&self) -> String {
        let mut out = format!("\n## {} - {} - {}\n", self.subject, self.what, self.at);
        let step = self.step.as_ref().map(Step::text);
        let lines = [
            ("Did", &self.did),
            ("Remaining", &self.remaining),
            ("Blockers", &self.blockers),
            ("Signal", &self.signal),
            ("Commit", &self.commit),
            ("Output", &self.output),
            ("Status", &step),
            ("Phase", &self.phase),
            ("Session", &self.session),
            ("Verdict", &self.verdict),
        ];
        for (key, value) in lines {
            if let Some(value) = value {
                out.push_str(&format!("**{key}:** {value}\n"));
            }
        }
        if let Some(state) = &self.state {
            out.push_str(&format!("**State:** {state}\n"));
        }
        out.extend(self.mark());
        out
    }

    /// When it was written, if that is a time at all.
    pub fn time(&self) -> Option<&str> {
        Some(self.at.as_str()).filter(|at| time::parse(at).is_some())
    }

    /// An entry, and whether it has its mark.
    fn parse(heading: &str, lines: &[&str]) -> Option<(Self, bool)> {
        let (rest, at) = heading.rsplit_once(" - ")?;
        let (subject, what) = rest.rsplit_once(" - ")?;
        let mut entry = Self {
            subject: subject.trim().to_owned(),
            what: what.trim().to_owned(),
            at: at.trim().to_owned(),
            ..Self::default()
        };
        for (key, value) in fields(lines) {
            match key {
                "Did" => entry.did = Some(value),
                "Remaining" => entry.remaining = Some(value),
                "Blockers" => entry.blockers = Some(value),
                "Signal" => entry.signal = Some(value),
                "Commit" => entry.commit = Some(value),
                "Output" => entry.output = Some(value),
                "Status" => entry.step = Step::parse(&value),
                "Phase" => entry.phase = Some(value),
                "Session" => entry.session = Some(value),
                "Verdict" => entry.verdict = Some(value),
                "State" => entry.state = Some(value),
                _ => {}
            }
        }
        let mark = entry.mark();
        let is_marked =
            lines.iter().any(|line| Some(line.trim()) == mark.as_deref().map(str::trim));
        Some((entry, is_marked))
    }

    /// The number in `Iteration 2`.
    pub fn iteration(&self) -> Option<u64> {
        self.what.strip_prefix("Iteration ")?.trim().parse().ok()
    }

    /// What is left to do, if it says so.
    pub fn open_work(&self) -> Option<&str> {
        let said = self.remaining.as_deref()?.trim().trim_end_matches('.');
        let is_open = !said.is_empty() && !said.eq_ignore_ascii_case(NONE);
        (is_open && said != NOT_SAID.trim_end_matches('.')).then_some(said)
    }
}

pub const STARTED: &str = "Started.";
pub const CREATED: &str = "Created";

/// `**Key:** value`, where the value may go on in the lines below.
fn fields<'a>(lines: &[&'a str]) -> Vec<(&'a str, String)> {
    let mut found: Vec<(&str, String)> = Vec::new();
    for line in lines.iter().filter(|line| !line.trim().starts_with(MARK)) {
        let field = line.trim().strip_prefix("**").and_then(|rest| rest.split_once(":**"));
        match (field, found.last_mut()) {
            (Some((key, value)), _) => found.push((key, value.trim().to_owned())),
            (None, Some((_, value))) if !line.trim().is_empty() => {
                value.push(' ');
                value.push_str(line.trim());
            }
            _ => {}
        }
    }
    found.retain(|(_, value)| !value.is_empty());
    found
}

/// The entries of a log.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Log {
    pub entries: Vec<Entry>,
}

impl Log {
    /// An error says what is wrong with a text that is no log.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim_start_matches('\u{feff}');
        if text.contains('\0') {
            return Err("it is not a text".into());
        }
        let lines: Vec<&str> = text.lines().collect();
        let heads = lines
            .iter()
            .enumerate()
            .filter_map(|(n, line)| line.strip_prefix("## ").map(|heading| (n, heading.trim())));
        let heads: Vec<(usize, &str)> = heads.collect();
        let mut entries: Vec<Entry> = Vec::new();
        // Before the first mark the log is from before there were any, or nobody's but theirs.
        let mut marked = false;
        for (n, (at, heading)) in heads.iter().enumerate() {
            let end = heads.get(n + 1).map_or(lines.len(), |(next, _)| *next);
            let body = lines.get(at + 1..end).unwrap_or_default();
            let Some((mut entry, is_marked)) = Entry::parse(heading, body) else { continue };
            if marked && !is_marked {
                entry.only_records();
            }
            marked |= is_marked;
            entries.push(entry);
        }
        let begins = lines.iter().find(|line| !line.trim().is_empty());
        if entries.is_empty() && begins.is_none_or(|line| line.trim() != HEAD.trim()) {
            return Err("it has no `# Progress Log` and no entry".into());
        }
        Ok(Self { entries })
    }

    /// Whether we have written in it where everything stands.
    pub fn is_anchored(&self) -> bool {
        self.entries.iter().any(Entry::is_anchor)
    }

    /// The commit that the task began at.
    pub fn base(&self) -> Option<&str> {
        let created = self.entries.iter().find(|entry| entry.is_anchor())?;
        created.commit.as_deref()
    }

    /// The last commit that an entry names.
    pub fn last_commit(&self) -> Option<&str> {
        let named = self.entries.iter().rev().filter_map(|entry| entry.commit.as_deref());
        named.into_iter().find(|commit| !commit.eq_ignore_ascii_case(NONE))
    }

    /// What the output of a unit was like when it began.
    pub fn output_before(&self, unit: &str) -> Option<&String> {
        let own = self.entries.iter().filter(|entry| entry.subject == unit);
        own.filter_map(|entry| entry.output.as_ref()).next()
    }

    /// The turns of the review that is going on.
    pub fn reviews(&self) -> Vec<&Entry> {
        let phases = self.entries.iter().rev().filter(|entry| entry.phase.is_some());
        let mut turns: Vec<&Entry> = phases.take_while(|entry| entry.what == REVIEW).collect();
        turns.reverse();
        turns
    }

    /// What was tried in a unit, one after the other.
    pub fn attempts(&self, unit: &str) -> Vec<String> {
        let own = self.entries.iter().filter(|entry| entry.subject == unit);
        let tried = own.filter_map(|entry| Some((entry.iteration()?, entry.did.as_deref()?)));
        let tried = tried.filter(|(_, did)| *did != STARTED);
        tried.map(|(n, did)| format!("{n}: {}", clip(did, 160))).collect()
    }

    /// What the newest entry about a unit leaves open.
    pub fn remaining(&self, unit: &str) -> Option<&str> {
        // Who says that a unit is done claims that nothing is left; what was noted before may still be.
        let is_claim = |entry: &&Entry| {
            let to = entry.step.as_ref().map(|step| step.to);
            matches!(to, Some(Status::Confirming | Status::Verifying))
        };
        let own = self.entries.iter().rev().filter(|entry| entry.subject == unit);
        let mut said = own.filter(|entry| entry.remaining.is_some() && !is_claim(entry));
        said.next()?.open_work()
    }
}

#[cfg(test)]
mod tests {
    use super::super::lifecycle::Status;
    use super::*;

    #[test]
    fn an_entry_comes_back_as_it_was() {
        let step = |from, to, iteration, skipped| Step { from, to, iteration, skipped };
        for step in [
            step(Status::Pending, Status::InProgress, Some(1), false),
            step(Status::InProgress, Status::InProgress, Some(3), false),
            step(Status::Pending, Status::Blocked, None, true),
        ] {
            let entry = Entry {
                at: "2026-01-14T10:30:00Z".into(),
                did: Some("a - b ** c: `d`".into()),
                remaining: Some("None".into()),
                signal: Some("T1_DONE".into()),
                step: Some(step),
                ..Entry::of_unit("T1", 2)
            };
            let log = Log::parse(&format!("{HEAD}{}", entry.markdown())).unwrap();
            assert_eq!(log.entries, [entry]);
        }
    }

    #[test]
    fn what_is_no_log_is_not_taken_for_an_empty_one() {
        assert!(Log::parse("").is_err());
        assert!(Log::parse("{\"a\": 1}").is_err());
        assert!(Log::parse("# Progress Log\n\0").is_err());
        assert_eq!(Log::parse("# Progress Log\n"), Ok(Log::default()));
        let by_hand = "# Progress Log\n\n## T1 - Iteration 1 - now\n**Did:** one\ntwo\n**Remaining:**\n- a\n- b\n## notes\nx";
        let log = Log::parse(by_hand).unwrap();
        assert_eq!(log.entries.len(), 1);
        assert_eq!(log.entries[0].did.as_deref(), Some("one two"));
        assert_eq!(log.remaining("T1"), Some("- a - b"));
    }
}
