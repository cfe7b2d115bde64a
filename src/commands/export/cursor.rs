//! `state/export/cursor.json`: how far the journals were sent, which is all that the one who sends
//! remembers between two runs. By session it has the file, by a digest of its first line, because a
//! journal that is turned over changes its name, and the byte behind the last line that was taken.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::export::counters::{CountedUse, Counters};
use crate::export::otlp::Signal;
use crate::export::spans::Track;
use crate::store::journal::lost::Lost;

/// What is said of a place that could not be read any more, and what mends it.
pub const LOST_PLACE: &str = "it is not known what of earlier sessions was sent";
pub const SEND_AGAIN: &str = "`hookkeeper export backfill --since 30d` sends it again";

/// How far journals were read, by their stems.
pub type Positions = BTreeMap<String, Position>;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cursor {
    pub sessions: Positions,
    /// A signal that was not taken where the other one was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub behind: Option<Behind>,
    pub counters: Counters,
    /// What was sent since counting began.
    pub sent: Sent,
    pub dropped: Dropped,
    /// When it was found that the place could not be read any more: what was to be sent then is not
    /// known. Until `backfill` has sent it again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost_place: Option<String>,
    /// When something was last taken by the endpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_success: Option<String>,
    /// What is wrong, since when, and when it is tried again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trouble: Option<Trouble>,
}

/// A signal that has stayed behind, with a place of its own, so that the other one goes on and
/// nothing of it is sent twice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Behind {
    pub signal: Signal,
    pub sessions: Positions,
}

/// How far a session's journal was sent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Position {
    /// Which file it is, by its first line: a journal that grew too large has another name.
    pub file: String,
    /// All before this byte was sent.
    pub at: u64,
    /// How large the journal was when all of it had been read.
    pub seen: u64,
    #[serde(skip_serializing_if = "is_default")]
    pub track: Track,
    #[serde(skip_serializing_if = "CountedUse::is_empty")]
    pub used: CountedUse,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sent {
    pub lines: u64,
    pub bytes: u64,
    pub logs: u64,
    pub spans: u64,
}

/// What never arrived.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Dropped {
    /// Of journals that went before they were sent.
    pub bytes: u64,
    pub sessions: u64,
    /// Records that the endpoint did not take.
    pub refused: u64,
    /// Why, the last time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Trouble {
    pub what: String,
    /// What it is with; nothing: with all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub signals: Vec<Signal>,
    /// Something is wrong here, before anybody is asked: it does not go away by itself.
    #[serde(skip_serializing_if = "is_default")]
    pub is_here: bool,
    pub since: String,
    /// Tries in a row that came to nothing.
    pub tries: u32,
    /// Not before this time; a person may.
    pub next: String,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Cursor {
    /// Takes in that journals went: what of them had not been sent is counted.
    pub fn note_lost(&mut self, lost: &[Lost]) {
        for gone in lost {
            let unsent = pass_over(&mut self.sessions, gone);
            let behind = self.behind.as_mut();
            let unsent = unsent.max(behind.map_or(0, |it| pass_over(&mut it.sessions, gone)));
            self.dropped.bytes += unsent;
            self.dropped.sessions += u64::from(unsent > 0);
        }
    }

    /// Whether what had stayed behind has come to where the rest is.
    pub fn has_caught_up(&self) -> bool {
        let Some(behind) = &self.behind else { return true };
        let place = |of: &Positions, stem: &String| {
            of.get(stem).map_or((String::new(), 0), |it| (it.file.clone(), it.at))
        };
        let mut stems = self.sessions.keys().chain(behind.sessions.keys());
        stems.all(|stem| place(&self.sessions, stem) == place(&behind.sessions, stem))
    }

    /// Roughly how many lines so many bytes are.
    pub fn lines_in(&self, bytes: u64) -> u64 {
        let each = self.sent.bytes.checked_div(self.sent.lines).unwrap_or(500).max(1);
        bytes.div_ceil(each)
    }
}

/// Moves a place past a journal that went; how much of it that place had not come to.
fn pass_over(sessions: &mut Positions, gone: &Lost) -> u64 {
    let known = sessions.get_mut(&gone.stem);
    let unsent = match &known {
        Some(position) if position.file == gone.file => gone.bytes.saturating_sub(position.at),
        // It is past that file.
        Some(position) if !position.file.is_empty() => 0,
        Some(_) | None => gone.bytes,
    };
    match known {
        _ if gone.next.is_empty() => drop(sessions.remove(&gone.stem)),
        Some(position) if position.file == gone.file || position.file.is_empty() => {
            (position.file, position.at) = (gone.next.clone(), 0);
        }
        Some(_) => {}
        None => {
            let position = Position { file: gone.next.clone(), ..Position::default() };
            sessions.insert(gone.stem.clone(), position);
        }
    }
    unsent
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(file: &str, next: &str, bytes: u64) -> Lost {
        Lost { stem: "s1".into(), file: file.into(), next: next.into(), bytes }
    }

    fn at(file: &str, at: u64) -> Cursor {
        let position = Position { file: file.into(), at, ..Position::default() };
        Cursor { sessions: BTreeMap::from([("s1".into(), position)]), ..Cursor::default() }
    }

    #[test]
    fn what_went_unsent_is_counted_and_what_was_sent_is_not() {
        let mut half = at("a", 60);
        half.note_lost(&[lost("a", "b", 100)]);
        assert_eq!((half.dropped.bytes, half.sessions["s1"].at), (40, 0));
        assert_eq!(half.sessions["s1"].file, "b");
        half.note_lost(&[lost("b", "c", 100)]);
        assert_eq!(half.dropped.bytes, 140);
        let mut past = at("b", 10);
        past.note_lost(&[lost("a", "b", 100)]);
        assert_eq!((past.dropped.bytes, past.sessions["s1"].at), (0, 10));
        past.note_lost(&[lost("b", "", 30)]);
        assert_eq!((past.dropped.bytes, past.sessions.len()), (20, 0));
        let mut never = Cursor::default();
        never.note_lost(&[lost("a", "b", 100), lost("b", "", 50)]);
        assert_eq!((never.dropped.bytes, never.dropped.sessions), (150, 2));
    }
    #[test]
    fn a_signal_that_is_behind_loses_what_the_other_has_sent() {
        let mut cursor = at("b", 10);
        cursor.behind = Some(Behind { signal: Signal::Traces, sessions: at("a", 60).sessions });
        assert!(!cursor.has_caught_up());
        cursor.note_lost(&[lost("a", "b", 100)]);
        assert_eq!((cursor.dropped.bytes, cursor.dropped.sessions), (40, 1));
        assert!(!cursor.has_caught_up());
        cursor.behind.as_mut().unwrap().sessions = at("b", 10).sessions;
        assert!(cursor.has_caught_up());
        let bytes = serde_json::to_vec(&cursor).unwrap();
        assert_eq!(serde_json::from_slice::<Cursor>(&bytes).unwrap(), cursor);
    }
}
