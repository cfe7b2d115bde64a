//! What the client's transcript says: context in use, files in context, tokens spent, how an agent
//! ended. The format is internal to the client, so everything here is a guess that may come back
//! empty, and only lines that contain a wanted key are parsed at all.

pub mod calls;
pub mod context_use;
pub mod cost_line;
pub mod spent;
pub mod usage;

use std::ops::ControlFlow;
use std::path::Path;

use memchr::memmem;

use serde::{Deserialize, Serialize};

use crate::client::todos::{self, Todo};
use crate::core::json::Object;
use crate::core::text::Extra;
use crate::process::{files, tail};
use calls::{Calls, FILES};

/// An agent's transcript is read from its end, this far: what takes no longer than a quarter of the
/// hook itself.
const AGENT_TAIL: u64 = 512 << 10;
/// Of the client's version: every message says it.
const VERSION_TAIL: u64 = 256 << 10;
/// A prompt that is longer is not read.
const LONGEST_PROMPT: u64 = 256 << 10;
const USUAL_PROMPT: u64 = 8 << 10;
/// What is in the context is looked for in this much of a transcript, up to the last compaction.
const CONTEXT_TAIL: u64 = 128 << 20;
const FIRST_LINES: u64 = 64 << 10;
/// How far into a line its type and the id of a result are looked for.
const HEAD: usize = 1 << 10;

/// What is in the model's context, since the last compaction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InContext {
    pub tokens: Option<u64>,
    /// Newest first, absolute as the client wrote them.
    pub files: Vec<String>,
}

/// How an agent worked and ended.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgentWork {
    pub files: Vec<String>,
    /// Those of them that it changed.
    pub changed: Vec<String>,
    pub reads: u64,
    pub ended_in_api_error: bool,
    /// What it was asked.
    pub prompt: Option<String>,
    /// What was in its context at the end.
    pub tokens: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
pub struct Tokens {
    pub input: u64,
    pub output: u64,
    pub cache_creation: u64,
    pub cache_read: u64,
    #[serde(flatten)]
    pub extra: Extra,
}

impl Tokens {
    pub fn sum(&self) -> u64 {
        let all = [self.input, self.output, self.cache_creation, self.cache_read];
        all.into_iter().fold(0, u64::saturating_add)
    }

    pub fn add(&mut self, other: &Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cache_creation = self.cache_creation.saturating_add(other.cache_creation);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
    }
}

/// What is in the context and what the session has set out to do, in one pass over its transcript.
pub fn in_context(path: &Path, mut todos: Option<todos::Search>) -> (InContext, Vec<Todo>) {
    let Some(file) = files::open(path) else { return Default::default() };
    let calls = Calls::of_new_files(&file);
    let mut context = Context { found: InContext::default(), calls };
    let (mut in_context, mut in_reach) = (true, todos.is_some());
    tail::lines(&file, CONTEXT_TAIL, |begins, line| {
        let kind = kind(line);
        in_context = in_context && context.line(kind, begins, line).is_continue();
        in_reach =
            in_reach && todos.as_mut().is_some_and(|todos| todos.line(kind, line).is_continue());
        match in_context || in_reach {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    });
    context.found.files = context.calls.files;
    (context.found, todos.map(todos::Search::todos).unwrap_or_default())
}

/// The lines since the last compaction, collected from the end.
struct Context<'a> {
    found: InContext,
    calls: Calls<'a>,
}

impl Context<'_> {
    fn line(&mut self, kind: Kind, begins: u64, line: &[u8]) -> ControlFlow<()> {
        let found = &mut self.found;
        if kind == Kind::System && is_boundary(line) {
            found.tokens = found.tokens.or_else(|| post_tokens(line));
            return ControlFlow::Break(());
        }
        if found.tokens.is_none() && kind == Kind::Other && has(line, b"\"usage\"") {
            found.tokens = context_tokens(line);
        }
        self.calls.line(kind, begins, line);
        // The newest files are what is wanted; with enough of them the rest need not be read.
        match found.tokens.is_some() && self.calls.files.len() >= FILES {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}

pub fn agent_work(path: &Path) -> AgentWork {
    let mut calls = Calls::default();
    let (mut ended, mut tokens) = (None, None);
    let Some(file) = files::open(path) else { return AgentWork::default() };
    tail::lines(&file, AGENT_TAIL, |begins, line| {
        let kind = kind(line);
        if tokens.is_none() && kind == Kind::Other && has(line, b"\"usage\"") {
            tokens = usage_of_any(line).map(|(_, usage)| usage.sum());
        }
        if ended.is_none() && kind == Kind::Other {
            ended = api_error(line);
        }
        calls.line(kind, begins, line);
        ControlFlow::Continue(())
    });
    AgentWork {
        files: calls.files,
        changed: calls.changed,
        reads: calls.reads,
        ended_in_api_error: ended.unwrap_or_default(),
        prompt: first_prompt(path),
        tokens,
    }
}

/// What the first line of a user says. It stands at the very beginning, and is seldom long: more is
/// read only where that was not enough.
fn first_prompt(path: &Path) -> Option<String> {
    let near = files::head(path, USUAL_PROMPT)?;
    let whole_lines = memchr::memrchr(b'\n', &near).and_then(|end| near.get(..end));
    if let Some(line) = whole_lines.and_then(first_user_line) {
        return prompt_of(line);
    }
    let is_cut = near.len() as u64 == USUAL_PROMPT;
    let head = if is_cut { files::head(path, LONGEST_PROMPT)? } else { near };
    prompt_of(first_user_line(&head)?)
}

fn first_user_line(head: &[u8]) -> Option<&[u8]> {
    head.split(|byte| *byte == b'\n').find(|line| kind(line) == Kind::User)
}

fn prompt_of(line: &[u8]) -> Option<String> {
    let message = Object::parse(line).ok()?.object("message")?;
    message.word("content").or_else(|| {
        let blocks = message.objects("content")?;
        blocks.iter().find_map(|block| block.word("text"))
    })
}

/// The version of the client that wrote the last lines. A line says it behind its message.
pub fn client_version(path: &Path) -> Option<String> {
    let file = files::open(path)?;
    let mut version = None;
    tail::lines(&file, VERSION_TAIL, |_, line| {
        if has(line, b"\"version\"") {
            version = Object::parse(line).ok().and_then(|line| line.word("version"));
        }
        match version {
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(()),
        }
    });
    version
}

/// The session that a forked transcript was copied from: its first lines still carry that id. From
/// 2.1.327 on the client puts the fork's own id on all of them, and the other one only on answers.
pub fn fork_parent(path: &Path, own_id: &str) -> Option<String> {
    let head = files::head(path, FIRST_LINES)?;
    let lines = head.split(|byte| *byte == b'\n').filter_map(|line| Object::parse(line).ok());
    lines.flat_map(|line| ids(&line)).find(|id| id != own_id)
}

fn ids(line: &Object) -> Vec<String> {
    let forked = line.object("forkedFrom").and_then(|from| from.word("sessionId"));
    let asked = line.word("requestSessionId");
    forked.into_iter().chain(line.word("sessionId")).chain(asked).collect()
}

/// What a line is, as far as its beginning tells without parsing it.
#[derive(Clone, Copy, PartialEq)]
pub enum Kind {
    User,
    System,
    /// The model's lines among others: their own type stands behind the message.
    Other,
}

pub fn kind(line: &[u8]) -> Kind {
    let head = line.get(..HEAD).unwrap_or(line);
    match text_after(head, b"\"type\"") {
        Some(b"user") => Kind::User,
        Some(b"system") => Kind::System,
        _ => Kind::Other,
    }
}

/// The plain text value behind a key: `"type": "user"`.
fn text_after<'a>(line: &'a [u8], key: &[u8]) -> Option<&'a [u8]> {
    let rest = line.get(memmem::find(line, key)? + key.len()..)?.trim_ascii_start();
    let rest = rest.strip_prefix(b":")?.trim_ascii_start().strip_prefix(b"\"")?;
    rest.get(..memchr::memchr(b'"', rest)?)
}

pub fn has(line: &[u8], needle: &[u8]) -> bool {
    memmem::find(line, needle).is_some()
}

fn blocks(line: &[u8]) -> Vec<Object<'_>> {
    let message = Object::parse(line).ok().and_then(|line| line.object("message"));
    message.and_then(|message| message.objects("content")).unwrap_or_default()
}

fn is_boundary(line: &[u8]) -> bool {
    Object::parse(line).is_ok_and(|line| {
        line.word("type").as_deref() == Some("system")
            && line.word("subtype").as_deref() == Some("compact_boundary")
            && !line.flag("isSidechain")
    })
}

fn post_tokens(line: &[u8]) -> Option<u64> {
    Object::parse(line).ok()?.object("compactMetadata")?.number("postTokens")
}

fn context_tokens(line: &[u8]) -> Option<u64> {
    usage(line).map(|(_, usage)| usage.sum())
}

/// The message id and usage of a real assistant line of the main thread.
fn usage(line: &[u8]) -> Option<(String, Tokens)> {
    let is_aside = Object::parse(line).ok()?.flag("isSidechain");
    if is_aside { None } else { usage_of_any(line) }
}

/// The message id and usage of a real assistant line, also of an agent's.
fn usage_of_any(line: &[u8]) -> Option<(String, Tokens)> {
    let line = Object::parse(line).ok()?;
    let message = line.object("message")?;
    let real = line.word("type").as_deref() == Some("assistant")
        && message.word("model").as_deref() != Some("<synthetic>");
    if !real {
        return None;
    }
    let usage = message.object("usage")?;
    let count = |key: &str| usage.number(key).unwrap_or(0);
    let tokens = Tokens {
        input: count("input_tokens"),
        output: count("output_tokens"),
        cache_creation: count("cache_creation_input_tokens"),
        cache_read: count("cache_read_input_tokens"),
        ..Tokens::default()
    };
    Some((message.word("id")?, tokens))
}

/// Whether an assistant line is an error of the API; `None` if it is no assistant line.
fn api_error(line: &[u8]) -> Option<bool> {
    let line = Object::parse(line).ok()?;
    (line.word("type").as_deref() == Some("assistant")).then(|| line.flag("isApiErrorMessage"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_in_context_if_its_call_was_answered_well() {
        let call = |id: &str, path: &str| {
            format!(
                r#"{{"message":{{"content":[{{"type":"tool_use","id":"{id}","name":"Read","input":{{"file_path":"{path}"}}}}]}},"type":"assistant"}}"#
            )
        };
        let answer = |id: &str, error: bool| {
            format!(
                r#"{{"type":"user","message":{{"content":[{{"tool_use_id":"{id}","type":"tool_result","content":"x","is_error":{error}}}]}}}}"#
            )
        };
        let both = r#"{"type":"user","message":{"content":[{"tool_use_id":"t5","type":"tool_result","content":"x"},{"tool_use_id":"t6","type":"tool_result","content":"x","is_error":true}]}}"#;
        let lines = [
            call("t1", "/a"),
            answer("t1", false),
            call("t2", "/b"),
            answer("t2", true),
            call("t3", "/c"),
            call("t4", "/d"),
            answer("t4", false),
            answer("t3", false),
            call("t5", "/e"),
            call("t6", "/f"),
            both.to_owned(),
            call("t7", "/g"),
        ];
        let path = std::env::temp_dir().join(format!("hookkeeper-context-{:p}", &lines));
        #[expect(clippy::disallowed_methods, reason = "a test makes its own files")]
        std::fs::write(&path, lines.join("\n")).unwrap();
        let (found, _) = in_context(&path, None);
        assert_eq!(found.files, ["/e", "/d", "/c", "/a"]);
        #[expect(clippy::disallowed_methods, reason = "a test removes its own files")]
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn the_first_prompt_is_found_wherever_it_is() {
        let user = |text: &str| {
            format!(r#"{{"type":"user","message":{{"role":"user","content":"{text}"}}}}"#)
        };
        let summary = format!(r#"{{"type":"summary","summary":"{}"}}"#, "x".repeat(20 << 10));
        let result = r#"{"type":"user","message":{"content":[{"type":"tool_result"}]}}"#;
        let long = "y".repeat(100 << 10);
        let too_long = "z".repeat(300 << 10);
        for (content, found) in [
            (user("short"), Some("short")),
            (format!("{}\n{}\n", user("first"), user("second")), Some("first")),
            (format!("{}\n{summary}\n", user("before")), Some("before")),
            (format!("{summary}\n{}\n", user("behind")), Some("behind")),
            (user(&long), Some(long.as_str())),
            (user(&too_long), None),
            (format!("{result}\n{}\n", user("behind a result")), None),
            (String::new(), None),
        ] {
            let path = std::env::temp_dir().join(format!("hookkeeper-prompt-{:p}", &long));
            #[expect(clippy::disallowed_methods, reason = "a test makes its own files")]
            std::fs::write(&path, content).unwrap();
            assert_eq!(first_prompt(&path).as_deref(), found);
            #[expect(clippy::disallowed_methods, reason = "a test removes its own files")]
            std::fs::remove_file(&path).unwrap();
        }
    }
}
