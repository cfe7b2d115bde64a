//! One payload: the tree before it and after it, and what was printed.

use serde_json::Value;

use super::documents::Files;

#[derive(Clone)]
pub struct Step {
    /// The session that the case is about.
    pub session: String,
    /// The event that the payload names.
    pub event: Option<String>,
    /// When it came, as the journal spells it.
    pub time: String,
    pub before: Files,
    pub after: Files,
    pub stdout: String,
    pub stderr: String,
    pub code: Option<i32>,
}

impl Step {
    /// What was there before, or is there now, and is not the same: in the order of paths.
    pub fn changed(&self) -> Vec<&str> {
        let mut changed = Vec::new();
        for (path, text) in &self.after {
            if self.before.get(path) != Some(text) {
                changed.push(path.as_str());
            }
        }
        for path in self.before.keys() {
            if !self.after.contains_key(path) {
                changed.push(path);
            }
        }
        changed.sort_unstable();
        changed
    }
}

/// The event of a payload, if it is one.
pub fn event_of(payload: &[u8]) -> Option<String> {
    let payload = payload.strip_prefix("\u{feff}".as_bytes()).unwrap_or(payload);
    let payload: Value = serde_json::from_slice(payload).ok()?;
    Some(payload["hook_event_name"].as_str()?.to_owned())
}

/// A document as the journal calls it in `wrote`.
pub fn name_of(path: &str) -> &str {
    let below = path.strip_prefix(".claude/").unwrap_or(path);
    below.strip_prefix("state/").unwrap_or(below)
}
