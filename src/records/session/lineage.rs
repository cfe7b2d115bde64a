//! Which session another one goes on from.

use std::path::Path;

use crate::core::event::Event;
use crate::process::client::Client;
use crate::session::cleared::Cleared;
use crate::session::live::{Lineage, Live};
use crate::session::record;
use crate::state::State;
use crate::turn::context::Context;

/// Which session this one goes on from. A compaction and a resume keep the id.
pub fn find_lineage(
    event: &Event,
    live: &Live,
    state: &State,
    context: &Context,
) -> Option<Lineage> {
    let source = record::source(event);
    let parent = parent_by(&source, event, &live.client, state, context)?;
    (parent != live.session_id).then(|| Lineage::new(parent, &source))
}

fn parent_by(
    source: &str,
    event: &Event,
    client: &Client,
    state: &State,
    context: &Context,
) -> Option<String> {
    match source {
        "clear" => Some(state.get::<Cleared>()?.find_client(client)?.session_id.clone()),
        "fork" => fork_parent(event, context),
        _ => None,
    }
}

/// Which session this one goes on from, before its record knows.
pub fn parent_session(event: &Event, state: &State, context: &Context) -> Option<String> {
    let source = record::source(event);
    let parent = parent_by(&source, event, &context.facts.client(), state, context);
    let is_fork = |live: &Live| live.source == "fork" && live.lineage.is_none();
    let forked = || record::own_record(event, state).is_some_and(is_fork);
    parent.or_else(|| if forked() { fork_parent(event, context) } else { None })
}

/// Notes what a fork goes on from, as soon as its transcript tells: the client may write that after
/// the first prompt, or after the first turn.
pub fn complete_fork(live: &mut Live, event: &Event, context: &Context) {
    if live.source == "fork" && live.lineage.is_none() {
        let parent = fork_parent(event, context);
        live.lineage = parent.map(|parent| Lineage::new(parent, "fork"));
    }
}

/// The session that this one's transcript was forked from.
fn fork_parent(event: &Event, context: &Context) -> Option<String> {
    let transcript = event.text("transcript_path")?;
    context.facts.fork_parent(Path::new(&transcript), &event.session_id)
}
