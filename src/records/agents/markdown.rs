//! A Markdown text as the blocks that reports are made of. Code blocks are not read.

#[derive(Debug, PartialEq)]
pub enum Block<'a> {
    /// `## Findings`; a bold line and a line that ends in a colon count as the lowest level.
    Heading {
        level: usize,
        text: &'a str,
    },
    /// A list item with what is nested in it.
    Item(String),
    Row(Vec<&'a str>),
    /// A line of a paragraph.
    Line(&'a str),
    Blank,
}

const LOWEST: usize = 7;
/// Nobody reads further into one item.
const LONGEST_ITEM: usize = 4000;

/// The blocks of a message, in order. `is_marked` says which nested items stand for themselves.
pub fn blocks<'a>(message: &'a str, is_marked: impl Fn(&str) -> bool) -> Vec<Block<'a>> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut in_code = false;
    for line in message.lines() {
        let trimmed = line.trim();
        let is_indented = line.starts_with([' ', '\t']);
        if trimmed.starts_with("```") || trimmed.starts_with("~~~") {
            in_code = !in_code;
        } else if in_code {
        } else if let Some((level, text)) = heading(trimmed) {
            blocks.push(Block::Heading { level, text });
        } else if let Some(cells) = row(trimmed) {
            blocks.push(Block::Row(cells));
        } else if let Some(text) = list_item(trimmed) {
            match blocks.last_mut() {
                Some(Block::Item(item)) if is_indented && !is_marked(text) => join(item, text),
                _ => blocks.push(Block::Item(text.to_owned())),
            }
        } else if trimmed.is_empty() {
            blocks.push(Block::Blank);
        } else {
            match blocks.last_mut() {
                Some(Block::Item(item)) if is_indented => join(item, trimmed),
                _ => blocks.push(Block::Line(trimmed)),
            }
        }
    }
    blocks
}

fn join(item: &mut String, text: &str) {
    if item.len() + text.len() < LONGEST_ITEM {
        item.push('\n');
        item.push_str(text);
    }
}

fn heading(line: &str) -> Option<(usize, &str)> {
    if line.starts_with('#') {
        let text = line.trim_start_matches('#');
        return Some(((line.len() - text.len()).min(LOWEST - 1), text.trim()));
    }
    let bold =
        line.strip_prefix("**").and_then(|rest| rest.trim_end_matches(':').strip_suffix("**"));
    let is_short = |text: &&str| text.split_whitespace().count() <= 4 && list_item(text).is_none();
    let text = bold.or_else(|| line.strip_suffix(':')).filter(is_short)?;
    (!text.contains("**")).then_some((LOWEST, text))
}

/// The cells of a table's row. The line below a table's head has cells of dashes.
fn row(line: &str) -> Option<Vec<&str>> {
    let inside = line.strip_prefix('|')?;
    let inside = inside.strip_suffix('|').unwrap_or(inside);
    const MOST: usize = 20;
    Some(inside.split('|').take(MOST).map(str::trim).collect())
}

fn list_item(line: &str) -> Option<&str> {
    let bullet = ["- ", "* ", "+ ", "• "].iter().find_map(|mark| line.strip_prefix(mark));
    bullet.map(str::trim).or_else(|| without_number(line))
}

/// What stands behind `1. ` or `2) `.
pub fn without_number(line: &str) -> Option<&str> {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let rest = line.get(digits..).filter(|_| (1..=3).contains(&digits))?;
    rest.strip_prefix(". ").or_else(|| rest.strip_prefix(") ")).map(str::trim)
}
