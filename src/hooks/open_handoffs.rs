//! Hand-offs are for whoever comes next: a session is told of those that are open, and of each only
//! one session is.

use crate::branch::checkout;
use crate::branch::document::BranchState;
use crate::branch::folder::handoff_folder;
use crate::core::id::BranchKey;
use crate::core::text::plural;
use crate::handoff::file::HandoffFile;
use crate::handoff::folder;
use crate::session::live::Live;
use crate::state::State;
use crate::state::plan::Plan;
use crate::turn::context::Context;

/// Named one by one, the newest.
const NAMED: usize = 5;

/// What a session is to be told, read once for an event.
struct Untold {
    branch: String,
    key: BranchKey,
    files: Vec<HandoffFile>,
}

/// Open hand-offs that nobody was told of, and that are not this session's own. The newest first.
fn untold<'s>(live: &Live, state: &'s State, context: &Context) -> Option<&'s Untold> {
    if !context.settings.systems.handoffs {
        return None;
    }
    let find = || {
        let (here, branch) = checkout::with_state(state, context)?;
        let noted = branch.handoff.as_ref().filter(|handoff| handoff.count > 0)?;
        let mut files = folder::read_all(state.source(), &here.key);
        files.retain(|file| {
            file.is_open()
                && !noted.announced.contains(&file.name)
                && file.session.as_ref() != Some(&live.session_id)
        });
        files.reverse();
        let (branch, key) = (here.branch.clone(), here.key.clone());
        (!files.is_empty()).then_some(Untold { branch, key, files })
    };
    state.derive(find).as_ref()
}

pub fn lines(live: &Live, state: &State, context: &Context) -> Vec<String> {
    let Some(untold) = untold(live, state, context) else { return Vec::new() };
    let mut lines = vec![format!(
        "- {} of branch {} in {}/ (`hookkeeper branch handoff close NAME` when it is done):",
        plural(untold.files.len(), "open hand-off"),
        untold.branch,
        handoff_folder(&untold.key),
    )];
    lines.extend(untold.files.iter().take(NAMED).map(|file| {
        let title = file.title.as_deref().map(|title| format!(": {title}")).unwrap_or_default();
        format!("  - {}{title}", file.name)
    }));
    let more = untold.files.len().saturating_sub(NAMED);
    if more > 0 {
        lines.push(format!("  - and {more} more"));
    }
    lines
}

/// Notes that this session was told.
pub fn note(plan: &mut Plan, live: &Live, state: &State, context: &Context) {
    let Some(untold) = untold(live, state, context).filter(|_| context.is_heard) else { return };
    let read = state.read::<BranchState>(&untold.key);
    if read.is_frozen() {
        return;
    }
    let Some(mut branch) = plan.take_put(&read).or_else(|| read.value.cloned()) else { return };
    let names = untold.files.iter().map(|file| file.name.clone());
    branch.handoff.get_or_insert_default().announce(names);
    plan.put(&read, &branch);
}
