//! `handoffs/{type}-{date}.md`: where the work on a branch stands, for whoever goes on with it.
//! Written once, never changed.

use super::branch::BranchState;
use super::errors::{ESCALATED, PENDING, Record};
use super::live::Live;
use super::queue::{Item, Queue};
use super::saved::{Plan, Todo};
use super::synthesis::Synthesis;
use super::tracked::{STUCK, Tracked};
use super::{clip, plural};
use crate::time::{self, Time};

const LINES: usize = 40;
const LONGEST: usize = 300;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Task,
    Triage,
    Session,
    Blocked,
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

/// All that the books say about the work on a branch.
#[derive(Debug, Default)]
pub struct Standing {
    pub branch: String,
    pub state: BranchState,
    pub session: Option<String>,
    pub live: Option<Live>,
    pub plan: Option<Plan>,
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
        standing.session.as_deref().map_or_else(|| "null".into(), yaml),
        status(kind, standing),
        words.title.clone().unwrap_or_else(|| title(kind, standing)),
    );
    match kind {
        Kind::Blocked => section(&mut text, "Blocked by", blockers(standing, words)),
        _ => add(&mut text, "Notes", words.notes.clone()),
    }
    if kind == Kind::Triage {
        section(&mut text, "Findings", findings(standing));
    }
    if kind == Kind::Session {
        section(&mut text, "Session", session(standing));
    }
    section(&mut text, "Done", done(standing));
    section(&mut text, "Open", open(standing));
    section(&mut text, "Files", files(standing));
    let next = words.next.clone().unwrap_or_else(|| next(standing));
    text.push_str(&format!("\n## Next step\n\n{next}\n"));
    text
}

pub fn status(kind: Kind, standing: &Standing) -> &'static str {
    match kind {
        Kind::Blocked => "blocked",
        _ if open(standing).is_empty() => "complete",
        _ => "open",
    }
}

/// What the books would do next.
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
        None => "The books have nothing open.".into(),
    }
}

fn title(kind: Kind, standing: &Standing) -> String {
    let task = standing.live.as_ref().and_then(|live| live.task.as_deref());
    let prompt = standing.state.the_loop.as_ref().map(|the_loop| the_loop.prompt.as_str());
    let what = task.or(prompt).map(|text| clip(text, 100));
    let kind = match kind {
        Kind::Task => "Task",
        Kind::Triage => "Triage",
        Kind::Session => "Session",
        Kind::Blocked => "Blocked",
    };
    format!("{kind}: {}", what.unwrap_or_else(|| format!("branch {}", standing.branch)))
}

fn done(standing: &Standing) -> Vec<String> {
    let todos = standing.todos.iter().filter(|todo| todo.is_done());
    let mut lines: Vec<String> = todos.map(|todo| format!("[x] {}", todo.content)).collect();
    lines.extend(standing.commits.iter().map(|commit| format!("commit {commit}")));
    let items = standing.queue.items.iter().filter(|item| !item.is_open());
    lines.extend(items.map(item_line));
    let ended = standing.agents.iter().filter(|agent| !agent.is_open() && is_own(agent, standing));
    lines.extend(ended.map(|agent| {
        let said = agent.result.as_deref().unwrap_or("nothing said");
        format!("agent {} ({}), {}: {said}", agent.id, task(agent), agent.status)
    }));
    lines
}

fn open(standing: &Standing) -> Vec<String> {
    let todos = standing.todos.iter().filter(|todo| !todo.is_done());
    let mut lines: Vec<String> = todos
        .map(|todo| match todo.status.as_str() {
            "in_progress" => format!("[ ] {} (in progress)", todo.content),
            _ => format!("[ ] {}", todo.content),
        })
        .collect();
    lines.extend(standing.queue.open().into_iter().map(item_line));
    if let Some(the_loop) = standing.state.running() {
        lines.push(format!(
            "loop, iteration {} of {}, complete with <promise>{}</promise>: {}",
            the_loop.iteration,
            the_loop.max_iterations,
            the_loop.completion_promise,
            clip(&the_loop.prompt, LONGEST)
        ));
    }
    let agents = standing.agents.iter().filter(|agent| agent.is_open());
    lines.extend(
        agents.map(|agent| format!("agent {} ({}): {}", agent.id, task(agent), agent.status)),
    );
    lines.extend(standing.errors.iter().map(error_line));
    lines
}

fn files(standing: &Standing) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let plan = standing.plan.as_ref().and_then(|plan| plan.file.as_ref());
    lines.extend(plan.map(|file| format!("{file} (the plan)")));
    let modified = standing.live.as_ref().map(|live| live.files_modified.as_slice());
    lines.extend(modified.unwrap_or_default().iter().rev().cloned());
    lines
}

fn blockers(standing: &Standing, words: &Words) -> Vec<String> {
    let mut lines = words.notes.clone();
    let escalated = standing.errors.iter().filter(|error| error.status == ESCALATED);
    lines.extend(escalated.map(error_line));
    let stuck = standing.agents.iter().filter(|agent| agent.status == STUCK);
    lines.extend(stuck.map(|agent| format!("agent {} ({}) is stuck", agent.id, task(agent))));
    let failing = if standing.queue.is_running() { standing.queue.failing() } else { Vec::new() };
    lines.extend(failing.into_iter().map(|gate| format!("gate {gate} does not pass")));
    let ended = standing.state.the_loop.as_ref().filter(|the_loop| !the_loop.is_running());
    if let Some(verdict) = ended.and_then(|the_loop| the_loop.verdict.as_deref())
        && verdict != "complete"
    {
        lines.push(format!("the loop is {verdict}"));
    }
    lines
}

fn findings(standing: &Standing) -> Vec<String> {
    let found = standing.synthesis.iter().flat_map(|synthesis| &synthesis.findings);
    let lines = found.map(|merged| {
        let finding = &merged.finding;
        let place = match (&finding.file, finding.line) {
            (Some(file), Some(line)) => format!(" ({file}:{line})"),
            (Some(file), None) => format!(" ({file})"),
            _ => String::new(),
        };
        format!("{} {}{place}", finding.severity, finding.title)
    });
    lines.chain(standing.errors.iter().map(error_line)).collect()
}

fn session(standing: &Standing) -> Vec<String> {
    let Some(live) = &standing.live else { return Vec::new() };
    let mut lines = vec![format!("{}, since {}", live.session_id, live.started)];
    lines.extend(live.task.as_ref().map(|task| format!("task: {task}")));
    lines.extend(
        live.workflow.as_ref().and_then(|w| w.spelled()).map(|c| format!("last command: {c}")),
    );
    lines.push(format!(
        "{} ({} completed, {} failed), {} ({} recovered), {}",
        plural(live.agents_spawned as usize, "agent"),
        live.agents_completed,
        live.agents_failed,
        plural(live.errors_encountered as usize, "error"),
        live.errors_recovered,
        plural(live.compactions as usize, "compaction"),
    ));
    lines
}

fn is_own(agent: &Tracked, standing: &Standing) -> bool {
    standing.session.is_none() || agent.session_id == standing.session
}

fn task(agent: &Tracked) -> String {
    clip(agent.description.as_deref().unwrap_or("task not known"), 120)
}

fn item_line(item: &Item) -> String {
    format!("{} {} {} ({})", item.id, item.priority, item.title, item.status)
}

fn error_line(error: &Record) -> String {
    let what = if error.status == PENDING { "to be tried again" } else { error.status.as_str() };
    format!("error, {what}: {} {}", error.classification, error.target)
}

fn section(text: &mut String, name: &str, lines: Vec<String>) {
    let none = lines.is_empty().then(|| "nothing in the books".to_owned());
    add(text, name, lines.into_iter().chain(none).collect());
}

/// A section that is left out when it is empty.
fn add(text: &mut String, name: &str, lines: Vec<String>) {
    if lines.is_empty() {
        return;
    }
    text.push_str(&format!("\n## {name}\n\n"));
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
        false => serde_json::to_string(text).unwrap_or_default(),
    }
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
        assert_eq!(next(&standing), "The books have nothing open.");
        assert_eq!(status(Kind::Task, &standing), "complete");
        let todo = |content: &str, status: &str| Todo {
            content: content.into(),
            status: status.into(),
            ..Todo::default()
        };
        standing.todos = vec![todo("a", "pending"), todo("b", "in_progress")];
        assert_eq!(next(&standing), "Go on with: b");
        assert_eq!(status(Kind::Session, &standing), "open");
        let text = markdown(Kind::Task, &standing, &Words::default(), time::Time::default());
        assert!(text.contains("## Open\n\n- [ ] a\n- [ ] b (in progress)\n"), "{text}");
        assert!(text.contains("## Done\n\n- nothing in the books\n"), "{text}");
    }
}
