//! Every setting, one row each: key, kind with limits and default, where the value goes, who may
//! set it, one sentence. Reading and checking, `hookkeeper config`, the schema, the table in
//! `docs/settings.md` and what a file that came with a checkout may set all follow from it.

use crate::core::settings::export::{check_endpoint, check_header};
use crate::core::settings::field::Field;
use crate::core::settings::{Settings, Texts};

pub struct Setting {
    /// Dotted: `systems.errors`. Below that of a map every name is a key.
    pub key: &'static str,
    pub field: Field,
    pub trust: Trust,
    /// A variable that counts more than any file, for commands; hooks do not look at it.
    pub env: Option<&'static str>,
    /// Its value is not shown.
    pub is_secret: bool,
    /// One sentence.
    pub help: &'static str,
}

/// Who may set it. What is greater may less: a file is read up to its own trust.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trust {
    /// Any `.claude/hookkeeper.json`, also one that came with a checkout.
    Harmless,
    /// A `.claude/hookkeeper.json` that was made on this machine.
    Own,
    /// It could run programs or lead data away: never a project's file, only the user's own
    /// (`hookkeeper.json` in the client's directory) and the environment, and only a person sets it.
    Person,
}

pub const TABLE: &[Setting] = &[
    choice("durability", "classed", &["none", "classed", "data", "full"], |s| &mut s.durability)
        .help(
            "What is synced to disk: nothing, the documents that outlive a session, every document's \
             data, or its directory too.",
        ),
    number("stuck_after_minutes", 5, 1..=u64::MAX, |s| &mut s.stuck_after_minutes)
        .harmless()
        .help("After how many minutes without a sign of life an agent counts as stuck."),
    number("keep_backups", 3, 1..=u64::MAX, |s| &mut s.keep_backups)
        .harmless()
        .help("Compaction backups that are kept of each session."),
    number("keep_sessions", 1000, 1..=u64::MAX, |s| &mut s.keep_sessions)
        .help("Sessions whose journals are kept."),
    number("keep_megabytes", 200, 1..=u64::MAX, |s| &mut s.keep_megabytes)
        .help("How many megabytes all journals together may have."),
    switch("record", false, |s| &mut s.record).help("Keep the payloads that come in."),
    switch("request_findings", false, |s| &mut s.request_findings)
        .help("Ask agents for a findings block when they start."),
    patterns("redact", |s| &mut s.redact)
        .help("Extra patterns (regular expressions) to redact: 32 at most, of 512 bytes each."),
    switch("notify", false, |s| &mut s.notify)
        .harmless()
        .help("Ring the terminal for verdicts and escalations."),
    number("context_warning_percent", 80, 0..=100, |s| &mut s.context_warning_percent)
        .harmless()
        .help("How full the context may get before the user is warned, in percent; 0 means never."),
    switch("mention_commands", true, |s| &mut s.mention_commands)
        .harmless()
        .help("Tell the model, once in a project, which slash commands of HookKeeper there are."),
    switch("systems.loop", true, |s| &mut s.systems.queue_loop)
        .help("The queue loop: `loop`, `queue`, `gate` and `run-gate`."),
    switch("systems.branch_loop", true, |s| &mut s.systems.branch_loop)
        .help("The loop of a branch: `branch loop`. It needs `systems.branches`."),
    switch("systems.autonomous", true, |s| &mut s.systems.autonomous)
        .help("The autonomous loop: `autonomous`."),
    switch("systems.iterative", true, |s| &mut s.systems.iterative)
        .help("Iterative tasks: `iterative`."),
    switch("systems.execute", true, |s| &mut s.systems.execute)
        .help("Executions: `execute` and `run-verify`."),
    switch("systems.branches", true, |s| &mut s.systems.branches)
        .help("What belongs to a branch: its state, its agents, its hand-offs and its loop."),
    switch("systems.handoffs", true, |s| &mut s.systems.handoffs)
        .help("Hand-offs: `branch handoff`, and what a new session hears of open ones."),
    switch("systems.agents", true, |s| &mut s.systems.agents)
        .help("Agents: who runs, what they found, who is stuck."),
    switch("systems.errors", true, |s| &mut s.systems.errors)
        .help("Errors: their classes, retries and escalations."),
    switch("systems.compaction", true, |s| &mut s.systems.compaction)
        .help("Backups before a compaction, and what the model gets back after it."),
    switch("systems.journal", true, |s| &mut s.systems.journal)
        .help("The journal: what `log`, `search`, `report`, `recap` and `cost` look back on."),
    switch("systems.notices", true, |s| &mut s.systems.notices)
        .help("What the user is told once: damaged documents, loops that nobody drives, the like."),
    switch("systems.export", true, |s| &mut s.systems.export)
        .help("Sending what happens to an OpenTelemetry endpoint, if `export.endpoint` is set: `export`."),
    text("export.endpoint", check_endpoint, |s| &mut s.export.endpoint)
        .person("HOOKKEEPER_OTLP_ENDPOINT")
        .help("Where what happens is sent (OTLP over HTTP); without it nothing is."),
    switch("export.off", false, |s| &mut s.export.off)
        .person("HOOKKEEPER_OTLP_OFF")
        .help("Send nothing, whatever else is set."),
    texts("export.headers", check_header, |s| &mut s.export.headers)
        .secret()
        .help("Headers of the requests, by name; `HOOKKEEPER_OTLP_HEADERS` is `name=value,name=value`."),
    text("export.headers_file", any_text, |s| &mut s.export.headers_file)
        .person("HOOKKEEPER_OTLP_HEADERS_FILE")
        .help("A file of yours with headers, `Name: value` on each line."),
    text("export.headers_command", any_text, |s| &mut s.export.headers_command)
        .person("HOOKKEEPER_OTLP_HEADERS_COMMAND")
        .help("A line for a shell that prints headers, `Name: value` on each line."),
    texts("export.resource", any_texts, |s| &mut s.export.resource)
        .help("Attributes of all that is sent; `HOOKKEEPER_OTLP_RESOURCE` is `name=value,name=value`."),
    switch("export.logs", true, |s| &mut s.export.logs)
        .person("HOOKKEEPER_OTLP_LOGS")
        .help("Send the lines of the journal as log records."),
    switch("export.traces", true, |s| &mut s.export.traces)
        .person("HOOKKEEPER_OTLP_TRACES")
        .help("Send sessions, turns, agents and tool calls as spans."),
    switch("export.metrics", true, |s| &mut s.export.metrics)
        .person("HOOKKEEPER_OTLP_METRICS")
        .help("Send counts, costs and times as metrics."),
    switch("export.prompts", false, |s| &mut s.export.prompts)
        .person("HOOKKEEPER_OTLP_PROMPTS")
        .help("Send what people type and what agents are asked, redacted."),
    switch("export.reports", false, |s| &mut s.export.reports)
        .person("HOOKKEEPER_OTLP_REPORTS")
        .help("Send what the model and its agents answer, redacted."),
    text("export.ca", any_text, |s| &mut s.export.ca)
        .person("HOOKKEEPER_OTLP_CA")
        .help("A file with certificates that an https endpoint is verified with, instead of the system's."),
    choice("export.gzip", "auto", &["auto", "on", "off"], |s| &mut s.export.gzip)
        .person("HOOKKEEPER_OTLP_GZIP")
        .help("Compress what is sent; `auto`: not to this machine itself."),
    number("export.timeout_seconds", 10, 1..=120, |s| &mut s.export.timeout_seconds)
        .person("HOOKKEEPER_OTLP_TIMEOUT_SECONDS")
        .help("How long one request may take."),
];

impl Setting {
    const fn help(self, help: &'static str) -> Self {
        Self { help, ..self }
    }

    /// Only a person sets it, or this variable.
    const fn person(self, env: &'static str) -> Self {
        Self { trust: Trust::Person, env: Some(env), ..self }
    }

    const fn secret(self) -> Self {
        Self { is_secret: true, ..self }
    }

    const fn harmless(self) -> Self {
        Self { trust: Trust::Harmless, ..self }
    }
}

/// The setting that a key is about and, of a map, the name in it.
pub fn find<'k>(
    table: &'static [Setting],
    key: &'k str,
) -> Option<(&'static Setting, Option<&'k str>)> {
    if let Some(row) = table.iter().find(|row| row.key == key) {
        return Some((row, None));
    }
    table.iter().filter(|row| matches!(row.field, Field::Texts { .. })).find_map(|row| {
        let name = key.strip_prefix(row.key)?.strip_prefix('.')?;
        (!name.is_empty()).then_some((row, Some(name)))
    })
}

const fn row(key: &'static str, field: Field) -> Setting {
    Setting { key, field, trust: Trust::Own, env: None, is_secret: false, help: "" }
}

const fn switch(key: &'static str, default: bool, at: fn(&mut Settings) -> &mut bool) -> Setting {
    row(key, Field::Switch { default, at })
}

const fn number(
    key: &'static str,
    default: u64,
    range: std::ops::RangeInclusive<u64>,
    at: fn(&mut Settings) -> &mut u64,
) -> Setting {
    row(key, Field::Number { default, least: *range.start(), most: *range.end(), at })
}

const fn choice(
    key: &'static str,
    default: &'static str,
    words: &'static [&'static str],
    at: fn(&mut Settings) -> &mut &'static str,
) -> Setting {
    row(key, Field::Choice { default, words, at })
}

const fn patterns(key: &'static str, at: fn(&mut Settings) -> &mut Vec<String>) -> Setting {
    row(key, Field::Patterns { at })
}

const fn text(
    key: &'static str,
    check: fn(&str) -> Result<(), String>,
    at: fn(&mut Settings) -> &mut Option<String>,
) -> Setting {
    row(key, Field::Text { check, at })
}

/// Texts by their names, for persons.
const fn texts(
    key: &'static str,
    check: fn(&str, &str) -> Result<(), String>,
    at: fn(&mut Settings) -> &mut Texts,
) -> Setting {
    Setting { trust: Trust::Person, ..row(key, Field::Texts { check, at }) }
}

fn any_text(_: &str) -> Result<(), String> {
    Ok(())
}

fn any_texts(_: &str, _: &str) -> Result<(), String> {
    Ok(())
}
