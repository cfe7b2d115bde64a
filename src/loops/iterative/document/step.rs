//! What became of a unit, as a line in the log.

use crate::loops::iterative::document::lifecycle::Status;

const ARROW: &str = " → ";

/// What became of a unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    pub from: Status,
    pub to: Status,
    /// The iteration that begins.
    pub iteration: Option<u64>,
    pub skipped: bool,
}

impl Step {
    pub fn new(from: Status, to: Status, iteration: Option<u64>) -> Self {
        Self { from, to, iteration, skipped: false }
    }

    /// `in_progress → confirming`, `in_progress, iteration 3`, `pending → blocked, skipped`
    pub fn text(&self) -> String {
        let mut text = self.to.name().to_owned();
        if self.from != self.to {
            text = format!("{}{ARROW}{text}", self.from.name());
        }
        if let Some(n) = self.iteration {
            text.push_str(&format!(", iteration {n}"));
        }
        if self.skipped {
            text.push_str(", skipped");
        }
        text
    }

    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(", ");
        let statuses = parts.next()?;
        let (from, to) = statuses.split_once(ARROW).unwrap_or((statuses, statuses));
        let (from, to) = (Status::named(from)?, Status::named(to)?);
        let mut step = Self { from, to, iteration: None, skipped: false };
        for part in parts {
            match part.strip_prefix("iteration ") {
                Some(n) => step.iteration = Some(n.parse().ok()?),
                None if part == "skipped" => step.skipped = true,
                None => return None,
            }
        }
        Some(step)
    }
}
