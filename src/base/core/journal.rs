//! A line of a session's journal: what happened, when, in which agent. Lines are only ever added
//! (`store/journal`), so a line says all that there is to know about its subject by itself.
//!
//! Every line has `v`, `time` (UTC, milliseconds), `kind` and `session`; a line of a hook run has
//! its `event`, and `us`, `wrote` and `outcome`. `agent`, `prompt_id`, `call` and `ms` are there
//! where they are known. What `what`, `target`, `text`, `failed` and `record` say depends on the
//! kind ([`EntryKind`]). `schemas/journal.schema.json` is made from [`Entry`].

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

#[cfg(feature = "testing")]
use crate::core::schema_fields;
use crate::core::time::{self, Time};

/// The version of a line that this program writes. It is raised when a field that is known here
/// comes to mean something else; a new kind or a new field does not raise it.
pub const VERSION: u64 = 1;

/// Characters of a text that a line keeps.
pub const LONGEST_TEXT: usize = 4000;

/// How the outcome of a hook run begins when the run failed.
pub const FAILED: &str = "error: ";

/// What a line tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
pub enum EntryKind {
    /// A session began or goes on; `what` is the source.
    Start,
    /// A session is closed; `what` is the reason, `record` its entry in the metrics.
    End,
    /// A prompt: `text`; `what` is `machine` if nobody typed it.
    Prompt,
    /// A slash command: `what`, with its arguments in `text`.
    Command,
    /// A call for an agent: its type in `what`, its task in `target`, its prompt in `text`.
    Call,
    /// A tool call has ended: `target`, `ms`, `failed`.
    Tool,
    /// `agent` runs: its type in `what`, its task in `target`.
    AgentStart,
    /// `agent` has ended: its status in `what`, `ms`, its result in `record`.
    AgentEnd,
    /// A failure was recorded: its class in `what`, `target`, its record in `record`.
    Error,
    /// What had failed has succeeded: `target`. One that a person called recovered (`what` is `by hand`)
    /// has its record in `record`: others with its target are not meant.
    Recovered,
    /// A compaction is about to begin; `what` is the trigger.
    Compact,
    /// A compaction is over: the summary in `text`.
    Compacted,
    /// The turn is over: the last message in `text`; `what` is `blocked` if it has to go on.
    Stop,
    /// A loop: its kind in `loop`, which one in `target`, what became of it in `what`, why in `text`.
    Loop,
    /// A gate: its name in `target`, its status in `what`, what it said in `record`.
    Gate,
    /// A hand-off: its type in `what`, its file in `target`, the whole of it in `text`.
    Handoff,
    /// The model is another one: `what`, instead of `target`.
    Model,
    /// What the client told the user: `text`; its type in `what`.
    Notification,
    /// A payload that could not be used.
    Rejected,
    /// An event that waits in the spool. It is told when it is played.
    Spooled,
    /// A hook run with nothing to tell by itself.
    #[default]
    Run,
    /// Of a version that knows more kinds.
    #[serde(other)]
    Other,
}

impl EntryKind {
    /// Whether a line of this kind tells something by itself, in words that we know.
    pub fn is_told(self) -> bool {
        !matches!(self, Self::Run | Self::Spooled | Self::Other)
    }
}

/// A document as it was, inside a line.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Record(Box<RawValue>);

impl Record {
    pub fn new(document: &impl Serialize) -> Option<Self> {
        serde_json::value::to_raw_value(document).ok().map(Self)
    }

    /// The document, if it is one of this type.
    pub fn read<T: for<'a> Deserialize<'a>>(&self) -> Option<T> {
        serde_json::from_str(self.0.get()).ok()
    }
}

impl PartialEq for Record {
    fn eq(&self, other: &Self) -> bool {
        self.0.get() == other.0.get()
    }
}

/// One line. What is not there is empty: the line may be another version's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "testing", schemars(extend("required" = ["v", "time", "kind", "session"])))]
pub struct Entry {
    pub v: u64,
    /// When it happened, with milliseconds.
    #[cfg_attr(feature = "testing", schemars(schema_with = "schema_fields::time"))]
    pub time: String,
    #[cfg_attr(feature = "testing", schemars(with = "String"))]
    pub kind: EntryKind,
    /// Empty for what belongs to none.
    pub session: String,
    /// The hook event that it came with; a command has none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub event: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The prompt that it belongs to, as the client numbers them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_id: Option<String>,
    /// The id of the tool call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub what: Option<String>,
    /// What it was about; of a tool call the tool, and what it was aimed at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Of a loop: its kind.
    #[serde(rename = "loop", skip_serializing_if = "Option::is_none")]
    pub loop_kind: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
    /// How long it took, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "testing", schemars(with = "Option<crate::core::text::Extra>"))]
    pub record: Option<Record>,
    /// Of a hook run: what it came to, in a few words.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub outcome: String,
    /// Of a hook run: documents that were replaced, removed (`-`) or moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wrote: Option<Vec<String>>,
    /// Of a hook run: microseconds from start to end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub us: Option<u64>,
}

impl Entry {
    /// Something to tell; when and in which session is added by who writes it.
    pub fn new(kind: EntryKind) -> Self {
        Self { v: VERSION, kind, ..Self::default() }
    }

    pub fn at(mut self, time: Time, session: &str) -> Self {
        self.time = time::spell_millis(time);
        if self.session.is_empty() {
            session.clone_into(&mut self.session);
        }
        self
    }

    pub fn of_session(mut self, session: &str) -> Self {
        session.clone_into(&mut self.session);
        self
    }

    pub fn of_agent(mut self, agent: impl Into<Option<String>>) -> Self {
        self.agent = agent.into();
        self
    }

    pub fn what(mut self, what: impl Into<String>) -> Self {
        self.what = Some(what.into()).filter(|what| !what.is_empty());
        self
    }

    pub fn target(mut self, target: impl Into<String>) -> Self {
        self.target = Some(target.into()).filter(|target| !target.is_empty());
        self
    }

    pub fn loop_kind(mut self, kind: &str) -> Self {
        self.loop_kind = Some(kind.to_owned());
        self
    }

    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.text = Some(text.into()).filter(|text| !text.is_empty());
        self
    }

    pub fn record(mut self, document: &impl Serialize) -> Self {
        self.record = Record::new(document);
        self
    }

    /// Whether it is the line of a hook run; each run has one.
    pub fn is_run(&self) -> bool {
        self.us.is_some()
    }

    /// Whether it is of a run whose event did not get into the state.
    pub fn has_failed(&self) -> bool {
        self.kind == EntryKind::Rejected || self.is_run() && self.outcome.starts_with(FAILED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_read_as_it_is_written_and_an_unknown_one_too() {
        for (kind, name) in [(EntryKind::AgentEnd, "agent_end"), (EntryKind::Run, "run")] {
            let line = serde_json::to_string(&Entry::new(kind)).unwrap();
            assert!(line.contains(&format!(r#""kind":"{name}""#)), "{line}");
            assert_eq!(serde_json::from_str::<Entry>(&line).unwrap().kind, kind);
        }
        let newer = r#"{"v":1,"time":"t","kind":"dream","session":"s","depth":[1]}"#;
        let entry: Entry = serde_json::from_str(newer).unwrap();
        assert_eq!((entry.kind, entry.session.as_str()), (EntryKind::Other, "s"));
    }

    #[test]
    fn a_line_says_no_more_than_there_is() {
        let time = time::parse("2026-01-29T10:30:00.5Z").unwrap();
        let entry = Entry::new(EntryKind::Recovered).target("Bash make").at(time, "s1");
        assert_eq!(
            serde_json::to_string(&entry).unwrap(),
            r#"{"v":1,"time":"2026-01-29T10:30:00.500Z","kind":"recovered","session":"s1","target":"Bash make"}"#
        );
        let of_other = Entry::new(EntryKind::End).of_session("s2").at(time, "s1");
        assert_eq!(of_other.session, "s2");
    }

    #[test]
    fn a_record_comes_back_as_it_was() {
        let entry =
            Entry::new(EntryKind::Error).record(&serde_json::json!({"id": "e1", "n": 1.50}));
        let line = serde_json::to_string(&entry).unwrap();
        let read: Entry = serde_json::from_str(&line).unwrap();
        assert_eq!(read, entry);
        let record: serde_json::Value = read.record.unwrap().read().unwrap();
        assert_eq!(record["id"], "e1");
    }
}
