//! Hook runs that the client noted in its transcripts, with their durations.
//!
//! Most are `attachment` lines, one for a run. The runs of one stop are also in a summary, as
//! `system` lines, and a run that says nothing may only be there. The format is internal to the
//! client: what does not fit is passed over.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use memchr::memmem;

use crate::core::json::Object;
use crate::process::{files, tail};

#[derive(Clone, Debug, PartialEq)]
pub struct HookRun {
    pub event: String,
    pub command: String,
    pub millis: Option<u64>,
    pub ended: RunResult,
    /// As the client spells it.
    pub time: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunResult {
    Well,
    /// It said no, which some hooks are made for.
    Blocked,
    Failed,
    /// The client ended it, after its time-out or because the user went on.
    Cancelled,
}

/// Where the client keeps a project's transcripts: every character of the path that is not a
/// letter or digit of ASCII is a `-`.
pub fn dir_of(client_dir: &Path, root: &Path) -> PathBuf {
    let path = root.to_string_lossy();
    let units = path.encode_utf16().map(|unit| {
        let c = char::from_u32(u32::from(unit)).filter(char::is_ascii_alphanumeric);
        c.unwrap_or('-')
    });
    client_dir.join("projects").join(units.collect::<String>())
}

/// The transcripts in a directory and those of its sessions' agents, with their times.
pub fn transcripts(dir: &Path) -> std::io::Result<Vec<(SystemTime, PathBuf)>> {
    let mut found = Vec::new();
    for path in files::entries(dir)? {
        if is_transcript(&path) {
            found.push(path);
        } else {
            found.extend(agents_of(&path));
        }
    }
    Ok(found.into_iter().filter_map(with_time).collect())
}

/// A session's transcript and its agents', by the path that a payload gave.
pub fn of_session(transcript: &Path) -> Vec<(SystemTime, PathBuf)> {
    let own = [transcript.to_owned()].into_iter().filter(|path| is_transcript(path));
    own.chain(agents_of(&transcript.with_extension(""))).filter_map(with_time).collect()
}

/// The transcripts of a session's agents, by the session's folder.
pub fn agents_of(session: &Path) -> Vec<PathBuf> {
    let entries = files::entries(&session.join("subagents")).unwrap_or_default();
    entries.into_iter().filter(|path| is_transcript(path)).collect()
}

fn is_transcript(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "jsonl")
}

fn with_time(path: PathBuf) -> Option<(SystemTime, PathBuf)> {
    Some((path.metadata().ok()?.modified().ok()?, path))
}

/// The hook runs in a transcript. Only lines that can hold one are parsed.
pub fn read(transcript: &Path) -> Vec<HookRun> {
    let Some(file) = files::open(transcript) else { return Vec::new() };
    let attached = memmem::Finder::new(b"\"hookEvent\"");
    let named = memmem::Finder::new(b"\"hookName\"");
    let summary = memmem::Finder::new(b"\"hookInfos\"");
    let mut runs = Vec::new();
    let mut summed: Vec<(String, HookRun)> = Vec::new();
    let mut stops = BTreeSet::new();
    tail::lines(&file, u64::MAX, |_, line| {
        if attached.find(line).is_some() || named.find(line).is_some() {
            if let Some((id, run)) = from_attachment(line) {
                if matches!(run.event.as_str(), "Stop" | "SubagentStop") {
                    stops.insert((id, run.command.clone()));
                }
                runs.push(run);
            }
        } else if summary.find(line).is_some() {
            summed.extend(from_summary(line).unwrap_or_default());
        }
        ControlFlow::Continue(())
    });
    let new =
        summed.into_iter().filter(|(id, run)| !stops.contains(&(id.clone(), run.command.clone())));
    runs.extend(new.map(|(_, run)| run));
    runs
}

/// A run, and the id that a stop's summary has too.
fn from_attachment(line: &[u8]) -> Option<(String, HookRun)> {
    let line = Object::parse(line).ok()?;
    let run =
        line.object("attachment").filter(|_| line.text("type").as_deref() == Some("attachment"))?;
    let exit_code = run.float("exitCode").unwrap_or(0.0);
    let ended = match run.text("type")?.as_str() {
        "hook_success" if exit_code == 0.0 => RunResult::Well,
        "hook_blocking_error" => RunResult::Blocked,
        "hook_cancelled" => RunResult::Cancelled,
        "hook_success" | "hook_non_blocking_error" | "hook_error_during_execution" => {
            RunResult::Failed
        }
        // What a hook said is noted on lines of its own; they are no runs.
        _ => return None,
    };
    let name = run.text("hookName").unwrap_or_default();
    let event = run.word("hookEvent").or_else(|| name.split(':').next().map(str::to_owned));
    let run = HookRun {
        event: event.filter(|event| !event.is_empty())?,
        command: run.word("command").unwrap_or_else(|| "(not noted)".into()),
        millis: run.number("durationMs"),
        ended,
        time: line.text("timestamp"),
    };
    let id = line.object("attachment").and_then(|run| run.text("toolUseID"));
    Some((id.unwrap_or_default(), run))
}

fn from_summary(line: &[u8]) -> Option<Vec<(String, HookRun)>> {
    let line = Object::parse(line).ok()?;
    let id = line.text("toolUseID").unwrap_or_default();
    let event = if line.flag("isSidechain") { "SubagentStop" } else { "Stop" };
    let failed = line.list("hookErrors").is_some_and(|errors| !errors.is_empty());
    let infos = line.objects("hookInfos")?;
    // Which of several failed is not said.
    let ended = if failed && infos.len() == 1 { RunResult::Failed } else { RunResult::Well };
    let runs = infos.iter().filter_map(|info| {
        let run = HookRun {
            event: event.to_owned(),
            command: info.word("command")?,
            millis: info.number("durationMs"),
            ended,
            time: line.text("timestamp"),
        };
        Some((id.clone(), run))
    });
    Some(runs.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_spelled_as_the_client_spells_them() {
        let dir = dir_of(Path::new("/h/.claude"), Path::new("/home/é 😀/my_shop.x"));
        assert_eq!(dir, Path::new("/h/.claude/projects/-home------my-shop-x"));
    }

    #[test]
    fn only_runs_are_runs() {
        let line = |kind: &str| {
            let text = format!(
                r#"{{"type": "attachment", "attachment": {{"type": "{kind}", "hookName": "PreToolUse:Bash", "command": "x", "durationMs": 7.6}}}}"#
            );
            from_attachment(text.as_bytes()).map(|(_, run)| (run.event, run.millis, run.ended))
        };
        let run = |ended| Some(("PreToolUse".to_owned(), Some(7), ended));
        assert_eq!(line("hook_success"), run(RunResult::Well));
        assert_eq!(line("hook_cancelled"), run(RunResult::Cancelled));
        assert_eq!(line("hook_blocking_error"), run(RunResult::Blocked));
        assert_eq!(line("hook_non_blocking_error"), run(RunResult::Failed));
        assert_eq!(line("hook_additional_context"), None);
    }
}
