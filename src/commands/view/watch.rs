//! `status --watch`: on a terminal a screen that is drawn again and again, elsewhere what has
//! changed, as text or as JSON. Both end when they are told to, with the exit code 0.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;

use crate::console::project::Project;
use crate::console::screen::Screen;
use crate::core::gate::Printed;
use crate::core::journal::Entry;
use crate::core::time;
use crate::process::lines::{Heard, Lines};
use crate::process::signals::Signals;
use crate::store::journal::Journal;
use crate::store::view::View;
use crate::view::controls::{Action, Controls};
use crate::view::detail::{self, Line};
use crate::view::overview::Observed;
use crate::view::picture::{self, Scene};
use crate::view::spent::Spent;
use crate::view::text;
use crate::view::{board, notes};

/// More than the largest screen shows.
const RUNS: usize = 100;
const NO_TERMINAL: &str = "the terminal cannot be used";

/// The project that is watched.
struct Watcher<'a> {
    project: &'a Project<'a>,
    root: PathBuf,
    home: Option<PathBuf>,
    place: String,
    interval: Duration,
    all: bool,
}

/// What one look found.
struct Look {
    seen: Observed,
    /// The last hook runs.
    log: Vec<Entry>,
    spent: Option<String>,
    detail: Vec<Line>,
}

pub fn run(project: &Project, interval: Duration, json: bool, all: bool) -> anyhow::Result<()> {
    let (root, home) = (project.root()?, project.process.home());
    let place = text::place(&root, home.as_deref());
    let watched = Watcher { project, root, home, place, interval, all };
    match json || !has_screen(project) {
        true => watched.print(json),
        false => watched.draw(&|| false).context(NO_TERMINAL),
    }
}

/// Whether the view can be drawn, not only printed.
pub fn has_screen(project: &Project) -> bool {
    let terminal = project.terminal();
    terminal.is_terminal && !terminal.dumb
}

/// The live view on a terminal, under a title, until it is over or somebody leaves.
pub fn show_until(
    project: &Project,
    title: &str,
    interval: Duration,
    is_over: &dyn Fn() -> bool,
) -> anyhow::Result<()> {
    let (root, home, place) = (project.root()?, project.process.home(), title.to_owned());
    let watched = Watcher { project, root, home, place, interval, all: false };
    watched.draw(is_over).context(NO_TERMINAL)
}

impl Watcher<'_> {
    fn draw(&self, is_over: &dyn Fn() -> bool) -> io::Result<()> {
        let process = self.project.process;
        let colour = self.project.terminal().colour;
        let mut screen = Screen::open()?;
        let (mut controls, mut spent) = (Controls::default(), Spent::default());
        let (mut look, mut looked, mut most) =
            (self.look(&controls, &mut spent), process.elapsed(), 0);
        while !is_over() {
            let now = process.now();
            let clock = |spelled: &str| self.project.moment(spelled);
            let panels = match &look.seen {
                Observed::State(overview) => {
                    let mut all = overview.panels(now);
                    all.push(notes::hooks(&look.log, now, clock));
                    board::arrange_panels(all, &controls.filter)
                }
                Observed::NoState { .. } | Observed::Unreadable(_) => Vec::new(),
            };
            let scene = Scene {
                place: &self.place,
                clock: &process.local(now).format("%H:%M:%S").to_string(),
                spent: look.spent.as_deref(),
                seen: &look.seen,
                panels: &panels,
                controls: &controls,
                detail: &look.detail,
                colour,
            };
            screen.draw(|canvas| most = picture::draw(canvas, &scene))?;
            let waited = process.elapsed().saturating_sub(looked);
            let input = screen.input(self.interval.saturating_sub(waited))?;
            let due = match controls.press(input, &panels, most) {
                Action::Quit => return Ok(()),
                Action::Reload => true,
                Action::Nothing => process.elapsed().saturating_sub(looked) >= self.interval,
            };
            if due {
                look = self.look(&controls, &mut spent);
                looked = process.elapsed();
            }
        }
        Ok(())
    }

    fn look(&self, controls: &Controls, spent: &mut Spent) -> Look {
        let now = self.project.process.now();
        let seen = Observed::look(&self.root, self.home.as_deref(), self.all);
        let view = View::open(&self.root, self.home.as_deref()).ok().flatten();
        let journal = view.as_ref().map(View::journal);
        let runs =
            |journal: &Journal| journal.newest_first().filter(Entry::is_run).take(RUNS).collect();
        let open = controls.detail.as_ref();
        let clock = |spelled: &str| self.project.moment(spelled);
        let detail = open.map(|open| detail::lines(open, journal.as_ref(), clock));
        Look {
            seen,
            log: journal.as_ref().map(runs).unwrap_or_default(),
            spent: view.as_ref().and_then(|view| spent.line(view, now)),
            detail: detail.unwrap_or_default(),
        }
    }

    /// Every change, one after the other.
    fn print(&self, json: bool) -> anyhow::Result<()> {
        let signals = Signals::noted()?;
        let mut lines = Lines::default();
        let mut before = None;
        while !signals.say_end() {
            let now = self.project.process.now();
            let seen = Observed::look(&self.root, self.home.as_deref(), self.all);
            let after = (seen.due(now), Printed::json_line(&seen.json(&self.root)));
            let is_new = before.as_ref() != Some(&after);
            let text = match json {
                true => after.1.clone(),
                false => {
                    let look = self.project.style();
                    let mut text = Printed::from(format!(
                        "--- {}\n",
                        self.project.date_and_time(&time::spell(now))
                    ));
                    text.push(text::render(&seen, &self.place, now, look));
                    text
                }
            };
            // Who does not listen any more has heard enough.
            if is_new && lines.print(&text).is_err() {
                return Ok(());
            }
            before = Some(after);
            if lines.wait(self.interval) != Heard::Nothing {
                return Ok(());
            }
        }
        Ok(())
    }
}
