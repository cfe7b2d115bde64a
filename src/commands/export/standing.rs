//! Where the settings are, and how far a project's export is: for the commands and for `doctor`.

use std::path::Path;

use crate::core::error::Result;
use crate::core::time;
use crate::export::backlog::{self, Backlog};
use crate::export::cursor::Cursor;
use crate::export::settings::ExportSettings;
use crate::process::Process;
use crate::process::files;
use crate::store::export;
use crate::store::home;
use crate::store::journal::sessions::SessionFiles;
use crate::store::view::View;

const LARGEST_SETTINGS: u64 = 64 << 10;

/// The user's own settings, and what a project's file has that does not count.
pub fn settings(process: &Process, root: &Path) -> ExportSettings {
    let user = process.client_dir().map(|dir| dir.join(home::SETTINGS));
    let own = root.join(".claude").join(home::SETTINGS);
    // In the home directory itself the user's file is the project's too.
    let own = Some(own).filter(|own| user.as_ref() != Some(own));
    let bytes = |path: &std::path::PathBuf| files::head(path, LARGEST_SETTINGS);
    let (user, own) = (user.as_ref().and_then(bytes), own.as_ref().and_then(bytes));
    ExportSettings::read(user.as_deref(), own.as_deref(), &|name| process.env(name))
}

/// What is remembered. One that cannot be read begins anew, and says so.
pub fn read_cursor(view: &View, bytes: Option<&[u8]>, now: time::Time) -> Cursor {
    let known = bytes.and_then(|bytes| serde_json::from_slice::<Cursor>(bytes).ok());
    let mut cursor = known.unwrap_or_else(|| {
        let live = view.names("state/session/live");
        let is_live = |session: &SessionFiles| live.contains(&format!("{}.json", session.stem));
        let lost_place = bytes.map(|_| time::spell(now));
        Cursor { lost_place, ..backlog::begin(&view.journal(), is_live, now) }
    });
    if cursor.counters.since.is_empty() {
        cursor.counters.since = time::spell(now);
    }
    cursor
}

/// How far it is, for who only looks.
pub fn standing(view: &View, now: time::Time) -> Result<(Cursor, Backlog)> {
    let bytes = export::peek(view)?;
    let mut cursor = read_cursor(view, bytes.as_deref(), now);
    cursor.note_lost(&export::peek_lost(view));
    let backlog = backlog::measure(&view.journal(), &cursor);
    Ok((cursor, backlog))
}
