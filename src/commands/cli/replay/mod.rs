//! `hookkeeper replay`: payloads once more, on a copy of the state, with all that they did. The
//! program is started as the client would, with `HOOKKEEPER_STATE_ROOT` naming the directory whose
//! `.claude` has the copy; everything else (git, transcripts, paths) is the project's own.

pub mod input;
pub mod tree;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use serde_json::{Value, json};

use crate::console::project::Project;
use crate::core::gate::{Printed, one_line};
use crate::core::outcome::Outcome;
use crate::core::text::plural;
use crate::process::child::{self, Ended};
use crate::process::lines::Lines;
use crate::process::signals::Signals;
use crate::session::record::lives;
use crate::state::Source as _;
use crate::store::dir::Dir;
use crate::store::home;
use crate::store::journal;
use crate::store::scratch::Scratch;
use crate::store::untrusted;
use crate::store::untrusted::Chosen;
use crate::store::view::View;
use crate::turn::root::STATE_ROOT;
use input::{Input, Inputs};
use tree::Tree;

const LIMIT: Duration = Duration::from_secs(10);
/// Entries that are no payloads are named up to here.
const MOST_LISTED: usize = 50;

#[derive(clap::Args)]
pub struct Arguments {
    /// Payloads: files (one JSON object, one per line, or a list), directories of them, `-` for stdin
    #[arg(required = true, value_name = "FILES")]
    files: Vec<PathBuf>,
    /// Play them on the project's own state, not on a copy
    #[arg(long)]
    apply: bool,
    /// Begin with an empty state
    #[arg(long, conflicts_with = "apply")]
    fresh: bool,
    /// Leave the diffs out
    #[arg(long)]
    no_diff: bool,
    /// Print one JSON object per payload
    #[arg(long)]
    json: bool,
}

pub fn run(project: &Project, options: &Arguments) -> anyhow::Result<Outcome> {
    let Inputs { payloads: inputs, bad } = input::read(project.process, &options.files)?;
    let root = project.root()?;
    // Told to end, it ends after the payload at hand, and the copy goes with it: from before there is
    // a copy on.
    let signals = Signals::noted()?;
    let id = project.process.fresh_id("replay");
    let scratch = Scratch::new(&project.process.temp_dir(), "replay", &id)
        .context("there is no place for a copy of the state")?;
    if !options.apply && !options.fresh {
        copy(&root, project.process.home().as_deref(), scratch.dir())?;
    }
    let state_root = if options.apply { root.as_path() } else { scratch.path() };
    let program = project.process.program().context("this program's own file cannot be found")?;
    let home = project.process.home();
    let home = home.as_deref();
    let player = Player { program, root: &root, state_root, home, on_copy: !options.apply };
    let lines = Lines::default();
    let mut failed = 0;
    let mut before = Tree::read(state_root, home);
    let colour = project.terminal().colour;
    for (n, input) in inputs.iter().enumerate() {
        if signals.say_end() {
            anyhow::bail!("interrupted after {} of {}", n, plural(inputs.len(), "payload"));
        }
        let ended = player.play(input)?;
        let after = Tree::read(state_root, home);
        failed += usize::from(ended.code != Some(0));
        let changes = before.changes(&after);
        let text = match options.json {
            true => as_json(input, &ended, &changes),
            false => {
                let title = format!("{}/{} {}", n + 1, inputs.len(), input.title());
                as_text(&title, &ended, if options.no_diff { &[] } else { &changes }, colour)
            }
        };
        // Each as it comes: a long replay shows where it is. Nobody listens any more: enough.
        if lines.print(&text).is_err() {
            return Ok(Outcome { stdout: None, stderr: None, code: 1 });
        }
        before = after;
    }
    let stdout = (!options.json).then(|| summary(inputs.len(), failed, options.apply).into());
    let is_bad = failed > 0 || !bad.is_empty();
    Ok(Outcome { stdout, stderr: list(&bad), code: u8::from(is_bad) })
}

/// What could not be played, for the end.
fn list(bad: &[String]) -> Option<Printed> {
    if bad.is_empty() {
        return None;
    }
    let mut lines: Vec<&str> = bad.iter().take(MOST_LISTED).map(String::as_str).collect();
    let more = bad.len().saturating_sub(MOST_LISTED);
    let more = format!("and {more} more");
    if bad.len() > MOST_LISTED {
        lines.push(&more);
    }
    Some(lines.join("\n").into())
}

/// Starts the program as the client would.
struct Player<'a> {
    program: PathBuf,
    root: &'a Path,
    state_root: &'a Path,
    home: Option<&'a Path>,
    on_copy: bool,
}

impl Player<'_> {
    fn play(&self, input: &Input) -> anyhow::Result<Ended> {
        let (root, state_root) = (self.root.to_string_lossy(), self.state_root.to_string_lossy());
        // A live session keeps its client: it would look abandoned under our number.
        let client = self.client(&input.session_id);
        child::run(&child::Run {
            program: &self.program,
            args: &["hook".as_ref()],
            dir: Some(self.root),
            env: &[
                ("CLAUDE_PROJECT_DIR", Some(&root)),
                (STATE_ROOT, self.on_copy.then_some(&*state_root)),
                ("CLAUDE_PID", client.as_deref()),
                ("HOOKKEEPER_OFF", None),
            ],
            input: child::Input::Bytes(format!("{}\n", input.payload).as_bytes()),
            limit: LIMIT,
        })
        .with_context(|| format!("{}: it cannot be started", self.program.display()))
    }

    fn client(&self, session_id: &str) -> Option<String> {
        let lives = lives(&View::open(self.state_root, self.home).ok()??);
        let live = lives.into_iter().find(|live| live.session_id == session_id)?;
        Some(live.client.pid.to_string())
    }
}

/// The state into the scratch project: what hooks read and write, and nothing else of `.claude`.
fn copy(root: &Path, home: Option<&Path>, to: &Dir) -> anyhow::Result<()> {
    let Some(view) = View::open(root, home)? else { return Ok(()) };
    let place = to.make(".claude")?;
    for folder in tree::OURS {
        let Some(from) = view.folder(folder) else { continue };
        let to = place.make(folder)?;
        // What was put away is of no use to a hook.
        let stays =
            ["settings", "set-aside", "quarantine", "rejected", "recorded", "log", journal::FOLDER];
        let stays =
            |name: &str| folder == "state" && (stays.contains(&name) || untrusted::is_room(name));
        for name in view.names(folder).iter().filter(|name| !stays(name)) {
            from.copy_item(name, &to)?;
        }
    }
    for file in tree::FILES.iter().filter(|file| view.believes(file)) {
        if let Some(claude) = view.folder("") {
            claude.copy_item(file, &place)?;
        }
    }
    // The copy is as much this machine's as what it is a copy of.
    home::take_up(to.path(), None, &Chosen(&[]))?;
    Ok(())
}

fn as_text(title: &str, ended: &Ended, changes: &[tree::FileChange], colour: bool) -> Printed {
    let exit = ended.code.map_or_else(|| "killed".into(), |code| format!("exit {code}"));
    let title = format!("── {}", one_line(title));
    let mut out = if colour { Printed::painted("1", &title) } else { title.into() };
    out.push(format!("\n{exit}, {} µs\n", ended.micros));
    for (name, bytes) in [("reply", &ended.stdout), ("stderr", &ended.stderr)] {
        let text = String::from_utf8_lossy(bytes);
        if !text.trim().is_empty() {
            out.push(format!("{name}: {}\n", text.trim()));
        }
    }
    for change in changes {
        out.push(change.diff(colour));
    }
    out.push("\n");
    out
}

fn as_json(input: &Input, ended: &Ended, changes: &[tree::FileChange]) -> Printed {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    let reply = text(&ended.stdout);
    let changes: Vec<Value> = changes
        .iter()
        .map(|change| json!({"file": change.file, "diff": &*change.diff(false)}))
        .collect();
    let line = json!({
        "source": input.source,
        "event": input.event,
        "session_id": input.session_id,
        "exit": ended.code,
        "micros": ended.micros,
        "reply": serde_json::from_str(&reply).unwrap_or(Value::String(reply)),
        "stderr": text(&ended.stderr),
        "changes": changes,
    });
    Printed::json_line(&line)
}

fn summary(played: usize, failed: usize, applied: bool) -> String {
    let place = match applied {
        true => "on the project's own state",
        false => "on a copy; the state is as it was",
    };
    let failed = if failed == 0 { String::new() } else { format!(", {failed} failed") };
    format!("{} played {place}{failed}\n", plural(played, "payload"))
}
