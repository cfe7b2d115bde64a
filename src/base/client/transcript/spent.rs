//! What a session and its agents spend while it runs: each transcript is read on from where the last
//! look ended, so that its length costs nothing.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::client::hook_runs;
use crate::client::prices::{self, Used};
use crate::client::transcript::{Kind, has, kind};
use crate::core::json::Object;
use crate::core::text::{Extra, clip, is_zero};
use crate::process::files;
use crate::process::positioned::FileExt;

/// Of a transcript that was not looked at before: what takes no longer than a quarter of the hook.
const FIRST_LOOK: u64 = 128 << 10;
/// At one look, and as much again of all agents; the rest is read at the next.
const ONE_LOOK: u64 = 4 << 20;
const MODELS: usize = 5;
/// Agents whose transcripts are read; those of more are counted.
const AGENTS: usize = 200;

/// What was spent so far, in millionths of a dollar, and how far that was read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
pub struct Spent {
    /// The transcript that is read.
    pub transcript: String,
    #[serde(flatten)]
    pub own: Reading,
    /// By those in earlier transcripts.
    pub earlier_micro_usd: u64,
    /// The transcripts of its agents, by their files' names.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub agents: BTreeMap<String, Reading>,
    /// Agents that are one too many to be read.
    #[serde(skip_serializing_if = "is_zero")]
    pub agents_left_out: u64,
    /// Whether all of the transcript was counted, so that the client's own total is about the same.
    pub is_whole: bool,
    /// Models whose price is not known: their answers are not in it.
    pub unpriced: Vec<String>,
    #[serde(flatten)]
    pub extra: Extra,
}

/// How far a transcript was read, and what its answers cost.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
pub struct Reading {
    pub offset: u64,
    pub micro_usd: u64,
    /// An answer stands in several lines, the last of them complete: the one that was counted last.
    pub message: String,
    pub message_micro_usd: u64,
}

impl Spent {
    pub fn usd(&self) -> f64 {
        self.session_micro_usd().saturating_add(self.earlier_micro_usd) as f64 / 1e6
    }

    /// By the session's own transcript and its agents'.
    fn session_micro_usd(&self) -> u64 {
        self.own.micro_usd.saturating_add(self.agents_micro_usd())
    }

    fn agents_micro_usd(&self) -> u64 {
        self.agents.values().fold(0, |sum, agent| sum.saturating_add(agent.micro_usd))
    }

    /// Nothing yet; what is in the transcripts already does not count.
    pub fn from_now(path: &Path) -> Self {
        let transcript = path.to_string_lossy().into_owned();
        let own = Reading::from_now(path);
        let is_whole = own.offset == 0;
        let agents = hook_runs::agents_of(&path.with_extension("")).into_iter();
        let agents = agents.filter_map(|path| Some((name(&path)?, Reading::from_now(&path))));
        let agents = agents.take(AGENTS).collect();
        Self { transcript, own, agents, is_whole, ..Self::default() }
    }

    /// Reads on. Of transcripts that are new to us only what was said since this time counts.
    pub fn read_on(&mut self, path: &Path, since: &str) {
        let Some(file) = files::open(path) else { return };
        let Ok(length) = file.metadata().map(|meta| meta.len()) else { return };
        let transcript = path.to_string_lossy();
        if self.transcript != transcript || length < self.own.offset {
            self.earlier_micro_usd =
                self.earlier_micro_usd.saturating_add(self.session_micro_usd());
            self.transcript = transcript.into_owned();
            let offset = length.saturating_sub(FIRST_LOOK);
            self.own = Reading { offset, ..Reading::default() };
            self.agents.clear();
            self.is_whole = offset == 0;
        }
        self.read_agents(path, since);
        let Some(lines) = self.own.next_lines(&file, length, ONE_LOOK) else { return };
        let mut own = std::mem::take(&mut self.own);
        for line in lines.split(|byte| *byte == b'\n') {
            self.count(&mut own, line, since, false);
        }
        self.own = own;
    }

    /// The agents' transcripts lie beside the session's. Its own total, which the client writes at the
    /// end, has them in it, so they are read first.
    fn read_agents(&mut self, session: &Path, since: &str) {
        let mut left = ONE_LOOK;
        self.agents_left_out = 0;
        for path in hook_runs::agents_of(&session.with_extension("")) {
            let Some(name) = name(&path) else { continue };
            if !self.agents.contains_key(&name) && self.agents.len() >= AGENTS {
                self.agents_left_out += 1;
                continue;
            }
            let mut agent = self.agents.remove(&name).unwrap_or_default();
            let read = agent.read(&path, left);
            left = left.saturating_sub(read.len() as u64);
            for line in read.split(|byte| *byte == b'\n') {
                self.count(&mut agent, line, since, true);
            }
            self.agents.insert(name, agent);
        }
    }

    fn count(&mut self, reading: &mut Reading, line: &[u8], since: &str, is_agent: bool) {
        let wanted = [&b"\"usage\""[..], b"\"costUSD\"", b"\"totalCostUSD\""];
        if kind(line) == Kind::User || !wanted.iter().any(|key| has(line, key)) {
            return;
        }
        let Ok(line) = Object::parse(line) else { return };
        if let Some(total) = line.float("totalCostUSD") {
            if self.is_whole && !is_agent {
                reading.micro_usd = micro(total).saturating_sub(self.agents_micro_usd());
            }
            return;
        }
        let Some(message) = line.object("message") else { return };
        // What an agent says in the session's transcript, it says in its own too.
        let is_elsewhere = line.flag("isSidechain") && !is_agent;
        if line.word("type").as_deref() != Some("assistant") || is_elsewhere {
            return;
        }
        // Both are written alike, so that the earlier one is the smaller one.
        if line.word("timestamp").is_some_and(|at| at.as_str() < since.trim_end_matches('Z')) {
            self.is_whole = false;
            return;
        }
        let model = message.word("model").unwrap_or_default();
        let cost = match line.float("costUSD") {
            Some(dollars) => Some(micro(dollars)),
            None => used(&message).and_then(|used| self.price(&model, &used)),
        };
        let Some(cost) = cost else { return };
        let id = message.word("id").unwrap_or_default();
        if !id.is_empty() && id == reading.message {
            reading.micro_usd = reading.micro_usd.saturating_sub(reading.message_micro_usd);
        }
        reading.micro_usd = reading.micro_usd.saturating_add(cost);
        (reading.message, reading.message_micro_usd) = (id, cost);
    }

    fn price(&mut self, model: &str, used: &Used) -> Option<u64> {
        let cost = prices::micro_usd(model, used);
        // The client's own words have no model.
        if cost.is_none() && model != "<synthetic>" && *used != Used::default() {
            let name = clip(model, 60);
            if self.unpriced.len() < MODELS && !self.unpriced.contains(&name) {
                self.unpriced.push(name);
            }
        }
        cost
    }
}

impl Reading {
    /// Nothing of what is there by now counts.
    fn from_now(path: &Path) -> Self {
        let length = files::open(path).and_then(|file| file.metadata().ok()).map(|meta| meta.len());
        Self { offset: length.unwrap_or(0), ..Self::default() }
    }

    /// What was written since the last look, as far as it is whole lines.
    fn read(&mut self, path: &Path, most: u64) -> Vec<u8> {
        let file = files::open(path);
        let length = file.as_ref().and_then(|file| Some(file.metadata().ok()?.len()));
        let (Some(file), Some(length)) = (file, length) else { return Vec::new() };
        self.next_lines(&file, length, most).unwrap_or_default()
    }

    /// The whole lines behind the offset, which moves behind them.
    fn next_lines(&mut self, file: &File, length: u64, most: u64) -> Option<Vec<u8>> {
        let size = length.saturating_sub(self.offset).min(most);
        let mut bytes = vec![0; usize::try_from(size).ok()?];
        file.read_exact_at(&mut bytes, self.offset).ok()?;
        let whole = memchr::memrchr(b'\n', &bytes).map(|end| end + 1);
        // A line that fills a whole look holds a file, not an answer.
        let whole = whole.or_else(|| (size == ONE_LOOK).then_some(bytes.len())).unwrap_or(0);
        bytes.truncate(whole);
        self.offset += whole as u64;
        Some(bytes)
    }
}

fn name(path: &Path) -> Option<String> {
    Some(path.file_name()?.to_str()?.to_owned())
}

pub fn used(message: &Object) -> Option<Used> {
    let usage = message.object("usage")?;
    let count = |key: &str| usage.number(key).unwrap_or(0);
    let kinds = usage.object("cache_creation");
    let cache_1h = kinds.and_then(|kinds| kinds.number("ephemeral_1h_input_tokens")).unwrap_or(0);
    Some(Used {
        input: count("input_tokens"),
        output: count("output_tokens"),
        cache_5m: count("cache_creation_input_tokens").saturating_sub(cache_1h),
        cache_1h,
        cache_read: count("cache_read_input_tokens"),
    })
}

fn micro(dollars: f64) -> u64 {
    (dollars.max(0.0) * 1e6).round() as u64
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn answer(id: &str, model: &str, output: u64, at: &str) -> String {
        format!(
            r#"{{"message":{{"model":"{model}","id":"{id}","usage":{{"input_tokens":0,"output_tokens":{output}}}}},"type":"assistant","timestamp":"2026-01-29T{at}.000Z"}}"#
        )
    }

    /// Reads a transcript that grows by these pieces; what was spent after each, in µ$.
    #[expect(clippy::disallowed_methods, reason = "a test makes its own files")]
    fn read(pieces: &[String]) -> (Vec<u64>, Spent) {
        let path = std::env::temp_dir().join(format!("hookkeeper-spent-{:p}", pieces));
        let mut file = File::create(&path).unwrap();
        let mut spent = Spent::default();
        let mut seen = Vec::new();
        for piece in pieces {
            file.write_all(piece.as_bytes()).unwrap();
            spent.read_on(&path, "2026-01-29T10:00:00Z");
            seen.push(spent.session_micro_usd());
        }
        std::fs::remove_file(&path).unwrap();
        (seen, spent)
    }

    #[test]
    fn answers_count_once_whole_and_since_the_loop_began() {
        let opus = "claude-opus-5";
        let line = |id: &str, output, at| answer(id, opus, output, at) + "\n";
        let cut = line("m3", 100, "10:04:00");
        let (head, tail) = cut.split_at(40);
        let (seen, spent) = read(&[
            line("m0", 1000, "09:59:59"),
            line("m1", 1, "10:00:00") + &line("m1", 4, "10:00:01"),
            line("m1", 10, "10:00:02") + "not json\n" + head,
            tail.to_owned() + &answer("m4", "gpt-6", 5, "10:05:00") + "\n",
            "{\"type\":\"cost\",\"totalCostUSD\":9.0}\n".into(),
        ]);
        assert_eq!(seen, [0, 100, 250, 2750, 2750], "25 µ$ a token; the total has the time before");
        assert_eq!(spent.unpriced, ["gpt-6"]);
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test makes its own files")]
    fn agents_count_too_once_and_since_the_loop_began() {
        let dir = std::env::temp_dir().join(format!("hookkeeper-agents-{}", std::process::id()));
        let agents = dir.join("s/subagents");
        std::fs::create_dir_all(&agents).unwrap();
        let session = dir.join("s.jsonl");
        let line = |id: &str, output: u64, at: &str| {
            let line = answer(id, "claude-opus-5", output, at);
            line.replacen("{\"message\"", "{\"isSidechain\":true,\"message\"", 1) + "\n"
        };
        let add = |name: &str, text: String| {
            let path = agents.join(name);
            let mut file = File::options().create(true).append(true).open(path).unwrap();
            file.write_all(text.as_bytes()).unwrap();
        };
        std::fs::write(&session, line("m1", 100, "10:00:00")).unwrap();
        add("agent-a0.jsonl", line("a", 40, "10:00:00"));
        let mut spent = Spent::from_now(&session);
        let mut cost = || {
            spent.read_on(&session, "2026-01-29T10:00:00Z");
            spent.session_micro_usd()
        };
        assert_eq!(cost(), 0, "an agent that is there already");
        add("agent-a1.jsonl", line("b", 1, "09:59:59") + &line("c", 2, "10:01:00"));
        add("agent-a1.meta.json", "{}".into());
        assert_eq!(cost(), 50);
        add("agent-a1.jsonl", line("c", 4, "10:01:00"));
        add("agent-a0.jsonl", line("d", 6, "10:02:00"));
        assert_eq!((cost(), cost()), (250, 250), "the last line of an answer, and each once");
        // The client's own total has its agents in it.
        std::fs::write(&session, "{\"type\":\"cost\",\"totalCostUSD\":0.005}\n").unwrap();
        let mut whole = Spent::default();
        whole.read_on(&session, "2026-01-29T09:00:00Z");
        assert_eq!((whole.session_micro_usd(), whole.own.micro_usd), (5000, 5000 - 1275));
        std::fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn cost_lines_hold_where_they_are_there() {
        let priced = answer("m1", "claude-opus-5", 10, "10:00:00").replacen(
            "{\"message\"",
            "{\"costUSD\":0.5,\"message\"",
            1,
        );
        let (seen, _) = read(&[priced + "\n", "{\"totalCostUSD\":0.75}\n".into()]);
        assert_eq!(seen, [500_000, 750_000]);
    }
}
