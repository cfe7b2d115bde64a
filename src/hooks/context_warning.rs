//! A context that is nearly full: the user is warned once before the client compacts it by itself, and
//! the model hears of it with the next prompt. After a compaction it begins anew.

use std::path::Path;

use crate::core::event::Event;
use crate::session::live::Live;
use crate::state::plan::Plan;
use crate::turn::context::Context;

/// At a stop: nothing is running that would be kept waiting, and the transcript has the turn.
pub fn at_stop(plan: &mut Plan, event: &Event, live: &mut Live, context: &Context) {
    let mark = context.settings.context_warning_percent;
    if mark == 0 || live.context_warned.is_some() || !context.is_heard {
        return;
    }
    let transcript = event.text("transcript_path");
    let Some(used) = transcript.and_then(|path| context.facts.context_use(Path::new(&path))) else {
        return;
    };
    let asked = live.asked_model();
    let (Some(percent), Some(window)) = (used.percent(asked), used.window(asked)) else { return };
    if percent < mark {
        return;
    }
    live.context_warned = Some(percent);
    plan.reply.tell_user(format!(
        "HookKeeper: the context is {percent} % full ({}k of {}k tokens). Claude Code compacts it by itself soon; \
         `/compact` with what to keep does it now.",
        used.tokens / 1000,
        window / 1000
    ));
}

pub fn at_prompt(plan: &mut Plan, live: &mut Live, context: &Context) {
    let Some(percent) = live.context_warned.filter(|_| !live.context_told && context.is_heard)
    else {
        return;
    };
    live.context_told = true;
    plan.reply.tell_model(format!(
        "HookKeeper: the context is {percent} % full; an automatic compaction is near, and what is only in the conversation may be lost with it."
    ));
}

/// A compaction has made room.
pub fn begin_anew(live: &mut Live) {
    live.context_warned = None;
    live.context_told = false;
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::client::context_window::ContextUse;
    use crate::core::event::Kind::{SessionStart, Stop, UserPromptSubmit};
    use crate::hooks::testing::*;
    use crate::session::live::Live;
    use crate::state::map::Files;

    fn found(tokens: u64, model: &str) -> Found {
        let used = ContextUse { tokens, model: model.into() };
        Found { context_use: Some(used), ..Found::default() }
    }

    #[test]
    fn the_user_is_warned_once_and_the_model_hears_of_it_with_the_next_prompt() {
        let files = Files::default().with::<Live>(OWN, &own_session(&[]));
        let stop = || json!({"background_tasks": [], "transcript_path": "/t.jsonl"});
        let below = plan_event_with(&found(159_999, "claude-opus-4-5"), Stop, stop(), &files);
        assert_eq!(below.reply.message, None);
        let full = found(162_000, "claude-opus-4-5");
        let warned = plan_event_with(&full, Stop, stop(), &files);
        let words = warned.reply.message.as_ref().unwrap().to_string();
        assert!(words.contains("81 % full (162k of 200k tokens)"), "{words}");
        assert_eq!(warned.reply.context, None);
        let files = after(&files, &warned);
        assert_eq!(plan_event_with(&full, Stop, stop(), &files).reply.message, None);
        let prompt = plan_event(UserPromptSubmit, json!({"prompt": "go on"}), &files);
        assert!(prompt.reply.context.as_ref().unwrap().contains("81 % full"));
        let files = after(&files, &prompt);
        let prompt = plan_event(UserPromptSubmit, json!({"prompt": "go on"}), &files);
        assert_eq!(prompt.reply.context, None);
        let compacted = plan_event(SessionStart, json!({"source": "compact"}), &files);
        let live = own_record(&compacted);
        assert_eq!((live.context_warned, live.context_told), (None, false));
    }

    #[test]
    fn an_unknown_window_is_not_guessed() {
        let files = Files::default().with::<Live>(OWN, &own_session(&[]));
        let stop = json!({"background_tasks": [], "transcript_path": "/t.jsonl"});
        let plan = plan_event_with(&found(990_000, "some-model"), Stop, stop, &files);
        assert_eq!((&plan.reply.message, own_record(&plan).context_warned), (&None, None));
    }
}
