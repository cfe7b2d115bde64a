//! Plays the steps of a recording: each payload through the program itself, as the client would start
//! it, each command of the model as the model's shell would.
//!
//! It knows when a step is due. All that is started has `HOME` and `CLAUDE_CONFIG_DIR` in the
//! scratch directory.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;

use crate::cli::demo::recording::{Places, Recording, Step};
use crate::cli::demo::stage::Stage;
use crate::core::time::{self, Time};
use crate::process::child::{self, Ended};
use crate::process::{FIXED_TIME, Process, RUNNING};
use crate::turn::root::STATE_ROOT;

const LIMIT: Duration = Duration::from_secs(20);
/// How long the demo takes where somebody watches.
const LENGTH: Duration = Duration::from_secs(22);
/// So often it is asked whether to go on.
const SLICE: Duration = Duration::from_millis(50);

/// How fast, and at which time it begins, so that it ends now.
#[derive(Clone, Copy)]
pub struct Pace {
    pub begins: Time,
    /// How many times as fast as it was recorded.
    pub speed: u32,
    waits: bool,
}

/// How far it came.
#[derive(Default)]
pub struct Played {
    pub steps: usize,
    /// Hooks that did not end well, in words.
    pub failed: Vec<String>,
    /// Nobody reads what is printed any more.
    pub unheard: bool,
}

pub struct Player<'a> {
    process: &'a Process,
    stage: &'a Stage,
    recording: &'a Recording,
    program: PathBuf,
    places: Places,
    pub pace: Pace,
}

impl Pace {
    pub fn new(recording: &Recording, now: Time, fast: bool) -> Self {
        let length = recording.length();
        let speed = length.as_secs().div_ceil(LENGTH.as_secs()).max(1);
        let speed = u32::try_from(speed).unwrap_or(u32::MAX);
        let shown = if fast { Duration::ZERO } else { length / speed };
        let before = chrono::TimeDelta::from_std(length.saturating_sub(shown)).unwrap_or_default();
        Self { begins: now - before, speed, waits: !fast }
    }

    fn moment(&self, at: Duration) -> Time {
        self.begins + at
    }
}

impl<'a> Player<'a> {
    pub fn new(
        process: &'a Process,
        stage: &'a Stage,
        recording: &'a Recording,
        pace: Pace,
    ) -> anyhow::Result<Self> {
        let program = process.program().context("this program's own file cannot be found")?;
        let session = process.fresh_id("session");
        let text = |path: PathBuf| path.to_string_lossy().into_owned();
        let places = Places {
            begins: pace.begins,
            project: text(stage.project()),
            client: text(stage.client()),
            transcript: text(stage.transcripts().join(&session)),
            session,
            program: text(program.clone()),
        };
        Ok(Self { process, stage, recording, program, places, pace })
    }

    pub fn session_id(&self) -> &str {
        &self.places.session
    }

    /// All steps, each when its time has come. `wait` and `after` say whether to go on.
    pub fn play(
        &self,
        mut wait: impl FnMut(Duration) -> bool,
        mut after: impl FnMut(&Step) -> bool,
    ) -> anyhow::Result<Played> {
        let began = self.process.elapsed();
        let mut played = Played::default();
        for (at, line) in &self.recording.steps {
            let due = if self.pace.waits { *at / self.pace.speed } else { Duration::ZERO };
            let left = || due.saturating_sub(self.process.elapsed().saturating_sub(began));
            while !left().is_zero() {
                if !wait(left().min(SLICE)) {
                    return Ok(played);
                }
            }
            let step = Step::fill_in(line, &self.places)?;
            self.take(&step, *at, &mut played)?;
            played.steps += 1;
            if !after(&step) {
                return Ok(played);
            }
        }
        Ok(played)
    }

    fn take(&self, step: &Step, at: Duration, played: &mut Played) -> anyhow::Result<()> {
        if let Some(path) = &step.write {
            self.stage.write(path, &step.text)?;
        }
        if let (Some(path), Some(line)) = (&step.append, &step.line) {
            self.stage.append(path, line.get())?;
        }
        if let Some(arguments) = &step.run {
            let arguments: Vec<&OsStr> = arguments.iter().map(OsStr::new).collect();
            self.start(&arguments, at, child::Input::Nothing, self.session_id())?;
        }
        if let Some(payload) = &step.hook {
            let payload = format!("{}\n", payload.get());
            let input = child::Input::Bytes(payload.as_bytes());
            let ended = self.start(&["hook".as_ref()], at, input, "")?;
            if ended.code != Some(0) {
                played.failed.push(String::from_utf8_lossy(&ended.stderr).trim().to_owned());
            }
        }
        Ok(())
    }

    /// Starts the program as the client would, or as the model's shell: that one knows its session.
    /// Nothing of the user's own client is seen.
    fn start(
        &self,
        args: &[&OsStr],
        at: Duration,
        input: child::Input,
        session_id: &str,
    ) -> anyhow::Result<Ended> {
        let clock = format!("{RUNNING}{}", time::spell_millis(self.pace.moment(at)));
        let pid = self.process.pid().to_string();
        let top = self.stage.top().to_string_lossy();
        child::run(&child::Run {
            program: &self.program,
            args,
            dir: Some(&self.stage.project()),
            env: &[
                ("HOME", Some(&top)),
                ("CLAUDE_CONFIG_DIR", Some(&self.places.client)),
                ("CLAUDE_PROJECT_DIR", Some(&self.places.project)),
                ("CLAUDE_CODE_SESSION_ID", Some(session_id).filter(|id| !id.is_empty())),
                ("CLAUDECODE", Some("1").filter(|_| !session_id.is_empty())),
                ("CLAUDE_PID", Some(&pid)),
                ("CLAUDE_CODE_STOP_HOOK_BLOCK_CAP", None),
                (STATE_ROOT, None),
                ("HOOKKEEPER_OFF", None),
                ("HOOKKEEPER_LOG", None),
                (FIXED_TIME, Some(&clock)),
            ],
            input,
            limit: LIMIT,
        })
        .with_context(|| format!("{} cannot be started", self.program.display()))
    }
}
