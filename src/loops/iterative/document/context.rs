//! `context.md`: what somebody has to know who begins an iteration. Under 200 words, so that it is
//! read every time.

use crate::loops::iterative::document::Task;
use crate::loops::iterative::document::brief::Brief;

const WORDS: usize = 190;
const SENTENCE: usize = 30;
const KEY_FILES: usize = 10;
const FILES: &str = "**Key files/outputs:**\n";

pub fn render(task: &Task, brief: &Brief) -> String {
    let goal = if brief.outcome.is_empty() { &task.task } else { &brief.outcome };
    let approach = if brief.approach.is_empty() { "See brief.md." } else { &brief.approach };
    let head = format!(
        "# {} Context\n\n**Goal:** {}\n\n**Approach:** {}\n\n",
        first_words(&task.task, 12),
        first_words(goal, SENTENCE),
        first_words(approach, SENTENCE),
    );
    let about = about(&head, task);
    format!("{head}{about}")
}

/// The text of `context.md` for a task that has other units now; `None` if somebody wrote below its head.
pub fn renew(text: &str, old: &Task, new: &Task) -> Option<String> {
    let head = text.get(..text.find(FILES)?)?;
    (text == format!("{head}{}", about(head, old))).then(|| format!("{head}{}", about(head, new)))
}

/// What the units make of it, in the words that the head leaves.
fn about(head: &str, task: &Task) -> String {
    let patterns = "\n**Patterns to follow:**\n- The lessons in guardrails.md\n\n**Signals:**\n";
    let units = || task.units().iter();
    let files = units().flat_map(|(id, unit)| {
        let places =
            unit.files.iter().chain(Some(&unit.output).filter(|output| !output.is_empty()));
        places.map(move |place| format!("- `{place}` — {id}\n"))
    });
    let files: Vec<String> = files.take(KEY_FILES).collect();
    let signals = units().map(|(id, unit)| {
        let done = if unit.criteria.is_empty() { &unit.title } else { &unit.criteria };
        format!("- {id}: {}\n", first_words(done, SENTENCE))
    });
    let mut left = WORDS.saturating_sub(words(head) + words(FILES) + words(patterns));
    let files = fitting(files.into_iter(), &mut left, task.plan_file());
    let signals = fitting(signals, &mut left, task.plan_file());
    format!("{FILES}{files}{patterns}{signals}")
}

/// As many lines as there is room for.
fn fitting(lines: impl Iterator<Item = String>, left: &mut usize, more: &str) -> String {
    let mut out = String::new();
    for line in lines {
        // The line that says where the rest is has to fit too.
        if words(&line) + 4 > *left {
            return format!("{out}- more: see {more}\n");
        }
        *left -= words(&line);
        out.push_str(&line);
    }
    if out.is_empty() { format!("- none yet: see {more}\n") } else { out }
}

fn words(text: &str) -> usize {
    text.split_whitespace().count()
}

fn first_words(text: &str, most: usize) -> String {
    let all: Vec<&str> = text.split_whitespace().collect();
    let mut cut = all.iter().take(most).copied().collect::<Vec<_>>().join(" ");
    if all.len() > most {
        cut.push('…');
    }
    cut
}
