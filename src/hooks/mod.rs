//! One file per hook event, each with a pure `plan`: the same event, state and context give the same
//! plan. Documents are read through [`State`] when a decision needs them.

mod branch_context;
pub mod checkout;
pub mod drive;
mod execution_task;
mod findings_report;
mod restored_context;
mod session_closing;
pub mod session_record;
mod synthesis;
#[cfg(test)]
mod testing;
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

use crate::context::Context;
use crate::event::{Event, Kind};
use crate::plan::Plan;
use crate::state::State;

/// What an event comes to.
pub fn plan(event: &Event, state: &State, context: &Context) -> Plan {
    match event.kind {
        Kind::SessionStart => session_start::plan(event, state, context),
        Kind::SessionEnd => session_end::plan(event, state, context),
        Kind::SubagentStart => subagent_start::plan(event, state, context),
        Kind::SubagentStop => subagent_stop::plan(event, state, context),
        Kind::UserPromptSubmit => user_prompt_submit::plan(event, state, context),
        Kind::UserPromptExpansion => user_prompt_expansion::plan(event, state, context),
        Kind::PreToolUse => pre_tool_use::plan(event, state, context),
        Kind::PostToolUse => post_tool_use::plan(event, state, context),
        Kind::PostToolUseFailure => post_tool_use_failure::plan(event, state, context),
        Kind::PreCompact => pre_compact::plan(event, state, context),
        Kind::PostCompact => post_compact::plan(event, state, context),
        Kind::Stop => stop::plan(event, state, context),
        Kind::StopFailure => stop_failure::plan(event, state, context),
    }
}
