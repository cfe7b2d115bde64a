//! How a file is laid out, so that what we add looks as if its owner had written it.

use serde_json::Value;

use crate::client::settings::edit::item_spans;
use crate::core::json::tree::Node;

pub struct Layout {
    newline: &'static str,
    /// One step of indentation; `None` if all stands on one line.
    unit: Option<String>,
    after_colon: &'static str,
    after_comma: &'static str,
}

impl Layout {
    pub fn detect(text: &str, root: &Node) -> Self {
        let newline = match text.find('\n') {
            Some(at) if text.get(..at).is_some_and(|line| line.ends_with('\r')) => "\r\n",
            _ => "\n",
        };
        let first = item_spans(root).first().map(|span| span.start);
        let unit = match first {
            None => Some("  ".to_owned()),
            Some(first) => indent_before(text, root.span.start, first),
        };
        let blank_after = |mark: char| {
            let (_, rest) = text.get(root.span.clone())?.split_once(mark)?;
            Some(if rest.starts_with(char::is_whitespace) { " " } else { "" })
        };
        let after_colon = if first.is_none() { " " } else { blank_after(':').unwrap_or(" ") };
        let after_comma = blank_after(',').unwrap_or(after_colon);
        Self { newline, unit, after_colon, after_comma }
    }

    /// The text with one more item at the end of an object or a list.
    pub fn insert(&self, text: &str, holder: &Node, key: Option<&str>, value: &Value) -> String {
        let items = item_spans(holder);
        let print = |indent: Option<&str>| match key {
            Some(key) => self.print_member(key, value, indent),
            None => self.print(value, indent),
        };
        let (at, new) = match (items.first(), items.last()) {
            (Some(first), Some(last)) => {
                let indent = indent_before(text, holder.span.start, first.start);
                let gap = match &indent {
                    Some(indent) => format!("{}{indent}", self.newline),
                    None => self.after_comma.to_owned(),
                };
                (last.end..last.end, format!(",{gap}{}", print(indent.as_deref())))
            }
            _ => {
                let inside = holder.span.start + 1..holder.span.end - 1;
                let Some(unit) = &self.unit else {
                    return splice(text, inside, &print(None));
                };
                let outer = indent_of_line(text, holder.span.start);
                let indent = format!("{outer}{unit}");
                let item = print(Some(&indent));
                (inside, format!("{nl}{indent}{item}{nl}{outer}", nl = self.newline))
            }
        };
        splice(text, at, &new)
    }

    /// The text with something else in the place of a value.
    pub fn replace(&self, text: &str, old: &Node, new: &str) -> String {
        splice(text, old.span.clone(), new)
    }

    fn print_member(&self, key: &str, value: &Value, indent: Option<&str>) -> String {
        let gap = if indent.is_some() { " " } else { self.after_colon };
        format!("{}:{gap}{}", Value::from(key), self.print(value, indent))
    }

    /// A value over several lines, which are indented by so much, or on one line.
    fn print(&self, value: &Value, indent: Option<&str>) -> String {
        let unit = self.unit.as_deref().unwrap_or("  ");
        let deeper = indent.map(|indent| format!("{indent}{unit}"));
        let items: Vec<String> = match value {
            Value::Object(fields) => {
                let deeper = deeper.as_deref();
                fields.iter().map(|(key, value)| self.print_member(key, value, deeper)).collect()
            }
            Value::Array(list) => {
                list.iter().map(|value| self.print(value, deeper.as_deref())).collect()
            }
            _ => return value.to_string(),
        };
        let (open, close) = if value.is_object() { ('{', '}') } else { ('[', ']') };
        match (indent, deeper) {
            (Some(indent), Some(deeper)) if !items.is_empty() => {
                let nl = self.newline;
                let items = items.join(&format!(",{nl}{deeper}"));
                format!("{open}{nl}{deeper}{items}{nl}{indent}{close}")
            }
            _ => format!("{open}{}{close}", items.join(&format!(",{}", self.after_comma))),
        }
    }
}

/// What stands before the first item of something on its line; `None` if it is on the same line
/// as the bracket.
fn indent_before(text: &str, open: usize, first: usize) -> Option<String> {
    let between = text.get(open + 1..first)?;
    between.rfind('\n').and_then(|at| between.get(at + 1..)).map(str::to_owned)
}

/// The blanks at the beginning of the line that a byte is on.
fn indent_of_line(text: &str, at: usize) -> String {
    let before = text.get(..at).unwrap_or_default();
    let line = before.rfind('\n').map_or(before, |at| before.get(at + 1..).unwrap_or_default());
    line.chars().take_while(|c| matches!(c, ' ' | '\t')).collect()
}

fn splice(text: &str, at: std::ops::Range<usize>, new: &str) -> String {
    let before = text.get(..at.start).unwrap_or_default();
    let after = text.get(at.end..).unwrap_or_default();
    format!("{before}{new}{after}")
}
