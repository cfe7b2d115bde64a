//! `handoffs/{type}-{date}.md`: where the work on a branch stands, for whoever goes on with it.
//! Written once; only `close` changes its status.

pub mod file;
pub mod folder;
pub mod sections;

use crate::agents::synthesis::Synthesis;
use crate::branch::document::BranchState;
use crate::branch::tracked::Tracked;
use crate::client::plan_file::PlanFile;
use crate::client::todos::Todo;
use crate::core::text::clip;
use crate::core::time::{self, Time};
use crate::errors::document::Record;
use crate::loops::queue::document::Queue;
use crate::session::live::Live;
use file::NEXT_STEP;
use sections::{blockers, done, files, findings, item_line, open, session, title};

/// What is next where the state knows of nothing.
pub const NOTHING_OPEN: &str = "Nothing is open.";
const LINES: usize = 40;
const LONGEST: usize = 300;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Task,
    Triage,
    Session,
    Blocked,
}

/// Whether a file in `handoffs/` has a name that we give: its type, and a date.
pub fn is_file_name(name: &str) -> bool {
    let kinds = [Kind::Task, Kind::Triage, Kind::Session, Kind::Blocked];
    let dated = kinds.iter().find_map(|kind| name.strip_prefix(kind.name())?.strip_prefix('-'));
    let is_date = |text: &str| text.chars().all(|c| c.is_ascii_digit() || c == '-');
    dated.and_then(|rest| rest.strip_suffix(".md")).is_some_and(is_date)
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Task => "task",
            Self::Triage => "triage",
            Self::Session => "session",
            Self::Blocked => "blocked",
        }
    }
}

/// All that the state says about the work on a branch.
#[derive(Debug, Default)]
pub struct Standing {
    pub branch: String,
    pub state: BranchState,
    pub session: Option<String>,
    pub live: Option<Live>,
    pub plan: Option<PlanFile>,
    pub todos: Vec<Todo>,
    /// The branch's agents, the stuck ones marked.
    pub agents: Vec<Tracked>,
    pub queue: Queue,
    /// Those that are not resolved.
    pub errors: Vec<Record>,
    pub synthesis: Option<Synthesis>,
    /// What the session has committed, one line each.
    pub commits: Vec<String>,
}

/// What whoever asks for the hand-off adds.
#[derive(Debug, Default)]
pub struct Words {
    pub title: Option<String>,
    pub next: Option<String>,
    pub notes: Vec<String>,
}

pub fn markdown(kind: Kind, standing: &Standing, words: &Words, now: Time) -> String {
    let mut text = format!(
        "---\ntype: {}\ntimestamp: {}\nbranch: {}\nsession: {}\nstatus: {}\n---\n\n# {}\n",
        kind.name(),
        time::spell(now),
        yaml(&standing.branch),
        // Always quoted: some ids could be read as numbers.
        standing.session.as_deref().map_or_else(|| "null".into(), quoted),
        status(kind, standing, words),
        words.title.clone().unwrap_or_else(|| title(kind, standing)),
    );
    match kind {
        Kind::Blocked => section(&mut text, "Blocked by", &words.notes, blockers(standing)),
        _ => add(&mut text, "Notes", &words.notes, Vec::new()),
    }
    if kind == Kind::Triage {
        section(&mut text, "Findings", &[], findings(standing));
    }
    if kind == Kind::Session {
        section(&mut text, "Session", &[], session(standing));
    }
    section(&mut text, "Done", &[], done(standing));
    section(&mut text, "Open", &[], open(standing));
    section(&mut text, "Files", &[], files(standing));
    let next = words.next.clone().unwrap_or_else(|| next(standing));
    text.push_str(&format!("\n{NEXT_STEP}\n\n{next}\n"));
    text
}

/// Complete is what has nothing open in it, neither in the state nor by the words of whoever wrote it:
/// nobody is told of such a hand-off.
pub fn status(kind: Kind, standing: &Standing, words: &Words) -> &'static str {
    match kind {
        Kind::Blocked => "blocked",
        _ if words.next.is_none() && words.notes.is_empty() && open(standing).is_empty() => {
            "complete"
        }
        _ => "open",
    }
}

/// What the state would do next.
pub fn next(standing: &Standing) -> String {
    let open = || standing.todos.iter().filter(|todo| !todo.is_done());
    let todo = open().find(|todo| todo.status == "in_progress").or_else(|| open().next());
    if let Some(todo) = todo {
        return format!("Go on with: {}", clip(&todo.content, LONGEST));
    }
    if let Some(item) = standing.queue.open().first() {
        return format!("Take the most urgent item: {}", item_line(item));
    }
    if let Some(the_loop) = standing.state.running() {
        return format!("Go on with the loop: {}", clip(&the_loop.prompt, LONGEST));
    }
    if let Some(agent) = standing.agents.iter().find(|agent| agent.is_open()) {
        return format!("Wait for agent {}, or ask it how far it is", agent.id);
    }
    match standing.plan.as_ref().and_then(|plan| plan.file.as_ref()) {
        Some(file) => format!("Compare the work with the plan: {file}"),
        None => NOTHING_OPEN.into(),
    }
}

fn section(text: &mut String, name: &str, notes: &[String], lines: Vec<String>) {
    let is_empty = notes.is_empty() && lines.is_empty();
    let none = is_empty.then(|| "nothing is noted".to_owned());
    add(text, name, notes, lines.into_iter().chain(none).collect());
}

/// A section that is left out when it is empty. Notes are in no document: they stay whole.
fn add(text: &mut String, name: &str, notes: &[String], lines: Vec<String>) {
    if notes.is_empty() && lines.is_empty() {
        return;
    }
    text.push_str(&format!("\n## {name}\n\n"));
    for note in notes {
        text.push_str(&format!("- {}\n", note.replace('\n', "\n  ")));
    }
    let more = lines.len().saturating_sub(LINES);
    for line in lines.iter().take(LINES) {
        text.push_str(&format!("- {}\n", clip(line, LONGEST)));
    }
    if more > 0 {
        text.push_str(&format!("- and {more} more\n"));
    }
}

/// As it is if that cannot be read as anything else, else quoted: JSON is YAML.
fn yaml(text: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'/');
    let fine = text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.bytes().all(plain);
    let words = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    match fine && !words.contains(&text.to_ascii_lowercase().as_str()) {
        true => text.to_owned(),
        false => quoted(text),
    }
}

fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_where_they_could_be_something_else() {
        assert_eq!(yaml("feat/login"), "feat/login");
        for (name, quoted) in [
            ("-rf", "\"-rf\""),
            ("a: b", "\"a: b\""),
            ("no", "\"no\""),
            ("7", "\"7\""),
            ("a\"b", "\"a\\\"b\""),
            ("ünï", "\"ünï\""),
        ] {
            assert_eq!(yaml(name), quoted);
        }
    }

    #[test]
    fn what_is_next_is_what_is_most_at_hand() {
        let mut standing = Standing { branch: "b".into(), ..Standing::default() };
        assert_eq!(next(&standing), NOTHING_OPEN);
        assert_eq!(status(Kind::Task, &standing, &Words::default()), "complete");
        let todo = |content: &str, status: &str| Todo {
            content: content.into(),
            status: status.into(),
            ..Todo::default()
        };
        standing.todos = vec![todo("a", "pending"), todo("b", "in_progress")];
        assert_eq!(next(&standing), "Go on with: b");
        assert_eq!(status(Kind::Session, &standing, &Words::default()), "open");
        let text = markdown(Kind::Task, &standing, &Words::default(), time::Time::default());
        assert!(text.contains("## Open\n\n- [ ] a\n- [ ] b (in progress)\n"), "{text}");
        assert!(text.contains("## Done\n\n- nothing is noted\n"), "{text}");
    }
}
