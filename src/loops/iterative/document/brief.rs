//! `brief.md`: what is wanted. Written once; read again only to rebuild a lost state.

use crate::loops::iterative::document::Task;

/// What a person said about a task.
#[derive(Debug, Default)]
pub struct Brief {
    pub outcome: String,
    pub done_when: Vec<String>,
    pub constraints: Vec<String>,
    pub approach: String,
}

pub fn render(task: &Task, brief: &Brief) -> String {
    let text =
        |text: &str| if text.is_empty() { "Not said yet.".to_owned() } else { text.to_owned() };
    let list = |lines: &[String]| match lines {
        [] => "- None yet\n".to_owned(),
        lines => lines.iter().map(|line| format!("- {line}\n")).collect(),
    };
    format!(
        "# {}\n\n**Created:** {}\n**Mode:** {}\n**Domain:** {}\n\n## Outcome Needed\n{}\n\n## Done When\n{}\n## Constraints\n{}\n## Approach / Notes\n{}\n",
        task.task,
        task.created,
        task.mode,
        task.domain.as_deref().unwrap_or_default(),
        text(&brief.outcome),
        list(&brief.done_when),
        list(&brief.constraints),
        text(&brief.approach),
    )
}

/// The task that a brief is about, without its units.
pub fn parse(text: &str) -> Result<Task, String> {
    let mut task = Task::default();
    for line in text.lines().take_while(|line| !line.starts_with("## ")) {
        let field = |key: &str| line.strip_prefix(key).map(|value| value.trim().to_owned());
        if let Some(name) = field("# ").filter(|_| task.task.is_empty()) {
            task.task = name;
        } else if let Some(created) = field("**Created:**") {
            task.created = created;
        } else if let Some(mode) = field("**Mode:**") {
            task.mode = mode;
        } else if let Some(domain) = field("**Domain:**") {
            task.domain = Some(domain).filter(|domain| !domain.is_empty());
        }
    }
    match (task.is_known(), task.task.is_empty()) {
        (true, false) => Ok(task),
        (false, _) => Err("its mode is neither development nor knowledge".into()),
        (true, true) => Err("it has no title".into()),
    }
}
