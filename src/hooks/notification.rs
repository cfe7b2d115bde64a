//! Notification: the client tells the user something, often that it waits for them. It is noted and
//! nothing else: the session's record stays as it is, because a client that waits does no work, and a
//! notification that comes late must not open a session that has ended.

use crate::core::event::Event;
use crate::core::text::{Extra, clip};
use crate::core::time;
use crate::session::notifications::{Notification, Notifications};
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
        kind,
        text: clip(&texts.join(": "), LONGEST_TEXT),
        extra: Extra::new(),
    });
    plan.put(&read, &notifications);
    plan
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::core::event::Kind::Notification as Told;
    use crate::core::reply::Reply;
    use crate::hooks::testing::*;
    use crate::session::live::Live;
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
        assert_eq!((plan.reply, plan.changes.len()), (Reply::default(), 1));
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
