//! ConfigChange: a settings file was changed. If that took our entries out, the user hears of it: the
//! session goes on, and nobody would see that nothing is recorded any more.
//!
//! The client shows no message of this event, so it waits for the next event that can say it. Where no
//! entry is left there is none, and the terminal rings.

use crate::client::settings::scope::Scope;
use crate::core::event::{Event, Kind};
use crate::core::gate::shell_word;
use crate::core::time;
use crate::state::State;
use crate::state::plan::Plan;
use crate::turn::context::{Context, LostWiring};

pub fn plan(event: &Event, _: &State, context: &Context) -> Plan {
    let source = event.text("source").unwrap_or_default();
    let scope = match source.as_str() {
        "user_settings" => Scope::User,
        "project_settings" => Scope::Project,
        "local_settings" => Scope::Local,
        _ => return Plan::because("a file that is not wired"),
    };
    let (outcome, text, is_all) = match context.facts.lost_wiring(scope) {
        Ok(None) => return Plan::because("the wiring is as it was"),
        Ok(Some(lost)) => {
            let is_all = lost.events.len() == Kind::COUNT;
            (format!("wiring lost in {}", lost.file), words(&lost, scope), is_all)
        }
        Err(why) => ("the wiring could not be looked at".into(), unseen(scope, &why), false),
    };
    let mut plan = Plan::because(outcome);
    if is_all {
        plan.reply.ring(&text);
    }
    let key = format!("wiring/{}/{}", scope.name(), time::spell_millis(context.now));
    plan.notices.push((key, text));
    plan
}

fn unseen(scope: Scope, why: &str) -> String {
    format!(
        "HookKeeper: the settings file of the scope {} was changed, and whether it still calls \
         HookKeeper could not be seen: {why}. `hookkeeper doctor` looks again.",
        scope.name()
    )
}

fn words(lost: &LostWiring, scope: Scope) -> String {
    let (file, word) = (&lost.file, shell_word(scope.name()));
    if let Some(cause) = &lost.cause {
        let what = match lost.events.len() {
            Kind::COUNT => "HookKeeper is not called by it any more and records nothing".to_owned(),
            _ => format!("HookKeeper is not called any more for {}", names(lost)),
        };
        return format!(
            "HookKeeper: {file} was changed: {cause}. {what}. Mend that; `hookkeeper doctor` looks \
             again."
        );
    }
    let back = format!("`hookkeeper install --scope {word}` puts that back");
    if lost.events.len() == Kind::COUNT {
        return format!(
            "HookKeeper: {file} was changed and does not call HookKeeper any more, so it records \
             nothing. {back}; `hookkeeper uninstall --scope {word}` if that was meant."
        );
    }
    let names = names(lost);
    format!(
        "HookKeeper: {file} was changed and does not call HookKeeper any more for {names}. {back}."
    )
}

fn names(lost: &LostWiring) -> String {
    let names: Vec<&str> = lost.events.iter().map(|kind| kind.wire()).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::core::event::Kind::ConfigChange;
    use crate::hooks::testing::*;
    use crate::state::map::Files;

    fn change(source: &str, events: &[Kind]) -> Plan {
        let lost = LostWiring {
            file: ".claude/settings.json".into(),
            events: events.to_vec(),
            cause: None,
        };
        let lost_wiring = (!events.is_empty()).then_some(Ok(lost));
        let found = Found { lost_wiring, ..Found::default() };
        plan_event_with(&found, ConfigChange, json!({"source": source}), &Files::default())
    }

    #[test]
    fn lost_entries_are_told_of() {
        let some = change("project_settings", &[Kind::Stop, Kind::SessionEnd]);
        assert!(
            some.notices[0]
                .1
                .contains("any more for Stop, SessionEnd. `hookkeeper install --scope project`")
        );
        assert_eq!(some.reply.render(ConfigChange), None);
        let all = change("local_settings", &Kind::ALL);
        assert!(all.notices[0].1.contains("records nothing"));
        assert!(
            all.reply
                .render(ConfigChange)
                .is_some_and(|printed| printed.contains("terminalSequence"))
        );
        assert!(some.changes.is_empty() && all.changes.is_empty());
    }

    #[test]
    fn a_file_that_cannot_be_looked_at_is_told_of() {
        let found = Found { lost_wiring: Some(Err("EIO".into())), ..Found::default() };
        let source = json!({"source": "user_settings"});
        let plan = plan_event_with(&found, ConfigChange, source, &Files::default());
        assert!(plan.notices[0].1.contains("could not be seen: EIO. `hookkeeper doctor`"));
        assert!(plan.changes.is_empty());
    }

    #[test]
    fn what_is_not_about_us_says_nothing() {
        for plan in
            [change("user_settings", &[]), change("skills", &Kind::ALL), change("", &Kind::ALL)]
        {
            assert_eq!((plan.notices.len(), plan.reply), (0, Default::default()));
        }
    }
}
