//! A task's file: what the agent has to do, and what is run to see whether it did.

use roxmltree::Node;
use serde::Serialize;

use crate::execute::xml::{self, elements, text_content, with_position};

/// What a task file says.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TaskFile {
    #[serde(skip)]
    pub id: Option<String>,
    #[serde(skip)]
    pub name: Option<String>,
    #[serde(skip)]
    pub layer: Option<String>,
    #[serde(skip)]
    pub priority: Option<u64>,
    /// The tasks that it names as its dependencies.
    #[serde(skip)]
    pub needs: Vec<String>,
    pub objective: String,
    pub requirements: Vec<String>,
    pub files_to_create: Vec<String>,
    /// Commands, by which it is verified.
    pub run: Vec<String>,
    /// What the agent has to see to itself.
    pub check: Vec<String>,
    /// The other sections, as they are: context, contracts, tests, exports.
    #[serde(skip_serializing_if = "serde_json::Map::is_empty")]
    pub more: serde_json::Map<String, serde_json::Value>,
}

/// Reads a task file; what is wrong with it is said with line and column.
pub fn parse_task_file(bytes: &[u8]) -> Result<TaskFile, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
    let document = xml::parse(text)?;
    let task = document.root_element();
    if !task.has_tag_name("task") {
        let why = format!("its root is <{}>, must be <task>", task.tag_name().name());
        return Err(with_position(document.text_pos_at(task.range().start), &why));
    }
    let mut file = TaskFile::default();
    for section in elements(task) {
        match section.tag_name().name() {
            "meta" => read_meta(section, &mut file),
            "objective" => file.objective = text_content(section),
            "requirements" => file.requirements = list_items(section),
            "files-to-create" => file.files_to_create = list_items(section),
            "verification" => read_verification(section, &mut file),
            other => {
                if other == "dependencies" {
                    let named = elements(section).filter(|node| node.has_tag_name("dependency"));
                    let ids = named.filter_map(|node| node.attribute("task"));
                    file.needs = ids.map(|id| id.trim().to_owned()).collect();
                }
                let text = text_content(section);
                if !text.is_empty() {
                    file.more.insert(other.to_owned(), text.into());
                }
            }
        }
    }
    Ok(file)
}

fn read_meta(section: Node, file: &mut TaskFile) {
    let text = |name: &str| {
        let node = section.children().find(|node| node.has_tag_name(name));
        node.map(text_content).filter(|text| !text.is_empty())
    };
    file.id = text("id");
    file.name = text("name");
    file.layer = text("layer");
    file.priority = text("priority").and_then(|number| number.parse().ok());
}

/// The children of a section, or the lines of its text.
fn list_items<'a>(section: Node<'a, 'a>) -> Vec<String> {
    if section.first_element_child().is_some() {
        let item = |node: Node| {
            let text = text_content(node);
            let path = node.attribute("path");
            path.map_or_else(|| text.clone(), |path| format!("{path}: {text}"))
                .trim_end_matches(": ")
                .to_owned()
        };
        return elements(section).map(item).filter(|item| !item.is_empty()).collect();
    }
    let text = text_content(section);
    let lines = text.lines().map(|line| line.trim().trim_start_matches(['-', '*']).trim_start());
    lines.filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

/// `Run: CMD` lines and `<command>` elements are executed, all else is for the agent.
fn read_verification(section: Node, file: &mut TaskFile) {
    for node in section.children().filter(|node| node.is_element() || node.is_text()) {
        let text = text_content(node);
        if node.has_tag_name("command") {
            file.run.extend((!text.is_empty()).then_some(text));
            continue;
        }
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            match line.strip_prefix("Run:").map(str::trim) {
                Some("") => {}
                Some(command) => file.run.push(command.to_owned()),
                None => file.check.push(line.to_owned()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TASK: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<task>
  <meta><id>L2-001</id><name>Auth &amp; API</name><layer>2-backend</layer><priority>1</priority></meta>
  <context><tech-stack>FastAPI</tech-stack></context>
  <dependencies><dependency task="L1-001"><interface-contract>class User</interface-contract></dependency></dependencies>
  <objective>Return JWT tokens.</objective>
  <requirements><requirement id="R1">POST returns 201</requirement></requirements>
  <files-to-create>
    - src/auth.py
    - tests/test_auth.py
  </files-to-create>
  <verification>
    <step>Run: pytest -v</step>
    <step>Verify: the token expires</step>
    <step>Check: no secrets
      Run: grep -c x y</step>
    <command>make lint</command>
  </verification>
</task>"#;

    #[test]
    fn a_task_file_is_read() {
        let file = parse_task_file(TASK.as_bytes()).unwrap();
        assert_eq!(file.id.as_deref(), Some("L2-001"));
        assert_eq!(file.name.as_deref(), Some("Auth & API"));
        assert_eq!((file.layer.as_deref(), file.priority), (Some("2-backend"), Some(1)));
        assert_eq!(file.needs, ["L1-001"]);
        assert_eq!(file.requirements, ["POST returns 201"]);
        assert_eq!(file.files_to_create, ["src/auth.py", "tests/test_auth.py"]);
        assert_eq!(file.run, ["pytest -v", "grep -c x y", "make lint"]);
        assert_eq!(file.check, ["Verify: the token expires", "Check: no secrets"]);
        assert_eq!(file.more["context"], "FastAPI");
    }

    #[test]
    fn commands_without_a_step_count_too() {
        let text = "<task><verification>Run: exit 1\n Check: it is fast\n<step>Run: b</step>Run: c</verification></task>";
        let file = parse_task_file(text.as_bytes()).unwrap();
        assert_eq!(
            (file.run, file.check),
            (vec!["exit 1".into(), "b".into(), "c".into()], vec!["Check: it is fast".into()])
        );
    }

    #[test]
    fn what_is_no_task_is_refused() {
        assert!(
            parse_task_file(b"\n <prd/>")
                .unwrap_err()
                .starts_with("line 2, column 2: its root is <prd>")
        );
        assert!(parse_task_file(b"<task xmlns='urn:x'/>").is_ok());
        assert!(parse_task_file(&TASK.as_bytes()[..100]).unwrap_err().starts_with("line "));
        assert!(parse_task_file(b"\xff").unwrap_err().contains("UTF-8"));
    }
}
