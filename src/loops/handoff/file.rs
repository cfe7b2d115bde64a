//! A hand-off as it lies in `handoffs/`: what its front matter says, and how it is closed. It may be
//! another tool's, so all of it is optional.

use crate::core::text::clip;

/// What `close` writes.
pub const CLOSED: &str = "closed";

/// The heading of what is to be done next.
pub const NEXT_STEP: &str = "## Next step";

const LONGEST_TITLE: usize = 120;
const LONGEST_STEP: usize = 300;
const LONGEST_STATUS: usize = 24;
const FENCE: &str = "---";

/// One hand-off of a branch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HandoffFile {
    /// Its name in the folder: `task-2026-01-29.md`.
    pub name: String,
    pub status: String,
    pub session: Option<String>,
    /// As the front matter has it.
    pub timestamp: String,
    pub title: Option<String>,
    /// What it says under "Next step".
    pub next: Option<String>,
}

impl HandoffFile {
    pub fn parse(name: &str, text: &str) -> Self {
        let (front, body) = split(text).unwrap_or(("", text));
        let field = |key: &str| front.lines().find_map(|line| value(line, key));
        let title = body.lines().find_map(|line| line.strip_prefix("# "));
        Self {
            name: name.to_owned(),
            status: clip(field("status").unwrap_or("open"), LONGEST_STATUS),
            session: field("session").filter(|id| *id != "null").map(str::to_owned),
            timestamp: field("timestamp").unwrap_or_default().to_owned(),
            title: title.map(|title| clip(title.trim(), LONGEST_TITLE)),
            next: next_step(body),
        }
    }

    /// Whether somebody still has to go on with it: nobody has said that it is over.
    pub fn is_open(&self) -> bool {
        let status = self.status.to_ascii_lowercase();
        !matches!(status.as_str(), CLOSED | "complete" | "completed" | "done")
    }

    /// Its name without the extension, as people type it.
    pub fn stem(&self) -> &str {
        self.name.strip_suffix(".md").unwrap_or(&self.name)
    }
}

/// The first paragraph under the heading that every hand-off of ours has.
fn next_step(body: &str) -> Option<String> {
    let mut lines = body.lines().skip_while(|line| line.trim_end() != NEXT_STEP).skip(1);
    let first = lines.by_ref().find(|line| !line.trim().is_empty())?;
    let rest = lines.take_while(|line| !line.trim().is_empty() && !line.starts_with('#'));
    let step = std::iter::once(first).chain(rest).map(str::trim).collect::<Vec<_>>().join(" ");
    (!step.starts_with('#')).then(|| clip(&step, LONGEST_STEP))
}

/// The oldest first. A name's number tells what was written within a second.
pub fn sort(files: &mut [HandoffFile]) {
    files.sort_by_cached_key(|file| (file.timestamp.clone(), number(file.stem())));
}

/// `task-2026-01-29-12` is the twelfth of its day.
fn number(stem: &str) -> u64 {
    let mut parts = stem.rsplit('-');
    match (parts.next(), parts.count()) {
        (Some(last), 4..) => last.parse().unwrap_or(1),
        _ => 1,
    }
}

/// A hand-off's text with another status; everything else stays as it is.
pub fn with_status(text: &str, status: &str) -> String {
    let Some((front, body)) = split(text) else {
        return format!("{FENCE}\nstatus: {status}\n{FENCE}\n\n{text}");
    };
    let mut is_set = false;
    let mut lines: Vec<String> = Vec::new();
    for line in front.lines() {
        match value(line, "status") {
            Some(_) if is_set => {}
            Some(_) => {
                is_set = true;
                lines.push(format!("status: {status}"));
            }
            None => lines.push(line.to_owned()),
        }
    }
    if !is_set {
        lines.push(format!("status: {status}"));
    }
    format!("{FENCE}\n{}\n{FENCE}\n{body}", lines.join("\n"))
}

/// The front matter, and what comes behind it.
fn split(text: &str) -> Option<(&str, &str)> {
    let rest = text.trim_start_matches('\u{feff}').strip_prefix(FENCE)?;
    let rest = rest.strip_prefix('\r').unwrap_or(rest).strip_prefix('\n')?;
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == FENCE {
            return Some((rest.get(..at)?, rest.get(at + line.len()..)?));
        }
        at += line.len();
    }
    None
}

/// The value of a key that stands at the beginning of its line, without quotes.
fn value<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let value = line.strip_prefix(key)?.trim_start().strip_prefix(':')?.trim();
    let quoted = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
    Some(quoted('"').or_else(|| quoted('\'')).unwrap_or(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "---\ntype: task\ntimestamp: 2026-01-29T10:30:00Z\nsession: \"s1\"\nstatus: open\n---\n\n# Task: the form\n\nstatus: mine\n";

    #[test]
    fn the_front_matter_is_read_and_only_its_status_changes() {
        let file = HandoffFile::parse("task-2026-01-29.md", TEXT);
        assert_eq!((file.status.as_str(), file.session.as_deref()), ("open", Some("s1")));
        assert_eq!(
            (file.stem(), file.title.as_deref()),
            ("task-2026-01-29", Some("Task: the form"))
        );
        assert!(file.is_open());
        let closed = with_status(TEXT, CLOSED);
        assert_eq!(closed, TEXT.replacen("status: open", "status: closed", 1));
        assert!(!HandoffFile::parse("x.md", &closed).is_open());
    }

    #[test]
    fn the_next_step_is_the_paragraph_under_its_heading() {
        let next = |text: &str| HandoffFile::parse("a.md", text).next;
        let text = "# Task\n\n## Next step\n\nMend the form\nand test it\n\nmore\n";
        assert_eq!(next(text).as_deref(), Some("Mend the form and test it"));
        assert_eq!(next("# Task\n\n## Next step\n\n## Files\n\n- a\n"), None);
        assert_eq!(next("# Task\n"), None);
    }

    #[test]
    fn what_another_tool_wrote_is_open_until_it_says_otherwise() {
        let plain = "# Notes\nno front matter\n";
        assert!(HandoffFile::parse("notes.md", plain).is_open());
        let closed = with_status(plain, CLOSED);
        assert_eq!(closed, format!("---\nstatus: closed\n---\n\n{plain}"));
        assert!(!HandoffFile::parse("notes.md", &closed).is_open());
        assert!(!HandoffFile::parse("a.md", "---\r\nstatus: 'Complete'\r\n---\r\n").is_open());
        assert!(HandoffFile::parse("a.md", "---\nstatus: blocked\n---\n").is_open());
        // A fence that is never closed is text.
        assert!(HandoffFile::parse("a.md", "---\nstatus: complete\n").is_open());
        let without = with_status("---\ntype: task\n---\nx", CLOSED);
        assert_eq!(without, "---\ntype: task\nstatus: closed\n---\nx");
    }

    #[test]
    fn what_was_written_within_a_second_keeps_its_order() {
        let file = |name: &str| HandoffFile { name: name.into(), ..HandoffFile::default() };
        let mut files =
            ["task-2026-01-29-10.md", "task-2026-01-29-9.md", "task-2026-01-29.md"].map(file);
        sort(&mut files);
        let names: Vec<&str> = files.iter().map(HandoffFile::stem).collect();
        assert_eq!(names, ["task-2026-01-29", "task-2026-01-29-9", "task-2026-01-29-10"]);
    }
}
