//! What a session spends while it runs: the transcript is read on from where the last look ended, so
//! that its length costs nothing.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::client::prices::{self, Used};
use crate::client::transcript::{Kind, has, kind};
use crate::core::json::Object;
use crate::core::text::{Extra, clip};
use crate::process::files;

/// Of a transcript that was not looked at before: what takes no longer than a quarter of the hook.
const FIRST_LOOK: u64 = 128 << 10;
/// At one look; the rest is read at the next.
const ONE_LOOK: u64 = 4 << 20;
const MODELS: usize = 5;

/// What was spent so far, in millionths of a dollar, and how far that was read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Spent {
    /// The transcript that is read.
    pub transcript: String,
    pub offset: u64,
    /// By the answers in it.
    pub micro_usd: u64,
    /// By those in earlier transcripts.
    pub earlier_micro_usd: u64,
    /// An answer stands in several lines, the last of them complete: the one that was counted last.
    pub message: String,
    pub message_micro_usd: u64,
    /// Whether all of the transcript was counted, so that the client's own total is about the same.
    pub is_whole: bool,
    /// Models whose price is not known: their answers are not in it.
    pub unpriced: Vec<String>,
    #[serde(flatten)]
    pub extra: Extra,
}

impl Spent {
    pub fn usd(&self) -> f64 {
        self.micro_usd.saturating_add(self.earlier_micro_usd) as f64 / 1e6
    }

    /// Nothing yet; what is in the transcript already does not count.
    pub fn from_now(path: &Path) -> Self {
        let length = files::open(path).and_then(|file| file.metadata().ok()).map(|meta| meta.len());
        let transcript = path.to_string_lossy().into_owned();
        let offset = length.unwrap_or(0);
        Self { transcript, offset, is_whole: offset == 0, ..Self::default() }
    }

    /// Reads on. Of a transcript that is new to us only what was said since this time counts.
    pub fn read_on(&mut self, path: &Path, since: &str) {
        let Some(file) = files::open(path) else { return };
        let Ok(length) = file.metadata().map(|meta| meta.len()) else { return };
        let name = path.to_string_lossy();
        let is_new = self.transcript != name || length < self.offset;
        if is_new {
            self.earlier_micro_usd = self.earlier_micro_usd.saturating_add(self.micro_usd);
            self.transcript = name.into_owned();
            (self.offset, self.micro_usd) = (length.saturating_sub(FIRST_LOOK), 0);
            (self.message, self.message_micro_usd) = (String::new(), 0);
            self.is_whole = self.offset == 0;
        }
        let Some(lines) = self.next_lines(&file, length) else { return };
        for line in lines.split(|byte| *byte == b'\n') {
            self.count(line, since);
        }
    }

    /// The whole lines behind the offset, which moves behind them.
    fn next_lines(&mut self, file: &File, length: u64) -> Option<Vec<u8>> {
        let size = length.saturating_sub(self.offset).min(ONE_LOOK);
        let mut bytes = vec![0; usize::try_from(size).ok()?];
        file.read_exact_at(&mut bytes, self.offset).ok()?;
        let whole = memchr::memrchr(b'\n', &bytes).map(|end| end + 1);
        // A line that fills a whole look holds a file, not an answer.
        let whole = whole.or_else(|| (size == ONE_LOOK).then_some(bytes.len())).unwrap_or(0);
        bytes.truncate(whole);
        self.offset += whole as u64;
        Some(bytes)
    }

    fn count(&mut self, line: &[u8], since: &str) {
        let wanted = [&b"\"usage\""[..], b"\"costUSD\"", b"\"totalCostUSD\""];
        if kind(line) == Kind::User || !wanted.iter().any(|key| has(line, key)) {
            return;
        }
        let Ok(line) = Object::parse(line) else { return };
        if let Some(total) = line.float("totalCostUSD") {
            if self.is_whole {
                self.micro_usd = micro(total);
            }
            return;
        }
        let Some(message) = line.object("message") else { return };
        if line.word("type").as_deref() != Some("assistant") || line.flag("isSidechain") {
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
        if !id.is_empty() && id == self.message {
            self.micro_usd = self.micro_usd.saturating_sub(self.message_micro_usd);
        }
        self.micro_usd = self.micro_usd.saturating_add(cost);
        (self.message, self.message_micro_usd) = (id, cost);
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

fn used(message: &Object) -> Option<Used> {
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
            seen.push(spent.micro_usd);
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
