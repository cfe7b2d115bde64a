//! `HOOKKEEPER_LOG=debug`: what tracing says is collected here and goes to `log/debug.log` at the
//! end, because the client shows a hook's stderr only when the hook fails. Nothing is set up
//! unless it is asked for.

use std::fmt::{self, Write};
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use crate::process::Process;

/// The lines so far.
#[derive(Clone, Default)]
pub struct Lines(Arc<Mutex<String>>);

impl Lines {
    pub fn drain(&self) -> String {
        self.0.lock().map(|mut lines| std::mem::take(&mut *lines)).unwrap_or_default()
    }
}

/// Starts to collect if `HOOKKEEPER_LOG` names a level.
pub fn start(process: &Process) -> Option<Lines> {
    let level: Level = process.env("HOOKKEEPER_LOG")?.parse().ok()?;
    let lines = Lines::default();
    tracing::subscriber::set_global_default(Collector { level, lines: lines.clone() }).ok()?;
    Some(lines)
}

struct Collector {
    level: Level,
    lines: Lines,
}

impl Subscriber for Collector {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= self.level
    }

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(format!("{:5}", event.metadata().level()));
        event.record(&mut line);
        if let Ok(mut lines) = self.lines.0.lock() {
            lines.push_str(&line.0);
            lines.push('\n');
        }
    }

    // No spans are used.
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let _ = match field.name() {
            "message" => write!(self.0, " {value:?}"),
            name => write!(self.0, " {name}={value:?}"),
        };
    }
}
