//! PostCompact: a compaction really happened; PreCompact only announces one.

use crate::context::Context;
use crate::event::Event;
use crate::id::sha256_hex;
use crate::plan::Plan;
use crate::state::State;

use super::session_record;

pub fn plan(event: &Event, state: &State, context: &Context) -> Plan {
    if event.agent_id.is_some() {
        return Plan::because("a subagent's context, not the session's");
    }
    let mut live = session_record::open_session(event, state, context);
    let told = [event.prompt_id(), event.text("compact_summary")].map(Option::unwrap_or_default);
    let mut digest = sha256_hex(told.join("\n").as_bytes());
    digest.truncate(16);
    let mut plan = Plan::because("compacted");
    session_record::mark_seen(&mut live, context);
    if live.last_compaction.as_ref() != Some(&digest) {
        live.last_compaction = Some(digest);
        live.compactions += 1;
    }
    session_record::put_record(&mut plan, &live, state);
    plan
}
