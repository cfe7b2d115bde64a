//! Every hook once, on books that are thrown away: does the program work where it will be called?

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::books::metrics::Metrics;
use crate::event::Kind;
use crate::process::Process;
use crate::process::child::{self, Ended};
use crate::root::BOOKS;
use crate::store::scratch::Scratch;
use crate::store::view::View;
use crate::wiring::table::WIRED;

const SESSION: &str = "self-test";
const LIMIT: Duration = Duration::from_secs(10);

pub struct Report {
    pub text: String,
    /// What did not work.
    pub failed: Option<String>,
}

/// Runs the program as the client would. SessionEnd comes last, as it does in life.
pub fn run(process: &Process, program: &Path) -> Report {
    let id = process.fresh_id("self-test");
    let scratch = match Scratch::new(&process.temp_dir(), "self-test", &id) {
        Ok(scratch) => scratch,
        Err(error) => {
            let failed = Some(format!("it has no place to work in: {error}"));
            return Report { text: "Self-test: not run".into(), failed };
        }
    };
    let mut text = String::from("Self-test, each hook once on scratch books:\n");
    let mut failed = None;
    let last = WIRED.iter().filter(|wired| wired.kind == Kind::SessionEnd);
    let others = WIRED.iter().filter(|wired| wired.kind != Kind::SessionEnd);
    for kind in others.chain(last).map(|wired| wired.kind) {
        let outcome = match once(program, kind, scratch.path()) {
            Ok(ended) => verdict(kind, &ended).map(|()| ended.micros),
            Err(error) => Err(format!("it cannot be started: {error}")),
        };
        let said = match &outcome {
            Ok(micros) => format!("ok  {:>6.1} ms", *micros as f64 / 1000.0),
            Err(why) => format!("FAILED: {why}"),
        };
        text.push_str(&format!("  {:<20} {said}\n", kind.wire()));
        if let (Err(why), None) = (outcome, &failed) {
            failed = Some(format!("{}: {why}", kind.wire()));
        }
    }
    if failed.is_none() && !is_booked(scratch.path()) {
        failed = Some("the hooks ran, but the session is not in the books".into());
    }
    Report { text: text.trim_end().to_owned(), failed }
}

fn once(program: &Path, kind: Kind, root: &Path) -> std::io::Result<Ended> {
    let path = root.to_string_lossy();
    child::run(&child::Run {
        program,
        args: &["hook".as_ref()],
        dir: Some(root),
        env: &[
            ("CLAUDE_PROJECT_DIR", &path),
            ("CLAUDE_CODE_SESSION_ID", ""),
            ("CLAUDE_PID", ""),
            (BOOKS, ""),
            ("HOOKKEEPER_OFF", ""),
            ("HOOKKEEPER_LOG", ""),
            ("HOOKKEEPER_FIXED_TIME", ""),
        ],
        input: child::Input::Bytes(format!("{}\n", payload(kind, &path)).as_bytes()),
        limit: LIMIT,
    })
}

fn verdict(kind: Kind, ended: &Ended) -> Result<(), String> {
    let stderr = String::from_utf8_lossy(&ended.stderr);
    match ended.code {
        Some(0) => {}
        Some(code) => return Err(format!("exit code {code}: {}", stderr.trim())),
        None => return Err("it did not end by itself".into()),
    }
    // PreCompact speaks in prose, all others in JSON or not at all.
    let stdout = ended.stdout.trim_ascii();
    if kind != Kind::PreCompact
        && !stdout.is_empty()
        && serde_json::from_slice::<Value>(stdout).is_err()
    {
        return Err("its reply is not JSON".into());
    }
    Ok(())
}

fn is_booked(root: &Path) -> bool {
    let view = View::open(root, None).ok().flatten();
    let metrics = view.and_then(|view| view.get::<Metrics>());
    metrics.is_some_and(|metrics| metrics.newest(1).iter().any(|entry| entry.session_id == SESSION))
}

fn payload(kind: Kind, root: &str) -> Value {
    let mut payload = json!({
        "session_id": SESSION,
        "transcript_path": format!("{root}/transcript.jsonl"),
        "cwd": root,
        "hook_event_name": kind.wire(),
    });
    let agent = json!({"agent_id": "a1", "agent_type": "Explore"});
    let call = json!({"tool_name": "Agent", "tool_use_id": "t1",
        "tool_input": {"description": "Look around", "subagent_type": "Explore"}});
    let fields = match kind {
        Kind::SessionStart => json!({"source": "startup"}),
        Kind::SessionEnd => json!({"reason": "other"}),
        Kind::UserPromptSubmit => json!({"prompt": "/status", "prompt_id": "p1"}),
        Kind::UserPromptExpansion => {
            json!({"command_name": "status", "command_args": "", "prompt_id": "p1"})
        }
        Kind::PreToolUse => call,
        Kind::PostToolUse => json!({"tool_name": "Read", "tool_use_id": "t2",
            "tool_input": {"file_path": "README.md"}, "tool_response": {}}),
        Kind::PostToolUseFailure => json!({"tool_name": "Bash", "tool_use_id": "t3",
            "tool_input": {"command": "curl example.com"}, "error": "Exit code 6\nConnection refused"}),
        Kind::SubagentStart => agent,
        Kind::SubagentStop => json!({"agent_id": "a1", "agent_type": "Explore",
            "last_assistant_message": "- [S2] A finding", "stop_hook_active": false}),
        Kind::PreCompact => json!({"trigger": "manual", "custom_instructions": null}),
        Kind::PostCompact => json!({"trigger": "manual", "compact_summary": "short"}),
        Kind::Stop => json!({"stop_hook_active": false, "background_tasks": []}),
        Kind::StopFailure => json!({"error": "overloaded"}),
    };
    if let (Value::Object(payload), Value::Object(fields)) = (&mut payload, fields) {
        payload.extend(fields);
    }
    payload
}
