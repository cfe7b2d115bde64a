//! PostModelSwitch: which model the session uses from now on, and whether somebody asked for it. The
//! client says so to the user; nothing is said here.

use crate::core::event::Event;
use crate::core::time;
use crate::session::model::ModelSwitch;
use crate::session::record;
use crate::state::State;
use crate::state::plan::Plan;
use crate::turn::context::Context;

const LONGEST: usize = 100;

pub fn plan(event: &Event, state: &State, context: &Context) -> Plan {
    let name = |key| event.text(key).map(|name| context.redact.line(&name, LONGEST));
    let Some(to) = name("to_model") else { return Plan::because("no model is named") };
    let mut live = record::open_session(event, state, context);
    let switch = ModelSwitch {
        at: time::spell_millis(context.now),
        from: name("from_model").unwrap_or_default(),
        source: name("source").unwrap_or_else(|| "unknown".into()),
        to,
        ..ModelSwitch::default()
    };
    let mut plan = Plan::because(format!("{} by {}", switch.to, switch.source));
    live.model_use.get_or_insert_default().switch(switch);
    record::put_record(&mut plan, &live, state);
    plan
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::core::event::Kind::PostModelSwitch;
    use crate::hooks::testing::*;
    use crate::state::map::Files;

    fn switch(to: &str, source: &str) -> Value {
        json!({"from_model": "claude-opus-5-5", "to_model": to, "source": source})
    }

    #[test]
    fn the_model_and_silent_fall_backs_are_kept() {
        let files = Files::default();
        let first = plan_event(PostModelSwitch, switch("claude-sonnet-5-5", "command"), &files);
        let files = after(&files, &first);
        let second = plan_event(PostModelSwitch, switch("claude-haiku-4-5", "auto"), &files);
        let model = own_record(&second).model_use.unwrap();
        assert_eq!((model.name.as_str(), model.fallbacks), ("claude-haiku-4-5", 1));
        assert_eq!(model.switches.len(), 2);
        assert_eq!(second.reply, Default::default());
        let files = after(&files, &second);
        let again = plan_event(PostModelSwitch, switch("claude-haiku-4-5", "auto"), &files);
        assert_eq!(
            own_record(&again).model_use.unwrap().fallbacks,
            1,
            "played twice, counted once"
        );
    }

    #[test]
    fn a_switch_without_a_model_changes_nothing() {
        let plan = plan_event(PostModelSwitch, json!({"to_model": 7}), &Files::default());
        assert!(plan.changes.is_empty());
        plan_beside_other(PostModelSwitch, switch("x", "auto"), None);
    }
}
