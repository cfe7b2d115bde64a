//! What the journal says of loops.

use crate::core::journal::{Entry, EntryKind};
use crate::loops::Loop;

/// What became of a loop: its verdict if it has ended, else `what`.
pub fn line(the_loop: &dyn Loop, what: &str) -> Entry {
    let ending = the_loop.ending();
    let verdict = ending.verdict.as_deref().filter(|_| !the_loop.is_running());
    let why = ending.verdict_reason.as_deref().filter(|_| verdict.is_some());
    Entry::new(EntryKind::Loop)
        .what(verdict.unwrap_or(what))
        .target(the_loop.title())
        .loop_kind(the_loop.kind().word())
        .text(why.unwrap_or_default())
}

/// What a command did to a loop; `None` if it goes on as it did.
pub fn changed(
    the_loop: &dyn Loop,
    was_running: bool,
    old_owner: Option<&str>,
    is_new: bool,
) -> Option<Entry> {
    let owner = the_loop.owner();
    let what = match (was_running, the_loop.is_running()) {
        // Instead of one that was over, or that was given up for it.
        (_, true) if is_new => "started",
        (false, true) => "resumed",
        (true, false) => "ended",
        _ if owner != old_owner => "adopted",
        _ => return None,
    };
    Some(line(the_loop, what).of_session(owner.or(old_owner).unwrap_or_default()))
}
