//! The lists in a Markdown text: its items, and whether they stand under "Recommendations".

use crate::agents::marks;
use crate::core::words::has_phrase;

#[derive(Clone, Copy, PartialEq)]
pub enum ListKind {
    Other,
    Recommendations,
}

/// The list items of a message with the section that they stand in, continuation lines joined.
/// Code blocks are not read.
pub fn items(message: &str) -> Vec<(ListKind, String)> {
    let mut items: Vec<(ListKind, String)> = Vec::new();
    let mut section = ListKind::Other;
    let mut in_code = false;
    let mut in_item = false;
    for line in message.lines() {
        let trimmed = line.trim();
        if trimmed.starts_with("```") {
            in_code = !in_code;
        } else if in_code {
        } else if let Some(heading) = heading(trimmed) {
            let recommends =
                has_phrase(heading, "recommendations") || has_phrase(heading, "recommendation");
            section = if recommends { ListKind::Recommendations } else { ListKind::Other };
            in_item = false;
        } else if let Some(text) = list_item(trimmed) {
            let nested =
                line.starts_with([' ', '\t']) && in_item && marks::split_severity(text).is_none();
            match items.last_mut().filter(|_| nested && section == ListKind::Other) {
                Some((_, item)) => {
                    item.push('\n');
                    item.push_str(text);
                }
                None => items.push((section, text.to_owned())),
            }
            in_item = true;
        } else if trimmed.is_empty() || !line.starts_with([' ', '\t']) {
            in_item = false;
        } else if in_item && let Some((_, item)) = items.last_mut() {
            item.push('\n');
            item.push_str(trimmed);
        }
    }
    items
}

/// `## Findings`, `**Findings**` or `Findings:` alone on a line.
fn heading(line: &str) -> Option<&str> {
    if line.starts_with('#') {
        return Some(line.trim_start_matches('#').trim());
    }
    let bold =
        line.strip_prefix("**").and_then(|rest| rest.trim_end_matches(':').strip_suffix("**"));
    let short = |text: &&str| text.split_whitespace().count() <= 4 && list_item(text).is_none();
    bold.or_else(|| line.strip_suffix(':')).filter(short)
}

fn list_item(line: &str) -> Option<&str> {
    let bullet = ["- ", "* ", "+ ", "• "].iter().find_map(|mark| line.strip_prefix(mark));
    bullet.map(str::trim).or_else(|| {
        let digits = line.bytes().take_while(u8::is_ascii_digit).count();
        let rest = line.get(digits..).filter(|_| (1..=3).contains(&digits))?;
        rest.strip_prefix(". ").or_else(|| rest.strip_prefix(") ")).map(str::trim)
    })
}
