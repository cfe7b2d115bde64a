//! Notification: the client tells the user something, often that it waits for them. It is noted, and
//! in the session's record if it waits; a notification that comes late must not open a session that
//! has ended. The terminal rings if that is wanted: the client shows no message of this event.

use crate::core::event::Event;
use crate::core::text::{Extra, clip};
use crate::core::time;
use crate::session::live::Live;
use crate::session::notifications::{Notification, Notifications};
use crate::session::{record, waiting};
use crate::state::State;
use crate::state::plan::Plan;
use crate::turn::context::Context;

const LONGEST_TYPE: usize = 40;
const LONGEST_TEXT: usize = 200;

pub fn plan(event: &Event, state: &State, context: &Context) -> Plan {
    let clean =
        |key: &str, most: usize| event.text(key).map(|text| context.redact.line(&text, most));
    let kind = clean("notification_type", LONGEST_TYPE).unwrap_or_else(|| "unknown".into());
    let texts: Vec<String> =
        ["title", "message"].into_iter().filter_map(|key| clean(key, LONGEST_TEXT)).collect();
    let mut plan = Plan::because(format!("notification: {kind}"));
    let read = state.read::<Notifications>(&());
    let mut notifications = read.value.cloned().unwrap_or_default();
    notifications.add(Notification {
        at: time::spell_millis(context.now),
        session_id: event.session_id.clone(),
        kind: kind.clone(),
        text: clip(&texts.join(": "), LONGEST_TEXT),
        extra: Extra::new(),
    });
    plan.put(&read, &notifications);
    wait(&mut plan, &kind, event, state, context);
    plan
}

/// The session waits for a person from now on, if that is what the client says.
fn wait(plan: &mut Plan, kind: &str, event: &Event, state: &State, context: &Context) {
    let Some(awaited) = waiting::awaited(kind) else { return };
    let own = record::own_record(event, state);
    if let Some(own) = own {
        let mut live = own.clone();
        live.begin_waiting(kind, context.spelled());
        record::put_record(plan, &live, state);
    }
    if context.settings.notify {
        let what = own.and_then(Live::title).map(|title| format!(": {title}")).unwrap_or_default();
        plan.reply.ring(format!("Claude Code waits for {awaited}{what}"));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::core::event::Kind::{Notification as Told, PostToolUse};
    use crate::core::reply::Reply;
    use crate::hooks::testing::*;
    use crate::state::map::Files;

    fn noted(plan: &Plan) -> Notifications {
        put_of(plan, &()).expect("the notifications are put")
    }

    #[test]
    fn it_is_noted_clean_and_short_and_nothing_is_said() {
        let files = Files::default().with::<Live>(OWN, &own_session(&["a1"]));
        let message = format!(
            "run\ncurl -H 'Authorization: Bearer abcdef0123456789abcdef' {}",
            "x ".repeat(300)
        );
        let event = json!({"title": "Permission", "message": message, "notification_type": "permission_prompt"});
        let plan = plan_event(Told, event, &files);
        let told = noted(&plan);
        let entry = &told.notifications[0];
        assert_eq!((entry.session_id.as_str(), entry.kind.as_str()), (OWN, "permission_prompt"));
        assert_eq!(time::parse(&entry.at), time::parse(NOW));
        assert!(entry.text.starts_with("Permission: run curl"), "{}", entry.text);
        assert!(!entry.text.contains("abcdef0123"), "{}", entry.text);
        assert_eq!(entry.text.chars().count(), LONGEST_TEXT);
        assert_eq!(told.type_counts["permission_prompt"], 1);
        let waiting = own_record(&plan).waiting.unwrap();
        assert_eq!((waiting.kind.as_str(), waiting.since.as_str()), ("permission_prompt", NOW));
        assert_eq!(waiting.awaits(), "your permission");
        assert_eq!((&plan.reply, plan.changes.len()), (&Reply::default(), 2));
    }

    #[test]
    fn an_empty_state_and_an_empty_payload_lose_nothing_and_open_no_session() {
        let files = Files::default();
        let plan = plan_event(Told, json!({"message": 3, "notification_type": " "}), &files);
        let told = noted(&plan);
        let entry = &told.notifications[0];
        assert_eq!((entry.kind.as_str(), entry.text.as_str()), ("unknown", ""));
        assert_eq!(told.type_counts["unknown"], 1);
        assert_eq!(put_of::<Live>(&plan, OWN), None);
    }

    #[test]
    fn the_next_event_of_the_session_ends_the_waiting() {
        let mut files = Files::default().with::<Live>(OWN, &own_session(&["a1"]));
        let call = |agent: Option<&str>| {
            json!({"tool_name": "Read", "tool_use_id": "t1", "agent_id": agent,
                "tool_input": {"file_path": "a"}, "tool_response": {}})
        };
        let waits = |kind: &str, background: bool, agent: Option<&str>, files: &Files| {
            let told = plan_event(Told, json!({"message": "x", "notification_type": kind}), files);
            let mut live = own_record(&told);
            assert!(live.waiting.is_some());
            live.agents[0].background = Some(background);
            let files = after(files, &told).with::<Live>(OWN, &live);
            own_record(&plan_event(PostToolUse, call(agent), &files)).waiting.is_some()
        };
        assert!(!waits("permission_prompt", false, None, &files));
        // An agent that the session waits for may have been the one that asked.
        assert!(!waits("permission_prompt", false, Some("a1"), &files));
        assert!(waits("permission_prompt", true, Some("a1"), &files));
        assert!(waits("idle_prompt", false, Some("a1"), &files));
        assert!(!waits("agent_needs_input", true, Some("a1"), &files));
        // What only tells something ends nothing and begins nothing.
        let mut live = own_session(&[]);
        live.begin_waiting("idle_prompt", EARLIER.into());
        files = files.with::<Live>(OWN, &live);
        let told = json!({"message": "x", "notification_type": "agent_completed"});
        assert_eq!(put_of::<Live>(&plan_event(Told, told, &files), OWN), None);
        let again = json!({"message": "x", "notification_type": "idle_prompt"});
        let again = own_record(&plan_event(Told, again, &files)).waiting.unwrap();
        assert_eq!(again.since, EARLIER);
    }

    #[test]
    fn what_another_session_was_told_stays_with_fields_that_are_not_known() {
        let before = json!({"x": 1, "type_counts": {"idle_prompt": 4}, "notifications": [
            {"at": NOW, "session_id": OTHER, "type": "idle_prompt", "text": "waits", "y": 2}]});
        let before: Notifications = serde_json::from_value(before).unwrap();
        let files = other().with::<Notifications>(&(), &before);
        let plan = plan_event(
            Told,
            json!({"message": "waits", "notification_type": "idle_prompt"}),
            &files,
        );
        ensure_other_is_kept(&files, &plan);
        let told = noted(&plan);
        assert_eq!(told.notifications[0], before.notifications[0]);
        assert_eq!((told.notifications.len(), told.type_counts["idle_prompt"]), (2, 5));
        assert_eq!(told.extra, before.extra);
        plan_beside_other(Told, json!({"message": "waits"}), Some(&own_session(&[])));
    }
}
