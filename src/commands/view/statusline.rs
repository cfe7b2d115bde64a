//! `hookkeeper statusline`: one line for Claude Code's status line. The client runs it up to three
//! times a second, so only what the line needs is read. It always prints a line and never an error:
//! the client would show that instead.

use std::path::{Path, PathBuf};

use unicode_width::UnicodeWidthStr;

use crate::agents::agent::Agent;
use crate::agents::synthesis::{ParkedSynthesis, Summary, Synthesis};
use crate::branch::document::BranchState;
use crate::branch::panels::is_quiet;
use crate::console::project::Project;
use crate::console::style::{ColourChoice, paint};
use crate::core::gate::Printed;
use crate::core::id::{BranchKey, TaskSlug};
use crate::core::json::Object;
use crate::core::outcome::Outcome;
use crate::core::spelling;
use crate::core::table::{Tone, clean, cut_to_width};
use crate::core::text::plural;
use crate::core::time::{self, Time};
use crate::errors::document::{ESCALATED, Errors, PENDING};
use crate::git::refs;
use crate::loops::autonomous::{self, document::Autonomous};
use crate::loops::iterative::{self, document::Task};
use crate::loops::queue::{self, document::Queue};
use crate::process::lines::stdin_is_terminal;
use crate::process::stdin::{self, Payload};
use crate::session::live::Live;
use crate::state::{Document, State};
use crate::store::view::View;
use crate::turn::root;

#[derive(clap::Args)]
pub struct Arguments {
    /// With colours: the client passes them on
    #[arg(long, value_name = "WHEN", num_args = 0..=1, default_missing_value = "always", default_value = "never", hide_default_value = true, hide_possible_values = true)]
    color: ColourChoice,
}

const MOST: usize = 120;
const BETWEEN: &str = " · ";

type Part = (Tone, String);

pub fn run(project: &Project, options: &Arguments) -> Outcome {
    let asked = Asked::read(project);
    let home = project.process.home();
    let view =
        asked.root.as_deref().and_then(|root| View::open_quickly(root, home.as_deref()).ok()?);
    let mark = view.as_ref().map_or(0, |view| view.settings().context_warning_percent);
    let context = asked.context.map(|percent| {
        let tone = if mark > 0 && percent >= mark { Tone::Warn } else { Tone::Dim };
        (tone, format!("context {percent} %"))
    });
    let ours = view
        .map(|view| status_parts(&view, asked.session.as_deref(), project.process.now()))
        .unwrap_or_default();
    let columns = project.process.env("COLUMNS").and_then(|columns| columns.parse().ok());
    let width = columns.filter(|columns| *columns > 0).unwrap_or(MOST).min(MOST);
    let [model, cost] = [&asked.model, &asked.cost].map(|text| Some((Tone::Dim, text.clone()?)));
    let all = |model: Option<Part>, cost: Option<Part>| {
        let named = std::iter::once((Tone::Strong, asked.name()));
        let known = [model, context.clone(), cost].into_iter().flatten();
        named.chain(known).chain(ours.iter().cloned()).collect::<Vec<Part>>()
    };
    // Before anything of ours is cut, what the client shows elsewhere too is left out.
    let tries = [all(model, cost.clone()), all(None, cost), all(None, None)];
    let [.., least] = &tries;
    let parts = tries.iter().find(|parts| whole_width(parts) <= width).unwrap_or(least);
    Outcome::printed(line(parts, width, options.color == ColourChoice::Always))
}

fn whole_width(parts: &[Part]) -> usize {
    let texts: usize = parts.iter().map(|(_, text)| clean(text).width()).sum();
    texts + parts.len().saturating_sub(1) * BETWEEN.width()
}

/// What the client's object says. All of it is optional.
struct Asked {
    root: Option<PathBuf>,
    /// Where the client works now: in a worktree the branch is that one's.
    dir: Option<PathBuf>,
    session: Option<String>,
    model: Option<String>,
    /// How full the context is, in percent.
    context: Option<u64>,
    cost: Option<String>,
}

impl Asked {
    fn read(project: &Project) -> Self {
        let bytes = match stdin_is_terminal() {
            true => Vec::new(),
            false => match stdin::read() {
                Payload::Whole(bytes) | Payload::Refused(bytes, _) => bytes,
            },
        };
        let object = Object::parse(&bytes).unwrap_or_default();
        let workspace = object.object("workspace").unwrap_or_default();
        let absolute = |path: Option<String>| path.map(PathBuf::from).filter(|p| p.is_absolute());
        let dir = absolute(workspace.word("current_dir")).or_else(|| absolute(object.word("cwd")));
        let named = absolute(workspace.word("project_dir")).filter(|_| project.named.is_none());
        let above = || {
            let dir = dir.as_deref().filter(|_| project.named.is_none())?;
            root::above(project.process, dir)
        };
        let root = named.or_else(above).or_else(|| project.root().ok());
        let session = object.word("session_id");
        let session = session.or_else(|| project.process.env("CLAUDE_CODE_SESSION_ID"));
        let (model, context, cost) = (model(&object), context_percent(&object), cost(&object));
        Self { dir: dir.or_else(|| root.clone()), root, session, model, context, cost }
    }

    /// The project's name and its branch.
    fn name(&self) -> String {
        let name = self.root.as_deref().and_then(Path::file_name);
        let name = name.map_or_else(|| "/".into(), |name| name.to_string_lossy());
        // Only a branch has a name here. One without a commit is none yet, as everywhere.
        let git = self.dir.as_deref().map(refs::read).unwrap_or_default();
        let branch = git.branch.is_some().then(|| refs::branch_name(&git));
        let branch = branch.map(|branch| format!(" {}", cut_to_width(&clean(&branch), 40)));
        cut_to_width(&clean(&name), 40) + &branch.unwrap_or_default()
    }
}

/// As the client names it to people; older clients gave the name alone.
fn model(object: &Object) -> Option<String> {
    let model = object.object("model").unwrap_or_default();
    let name = model.word("display_name").or_else(|| model.word("id"));
    Some(cut_to_width(&clean(&name.or_else(|| object.word("model"))?), 30))
}

/// How full the context is: as the client says it, or from what it says of the window.
fn context_percent(object: &Object) -> Option<u64> {
    let window = object.object("context_window")?;
    let left = || Some(100.0 - window.float("remaining_percentage")?);
    let counted = || {
        let usage = window.object("current_usage")?;
        let tokens = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"];
        let used: u64 = tokens.iter().filter_map(|key| usage.number(key)).sum();
        let size = window.number("context_window_size").filter(|size| *size > 0)?;
        Some(used as f64 * 100.0 / size as f64)
    };
    let percent = window.float("used_percentage").or_else(left).or_else(counted)?;
    (0.0..1000.0).contains(&percent).then(|| percent.round() as u64)
}

/// `$1.23`: what the session has cost until now.
fn cost(object: &Object) -> Option<String> {
    let dollars = object.object("cost")?.float("total_cost_usd")?;
    (0.0..1e7).contains(&dollars).then(|| spelling::dollars(dollars))
}

fn status_parts(view: &View, session: Option<&str>, now: Time) -> Vec<Part> {
    let state = &view.state();
    let records = Live::ROWS.first().map_or(0, |row| state.list(row).len());
    let own = session.and_then(|id| state.get_by::<Live>(id));
    let lives: Vec<&Live> = match own {
        Some(own) => vec![own],
        None => state.all::<Live>().collect(),
    };
    let mut parts = Vec::new();
    parts.extend(agents(view, &lives, now));
    parts.extend(errors(state, &lives));
    parts.extend(findings(state, &lives));
    let running = state.get::<Queue>().filter(|queue| queue.is_running());
    parts.extend(
        running.and_then(queue::panel::progress).map(|says| (Tone::Good, format!("loop {says}"))),
    );
    let phases = state.get::<Autonomous>().filter(|state| state.is_running());
    parts.extend(phases.map(|state| {
        let tone = if state.awaiting_approval { Tone::Warn } else { Tone::Good };
        (tone, format!("autonomous {}", autonomous::panel::progress(state)))
    }));
    parts.extend(lives.iter().filter_map(|live| branch_loop(state, live)));
    parts.extend(lives.iter().filter_map(|live| task(state, live)));
    parts.extend(sessions(state, own, records));
    parts
}

/// `waits for your permission`, `+2 sessions, 1 waits for you`
fn sessions(state: &State, own: Option<&Live>, records: usize) -> Vec<Part> {
    let waiting = own.and_then(|own| own.waiting.as_ref());
    let mut parts: Vec<Part> = Vec::new();
    parts.extend(waiting.map(|waiting| (Tone::Warn, format!("waits for {}", waiting.awaits()))));
    let (count, others) = match own {
        Some(_) => (format!("+{}", plural(records.saturating_sub(1), "session")), records > 1),
        None => (plural(records, "session"), records > 0),
    };
    if !others {
        return parts;
    }
    let is_other = |live: &&Live| own.is_none_or(|own| own.session_id != live.session_id);
    let others = state.all::<Live>().filter(is_other);
    parts.push(match others.filter(|live| live.waiting.is_some()).count() {
        // One session is the one that is meant.
        0 if records == 1 => return parts,
        0 => (Tone::Dim, count),
        1 => (Tone::Warn, format!("{count}, 1 waits for you")),
        more => (Tone::Warn, format!("{count}, {more} wait for you")),
    });
    parts
}

/// `branch loop 3/20`
fn branch_loop(state: &State, live: &Live) -> Option<Part> {
    let key = BranchKey::known(live.loop_branch.as_deref()?)?;
    let the_loop = state.get_by::<BranchState>(&key)?.running()?;
    let says = format!("branch loop {}/{}", the_loop.iteration, the_loop.max_iterations);
    Some((Tone::Good, says))
}

/// `user-auth 1/3 units`
fn task(state: &State, live: &Live) -> Option<Part> {
    let slug = TaskSlug::known(live.loop_task.as_deref()?)?;
    let task = state.get_by::<Task>(&slug).filter(|task| task.is_open())?;
    Some((Tone::Good, format!("{slug} {}", iterative::panel::progress(task))))
}

/// `2 agents (oldest 3m 10s, 1 quiet)`
fn agents(view: &View, lives: &[&Live], now: Time) -> Option<Part> {
    let running: Vec<&Agent> = lives.iter().flat_map(|live| &live.agents).collect();
    let oldest = running.iter().map(|agent| agent.started.as_str()).min()?;
    let after = view.settings().stuck_after_minutes;
    let quiet =
        running.iter().filter(|agent| is_quiet(agent, lives.iter().copied(), after, now)).count();
    let (tone, also) = match quiet {
        0 => (Tone::Plain, String::new()),
        quiet => (Tone::Warn, format!(", {quiet} quiet")),
    };
    let age = match time::age(oldest, now) {
        u64::MAX => "?".into(),
        age => time::human(age),
    };
    Some((tone, format!("{} (oldest {age}{also})", plural(running.len(), "agent"))))
}

/// `1 error to retry`, `2 errors escalated`
fn errors(state: &State, lives: &[&Live]) -> Vec<Part> {
    if lives.iter().all(|live| live.errors_encountered <= live.errors_recovered) {
        return Vec::new();
    }
    let Some(known) = state.get::<Errors>() else { return Vec::new() };
    let known = known.records();
    let of = |status: &str| {
        let own = |id: &String| lives.iter().any(|live| live.session_id == *id);
        let all = known.iter().filter(|record| own(&record.session_id));
        all.filter(|record| record.status == status).count()
    };
    let parts = [(PENDING, Tone::Warn, "to retry"), (ESCALATED, Tone::Bad, "escalated")];
    let parts = parts.map(|(status, tone, what)| (tone, of(status), what));
    let parts = parts.into_iter().filter(|(_, count, _)| *count > 0);
    parts.map(|(tone, count, what)| (tone, format!("{} {what}", plural(count, "error")))).collect()
}

/// `3 findings S0:1`
fn findings(state: &State, lives: &[&Live]) -> Option<Part> {
    let with = lives.iter().filter(|live| live.findings > 0);
    let mut sum = Summary::default();
    for live in with {
        let summary = &synthesis(state, &live.session_id)?.summary;
        sum.total += summary.total;
        sum.s0 += summary.s0;
        sum.s1 += summary.s1;
    }
    if sum.total == 0 {
        return None;
    }
    let (tone, worst) = match (sum.s0, sum.s1) {
        (0, 0) => (Tone::Plain, String::new()),
        (0, s1) => (Tone::Warn, format!(" S1:{s1}")),
        (s0, _) => (Tone::Bad, format!(" S0:{s0}")),
    };
    Some((tone, plural(usize::try_from(sum.total).unwrap_or(usize::MAX), "finding") + &worst))
}

/// A session's synthesis: in its place, or parked while another session's is there.
fn synthesis<'s>(state: &'s State, session_id: &str) -> Option<&'s Synthesis> {
    let placed = state.get::<Synthesis>().filter(|synthesis| synthesis.session_id == session_id);
    placed.or_else(|| Some(&state.get_by::<ParkedSynthesis>(session_id)?.0))
}

/// The parts that fit, cut at the end.
fn line(parts: &[Part], width: usize, colour: bool) -> Printed {
    let mut left = width;
    let mut line = Printed::default();
    for (n, (tone, text)) in parts.iter().enumerate() {
        let between = if n == 0 { "" } else { BETWEEN };
        let Some(room) = left.checked_sub(between.width()).filter(|room| *room > 0) else { break };
        let text = cut_to_width(&clean(text), room);
        left = room - text.width();
        line.push(between);
        line.push(paint(*tone, &text, colour));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_never_wider_than_it_may_be() {
        let parts = vec![(Tone::Strong, "shop main".to_owned()), (Tone::Bad, "漢字".repeat(20))];
        for width in 1..=120 {
            assert!(line(&parts, width, false).width() <= width);
        }
        assert_eq!(&*line(&parts, 15, false), "shop main · 漢…");
        assert_eq!(&*line(&parts[..1], 120, true), "\u{1b}[1mshop main\u{1b}[0m");
    }
}
