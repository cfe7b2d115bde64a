//! What holds after every payload, whatever it was: copies are copies, the journal names what was
//! written, documents fit their schemas.

use serde_json::Value;

use super::copies::{self, ACTIVE, CURRENT};
use super::documents::{self, Kind, kind_of};
use super::journal::{self, Line};
use super::step::{Step, name_of};

const STATE: &str = ".claude/state/";
const LEFT: &str = ".claude/state/.new";

/// What does not hold, in words.
pub fn broken(step: &Step) -> Vec<String> {
    let lines = journal::added(&step.before, &step.after);
    let mut wrong = Vec::new();
    copies_follow(step, &mut wrong);
    folders_are_kept(step, &mut wrong);
    journal_names_what_changed(step, &lines, &mut wrong);
    lines_are_of_this_step(step, &lines, &mut wrong);
    documents_fit(step, &lines, &mut wrong);
    wrong
}

/// `current.json` and `active.json` are what the records make of them.
fn copies_follow(step: &Step, wrong: &mut Vec<String>) {
    for path in [CURRENT, ACTIVE] {
        let wanted = copies::copy(path, &step.before, &step.after);
        let is_right = match (step.after.get(path), &wanted) {
            (Some(text), Some(copy)) => *text == copies::spell(path, copy),
            (None, None) => true,
            // Nothing to copy: nobody has started an agent yet.
            (None, Some(copy)) => path == ACTIVE && is_idle(copy),
            (Some(_), None) => false,
        };
        if !is_right {
            wrong.push(format!("{path} is not what the records of live sessions say"));
        }
    }
}

fn is_idle(active: &Value) -> bool {
    active["agents"].as_array().is_some_and(Vec::is_empty) && active["total_spawned"] == 0
}

/// Git sees nothing of folders that we have made; the lock is there.
fn folders_are_kept(step: &Step, wrong: &mut Vec<String>) {
    for path in step.changed() {
        if path == LEFT {
            wrong.push(format!("{path} was left behind"));
        }
        let Some(folder) = copies::folder_of(path) else { continue };
        let ignore = format!("{folder}.gitignore");
        let was_ignored = step.before.contains_key(&ignore);
        let was_there = step.before.keys().any(|path| path.starts_with(folder));
        // What somebody else has made is not hidden.
        let mut wanted = Vec::new();
        if was_ignored || !was_there || folder == STATE {
            wanted.push((ignore, copies::IGNORES_ALL));
        }
        if folder == STATE {
            wanted.push((copies::LOCK.to_owned(), ""));
        }
        for (name, text) in wanted {
            let fault = format!("{name} is not as it has to be");
            if step.after.get(&name).map(String::as_str) != Some(text) && !wrong.contains(&fault) {
                wrong.push(fault);
            }
        }
    }
}

/// `wrote` has the documents that changed, and no other.
fn journal_names_what_changed(step: &Step, lines: &[Line], wrong: &mut Vec<String>) {
    let wrote = journal::wrote(lines);
    let is_told = lines.iter().any(Line::is_run);
    for path in step.changed() {
        let is_added_to = lines.iter().any(|line| line.path == path);
        if is_added_to || copies::goes_without_saying(path, step) || !is_ours(path) && !is_told {
            continue;
        }
        if !is_named(path, step, &wrote) {
            wrong.push(format!("{path} has changed, and the journal does not say so"));
        }
    }
    for (n, name) in wrote.iter().enumerate() {
        if !has_changed(name, step) && !is_moved_on(name, &wrote[n + 1..]) {
            wrong.push(format!("the journal says that {name} was written, and it was not"));
        }
    }
}

fn is_ours(path: &str) -> bool {
    copies::folder_of(path).is_some() || matches!(kind_of(path), Kind::Document(_))
}

/// Whether the journal says that this file has changed.
fn is_named(path: &str, step: &Step, wrote: &[String]) -> bool {
    let name = name_of(path);
    let is_gone = !step.after.contains_key(path);
    if name.starts_with("rejected/") {
        return true;
    }
    wrote.iter().any(|wrote| match (wrote.strip_prefix('-'), is_gone) {
        (Some(wrote), true) if wrote == name => true,
        (None, false) if wrote == name => true,
        // The results of a session are moved with their folder, and another's synthesis takes their place.
        (folder, _) if is_archive(folder.unwrap_or(wrote)) => {
            let folder = folder.unwrap_or(wrote);
            name.starts_with(&format!("{folder}/"))
                || name.starts_with("agents/results/")
                || name.starts_with("agents/synthesis/")
        }
        (None, true) => wrote.starts_with(&format!("quarantine/{}.", name.replace('/', "-"))),
        _ => false,
    })
}

fn is_archive(name: &str) -> bool {
    name.strip_prefix("agents/results-archive/").is_some_and(|rest| !rest.contains('/'))
}

/// Whether a document that is named in `wrote` is another one than before, or is gone as it says.
fn has_changed(name: &str, step: &Step) -> bool {
    if is_archive(name.trim_start_matches('-')) {
        let folder = format!("{STATE}{}/", name.trim_start_matches('-'));
        return step.changed().iter().any(|path| path.starts_with(&folder));
    }
    let (name, is_gone) = match name.strip_prefix('-') {
        Some(name) => (name, true),
        None => (name, false),
    };
    for path in [format!("{STATE}{name}"), format!(".claude/{name}")] {
        let (before, after) = (step.before.get(&path), step.after.get(&path));
        if !is_gone && after.is_some() && before != after || is_gone && after.is_some() {
            return !is_gone;
        }
    }
    // What is to be removed may have been gone.
    is_gone
}

/// Whether what was written was taken away or moved by the same run.
fn is_moved_on(name: &str, later: &[String]) -> bool {
    let is_result = name.starts_with("agents/results/") || name.starts_with("agents/synthesis/");
    later.iter().any(|later| {
        *later == format!("-{name}") || is_result && is_archive(later.trim_start_matches('-'))
    })
}

/// Each run has one line; all lines say when they were written, and of which session they are.
fn lines_are_of_this_step(step: &Step, lines: &[Line], wrong: &mut Vec<String>) {
    let runs = lines.iter().filter(|line| line.is_run()).count();
    if runs > 1 {
        wrong.push(format!("{runs} lines of the journal are those of a run"));
    }
    for line in lines {
        let value = &line.value;
        let event = value.get("event").and_then(Value::as_str);
        let is_unknown = value["kind"] == "rejected" || step.event.is_none();
        let is_events = match line.is_run() {
            true => is_unknown || event == step.event.as_deref(),
            false => event.is_none(),
        };
        let is_new = value["v"] == 1 && value["time"] == step.time.as_str();
        if !is_new || !is_events || line.is_run() && value["us"] != 0 {
            wrong.push(format!("a line of the journal is not of this step: {}", line.text));
        }
    }
    for path in step.changed() {
        let is_journal = matches!(kind_of(path), Kind::Journal);
        if is_journal && !lines.iter().any(|line| line.path == path) {
            wrong.push(format!("{path} is no longer what it was, with something added"));
        }
    }
}

/// What a step has written fits its schema.
fn documents_fit(step: &Step, lines: &[Line], wrong: &mut Vec<String>) {
    for line in lines {
        let faults = documents::schema("journal").checker.check(&line.value);
        for fault in faults {
            wrong
                .push(format!("{}: {} {}: {}", line.path, fault.pointer, fault.message, line.text));
        }
    }
    for path in step.changed() {
        let (Kind::Document(schema), Some(text)) = (kind_of(path), step.after.get(path)) else {
            continue;
        };
        // Another tool may have a file by that name; what was only moved may be anybody's.
        if schema == "autonomous-loop" || step.before.values().any(|before| before == text) {
            continue;
        }
        match serde_json::from_str(text) {
            Ok(value) => {
                for fault in documents::schema(schema).checker.check(&value) {
                    wrong.push(format!("{path}: {} {}", fault.pointer, fault.message));
                }
            }
            Err(error) => wrong.push(format!("{path}: {error}")),
        }
    }
}
