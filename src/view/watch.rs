//! `status --watch`: on a terminal a screen that is drawn again and again, elsewhere what has
//! changed, as text or as JSON. Both end when they are told to, with the exit code 0.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;

use crate::console::project::Project;
use crate::console::screen::{Input, Screen};
use crate::core::gate::Printed;
use crate::core::journal::Entry;
use crate::core::time;
use crate::process::lines::{Heard, Lines};
use crate::process::signals::Signals;
use crate::store::journal::Journal;
use crate::store::view::View;
use crate::view::overview::Observed;
use crate::view::picture::{self, Scene};
use crate::view::text;

/// More than the largest screen shows.
const RUNS: usize = 100;
const PAGE: usize = 10;

/// The project that is watched.
struct Watcher<'a> {
    project: &'a Project<'a>,
    root: PathBuf,
    home: Option<PathBuf>,
    place: String,
    interval: Duration,
    all: bool,
}

pub fn run(project: &Project, interval: Duration, json: bool, all: bool) -> anyhow::Result<()> {
    let (root, home) = (project.root()?, project.process.home());
    let place = text::place(&root, home.as_deref());
    let watched = Watcher { project, root, home, place, interval, all };
    let terminal = project.terminal();
    if json || terminal.dumb || !terminal.is_terminal {
        return watched.print(json);
    }
    watched.draw().context("the terminal cannot be used")
}

impl Watcher<'_> {
    fn draw(&self) -> io::Result<()> {
        let colour = self.project.terminal().colour;
        let mut screen = Screen::open()?;
        let (mut seen, mut log) = self.look();
        let mut looked = self.project.process.elapsed();
        let (mut scroll, mut most, mut help) = (0_usize, 0, false);
        loop {
            let now = self.project.process.now();
            let (place, seen_now) = (&self.place, &seen);
            let scene = Scene { place, seen: seen_now, log: &log, now, colour, scroll, help };
            screen.draw(|frame| most = picture::draw(frame.buffer_mut(), &scene))?;
            scroll = scroll.min(most);
            let waited = self.project.process.elapsed().saturating_sub(looked);
            let mut due = false;
            match screen.input(self.interval.saturating_sub(waited))? {
                Input::Quit => return Ok(()),
                Input::Up => scroll = scroll.saturating_sub(1),
                Input::Down => scroll += 1,
                Input::PageUp => scroll = scroll.saturating_sub(PAGE),
                Input::PageDown => scroll += PAGE,
                Input::Top => scroll = 0,
                Input::Help => help = !help,
                Input::Reload => due = true,
                Input::Redraw | Input::Nothing => {}
            }
            scroll = scroll.min(most);
            if due || self.project.process.elapsed().saturating_sub(looked) >= self.interval {
                (seen, log) = self.look();
                looked = self.project.process.elapsed();
            }
        }
    }

    fn look(&self) -> (Observed, Vec<Entry>) {
        let seen = Observed::look(&self.root, self.home.as_deref(), self.all);
        let view = View::open(&self.root, self.home.as_deref()).ok().flatten();
        let journal = view.map(|view| view.journal());
        let runs =
            |journal: &Journal| journal.newest_first().filter(Entry::is_run).take(RUNS).collect();
        (seen, journal.as_ref().map(runs).unwrap_or_default())
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
