//! What a report in Markdown marks as a finding: items, headings, table rows and paragraphs with a
//! severity of their own, and items below a heading that is one.

use crate::agents::markdown::{Block, blocks, without_number};
use crate::agents::marks;
use crate::agents::table::Table;
use crate::core::words::has_phrase;

/// A finding as the report words it.
#[derive(Debug, Default)]
pub struct Marked {
    pub severity: &'static str,
    pub text: String,
    /// Where a table says it is.
    pub place: Option<String>,
}

#[derive(Debug, Default)]
pub struct Report {
    pub findings: Vec<Marked>,
    pub recommendations: Vec<String>,
    /// The level and severity of the heading that items stand below.
    below: Option<(usize, &'static str)>,
    in_recommendations: bool,
    /// A heading or a title that becomes a finding if a severity is named for it.
    open: Option<Open>,
    table: Option<Table>,
    /// The last finding is a paragraph that may go on.
    in_paragraph: bool,
    most: usize,
}

#[derive(Debug)]
struct Open {
    severity: Option<&'static str>,
    text: String,
}

const LONGEST: usize = 4000;

/// Reads a report, up to `most` findings.
pub fn read(message: &str, most: usize) -> Report {
    let mut report = Report { most, ..Report::default() };
    for block in blocks(message, |item| marks::split_severity(item).is_some()) {
        if report.findings.len() >= most {
            break;
        }
        report.add(block);
    }
    report.close();
    report
}

impl Report {
    fn add(&mut self, block: Block) {
        if !matches!(block, Block::Row(_)) {
            self.table = None;
        }
        let goes_on = std::mem::take(&mut self.in_paragraph);
        match block {
            Block::Heading { level, text } => self.heading(level, text),
            Block::Item(text) => self.item(text),
            Block::Row(cells) => self.row(&cells),
            Block::Line(line) => self.line(line, goes_on),
            Block::Blank => {}
        }
    }

    fn heading(&mut self, level: usize, text: &str) {
        if let (Some(open), Some(severity)) = (&mut self.open, stated_severity(text)) {
            open.severity = Some(severity);
            return;
        }
        self.close();
        self.in_recommendations =
            ["recommendations", "recommendation"].iter().any(|word| has_phrase(text, word));
        if let Some(severity) = marks::severity_heading(text) {
            self.below = Some((level, severity));
            return;
        }
        let above = self.below.filter(|(upper, _)| level > *upper);
        self.below = above;
        if self.in_recommendations || text.is_empty() {
            return;
        }
        let text = without_number(text).unwrap_or(text);
        self.open = Some(match marks::split_severity(text) {
            Some((severity, text)) => Open { severity: Some(severity), text },
            None => Open { severity: above.map(|(_, severity)| severity), text: text.to_owned() },
        });
    }

    fn item(&mut self, text: String) {
        if self.in_recommendations {
            self.recommendations.push(text);
        } else if let (Some(open), Some(severity)) = (&mut self.open, stated_severity(&text)) {
            open.severity = Some(severity);
        } else if let Some((severity, text)) = marks::split_severity(&text) {
            self.push(severity, text);
        } else if let Some(open) = &mut self.open {
            open.append(&text);
        } else if let Some((_, severity)) = self.below {
            self.push(severity, text);
        }
    }

    fn line(&mut self, line: &str, goes_on: bool) {
        if let Some(title) = field(line, &["issue", "title", "finding", "problem", "bug"]) {
            self.close();
            self.open = Some(Open { severity: None, text: title.to_owned() });
        } else if let (Some(open), Some(severity)) = (&mut self.open, stated_severity(line)) {
            open.severity = Some(severity);
        } else if let Some((severity, text)) = marks::split_paragraph(line) {
            self.push(severity, text);
            self.in_paragraph = true;
        } else if let Some(last) = self.findings.last_mut().filter(|_| goes_on) {
            append(&mut last.text, line);
            self.in_paragraph = true;
        } else if let Some(open) = &mut self.open {
            open.append(line);
        }
    }

    fn row(&mut self, cells: &[&str]) {
        match &mut self.table {
            None => self.table = Some(Table::from_head(cells)),
            Some(table) => {
                if let Some(marked) = table.finding(cells)
                    && !is_nothing(&marked.text)
                {
                    self.findings.push(marked);
                }
            }
        }
    }

    fn push(&mut self, severity: &'static str, text: String) {
        if !is_nothing(&text) && self.findings.len() < self.most {
            self.findings.push(Marked { severity, text, place: None });
        }
    }

    /// The heading that was open is over.
    fn close(&mut self) {
        if let Some(Open { severity: Some(severity), text }) = self.open.take() {
            self.push(severity, text);
        }
    }
}

impl Open {
    fn append(&mut self, text: &str) {
        append(&mut self.text, text);
    }
}

fn append(whole: &mut String, text: &str) {
    if whole.len() + text.len() < LONGEST {
        whole.push('\n');
        whole.push_str(text);
    }
}

/// The severity in `**Severity:** Critical`, `Priority: P1` and the like.
fn stated_severity(line: &str) -> Option<&'static str> {
    marks::first_severity(field(line, &["severity", "priority"])?)
}

/// What stands behind `**Name:**`, `**Name**:` or `Name:` at the beginning of a line.
fn field<'a>(line: &'a str, names: &[&str]) -> Option<&'a str> {
    let plain = line.trim_start_matches(['*', '_', ' ']);
    let name = names.iter().find(|name| {
        plain.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name))
    })?;
    let rest = plain.get(name.len()..)?;
    let value = rest.trim_start_matches(['*', '_']).strip_prefix(':')?;
    Some(value.trim_start_matches(['*', '_', ' ']).trim_end())
}

/// `None.` below a heading says that there is no finding.
fn is_nothing(text: &str) -> bool {
    let text = text.trim_matches(|c: char| !c.is_alphanumeric()).to_ascii_lowercase();
    let words: Vec<&str> = text.split_whitespace().take(8).collect();
    match words.as_slice() {
        [] => true,
        ["none" | "nothing" | "n/a", rest @ ..] => rest.len() <= 3,
        ["no", rest @ ..] => {
            rest.len() <= 4
                && rest.iter().any(|word| {
                    ["issues", "problems", "findings", "concerns"]
                        .iter()
                        .any(|w| word.starts_with(w))
                })
        }
        _ => false,
    }
}
