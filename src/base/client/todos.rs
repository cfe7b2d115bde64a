//! What a session has set out to do, as its transcript says: the last `TodoWrite`, or what
//! `TaskCreate` and `TaskUpdate` come to.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::Path;

use crate::client::transcript::{Kind, has, kind};
use crate::core::json::Object;
use crate::core::text::Extra;
use crate::process::{files, tail};
use serde::{Deserialize, Serialize};

/// Tasks may be as old as the session: this far back they are looked for.
const REACH: usize = 64 << 20;
/// The answer to such a call is short; longer lines hold files.
const LONGEST_ANSWER: usize = 4 << 10;
const PENDING: &str = "pending";

pub const COMPLETED: &str = "completed";

/// One thing that a session has set out to do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "testing", schemars(extend("required" = ["content", "status"])))]
pub struct Todo {
    pub content: String,
    /// `pending`, `in_progress`, `completed`.
    pub status: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active_form: Option<String>,
    #[serde(flatten)]
    pub extra: Extra,
}

impl Todo {
    pub fn is_done(&self) -> bool {
        self.status == COMPLETED
    }
}

pub fn read(transcript: &Path) -> Vec<Todo> {
    let Some(file) = files::open(transcript) else { return Vec::new() };
    let mut search = Search::default();
    tail::lines(&file, REACH as u64, |_, line| search.line(kind(line), line));
    search.todos()
}

/// Calls, collected from the end: a result is seen before the call that it answers.
#[derive(Default)]
pub struct Search {
    /// Bytes that were looked at.
    seen: usize,
    refused: BTreeSet<String>,
    /// The number that the client gave to a task, by the call that made it.
    numbers: BTreeMap<String, String>,
    /// Newest first.
    changes: Vec<TodoChange>,
    list: Vec<Todo>,
}

enum TodoChange {
    Create { call: String, todo: Todo },
    Update { task: String, status: Option<String>, content: Option<String>, form: Option<String> },
}

impl Search {
    pub fn line(&mut self, kind: Kind, line: &[u8]) -> ControlFlow<()> {
        self.seen += line.len();
        match kind {
            _ if self.seen > REACH => return ControlFlow::Break(()),
            Kind::User if line.len() <= LONGEST_ANSWER => self.answer(line),
            Kind::Other if !has(line, b"\"tool_use\"") => {}
            Kind::Other if has(line, b"\"TodoWrite\"") => return self.write(line),
            Kind::Other if has(line, b"\"TaskCreate\"") || has(line, b"\"TaskUpdate\"") => {
                for call in calls(line).iter().rev() {
                    self.changes.extend(change(call).filter(|_| !self.is_refused(call)));
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }

    /// A call that was refused has changed nothing; one that made a task got its number.
    fn answer(&mut self, line: &[u8]) {
        let is_task = has(line, b"Task #");
        if !is_task && !has(line, b"\"is_error\"") {
            return;
        }
        let Ok(line) = Object::parse(line) else { return };
        let task = line.object("toolUseResult").and_then(|result| result.object("task"));
        let number = task.and_then(|task| task.word("id"));
        for block in blocks(&line) {
            let Some(call) = block.word("tool_use_id") else { continue };
            if block.flag("is_error") {
                self.refused.insert(call);
            } else if let Some(number) = number.clone().or_else(|| result_text(&block)) {
                self.numbers.insert(call, number);
            }
        }
    }

    /// The last list holds, unless tasks came after it.
    fn write(&mut self, line: &[u8]) -> ControlFlow<()> {
        for call in calls(line).iter().rev() {
            if call.word("name").as_deref() != Some("TodoWrite") || self.is_refused(call) {
                continue;
            }
            let input = call.object("input").unwrap_or_default();
            let Some(todos) = input.objects("todos") else { continue };
            self.list = todos
                .iter()
                .filter_map(|todo| crate::client::todos::todo(todo, "content"))
                .collect();
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    fn is_refused(&self, call: &Object) -> bool {
        call.word("id").is_none_or(|id| self.refused.contains(&id))
    }

    pub fn todos(self) -> Vec<Todo> {
        if self.changes.is_empty() {
            return self.list;
        }
        let mut tasks: Vec<(Option<String>, Todo)> = Vec::new();
        for change in self.changes.into_iter().rev() {
            match change {
                TodoChange::Create { call, todo } => {
                    tasks.push((self.numbers.get(&call).cloned(), todo));
                }
                TodoChange::Update { task, status, content, form } => {
                    let known = tasks.iter_mut().find(|(number, _)| number.as_ref() == Some(&task));
                    if let Some((_, todo)) = known {
                        todo.status = status.unwrap_or_else(|| todo.status.clone());
                        todo.content = content.unwrap_or_else(|| todo.content.clone());
                        todo.active_form = form.or(todo.active_form.take());
                    }
                }
            }
        }
        tasks.retain(|(_, todo)| todo.status != "deleted");
        tasks.into_iter().map(|(_, todo)| todo).collect()
    }
}

/// The tool calls of an assistant's line in the main thread.
fn calls(line: &[u8]) -> Vec<Object<'_>> {
    let Ok(line) = Object::parse(line) else { return Vec::new() };
    if line.word("type").as_deref() != Some("assistant") || line.flag("isSidechain") {
        return Vec::new();
    }
    let mut blocks = blocks(&line);
    blocks.retain(|block| block.word("type").as_deref() == Some("tool_use"));
    blocks
}

fn blocks<'a>(line: &Object<'a>) -> Vec<Object<'a>> {
    line.object("message").and_then(|message| message.objects("content")).unwrap_or_default()
}

fn change(call: &Object) -> Option<TodoChange> {
    let input = call.object("input")?;
    match call.word("name")?.as_str() {
        "TaskCreate" => {
            Some(TodoChange::Create { call: call.word("id")?, todo: todo(&input, "subject")? })
        }
        "TaskUpdate" => Some(TodoChange::Update {
            task: input.word("taskId")?,
            status: input.word("status"),
            content: input.word("subject"),
            form: input.word("activeForm"),
        }),
        _ => None,
    }
}

fn todo(fields: &Object, content: &str) -> Option<Todo> {
    Some(Todo {
        content: fields.word(content)?,
        status: fields.word("status").unwrap_or_else(|| PENDING.into()),
        active_form: fields.word("activeForm"),
        ..Todo::default()
    })
}

/// `Task #7 created successfully`: 7.
fn result_text(block: &Object) -> Option<String> {
    let text = block.word("content")?;
    let rest = text.strip_prefix("Task #")?;
    let number = rest.split(' ').next()?;
    rest.contains(" created").then(|| number.to_owned())
}
