//! `hookkeeper backup`: the snapshots from before compactions.

use anyhow::{Context as _, bail};
use serde_json::{Value, json};

use crate::compaction::backup::{Backup, Preserved};
use crate::console::diff;
use crate::console::project::{Project, print_json};
use crate::core::gate::Printed;
use crate::core::outcome::Outcome;
use crate::core::spelling::{short_count, short_id};
use crate::core::table::row;
use crate::core::text::plural;
use crate::loops::queue::document::Queue;
use crate::loops::queue::page::LoopStateText;
use crate::session::active::Active;
use crate::session::current::CurrentFile;
use crate::state::{Doc, Document, Source};
use crate::store::view::View;

const ROOM: &str = "compaction";
const NONE: &str = "There is no backup yet; one is written before each compaction.";

#[derive(clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    what: What,
}

/// A backup is named by its file, by the beginning of its time (`20260129`), by its number in the
/// list (1 is the newest) or as `latest`.
#[derive(clap::Subcommand)]
enum What {
    /// All backups, newest first
    #[command(after_help = "Example:\n  hookkeeper backup list --json | jq '.[0]'")]
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// What a backup preserved
    #[command(after_help = "Example:\n  hookkeeper backup show latest")]
    Show {
        /// File, time, number or `latest`
        #[arg(default_value = "latest")]
        backup: String,
        /// Print the document as it is
        #[arg(long)]
        json: bool,
    },
    /// What is different between a backup and another one, or now
    #[command(
        after_help = "Examples:\n  hookkeeper backup diff latest        # and now\n  hookkeeper backup diff 2 1"
    )]
    Diff {
        /// File, time, number or `latest`
        #[arg(default_value = "latest")]
        backup: String,
        /// The other one
        #[arg(default_value = "now")]
        other: String,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Put the loop and the work queue of a backup back; what is there now is set aside
    #[command(after_help = "Example:\n  hookkeeper backup restore latest --dry-run")]
    Restore {
        /// File, time, number or `latest`
        backup: String,
        /// Only show what would change
        #[arg(long)]
        dry_run: bool,
    },
}

pub fn run(project: &Project, options: &Arguments) -> anyhow::Result<Outcome> {
    let Some(view) = project.view()? else {
        if let What::List { json } = options.what {
            return Ok(Outcome::printed(if json { "[]" } else { NONE }));
        }
        bail!("there is no backup yet: {} has no state", project.root()?.display());
    };
    match &options.what {
        What::List { json } => list(project, &view, *json),
        What::Show { backup, json } => show(project, &view, backup, *json),
        What::Diff { backup, other, json } => {
            let colour = !json && project.terminal().colour;
            let (from, old) = side(&view, backup)?;
            let (to, new) = side(&view, other)?;
            let text = compare((&from, &old), (&to, &new), colour);
            if *json {
                let value = json!({"from": from, "to": to, "diff": &*text});
                return print_json(&value);
            }
            Ok(Outcome::printed(if text.is_empty() { "no difference".into() } else { text }))
        }
        What::Restore { backup, dry_run } => restore(project, &view, backup, *dry_run),
    }
}

/// Newest first.
fn files(view: &View) -> Vec<String> {
    let mut names = view.names(&format!("state/{ROOM}"));
    names.retain(|name| name.starts_with("backup_"));
    names.reverse();
    names
}

fn find(view: &View, named: &str) -> anyhow::Result<(String, Backup)> {
    let files = files(view);
    if files.is_empty() {
        bail!("there is no backup yet; one is written before each compaction");
    }
    // A short number is a place in the list; a time has eight digits at least.
    let number = match named {
        "latest" => Some(1),
        _ => named.parse::<usize>().ok().filter(|_| named.len() < 8),
    };
    let file = match number {
        Some(n) => {
            let at = n.checked_sub(1).and_then(|n| files.get(n)).cloned();
            at.with_context(|| format!("there is no backup {n}; there are {}", files.len()))?
        }
        None => crate::console::project::one_of(named, &files, "backup", "backup_")?,
    };
    let backup = view.state().get_by::<Backup>(&file).cloned();
    let backup = backup.with_context(|| format!("{} cannot be read", Backup::doc(&file).path()))?;
    Ok((file, backup))
}

const COLUMNS: [(&str, u8); 6] =
    [("BACKUP", 0), ("WHEN", 0), ("SESSION", 1), ("TOKENS", 2), ("REASON", 3), ("FILE", 4)];

fn list(project: &Project, view: &View, as_json: bool) -> anyhow::Result<Outcome> {
    let mut backups: Vec<(String, Backup)> = Vec::new();
    for file in files(view) {
        let backup = view.state().get_by::<Backup>(&file).cloned();
        let backup =
            backup.with_context(|| format!("{} cannot be read", Backup::doc(&file).path()))?;
        backups.push((file, backup));
    }
    if as_json {
        let list: Vec<Value> = backups
            .iter()
            .map(|(file, backup)| {
                json!({"file": file, "timestamp": backup.timestamp, "reason": backup.reason,
                    "session_id": backup.session_id, "context_tokens_before": backup.context_tokens_before})
            })
            .collect();
        return print_json(&list);
    }
    let rows: Vec<_> = backups
        .iter()
        .enumerate()
        .map(|(n, (file, backup))| {
            let tokens = backup.context_tokens_before;
            let tokens = tokens.map_or_else(String::new, short_count);
            let when = project.moment(&backup.timestamp);
            row![n + 1, when, short_id(&backup.session_id, &[]), tokens, backup.reason, file]
        })
        .collect();
    Ok(Outcome::printed(match rows.is_empty() {
        true => NONE.into(),
        false => project.print_rows(&COLUMNS, &rows).trimmed(),
    }))
}

fn show(project: &Project, view: &View, named: &str, as_json: bool) -> anyhow::Result<Outcome> {
    let (file, backup) = find(view, named)?;
    if as_json {
        return print_json(&backup);
    }
    let whole =
        if is_whole(&backup) { "" } else { " (it was changed since: the checksum differs)" };
    let mut out =
        format!("{file}{whole}\n{}  {}\n", project.date_and_time(&backup.timestamp), backup.reason);
    out.push_str(&format!("session: {}\n", backup.session_id));
    if let Some(tokens) = backup.context_tokens_before {
        out.push_str(&format!(
            "context: {tokens} tokens, {}\n",
            plural(backup.files_in_context.len(), "file")
        ));
    }
    for (name, text) in parts(&backup.preserved) {
        out.push_str(&format!("\n{name}\n{text}"));
    }
    Ok(Outcome::printed(out))
}

fn is_whole(backup: &Backup) -> bool {
    backup.checksum.is_empty() || backup.checksum == backup.checksum()
}

/// A backup's name and contents, or what there is now.
fn side(view: &View, named: &str) -> anyhow::Result<(String, Preserved)> {
    if named != "now" {
        return find(view, named).map(|(file, backup)| (file, backup.preserved));
    }
    // As they are in their files, so that nothing is lost in between.
    let value = |doc: Doc| {
        let bytes = view.bytes(&doc.below_claude()).ok().flatten();
        bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or(Value::Null)
    };
    let state = view.state();
    let markdown = state.get::<LoopStateText>();
    let now = Preserved {
        loop_state: markdown.map_or(Value::Null, |text| json!({"markdown": text.0})),
        work_queue: value(Queue::doc(&())),
        active_agents: value(Active::doc(&())),
        session: value(CurrentFile::doc(&())),
        ..Preserved::default()
    };
    Ok(("now".into(), now))
}

/// The parts of a snapshot as texts.
fn parts(preserved: &Preserved) -> Vec<(&'static str, String)> {
    let pretty = |value: &Value| match value {
        Value::Null => String::new(),
        value => serde_json::to_string_pretty(value).unwrap_or_default() + "\n",
    };
    let all = vec![
        ("loop_state", markdown(preserved).unwrap_or_default().to_owned()),
        ("work_queue", pretty(&preserved.work_queue)),
        ("active_agents", pretty(&preserved.active_agents)),
        ("session", pretty(&preserved.session)),
    ];
    all.into_iter().filter(|(_, text)| !text.is_empty()).collect()
}

fn markdown(preserved: &Preserved) -> Option<&str> {
    preserved.loop_state.get("markdown").and_then(Value::as_str)
}

fn compare(old: (&str, &Preserved), new: (&str, &Preserved), colour: bool) -> Printed {
    let (before, after) = (parts(old.1), parts(new.1));
    let text = |parts: &[(&str, String)], name: &str| {
        parts.iter().find(|(part, _)| *part == name).map(|(_, text)| text.clone())
    };
    let mut out = Printed::default();
    for name in ["loop_state", "work_queue", "active_agents", "session"] {
        let (before, after) = (text(&before, name), text(&after, name));
        let (from, to) = (format!("{name} ({})", old.0), format!("{name} ({})", new.0));
        let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
        out.push(diff::unified(&before, &after, &from, &to, colour));
    }
    out
}

/// Sessions and agents are facts about processes: they cannot be brought back, the loop can.
fn restore(project: &Project, view: &View, named: &str, dry: bool) -> anyhow::Result<Outcome> {
    let (file, backup) = find(view, named)?;
    if !is_whole(&backup) {
        bail!(
            ".claude/state/{ROOM}/{file}: it was changed since it was written (the checksum differs)"
        );
    }
    let preserved = Preserved {
        work_queue: backup.preserved.work_queue,
        loop_state: backup.preserved.loop_state,
        ..Preserved::default()
    };
    if parts(&preserved).is_empty() {
        bail!(".claude/state/{ROOM}/{file}: no loop and no work queue are in it");
    }
    if dry {
        let mut now = side(view, "now")?.1;
        (now.active_agents, now.session) = (Value::Null, Value::Null);
        let text = compare(("now", &now), (&file, &preserved), project.terminal().colour);
        return Ok(Outcome::printed(if text.is_empty() {
            "nothing would change".into()
        } else {
            text
        }));
    }
    let queue: Option<Queue> = match &preserved.work_queue {
        Value::Null => None,
        queue => Some(serde_json::from_value(queue.clone()).with_context(|| {
            format!(".claude/state/{ROOM}/{file}: its work queue cannot be used")
        })?),
    };
    project.change(|store, state| {
        let aside = store.set_aside(&["loop"], &[])?;
        // What is there may be unreadable: it is set aside, and gives way.
        if let Some(queue) = &queue {
            store.overwrite(&state.read::<Queue>(&()).write(queue))?;
        }
        if let Some(text) = markdown(&preserved) {
            let text = LoopStateText(text.to_owned());
            store.overwrite(&state.read::<LoopStateText>(&()).write(&text))?;
        }
        let written = store.written();
        let wrote = written.iter().map(|name| format!(".claude/state/{name}"));
        Ok(Outcome::printed(format!(
            "Restored {} from {file}. What was there is in {}",
            wrote.collect::<Vec<_>>().join(" and "),
            project.shown(&aside)
        )))
    })
}
