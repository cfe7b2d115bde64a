//! One row in full: what the state says of it, and what the journal tells.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::agents::result::AgentResult;
use crate::core::gate::one_line;
use crate::core::journal::{Entry, EntryKind};
use crate::core::table::Tone;
use crate::history::describe::describe;
use crate::state::panel::Detail;
use crate::store::journal::read::Order;
use crate::store::journal::{self, Journal};

/// As much of a journal as somebody reads on a screen.
const ENTRIES: usize = 200;
const LONGEST_TEXT: usize = 400;

pub type Line = (Tone, String);

/// All lines of a detail. `moment` spells the time of a line for people.
pub fn lines(
    detail: &Detail,
    journal: Option<&Journal>,
    moment: impl Fn(&str) -> String,
) -> Vec<Line> {
    let mut lines = vec![(Tone::Strong, detail.title.clone())];
    let time = detail.time.as_ref().map(|(name, time)| format!("{name}: {}", moment(time)));
    lines.extend(time.map(|time| (Tone::Plain, time)));
    lines.extend(plain(&detail.text));
    let Some((journal, session)) = journal.zip(detail.session.as_deref()) else { return lines };
    let is_meant = |entry: &Entry| {
        let is_own = detail.agent.is_none() || entry.agent == detail.agent;
        is_own && entry.kind.is_told()
    };
    let entries = journal.of_stem(&journal::stem(session), Order::NewestFirst);
    let entries: Vec<Entry> = entries.filter(is_meant).take(ENTRIES).collect();
    if entries.is_empty() {
        return lines;
    }
    lines.push((Tone::Plain, String::new()));
    lines.push((Tone::Strong, "What happened, newest first".into()));
    for entry in &entries {
        let (tone, says) = describe(entry);
        lines.push((tone, format!("{}  {says}", moment(&entry.time))));
        // What an agent reported is what one wants to read of it.
        let result = entry.record.as_ref().filter(|_| entry.kind == EntryKind::AgentEnd);
        let report = result.and_then(|record| record.read::<AgentResult>()?.report);
        lines.extend(plain(&report.unwrap_or_default()));
    }
    lines
}

fn plain(text: &str) -> impl Iterator<Item = Line> {
    let lines = text.lines().take(LONGEST_TEXT).map(|line| (Tone::Plain, line.to_owned()));
    lines.collect::<Vec<_>>().into_iter()
}

/// Lines that fit into a width; words stay whole where that is possible.
pub fn wrapped(lines: &[Line], width: usize) -> Vec<Line> {
    let width = width.max(1);
    let mut all = Vec::new();
    for (tone, text) in lines {
        let text = one_line(text);
        let mut line = String::new();
        for word in text.split(' ') {
            let fits = line.width() + 1 + word.width() <= width;
            if !line.is_empty() && !fits {
                all.push((*tone, std::mem::take(&mut line)));
            } else if !line.is_empty() {
                line.push(' ');
            }
            // Only a word that is wider than the screen is broken.
            for c in word.chars() {
                if line.width() + c.width().unwrap_or(0) > width {
                    all.push((*tone, std::mem::take(&mut line)));
                }
                line.push(c);
            }
        }
        all.push((*tone, line));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_wrapped_between_words() {
        let text = (Tone::Plain, "a long line\u{1b}[2J with 漢字漢字漢字".to_owned());
        let shown: Vec<String> = wrapped(&[text], 8).into_iter().map(|(_, line)| line).collect();
        assert_eq!(shown, ["a long", "line [2J", "with", "漢字漢字", "漢字"]);
        for width in 2..20 {
            let line = (Tone::Plain, "漢字 words and more".to_owned());
            assert!(wrapped(&[line], width).iter().all(|(_, line)| line.width() <= width));
        }
    }
}
