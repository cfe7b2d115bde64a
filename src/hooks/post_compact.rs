//! PostCompact: a compaction really happened; PreCompact only announces one.

use crate::core::event::Event;
use crate::core::id::sha256_hex;
use crate::session::record;
use crate::state::State;
use crate::state::plan::Plan;
use crate::turn::context::Context;

pub fn plan(event: &Event, state: &State, context: &Context) -> Plan {
    if event.agent_id.is_some() {
        return Plan::because("a subagent's context, not the session's");
    }
    let mut live = record::open_session(event, state, context);
    let told = [event.prompt_id(), event.text("compact_summary")].map(Option::unwrap_or_default);
    let mut digest = sha256_hex(told.join("\n").as_bytes());
    digest.truncate(16);
    let mut plan = Plan::because("compacted");
    record::mark_seen(&mut live, context);
    if live.last_compaction.as_ref() != Some(&digest) {
        live.last_compaction = Some(digest);
        live.compactions += 1;
    }
    record::put_record(&mut plan, &live, state);
    plan
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::core::event::Kind::PostCompact;
    use crate::hooks::testing::*;
    use crate::session::live::Live;
    use crate::state::map::Files;

    #[test]
    fn a_compaction_counts_once_however_often_it_is_reported() {
        let before = Live { compactions: 2, ..own_session(&["a1"]) };
        let files = Files::default().with::<Live>(OWN, &before);
        let count = |files: &Files, summary: &str| {
            let plan = plan_event(PostCompact, json!({"compact_summary": summary}), files);
            (own_record(&plan).compactions, after(files, &plan))
        };
        let (first, files) = count(&files, "one");
        assert_eq!((first, count(&files, "one").0, count(&files, "two").0), (3, 3, 4));
    }

    #[test]
    fn an_empty_state_gets_a_record_and_an_agent_s_context_does_not_count() {
        let files = Files::default();
        let live = own_record(&plan_event(PostCompact, json!({"compact_summary": "one"}), &files));
        assert_eq!((live.compactions, live.started.as_str()), (1, NOW));
        assert_eq!(plan_event(PostCompact, json!({"agent_id": "a1"}), &files).changes, []);
    }

    #[test]
    fn another_session_does_not_get_the_compaction() {
        let plan = plan_beside_other(PostCompact, json!({}), Some(&own_session(&[])));
        assert_eq!((own_record(&plan).compactions, plan.changes.len()), (1, 1));
    }
}
