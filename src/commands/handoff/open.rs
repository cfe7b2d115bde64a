//! `hookkeeper branch handoff list` and `close`: which hand-offs a branch has, and which are over.

use anyhow::bail;
use serde_json::{Value, json};

use crate::branch::folder::branch_key;
use crate::branch::folder::{find_key, handoff_folder};
use crate::commands::branch::standing;
use crate::console::project::{Project, print_json};
use crate::core::outcome::Outcome;
use crate::core::table::{clean, row};
use crate::core::time;
use crate::git::refs;
use crate::handoff::file::{CLOSED, HandoffFile};
use crate::handoff::folder::read_all;
use crate::handoff::folder::set_handoff_status;

#[derive(clap::Subcommand)]
pub enum Step {
    /// Which there are, and which of them are open
    #[command(after_help = "Example:\n  hookkeeper branch handoff list")]
    List {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Say that hand-offs are over: no session is told of them any more
    #[command(
        after_help = "Examples:\n  hookkeeper branch handoff close task-2026-01-29\n  hookkeeper branch handoff close --all"
    )]
    Close {
        /// Their names, as `list` prints them
        #[arg(value_name = "NAME", required_unless_present = "all")]
        names: Vec<String>,
        /// All that are open
        #[arg(long, conflicts_with = "names")]
        all: bool,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
}

pub fn run(project: &Project, step: &Step, named: Option<&str>) -> anyhow::Result<Outcome> {
    let branch = standing::name(project, named)?;
    match step {
        Step::List { json } => list(project, &branch, *json),
        Step::Close { names, all, json } => {
            let names = if *all { None } else { Some(names.as_slice()) };
            close(project, &branch, names, *json)
        }
    }
}

const COLUMNS: [(&str, u8); 4] = [("HAND-OFF", 0), ("STATUS", 1), ("AGE", 2), ("TITLE", 0)];

fn list(project: &Project, branch: &str, as_json: bool) -> anyhow::Result<Outcome> {
    let root = project.root()?;
    let found = match project.view()? {
        Some(view) => read_all(&view, &branch_key(&view, branch, &root)?),
        None => Vec::new(),
    };
    if as_json {
        let files: Vec<Value> = found.iter().map(as_value).collect();
        return print_json(&json!({"branch": branch, "handoffs": files}));
    }
    let now = project.process.now();
    let rows = found.iter().map(|file| {
        let age = time::parse(&file.timestamp).map(|_| time::age(&file.timestamp, now));
        let age = age.map(|age| format!("{} ago", time::human(age))).unwrap_or_default();
        row![clean(file.stem()), clean(&file.status), age, clean(title(file))]
    });
    Ok(Outcome::printed(match found.is_empty() {
        true => format!("Branch {branch} has no hand-offs.").into(),
        false => project.print_rows(&COLUMNS, &rows.collect::<Vec<_>>()).trimmed(),
    }))
}

fn title(file: &HandoffFile) -> &str {
    file.title.as_deref().unwrap_or_default()
}

fn as_value(file: &HandoffFile) -> Value {
    json!({
        "name": file.stem(), "file": file.name, "status": file.status, "open": file.is_open(),
        "timestamp": file.timestamp, "session": file.session, "title": file.title,
    })
}

/// Closes those that are named, or all that are open: each of them, or none.
fn close(
    project: &Project,
    branch: &str,
    names: Option<&[String]>,
    as_json: bool,
) -> anyhow::Result<Outcome> {
    let root = project.root()?;
    let closed = project.change(|store, _| {
        let key = find_key(store, branch, |owner| refs::has_branch(&root, owner))?;
        let found = read_all(store, &key);
        let wanted: Vec<&HandoffFile> = match names {
            None => found.iter().filter(|file| file.is_open()).collect(),
            Some(names) => {
                let names = names.iter().map(|name| find(&found, name, branch));
                names.collect::<anyhow::Result<_>>()?
            }
        };
        let mut closed: Vec<HandoffFile> = Vec::new();
        for file in wanted {
            if file.is_open() && !closed.contains(file) {
                set_handoff_status(store, &key, &file.name, CLOSED)?;
                closed.push(file.clone());
            }
        }
        Ok(closed.into_iter().map(|file| (handoff_folder(&key), file)).collect::<Vec<_>>())
    })?;
    if as_json {
        let files: Vec<&str> = closed.iter().map(|(_, file)| file.stem()).collect();
        return print_json(&json!({"branch": branch, "closed": files}));
    }
    let lines = closed.iter().map(|(folder, file)| {
        let title = file.title.as_deref().map(|title| format!(" ({})", clean(title)));
        format!("Closed: {folder}/{}{}", file.name, title.unwrap_or_default())
    });
    Ok(Outcome::printed(match closed.is_empty() {
        true => "Nothing was open.".to_owned(),
        false => lines.collect::<Vec<_>>().join("\n"),
    }))
}

/// The hand-off of a name, which may have its extension or its folder with it.
fn find<'a>(found: &'a [HandoffFile], name: &str, branch: &str) -> anyhow::Result<&'a HandoffFile> {
    let wanted = name.rsplit('/').next().unwrap_or(name);
    if let Some(file) = found.iter().find(|file| file.name == wanted || file.stem() == wanted) {
        return Ok(file);
    }
    let open = found.iter().filter(|file| file.is_open()).map(HandoffFile::stem);
    let open: Vec<&str> = open.collect();
    match open.is_empty() {
        true => bail!("branch {branch} has no hand-off {name}, and none is open"),
        false => bail!("branch {branch} has no hand-off {name}; open: {}", open.join(", ")),
    }
}
