//! `hookkeeper demo`: a recorded session of the real client, played through the hooks into a
//! scratch project. Nothing else is needed, and nothing of the user's is touched.
//!
//! The session was recorded with a scripted model (`tests/client/record_demo.py`) and is compiled
//! in. A step is a payload for the hooks, a line of a transcript, a file that a tool wrote, or a
//! command of ours that the model ran. Transcripts are kept as far as something of ours reads them,
//! without the client's own prompts and lists of tools.
//!
//! The clock is moved, not frozen: `HOOKKEEPER_FIXED_TIME="from 2026-…"` gives a process a clock
//! that runs on from that moment. So times, ages and the report are those of five minutes that end
//! now, while ids and the times that hooks take are real. The view on the terminal is that of
//! `status --watch`, with a clock that runs as fast as the session is played
//! (`Process::with_clock`).

pub mod narrator;
pub mod player;
pub mod recording;
pub mod stage;
pub mod tally;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context as _;

use crate::console::project::Project;
use crate::core::gate::{Printed, shell_word};
use crate::core::outcome::Outcome;
use crate::core::text::plural;
use crate::core::time;
use crate::process::lines::{Heard, Lines};
use crate::process::signals::Signals;
use crate::view::watch;
use narrator::Narrator;
use player::{Pace, Played, Player};
use recording::Recording;
use stage::Stage;
use tally::Tally;

/// How often the view looks.
const INTERVAL: Duration = Duration::from_millis(250);
/// The last picture stays so long.
const LINGER: Duration = Duration::from_millis(1500);

#[derive(clap::Args)]
pub struct Arguments {
    /// Do not wait between events, and print a line for each: for pipes and tests
    #[arg(long)]
    fast: bool,
}

pub fn run(project: &Project, options: &Arguments) -> anyhow::Result<Outcome> {
    let process = project.process;
    let recording = Recording::shipped()?;
    let holder = match project.named {
        Some(_) => project.root()?,
        None => process.temp_dir(),
    };
    let mut stage = Stage::build(&holder, &process.fresh_id("demo"))
        .context("there is no place for a scratch project")?;
    let pace = Pace::new(&recording, process.now(), options.fast);
    let player = Player::new(process, &stage, &recording, pace)?;
    let played = match !options.fast && watch::has_screen(project) {
        true => show(project, &player, &stage, pace)?,
        false => narrate(project, &player, &stage)?,
    };
    if played.unheard {
        return Ok(Outcome { code: 1, ..Outcome::quiet() });
    }
    let session_id = player.session_id().to_owned();
    let tally = Tally::read(&stage, &session_id, process.now())?;
    let failed = played.failed.first().map(|first| {
        format!("{} failed; the first one: {first}", plural(played.failed.len(), "hook"))
    });
    stage.leave();
    let is_whole = played.steps == recording.steps.len();
    let length = time::human(recording.length().as_secs());
    let mut text = Printed::default();
    text.line(match is_whole {
        true => format!(
            "A session of {length} (real client, scripted model), played through the hooks:"
        ),
        false => "Stopped before the end. So far:".to_owned(),
    });
    tally.in_words().iter().for_each(|line| text.line(format!("  {line}")));
    text.push(farewell(project, &stage, &session_id));
    Ok(Outcome {
        stdout: Some(text),
        code: u8::from(failed.is_some()),
        stderr: failed.map(Into::into),
    })
}

/// The live view, by a clock that runs as fast as the session is played.
fn show(project: &Project, player: &Player, stage: &Stage, pace: Pace) -> anyhow::Result<Played> {
    let clock = project.process.with_clock(pace.begins, pace.speed);
    let root = stage.project();
    let scene = Project { process: &clock, named: Some(&root), ..*project };
    let title = format!("hookkeeper demo: a recorded session, {} times as fast", pace.speed);
    let (stop, over) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let playing = scope.spawn(|| {
            let wait = |patience| {
                std::thread::sleep(patience);
                !stop.load(Ordering::Relaxed)
            };
            let played = player.play(wait, |_| true);
            if !stop.load(Ordering::Relaxed) {
                std::thread::sleep(LINGER);
            }
            over.store(true, Ordering::Relaxed);
            played
        });
        let shown = watch::show_until(&scene, &title, INTERVAL, &|| over.load(Ordering::Relaxed));
        stop.store(true, Ordering::Relaxed);
        let played = playing.join().unwrap_or_else(|_| anyhow::bail!("the session was not played"));
        shown.and(played)
    })
}

/// Line by line, as the journal tells it.
fn narrate(project: &Project, player: &Player, stage: &Stage) -> anyhow::Result<Played> {
    let signals = Signals::noted()?;
    let mut lines = Lines::default();
    let mut narrator = Narrator::new(stage, player.pace.begins, project.style());
    let out = Lines::default();
    let wait = |patience| !signals.say_end() && lines.wait(patience) == Heard::Nothing;
    let mut unheard = false;
    let played = player.play(wait, |_| {
        let text = narrator.tell();
        unheard = !text.is_empty() && out.print(&text).is_err();
        !unheard && !signals.say_end()
    })?;
    Ok(Played { unheard, ..played })
}

/// Where to look, and how to be rid of it.
fn farewell(project: &Project, stage: &Stage, session_id: &str) -> Printed {
    let program = match project.process.on_path("hookkeeper") {
        Some(_) => "hookkeeper".to_owned(),
        None => shell_word(&project.process.program().unwrap_or_default().to_string_lossy()),
    };
    let dir = shell_word(&stage.project().to_string_lossy());
    let top = shell_word(&stage.top().to_string_lossy());
    let session: String = session_id.chars().take(8).collect();
    let mut text = Printed::default();
    text.push("\nLook at what it left:\n");
    for what in [&format!("sessions show {session}"), "report --open", "log", "status"] {
        text.line(format!("  {program} -C {dir} {what}"));
    }
    text.push("\nRemove it:\n");
    text.line(format!("  rm -r {top}"));
    text.push("\nFor your own sessions, in a project:\n");
    text.line(format!("  {program} install"));
    text
}
