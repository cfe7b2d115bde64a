//! `guardrails.md`: lessons, only ever added. Those of archived tasks can be taken over.

pub const HEAD: &str =
    "# Guardrails\n\nRead before starting any iteration. Append when issues discovered.\n";

#[derive(Clone, Debug, PartialEq)]
pub struct Guardrail {
    pub name: String,
    /// The whole section, without its heading.
    pub text: String,
}

pub struct Lesson<'a> {
    pub name: &'a str,
    pub when: &'a str,
    pub problem: &'a str,
    pub solution: &'a str,
    pub learned: &'a str,
}

impl Lesson<'_> {
    /// As it stands in the file, with the blank line before it.
    pub fn markdown(&self) -> String {
        let Self { name, when, problem, solution, learned } = self;
        format!(
            "\n## {name}\n- **When**: {when}\n- **Problem**: {problem}\n- **Solution**: {solution}\n- **Learned**: {learned}\n"
        )
    }
}

impl Guardrail {
    pub fn markdown(&self) -> String {
        format!("\n## {}\n{}\n", self.name, self.text.trim_end())
    }
}

/// The lessons in a file.
pub fn parse(text: &str) -> Vec<Guardrail> {
    let sections = text.split("\n## ").skip(1).map(|section| {
        let (name, text) = section.split_once('\n').unwrap_or((section, ""));
        Guardrail { name: name.trim().to_owned(), text: text.trim().to_owned() }
    });
    sections.filter(|guardrail| !guardrail.name.is_empty()).collect()
}
