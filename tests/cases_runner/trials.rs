//! That the runner sees what it has to see: every promise can be broken, and nothing changes unsaid.

use crate::support::tree;

use super::case::Case;
use super::copies::{ACTIVE, CURRENT};
use super::outcome;
use super::promises;
use super::step::Step;
use super::{base, folders};

/// An agent ends: this writes most kinds of documents.
const AGENT_ENDS: &str = "subagent_stop/background_tasks_name_the_task";
/// What is looked at line by line: documents of every layout.
const LOOKED_AT: [&str; 3] = [AGENT_ENDS, "stop/loop_goes_on", "stop/iterative_goes_on"];
const RECORD: &str = ".claude/state/session/live/9f99b61b-a627-4cde-9856-7e07b84da7b2.json";
const JOURNAL: &str = ".claude/state/journal/9f99b61b-a627-4cde-9856-7e07b84da7b2.jsonl";
const RESULT: &str = ".claude/state/agents/results/a849e6a7ce0708706.json";

/// The files of a case.
const NAMES: [&str; 6] =
    ["before.txt", "given.txt", "stdin.json", "stdin.txt", "after.txt", "whole.txt"];
const ENOUGH: usize = 437;

fn played(case: &str) -> Result<Step, String> {
    let (step, wrong) = Case::read(&base().join(case)).play()?;
    if wrong.is_empty() { Ok(step) } else { Err(format!("{case}: {}", wrong.join("\n"))) }
}

/// One thing is put wrong, and a promise says so in these words.
pub fn every_promise_can_be_broken() -> Result<(), String> {
    let replaced: [(&str, &str, &str, &str); 14] = [
        (CURRENT, "\"agents_spawned\": 1", "\"agents_spawned\": 2", "current.json is not what"),
        (CURRENT, "\"source\"", "\"sources\"", "current.json is not what"),
        (CURRENT, "  \"last_seen\"", " \"last_seen\"", "current.json is not what"),
        (ACTIVE, "\"total_completed\": 1", "\"total_completed\": 0", "active.json is not what"),
        (ACTIVE, "\"agents\": []", "\"agents\": [{\"id\": \"a1\"}]", "active.json is not what"),
        (RECORD, "\"agents_completed\": 1", "\"agents_completed\": 2", "active.json is not what"),
        (".claude/state/.gitignore", "*\n", "!*\n", ".gitignore is not as it has to be"),
        (".claude/branches/.gitignore", "*\n", "", ".gitignore is not as it has to be"),
        (".claude/state/.lock", "", "x", ".lock is not as it has to be"),
        (JOURNAL, "\"agents/active.json\"]", "\"a.json\"]", "active.json has changed, and the"),
        (JOURNAL, ",\"agents/active.json\"]", ",\"x\"]", "says that x was written, and it was not"),
        (JOURNAL, "10:30:20.000Z", "10:30:10.000Z", "is not of this step"),
        (RESULT, "\"duration_seconds\": 10", "\"duration_seconds\": -1", "must be at least 0"),
        (JOURNAL, "\"kind\":\"run\"", "\"kinds\":\"run\"", "has no `kind`"),
    ];
    let good = played(AGENT_ENDS)?;
    let mut unseen = Vec::new();
    for (path, from, to, says) in replaced {
        let mut step = good.clone();
        let text = step.after.get_mut(path).ok_or(path)?;
        // Behind the lines that were there before.
        let old = if path == JOURNAL { good.before[path].len() } else { 0 };
        let (earlier, new) = text.split_at(old);
        let changed = if from.is_empty() { to.to_owned() } else { new.replacen(from, to, 1) };
        if changed == new {
            return Err(format!("{path} has no {from}"));
        }
        *text = format!("{earlier}{changed}");
        if !promises::broken(&step).iter().any(|wrong| wrong.contains(says)) {
            unseen.push(format!("{path}: {to}: {:?}", promises::broken(&step)));
        }
    }
    let removed: [(&str, &str); 4] = [
        (CURRENT, "current.json is not what"),
        (ACTIVE, "active.json is not what"),
        (".claude/state/.lock", ".lock is not as it has to be"),
        (".claude/branches/.gitignore", ".gitignore is not as it has to be"),
    ];
    for (path, says) in removed {
        let mut step = good.clone();
        step.after.remove(path).ok_or(path)?;
        if !promises::broken(&step).iter().any(|wrong| wrong.contains(says)) {
            unseen.push(format!("{path} is gone: {:?}", promises::broken(&step)));
        }
    }
    let added: [(&str, &str); 3] = [
        (".claude/state/.new", "was left behind"),
        (".claude/state/errors/classified.json", "has changed, and the journal does not say so"),
        (".claude/state/journal/other.jsonl", "is not of this step"),
    ];
    for (path, says) in added {
        let mut step = good.clone();
        step.after.insert(path.into(), "{}\n".into());
        if !promises::broken(&step).iter().any(|wrong| wrong.contains(says)) {
            unseen.push(format!("{path} is new: {:?}", promises::broken(&step)));
        }
    }
    let mut rewritten = good.clone();
    rewritten.after.insert(JOURNAL.into(), "{}\n".into());
    if !promises::broken(&rewritten).iter().any(|wrong| wrong.contains("no longer what it was")) {
        unseen.push(format!("a journal that is rewritten: {:?}", promises::broken(&rewritten)));
    }
    if unseen.is_empty() { Ok(()) } else { Err(unseen.join("\n")) }
}

/// Whatever is done to a line of a file: the text of the case is another one, or a promise is broken.
pub fn nothing_changes_unsaid() -> Result<(), String> {
    let mut unsaid = Vec::new();
    let mut tried = 0;
    for case in LOOKED_AT {
        let good = played(case)?;
        let said = outcome::text(&good, &[]);
        for (path, text) in &good.after {
            let lines: Vec<&str> = text.split_inclusive('\n').collect();
            // Of a file that is as it was, one line is as good as another.
            let is_same = good.before.get(path) == Some(text);
            let most = if is_same { 1 } else { lines.len() };
            for n in 0..lines.len().min(most) {
                for (what, changed) in changed_lines(&lines, n) {
                    let mut step = good.clone();
                    step.after.insert(path.clone(), changed);
                    tried += 1;
                    if outcome::text(&step, &[]) == said && promises::broken(&step).is_empty() {
                        unsaid.push(format!("{case}: {path}:{}: {what}", n + 1));
                    }
                }
            }
            let mut step = good.clone();
            step.after.remove(path);
            if outcome::text(&step, &[]) == said && promises::broken(&step).is_empty() {
                unsaid.push(format!("{case}: {path} is gone"));
            }
        }
        let mut step = good.clone();
        step.after.insert("a new file".into(), String::new());
        if outcome::text(&step, &[]) == said {
            unsaid.push(format!("{case}: a new file"));
        }
    }
    if tried < 500 {
        return Err(format!("only {tried} changes"));
    }
    if unsaid.is_empty() { Ok(()) } else { Err(unsaid.join("\n")) }
}

/// A text with another line: gone, there twice, moved, longer, with a digit or a letter that is another.
fn changed_lines(lines: &[&str], n: usize) -> Vec<(&'static str, String)> {
    let line = lines[n];
    let mut all = vec![
        ("is gone", with_line(lines, n, "")),
        ("is there twice", with_line(lines, n, &format!("{line}{line}"))),
        ("has a blank more", with_line(lines, n, &format!(" {line}"))),
    ];
    if let Some(next) = lines.get(n + 1)
        && *next != line
    {
        let mut moved = lines.to_vec();
        moved.swap(n, n + 1);
        all.push(("stands behind the next", moved.concat()));
    }
    let mut signs: Vec<char> = line.chars().collect();
    if let Some(at) = signs.iter().rposition(char::is_ascii_alphanumeric) {
        signs[at] = if signs[at] == '1' { '2' } else { '1' };
        let changed: String = signs.into_iter().collect();
        all.push(("has another sign", with_line(lines, n, &changed)));
    }
    all
}

fn with_line(lines: &[&str], n: usize, line: &str) -> String {
    format!("{}{line}{}", lines[..n].concat(), lines[n + 1..].concat())
}

/// A file with another name would say something that nobody reads; a fixture that nobody uses, too.
pub fn no_file_is_nobodys() -> Result<(), String> {
    let mut strays = Vec::new();
    let mut used = String::new();
    let cases = folders();
    for folder in &cases {
        for (name, text) in tree(folder) {
            if !NAMES.contains(&name.as_str()) {
                strays.push(format!("{}/{name}", folder.display()));
            }
            used += &String::from_utf8_lossy(&text);
        }
        let has = |name: &str| folder.join(name).is_file();
        if has("stdin.json") == has("stdin.txt") || !has("after.txt") {
            strays.push(format!("{}: one stdin, and what comes of it", folder.display()));
        }
    }
    let shared = tree(&base().join("shared"));
    for text in shared.values() {
        used += &String::from_utf8_lossy(text);
    }
    for name in shared.keys() {
        let line = format!("use {}\n", name.trim_end_matches(".txt"));
        if !used.contains(&line) {
            strays.push(format!("shared/{name} is not used"));
        }
    }
    if cases.len() < ENOUGH {
        strays.push(format!("only {} cases", cases.len()));
    }
    if strays.is_empty() { Ok(()) } else { Err(strays.join("\n")) }
}
