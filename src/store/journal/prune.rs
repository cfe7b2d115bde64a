//! How much history is kept: the newest sessions, and no more than so many bytes. A session that is
//! live keeps its journal.

use crate::core::settings::Settings;
use crate::store::dir::Dir;
use crate::store::journal::lost;
use crate::store::journal::sessions::{self, SessionFiles};

/// What `keep_sessions` and `keep_megabytes` say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub sessions: usize,
    pub bytes: u64,
}

impl Limits {
    pub fn new(settings: &Settings) -> Self {
        Self {
            sessions: usize::try_from(settings.keep_sessions).unwrap_or(usize::MAX),
            bytes: settings.keep_megabytes.saturating_mul(1 << 20),
        }
    }
}

/// Sizes are added up once in so many new sessions: each of them is a system call.
const EVERY: usize = 16;

/// Removes what is too much, when a session's first line has just been written.
pub fn at_new_session(state: &Dir, folder: &Dir, just: &str, limits: Limits) {
    let Ok(names) = folder.names() else { return };
    if names.len() <= limits.sessions && !names.len().is_multiple_of(EVERY) {
        return;
    }
    let mut too_old = too_old(state, folder, limits);
    too_old.retain(|session| session.stem != just);
    remove(state, folder, &too_old);
}

/// The sessions whose journals are beyond the limits, oldest last.
pub fn too_old(state: &Dir, folder: &Dir, limits: Limits) -> Vec<SessionFiles> {
    let live = state.below("session/live").ok().flatten();
    let is_live = |session: &SessionFiles| {
        let name = format!("{}.json", session.stem);
        live.as_ref().is_some_and(|live| live.exists(&name).unwrap_or(true))
    };
    let (mut count, mut bytes) = (0, 0);
    let mut sessions = sessions::list(folder);
    sessions.retain(|session| {
        count += 1;
        bytes += session.bytes;
        (count > limits.sessions || bytes > limits.bytes) && !is_live(session)
    });
    sessions
}

/// Removes journals. What cannot be removed stays, and stops nothing.
pub fn remove(state: &Dir, folder: &Dir, sessions: &[SessionFiles]) {
    for session in sessions {
        lost::note(state, folder, &session.stem, &session.files(), None);
        for name in session.files() {
            let _ = folder.remove(&name);
        }
    }
}
