//! The names of attributes. Those of OpenTelemetry's conventions where there are some, ours else;
//! `docs/fleet.md` has them in a table.

pub const SESSION: &str = "session.id";
pub const CONVERSATION: &str = "gen_ai.conversation.id";
/// The client's own telemetry has the same id under this name.
pub const PROMPT: &str = "prompt.id";
pub const OPERATION: &str = "gen_ai.operation.name";
pub const INVOKE_AGENT: &str = "invoke_agent";
pub const EXECUTE_TOOL: &str = "execute_tool";
pub const PROVIDER: &str = "gen_ai.provider.name";
pub const ANTHROPIC: &str = "anthropic";
pub const AGENT_ID: &str = "gen_ai.agent.id";
pub const AGENT_NAME: &str = "gen_ai.agent.name";
pub const AGENT_TASK: &str = "gen_ai.agent.description";
/// The agent of the main thread.
pub const MAIN_AGENT: &str = "Claude Code";
pub const TOOL_NAME: &str = "gen_ai.tool.name";
pub const TOOL_CALL: &str = "gen_ai.tool.call.id";
pub const MODEL: &str = "gen_ai.request.model";
pub const TOKEN_TYPE: &str = "gen_ai.token.type";
pub const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
pub const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
pub const CACHE_READ_TOKENS: &str = "gen_ai.usage.cache_read.input_tokens";
pub const CACHE_CREATION_TOKENS: &str = "gen_ai.usage.cache_creation.input_tokens";
pub const ERROR_TYPE: &str = "error.type";
pub const RECORD_UID: &str = "log.record.uid";

/// What kind of line or span it is: `tool`, `agent_end`, `turn`.
pub const KIND: &str = "hookkeeper.kind";
pub const EVENT: &str = "hookkeeper.event";
pub const WHAT: &str = "hookkeeper.what";
pub const TARGET: &str = "hookkeeper.target";
pub const TEXT: &str = "hookkeeper.text";
pub const MESSAGE: &str = "hookkeeper.error.message";
pub const DURATION: &str = "hookkeeper.duration_ms";
pub const HOOK_TIME: &str = "hookkeeper.hook.duration_us";
pub const OUTCOME: &str = "hookkeeper.hook.outcome";
pub const FINDINGS: &str = "hookkeeper.findings";
pub const SEVERITY: &str = "hookkeeper.finding.severity";
pub const COST: &str = "hookkeeper.cost.usd";
pub const COST_ESTIMATED: &str = "hookkeeper.cost.estimated";
pub const DAY: &str = "hookkeeper.usage.day";
pub const BRANCH: &str = "hookkeeper.git.branch";
/// A mark of something that has begun; its own span follows when it is over.
pub const PENDING: &str = "hookkeeper.pending";
pub const REASON: &str = "hookkeeper.reason";
pub const SOURCE: &str = "hookkeeper.source";
pub const STATUS: &str = "hookkeeper.status";
pub const LOOP: &str = "hookkeeper.loop";
pub const VERDICT: &str = "hookkeeper.loop.verdict";
