//! `hookkeeper record`: keep the payloads that come, for [`crate::cli::replay`].

use serde_json::{Value, json};

use crate::cli::config::set_own;
use crate::console::project::Project;
use crate::core::json::Object;
use crate::core::outcome::Outcome;
use crate::core::spelling::short_id;
use crate::core::table::row;
use crate::state::Source;
use crate::store::home::SETTINGS;
use crate::store::recorded::{FOLDER, ROOM};

#[derive(clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// Keep every payload from now on, redacted: the newest 200
    #[command(after_help = "Example:\n  hookkeeper record on")]
    On,
    /// Keep no more; what is there stays
    #[command(after_help = "Example:\n  hookkeeper record off")]
    Off,
    /// What was kept
    #[command(after_help = "Example:\n  hookkeeper record list --json | jq -r .file")]
    List {
        /// Print one JSON object per payload
        #[arg(long)]
        json: bool,
    },
}

pub fn run(project: &Project, options: &Arguments) -> anyhow::Result<Outcome> {
    match options.what {
        What::On => switch(project, true),
        What::Off => switch(project, false),
        What::List { json } => list(project, json),
    }
}

fn switch(project: &Project, on: bool) -> anyhow::Result<Outcome> {
    let shown = format!(".claude/{SETTINGS}");
    let is_new = set_own(project, &["record"], &Value::Bool(on), |settings| settings.record == on)?;
    Ok(Outcome::printed(match (is_new, on) {
        (false, true) => format!("{shown}: recording is on already"),
        (false, false) => format!("{shown}: recording is off already"),
        (true, true) => {
            format!("{shown}: recording is on. Payloads go to .claude/state/{ROOM}, redacted")
        }
        (true, false) => format!("{shown}: recording is off"),
    }))
}

fn list(project: &Project, as_json: bool) -> anyhow::Result<Outcome> {
    let view = project.view()?;
    let names = view.as_ref().map(|view| view.names(FOLDER)).unwrap_or_default();
    let mut lines = Vec::new();
    let mut rows = Vec::new();
    for name in names.iter().filter(|name| !name.starts_with('.')) {
        let bytes = view.as_ref().and_then(|view| view.bytes(&format!("{FOLDER}/{name}")).ok()?);
        let bytes = bytes.unwrap_or_default();
        let payload = Object::parse(&bytes).unwrap_or_default();
        let event = payload.text("hook_event_name").unwrap_or_default();
        let session = payload.text("session_id").unwrap_or_default();
        rows.push(row![event, short_id(&session, &[]), bytes.len(), name]);
        lines.push(json!({"file": format!(".claude/state/{ROOM}/{name}"), "event": event, "session_id": session, "bytes": bytes.len()}).to_string());
    }
    if lines.is_empty() && as_json {
        return Ok(Outcome::quiet());
    }
    if lines.is_empty() {
        lines.push(match project.settings()?.record {
            true => "Nothing is recorded yet. It will be when Claude Code runs a hook.".into(),
            false => "Nothing is recorded. Switch it on: hookkeeper record on".into(),
        });
    } else if !as_json {
        let columns = [("EVENT", 0), ("SESSION", 1), ("BYTES", 2), ("FILE", 0)];
        let mut out = project.print_rows(&columns, &rows);
        out.push(project.print_wrapped(&format!(
            "{} in .claude/state/{ROOM}; play them: hookkeeper replay .claude/state/{ROOM}",
            names.len()
        )));
        return Ok(Outcome::printed(out.trimmed()));
    }
    Ok(Outcome::printed(lines.join("\n")))
}
