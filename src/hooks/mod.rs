//! One file per hook event, each with a pure `plan`: the same event, state and context give the same
//! plan. Documents are read through [`State`] when a decision needs them.

pub mod agent_answer;
pub mod branch_context;
pub mod commands_note;
pub mod config_change;
pub mod context_warning;
pub mod execution_task;
pub mod failures;
pub mod findings_report;
pub mod lost_agents;
pub mod newer_plugin;
pub mod notification;
pub mod open_handoffs;
pub mod permission_denied;
pub mod post_compact;
pub mod post_model_switch;
pub mod post_tool_batch;
pub mod post_tool_use;
pub mod post_tool_use_failure;
pub mod pre_compact;
pub mod pre_tool_use;
pub mod reported_findings;
pub mod restored_context;
pub mod run_line;
pub mod session_closing;
pub mod session_end;
pub mod session_start;
pub mod stop;
pub mod stop_failure;
pub mod subagent_start;
pub mod subagent_stop;
pub mod synthesis;
#[cfg(test)]
pub mod testing;
pub mod user_prompt_expansion;
pub mod user_prompt_submit;

use crate::core::event::{Event, Kind};
use crate::state::State;
use crate::state::plan::Plan;
use crate::turn::context::Context;

/// What an event comes to.
pub fn plan(event: &Event, state: &State, context: &Context) -> Plan {
    let systems = &context.settings.systems;
    match event.kind {
        Kind::SubagentStart | Kind::SubagentStop | Kind::PreToolUse if !systems.agents => {
            Plan::because("agents are switched off")
        }
        Kind::PreCompact | Kind::PostCompact if !systems.compaction => {
            Plan::because("compaction is switched off")
        }
        Kind::SessionStart => session_start::plan(event, state, context),
        Kind::SessionEnd => session_end::plan(event, state, context),
        Kind::SubagentStart => subagent_start::plan(event, state, context),
        Kind::SubagentStop => subagent_stop::plan(event, state, context),
        Kind::UserPromptSubmit => user_prompt_submit::plan(event, state, context),
        Kind::UserPromptExpansion => user_prompt_expansion::plan(event, state, context),
        Kind::PreToolUse => pre_tool_use::plan(event, state, context),
        Kind::PostToolUse => post_tool_use::plan(event, state, context),
        Kind::PostToolUseFailure => post_tool_use_failure::plan(event, state, context),
        Kind::PostToolBatch => post_tool_batch::plan(event, state, context),
        Kind::PermissionDenied => permission_denied::plan(event, state, context),
        Kind::PreCompact => pre_compact::plan(event, state, context),
        Kind::PostCompact => post_compact::plan(event, state, context),
        Kind::Stop => stop::plan(event, state, context),
        Kind::StopFailure => stop_failure::plan(event, state, context),
        Kind::PostModelSwitch => post_model_switch::plan(event, state, context),
        Kind::ConfigChange => config_change::plan(event, state, context),
        Kind::Notification => notification::plan(event, state, context),
    }
}
