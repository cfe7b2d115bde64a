//! What a check says.

use crate::client::settings::scope::Scope;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Ok,
    /// Good to know; nothing has to be done.
    Note,
    /// It works, but not as well as it should.
    Warning,
    /// Something does not work.
    Error,
}

impl Level {
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// What `--fix` can do about it. Nothing here touches what is not ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fix {
    /// Our entries in a settings file, as they should be.
    Wiring(Scope),
    /// Events that wait for the lock.
    Spool,
    /// `.gitignore` in the state directory.
    Ignore,
}

#[derive(Clone, Debug)]
pub struct Finding {
    pub level: Level,
    /// One line; it names the file and, in a settings file, the line.
    pub message: String,
    /// What to do; empty if there is nothing to do.
    pub hint: String,
    pub fix: Option<Fix>,
    /// A time that stands in the message, in UTC: people read it in their own.
    pub time: Option<String>,
}

impl Finding {
    pub fn ok(message: impl Into<String>) -> Self {
        Self::new(Level::Ok, message, "")
    }

    pub fn note(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::new(Level::Note, message, hint)
    }

    pub fn warning(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::new(Level::Warning, message, hint)
    }

    pub fn error(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::new(Level::Error, message, hint)
    }

    pub fn fixed_by(self, fix: Fix) -> Self {
        Self { fix: Some(fix), ..self }
    }

    /// The message has this time in it.
    pub fn with_time(self, time: String) -> Self {
        Self { time: Some(time), ..self }
    }

    fn new(level: Level, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { level, message: message.into(), hint: hint.into(), fix: None, time: None }
    }
}

/// The problems, or that there are none.
pub fn or_ok(problems: Vec<Finding>, fine: impl FnOnce() -> String) -> Vec<Finding> {
    if problems.is_empty() { vec![Finding::ok(fine())] } else { problems }
}
