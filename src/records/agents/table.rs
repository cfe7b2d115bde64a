//! Tables of findings: which column is what, and what a row says.

use crate::agents::marks;
use crate::agents::report::Marked;

/// Where the columns are that a finding is read from.
#[derive(Debug, Default)]
pub struct Table {
    severity: Option<usize>,
    title: Option<usize>,
    file: Option<usize>,
    line: Option<usize>,
    remedy: Option<usize>,
}

impl Table {
    pub fn from_head(cells: &[&str]) -> Self {
        let names: Vec<String> =
            cells.iter().map(|cell| plain(cell).to_ascii_lowercase()).collect();
        let column = |wanted: &[&str]| {
            wanted.iter().find_map(|wanted| names.iter().position(|name| name == wanted))
        };
        Self {
            severity: column(&["severity", "priority", "level", "risk"]),
            title: column(&[
                "issue",
                "finding",
                "title",
                "problem",
                "bug",
                "summary",
                "description",
                "details",
            ]),
            file: column(&["file", "location", "path", "where", "file:line", "place"]),
            line: column(&["line", "lines"]),
            remedy: column(&["recommendation", "fix", "suggestion", "remedy"]),
        }
    }

    /// The finding of a row, if the table has findings and the row a severity.
    pub fn finding(&self, cells: &[&str]) -> Option<Marked> {
        let cell = |at: Option<usize>| at.and_then(|at| cells.get(at)).copied();
        let severity = marks::first_severity(cell(self.severity)?)?;
        let mut text = bare(cell(self.title)?).to_owned();
        let place = cell(self.file).map(|file| {
            let file = plain(file);
            match cell(self.line) {
                Some(line) if !file.contains(':') => format!("{file}:{}", plain(line)),
                _ => file.to_owned(),
            }
        });
        if let Some(remedy) = cell(self.remedy).filter(|remedy| !plain(remedy).is_empty()) {
            text.push_str(&format!("\nRecommendation: {remedy}"));
        }
        Some(Marked { severity, text, place })
    }
}

fn plain(cell: &str) -> &str {
    cell.trim_matches(['*', '_', '`', ' '])
}

fn bare(cell: &str) -> &str {
    cell.trim_matches(['*', ' '])
}
