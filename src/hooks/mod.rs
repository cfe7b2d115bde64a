//! One file per hook event. Each says which documents it wants to see (`asks`) and what follows
//! from them (`plan`). Both are pure: the same event, snapshot and context give the same plan.
//!
//! To add a hook: a variant in `event::Kind`, a file here, a line in [`hook`], a folder in
//! `tests/cases`.

mod at_task;
mod branch_recall;
mod close;
pub mod desk;
pub mod drive;
mod recall;
mod synthesis;
mod tell;
pub mod witness;

mod post_compact;
mod post_tool_use;
mod post_tool_use_failure;
mod pre_compact;
mod pre_tool_use;
mod session_end;
mod session_start;
mod stop;
mod stop_failure;
mod subagent_start;
mod subagent_stop;
mod user_prompt_expansion;
mod user_prompt_submit;

use crate::event::{Event, Kind};
use crate::plan::Plan;
use crate::snapshot::{Ask, Context, Snapshot};

pub struct Hook {
    /// Called again and again until it asks for nothing new.
    pub asks: fn(&Event, &Snapshot, &Context) -> Vec<Ask>,
    pub plan: fn(&Event, &Snapshot, &Context) -> Plan,
}

pub fn hook(kind: Kind) -> Hook {
    macro_rules! hook {
        ($module:ident) => {
            Hook { asks: $module::asks, plan: $module::plan }
        };
    }
    match kind {
        Kind::SessionStart => hook!(session_start),
        Kind::SessionEnd => hook!(session_end),
        Kind::SubagentStart => hook!(subagent_start),
        Kind::SubagentStop => hook!(subagent_stop),
        Kind::UserPromptSubmit => hook!(user_prompt_submit),
        Kind::UserPromptExpansion => hook!(user_prompt_expansion),
        Kind::PreToolUse => hook!(pre_tool_use),
        Kind::PostToolUse => hook!(post_tool_use),
        Kind::PostToolUseFailure => hook!(post_tool_use_failure),
        Kind::PreCompact => hook!(pre_compact),
        Kind::PostCompact => hook!(post_compact),
        Kind::Stop => hook!(stop),
        Kind::StopFailure => hook!(stop_failure),
    }
}
