//! Every hook once, on a state that is thrown away: does the program work where it will be called?

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::core::event::{Kind, Output};
use crate::process::Process;
use crate::process::child::{self, Ended};
use crate::session::metrics::Metrics;
use crate::store::scratch::Scratch;
use crate::store::view::View;
use crate::turn::root::STATE_ROOT;

const SESSION: &str = "self-test";
const LIMIT: Duration = Duration::from_secs(10);

pub struct SelfTestReport {
    pub text: String,
    /// What did not work.
    pub failed: Option<String>,
}

/// Runs the program as the client would. SessionEnd comes last, as it does in life.
pub fn run(process: &Process, program: &Path) -> SelfTestReport {
    let id = process.fresh_id("self-test");
    let scratch = match Scratch::new(&process.temp_dir(), "self-test", &id) {
        Ok(scratch) => scratch,
        Err(error) => {
            let failed = Some(format!("it has no place to work in: {error}"));
            return SelfTestReport { text: "Self-test: not run".into(), failed };
        }
    };
    let mut text = String::from("Self-test, each hook once on scratch state:\n");
    let mut failed = None;
    let mut kinds = Kind::ALL;
    kinds.sort_by_key(|kind| *kind == Kind::SessionEnd);
    for kind in kinds {
        let outcome = match run_hook(program, kind, scratch.path()) {
            Ok(ended) => check_outcome(kind, &ended).map(|()| ended.micros),
            Err(error) => Err(format!("it cannot be started: {error}")),
        };
        let result = match &outcome {
            Ok(micros) => format!("ok  {:>6.1} ms", *micros as f64 / 1000.0),
            Err(why) => format!("FAILED: {why}"),
        };
        text.push_str(&format!("  {:<20} {result}\n", kind.wire()));
        if let (Err(why), None) = (outcome, &failed) {
            failed = Some(format!("{}: {why}", kind.wire()));
        }
    }
    if failed.is_none() && !is_recorded(scratch.path()) {
        failed = Some("the hooks ran, but the session is not in the state".into());
    }
    SelfTestReport { text: text.trim_end().to_owned(), failed }
}

fn run_hook(program: &Path, kind: Kind, root: &Path) -> std::io::Result<Ended> {
    let path = root.to_string_lossy();
    child::run(&child::Run {
        program,
        args: &["hook".as_ref()],
        dir: Some(root),
        env: &[
            ("CLAUDE_PROJECT_DIR", Some(&path)),
            ("CLAUDE_CODE_SESSION_ID", None),
            ("CLAUDE_PID", None),
            // It is the project's own place, and so the try is no project of the user's.
            (STATE_ROOT, Some(&path)),
            ("HOOKKEEPER_OFF", None),
            ("HOOKKEEPER_LOG", None),
            ("HOOKKEEPER_FIXED_TIME", None),
        ],
        input: child::Input::Bytes(format!("{}\n", payload(kind, &path)).as_bytes()),
        limit: LIMIT,
    })
}

fn check_outcome(kind: Kind, ended: &Ended) -> Result<(), String> {
    let stderr = String::from_utf8_lossy(&ended.stderr);
    match ended.code {
        Some(0) => {}
        Some(code) => return Err(format!("exit code {code}: {}", stderr.trim())),
        None => return Err("it did not end by itself".into()),
    }
    let stdout = ended.stdout.trim_ascii();
    let is_json = || serde_json::from_slice::<Value>(stdout).is_ok();
    match kind.row().output {
        Output::Nothing | Output::Ring | Output::Json { .. }
            if !stdout.is_empty() && !is_json() =>
        {
            Err("its reply is not JSON".into())
        }
        Output::Nothing | Output::Ring | Output::Json { .. } | Output::PlainText => Ok(()),
    }
}

fn is_recorded(root: &Path) -> bool {
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
    if let (Value::Object(payload), Value::Object(fields)) = (&mut payload, (kind.row().sample)()) {
        payload.extend(fields);
    }
    payload
}
