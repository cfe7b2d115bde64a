//! PostCompact: a compaction really happened; PreCompact only announces one.

use crate::event::Event;
use crate::id::sha256_hex;
use crate::plan::Plan;
use crate::snapshot::{Ask, Context, Snapshot};

use super::desk;

pub fn asks(event: &Event, snapshot: &Snapshot, _: &Context) -> Vec<Ask> {
    if event.agent_id.is_some() { Vec::new() } else { desk::asks(event, snapshot) }
}

pub fn plan(event: &Event, snapshot: &Snapshot, context: &Context) -> Plan {
    if event.agent_id.is_some() {
        return Plan::because("a subagent's context, not the session's");
    }
    let mut live = desk::take(event, snapshot, context);
    let told = [event.prompt_id(), event.text("compact_summary")].map(Option::unwrap_or_default);
    let mut digest = sha256_hex(told.join("\n").as_bytes());
    digest.truncate(16);
    let mut plan = Plan::because("compacted");
    desk::seen(&mut live, context);
    if live.last_compaction.as_ref() != Some(&digest) {
        live.last_compaction = Some(digest);
        live.compactions += 1;
    }
    desk::put(&mut plan, snapshot, &live);
    plan
}
