//! That there are slash commands: the model hears of them once in a project, where they can be used.
//!
//! That it did is `commands_told` in `notices.json`, which SessionStart reads anyway.

use crate::session::notices::Notices;
use crate::state::State;
use crate::state::plan::Plan;
use crate::turn::context::Context;

const NOTE: &str = "HookKeeper's slash commands are here for the user: /hookkeeper:loop (until gates pass), \
:branch-loop (one prompt until its promise), :autonomous (a feature up to its release), :iterative (a task in units), \
:execute (a plan in worktrees), :handoff, :status.";

pub fn tell_once(plan: &mut Plan, state: &State, context: &Context) {
    if !context.settings.mention_commands || !context.is_heard {
        return;
    }
    let read = state.read::<Notices>(&());
    let mut notices = read.value.cloned().unwrap_or_default();
    if notices.commands_told || read.is_frozen() || !context.facts.has_slash_commands() {
        return;
    }
    notices.commands_told = true;
    plan.put(&read, &notices);
    plan.reply.tell_model(NOTE);
}
