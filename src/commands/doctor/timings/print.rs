//! `doctor --timings` for people and for programs: the table of the hook runs that are noted in
//! the transcripts.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::client::hook_runs;
use crate::core::gate::Printed;
use crate::core::text::{clip, plural};
use crate::doctor::gather::transcripts_dir;
use crate::doctor::timings::{TimingRow, Timings, tabulate};
use crate::process::Process;
use crate::session::record::lives;
use crate::store::view::View;
use crate::turn::root::shown;

/// Weeks of work; more would be history.
const NEWEST: usize = 200;

/// `local` spells a time as people read it.
pub fn render(
    process: &Process,
    root: &Path,
    as_json: bool,
    local: &dyn Fn(&str) -> String,
) -> Printed {
    let home = process.home();
    let dir = process.client_dir().map(|dir| transcripts_dir(&dir, root));
    let transcripts = newest_transcripts(dir.as_deref(), root, home.as_deref());
    let runs: Vec<_> = transcripts.iter().flat_map(|path| hook_runs::read(path)).collect();
    let table = tabulate(&runs);
    if as_json {
        return render_json(dir.as_deref(), transcripts.len(), &table);
    }
    let place = match &dir {
        Some(dir) => shown(dir, root, home.as_deref()),
        None => "no directory: there is no home".into(),
    };
    if runs.is_empty() {
        return format!(
            "No hook runs are noted: looked at {} in {place}.",
            plural(transcripts.len(), "transcript")
        )
        .into();
    }
    let span = table.span.as_ref().map(|(from, to)| format!(", {} to {}", local(from), local(to)));
    render_text(&place, transcripts.len(), &table, &span.unwrap_or_default()).into()
}

/// The project's, and those of live sessions wherever they are; the newest ones.
fn newest_transcripts(dir: Option<&Path>, root: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let mut found = dir.and_then(|dir| hook_runs::transcripts(dir).ok()).unwrap_or_default();
    let lives = View::open(root, home).ok().flatten().map(|view| lives(&view)).unwrap_or_default();
    for transcript in lives.iter().filter_map(|live| live.transcript_path.as_deref()) {
        found.extend(hook_runs::of_session(Path::new(transcript)));
    }
    found.sort_by(|a, b| b.cmp(a));
    found.dedup_by(|a, b| a.1 == b.1);
    found.into_iter().take(NEWEST).map(|(_, path)| path).collect()
}

fn render_text(place: &str, transcripts: usize, table: &Timings, span: &str) -> String {
    let head = ["event", "runs", "p50", "p95", "max", "failed", "timed out", "command"];
    let mut rows = vec![head.map(str::to_owned)];
    rows.extend(table.commands.iter().map(|row| cells(row, true)));
    let mut out = aligned(&rows);
    let mut rows = vec![
        ["all commands", "runs", "p50", "p95", "max", "failed", "timed out", ""].map(str::to_owned),
    ];
    rows.extend(table.events.iter().map(|row| cells(row, false)));
    out += "\n";
    out += &aligned(&rows);
    out + &format!(
        "\nTimes in milliseconds, as the client measured them. `*`: HookKeeper.\n\
         From {} in {place}{span}. The client does not note every run that says nothing.",
        plural(transcripts, "transcript")
    )
}

fn cells(row: &TimingRow, with_command: bool) -> [String; 8] {
    let millis = |value: Option<u64>| value.map_or("-".into(), |value| value.to_string());
    let mark = if row.ours { "* " } else { "  " };
    let command = match (&row.command, with_command) {
        (Some(command), true) => format!("{mark}{}", clip(command, 80)),
        _ => String::new(),
    };
    [
        clip(&row.event, 40),
        row.count.to_string(),
        millis(row.p50),
        millis(row.p95),
        millis(row.max),
        row.failures.to_string(),
        row.timeouts.to_string(),
        command,
    ]
}

/// Columns as wide as their widest cell; numbers to the right, which a list of texts cannot do.
fn aligned(rows: &[[String; 8]]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let mut out = String::new();
    for row in rows {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let width = width(column);
            line += &match column {
                0 => format!("{cell:<width$}"),
                7 => format!("  {cell}"),
                _ => format!("  {cell:>width$}"),
            };
        }
        out += line.trim_end();
        out += "\n";
    }
    out
}

fn render_json(dir: Option<&Path>, transcripts: usize, table: &Timings) -> Printed {
    let row = |row: &TimingRow| {
        let mut value = json!({
            "event": row.event,
            "count": row.count,
            "p50_ms": row.p50,
            "p95_ms": row.p95,
            "max_ms": row.max,
            "failures": row.failures,
            "timeouts": row.timeouts,
            "blocked": row.blocked,
        });
        if let (Some(command), Some(fields)) = (&row.command, value.as_object_mut()) {
            fields.insert("command".into(), json!(command));
            fields.insert("ours".into(), json!(row.ours));
        }
        value
    };
    let report = json!({
        "looked_in": dir,
        "transcripts": transcripts,
        "from": table.span.as_ref().map(|(from, _)| from),
        "to": table.span.as_ref().map(|(_, to)| to),
        "commands": table.commands.iter().map(row).collect::<Vec<_>>(),
        "events": table.events.iter().map(row).collect::<Vec<_>>(),
    });
    Printed::json(&report).unwrap_or_default()
}
