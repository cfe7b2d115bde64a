//! The commands, as `--help` shows them: what they are for, and how they are called. Completions, the
//! manual and the tests of escapes find them here.

use clap::Subcommand;

use crate::cli::branch;
use crate::cli::{config, demo, help, record, replay, reset, shell, trust};
use crate::commands::agents;
use crate::commands::client::{install, uninstall};
use crate::commands::compaction as backup;
use crate::commands::errors;
use crate::commands::loops::autonomous;
use crate::commands::loops::iterative;
use crate::commands::loops::queue as work;
use crate::commands::session as sessions;
use crate::doctor::commands as doctor;
use crate::history::commands as history;
use crate::report::commands as report;
use crate::validate::commands as validate;
use crate::validate::commands::schema;
use crate::view as status;
use crate::view::statusline;

#[derive(Subcommand)]
pub enum Command {
    /// See it work: a recorded session, played into a scratch project
    #[command(
        after_help = "Examples:\n  hookkeeper demo\n  hookkeeper demo --fast               # line by line, without waiting\n\n\
        The client was real when it was recorded; what the model said, and its tokens,\n\
        were scripted. Neither Claude Code nor a project is needed. The scratch project\n\
        stays below the temporary directory, or below DIR with -C."
    )]
    Demo(demo::Arguments),
    /// Wire the hooks into Claude Code's settings
    #[command(
        after_help = "Examples:\n  hookkeeper install                   # yours: .claude/settings.local.json\n  \
        hookkeeper install --scope user      # all projects: ~/.claude/settings.json\n  \
        hookkeeper install --scope project   # the team: .claude/settings.json\n  \
        hookkeeper install --commands        # with slash commands: /hookkeeper:loop …\n  \
        hookkeeper install --dry-run         # only show what would change"
    )]
    Install(install::Arguments),
    /// Take the hooks out of Claude Code's settings again
    #[command(
        after_help = "Examples:\n  hookkeeper uninstall\n  hookkeeper uninstall --scope user --dry-run\n  hookkeeper uninstall --purge         # and delete the state"
    )]
    Uninstall(uninstall::Arguments),
    /// What is wrong with this installation, and what to do about it
    #[command(
        after_help = "Examples:\n  hookkeeper doctor\n  hookkeeper doctor --fix\n  hookkeeper doctor --timings\n\ndocs/doctor.md explains every check."
    )]
    Doctor(doctor::Arguments),
    /// What is going on: sessions, agents, errors, backups
    #[command(
        after_help = "Examples:\n  hookkeeper status\n  hookkeeper status --watch\n  hookkeeper status --json | jq .sessions\n  hookkeeper -C ~/shop status"
    )]
    Status(status::Arguments),
    /// One line for Claude Code's status line, from its JSON on stdin
    #[command(
        after_help = "Example, in settings.json:\n  \"statusLine\": {\"type\": \"command\", \"refreshInterval\": 5,\n                 \"command\": \"hookkeeper statusline\"}\n\n`hookkeeper install --statusline` puts it there."
    )]
    Statusline(statusline::Arguments),
    /// The agents that run, and what those of a session found
    #[command(
        after_help = "Examples:\n  hookkeeper agents\n  hookkeeper agents --session 0f3e     # of ended sessions too\n  hookkeeper agents show a1b2\n  hookkeeper agents stuck\n  hookkeeper agents nudge a1b2 --message 'How far are you?'"
    )]
    Agents(agents::Arguments),
    /// What failed, by class, and whether a retry makes sense
    #[command(
        after_help = "Examples:\n  hookkeeper errors\n  hookkeeper errors --since 7d         # of ended sessions too\n  hookkeeper errors show 3f2a\n  hookkeeper errors --all --json\n  hookkeeper errors resolve 3f2a"
    )]
    Errors(errors::Arguments),
    /// Sessions that live, and sessions that have ended
    #[command(
        after_help = "Examples:\n  hookkeeper sessions\n  hookkeeper sessions show 0f3e        # the story of one\n  hookkeeper sessions --all --json | jq '.ended | length'"
    )]
    Sessions(sessions::Arguments),
    /// What happened, line by line: prompts, tools, agents, errors
    #[command(
        after_help = "Examples:\n  hookkeeper log\n  hookkeeper log --follow\n  hookkeeper log --session 0f3e --event error\n  \
        hookkeeper log --since 2h --json | jq -r .target\n  hookkeeper log --runs -n 5         # what each hook did"
    )]
    Log(history::log::Arguments),
    /// A text in everything that is kept, the newest first
    #[command(
        after_help = "Examples:\n  hookkeeper search 'rate limit'\n  hookkeeper search login --kind finding --since 7d\n  hookkeeper search login --json | jq -r '.hits[].look'"
    )]
    Search(history::search::Arguments),
    /// Tokens and dollars, by session, agent, branch, day or model
    #[command(
        after_help = "Examples:\n  hookkeeper cost\n  hookkeeper cost --by day --since 30d\n  hookkeeper cost --by agent --json | jq .total"
    )]
    Cost(history::cost::Arguments),
    /// What the last days came to, in a few lines
    #[command(
        after_help = "Examples:\n  hookkeeper recap\n  hookkeeper recap --since 30d --markdown"
    )]
    Recap(history::recap::Arguments),
    /// What happened as one HTML file: timeline, findings, errors, cost
    #[command(
        after_help = "Examples:\n  hookkeeper report --open             # the newest session\n  hookkeeper report 0f3e -o session.html\n  hookkeeper report --since 7d"
    )]
    Report(report::Arguments),
    /// Remove history beyond keep_sessions and keep_megabytes
    #[command(after_help = "Examples:\n  hookkeeper gc --dry-run\n  hookkeeper gc")]
    Gc(history::gc::Arguments),
    /// Send what happens to an OpenTelemetry endpoint
    #[command(
        after_help = "Examples:\n  hookkeeper export status\n  hookkeeper export test\n  hookkeeper export flush\n  hookkeeper export backfill --since 30d"
    )]
    Export(crate::export::commands::Arguments),
    /// Snapshots from before compactions
    #[command(
        after_help = "Examples:\n  hookkeeper backup list\n  hookkeeper backup show\n  hookkeeper backup diff 2 1\n  hookkeeper backup restore latest --dry-run"
    )]
    Backup(backup::Arguments),
    /// Work in iterations until gates pass and no item is open
    #[command(
        after_help = format!("Examples:\n  hookkeeper loop start 'Add login' --gate test\n  hookkeeper loop status\n  hookkeeper loop cancel\n\n{}", help::WHICH_LOOP)
    )]
    Loop(work::queue_loop::Arguments),
    /// Which loop when
    #[command(hide = true, help_template = "{after-help}", after_help = help::WHICH_LOOP)]
    Loops,
    /// Take a feature through its phases until it is shipped
    #[command(
        after_help = "Examples:\n  hookkeeper autonomous start 'Add user authentication'\n  hookkeeper autonomous status\n  hookkeeper autonomous approve\n\n`hookkeeper help loops` says which loop when."
    )]
    Autonomous(autonomous::Arguments),
    /// What a branch has: where it stands, its hand-offs, its loop
    #[command(
        after_help = "Examples:\n  hookkeeper branch show\n  hookkeeper branch handoff --type session\n  hookkeeper branch loop start 'Make all tests pass' --promise 'ALL GREEN'\n  hookkeeper branch loop status\n\n`hookkeeper help loops` says which loop when."
    )]
    Branch(branch::Arguments),
    /// Tasks in layers, each in a worktree: verified, merged one by one
    #[command(
        after_help = "Examples:\n  hookkeeper execute init docs/tasks/shop\n  hookkeeper execute next docs/tasks/shop --json\n  \
        hookkeeper execute start docs/tasks/shop L1-001\n  hookkeeper execute status docs/tasks/shop"
    )]
    Execute(crate::commands::execute::Arguments),
    /// Executions of several machines, as their remote knows them
    #[command(
        after_help = "Examples:\n  hookkeeper fleet status\n  hookkeeper fleet status --remote upstream --json"
    )]
    Fleet(crate::commands::execute::fleet::Arguments),
    /// Tasks in units: each done, confirmed and verified in its turn
    #[command(
        after_help = "Examples:\n  hookkeeper iterative new user-auth --task 'User authentication' \\\n    \
        --mode development --unit 'T1: User model | tests pass | max 5' \\\n    \
        --unit 'T2: Login | 401 without a password | needs T1'\n  \
        hookkeeper iterative status user-auth\n  hookkeeper iterative archive user-auth\n\n`hookkeeper help loops` says which loop when."
    )]
    Iterative(iterative::Arguments),
    /// Work items, most urgent first
    #[command(
        after_help = "Examples:\n  hookkeeper queue add --priority S1 --title 'Refuse empty passwords'\n  hookkeeper queue list\n  hookkeeper queue done work-002"
    )]
    Queue(work::items::Arguments),
    /// Run a command as a quality gate: its exit code decides
    #[command(
        after_help = "Example:\n  hookkeeper run-gate test -- cargo test\n\nIt ends with the exit code of the command; 0 is a pass. A command that cannot be\nstarted is 1, words that are wrong 64."
    )]
    RunGate(work::gate::RunArguments),
    /// Run the commands of a task's plan in its worktree
    #[command(after_help = "Example:\n  hookkeeper run-verify docs/tasks/shop L1-001")]
    RunVerify(crate::commands::execute::verify::Arguments),
    /// Record whether a quality gate passes
    #[command(
        after_help = "Examples:\n  hookkeeper gate lint pass\n  hookkeeper gate security warn --issues 1 --note S2"
    )]
    Gate(work::gate::Arguments),
    /// The settings: what there is, what holds and why, and changing it
    #[command(
        after_help = "Examples:\n  hookkeeper config list\n  hookkeeper config get stuck_after_minutes\n  hookkeeper config set systems.errors off\n  hookkeeper config unset systems.errors\n\ndocs/settings.md has every key."
    )]
    Config(config::Arguments),
    /// Keep the payloads that come, for `replay`
    #[command(after_help = "Examples:\n  hookkeeper record on\n  hookkeeper record list")]
    Record(record::Arguments),
    /// Play payloads on a copy of the state, and show what they do
    #[command(
        after_help = "Examples:\n  hookkeeper replay payload.json\n  hookkeeper replay .claude/state/recorded\n  \
        hookkeeper replay --fresh --json session.jsonl | jq .reply\n  tail -n 3 session.jsonl | hookkeeper replay -"
    )]
    Replay(replay::Arguments),
    /// Check every document against its schema
    #[command(
        after_help = "Examples:\n  hookkeeper validate\n  hookkeeper validate --json | jq .problems\n  hookkeeper validate --repair"
    )]
    Validate(validate::Arguments),
    /// Print the JSON Schema of a document, or list them
    #[command(
        after_help = "Examples:\n  hookkeeper schema\n  hookkeeper schema work-queue > work-queue.schema.json\n  hookkeeper schema --json | jq '.[].path'"
    )]
    Schema(schema::Arguments),
    /// Clear a part of the state; what was there is set aside
    #[command(after_help = "Examples:\n  hookkeeper reset errors\n  hookkeeper reset all")]
    Reset(reset::Arguments),
    /// Show state that was not made on this machine, and take it up
    #[command(
        after_help = "Examples:\n  hookkeeper trust\n  hookkeeper trust --yes               # without being asked, for scripts\n  hookkeeper trust .claude/plans/main.md"
    )]
    Trust(trust::Arguments),
    /// Completions for a shell, on stdout
    #[command(
        after_help = "Examples:\n  hookkeeper completions bash > ~/.bash_completion.d/hookkeeper\n  source <(hookkeeper completions zsh)"
    )]
    Completions(shell::Completions),
    /// The manual page, on stdout
    #[command(
        after_help = "Examples:\n  hookkeeper man | man -l -\n  hookkeeper man install | man -l -"
    )]
    Man(shell::Man),
    /// Handle one hook event; the payload comes on stdin
    #[command(after_help = "Example:\n  hookkeeper hook Stop < payload.json")]
    Hook {
        /// The event, if the payload does not say (SessionStart, subagent-stop, …)
        event: Option<String>,
    },
}

/// Commands that start programs which a model, a plan, a settings file or the PATH names. Nothing
/// that we ship allows them beforehand. Such a command has a word of its own, never a place below a
/// word that people allow by its prefix.
#[cfg(test)]
const RUNS_PROGRAMS: [&str; 8] =
    ["run-gate", "run-verify", "install", "doctor", "replay", "report", "export", "demo"];

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::RUNS_PROGRAMS;
    use crate::client::slash_commands;

    /// Every rule in the plugin's commands, and every command that it covers.
    #[test]
    fn no_slash_command_allows_what_runs_programs() {
        let mut known = crate::cli::Arguments::command();
        known.build();
        for name in RUNS_PROGRAMS {
            assert!(known.find_subcommand(name).is_some(), "{name}");
        }
        let mut rules = 0;
        for command in &slash_commands::ALL {
            let line =
                command.text.lines().find_map(|line| line.strip_prefix("allowed-tools: ")).unwrap();
            for rule in line.split(", ") {
                let inner = rule.strip_prefix("Bash(").and_then(|rest| rest.strip_suffix(')'));
                let inner = inner.unwrap_or_else(|| panic!("{rule} is not of the shell"));
                let prefix = inner.strip_suffix(":*").unwrap_or(inner);
                // A rule names at least one whole word of ours, which exists.
                let word = prefix.strip_prefix("hookkeeper ").unwrap_or_else(|| panic!("{rule}"));
                let word = word.split(' ').next().unwrap();
                assert!(known.find_subcommand(word).is_some(), "{rule}");
                for name in RUNS_PROGRAMS {
                    let command = format!("hookkeeper {name} ");
                    assert!(!command.starts_with(prefix), "{rule} covers {name}");
                }
                rules += 1;
            }
        }
        assert!(rules > 20, "{rules} rules were looked at");
    }

    /// The plugin's commands tell the model to run ours: each of them must exist.
    #[test]
    fn the_plugins_commands_run_what_there_is() {
        let mut known = crate::cli::Arguments::command();
        known.build();
        let mut names = Vec::new();
        for slash_commands::SlashCommand { name, text } in &slash_commands::ALL {
            assert!(text.starts_with("---\ndescription: "), "{name} says what it does");
            assert!(text.contains("\nallowed-tools: Bash(hookkeeper "), "{name} may run us");
            for after in text.split("hookkeeper ").skip(1) {
                let mut at = &known;
                for word in after.split(|c: char| !c.is_ascii_lowercase() && c != '-') {
                    match at.find_subcommand(word) {
                        Some(below) => at = below,
                        None => break,
                    }
                }
                let whole = !at.is_subcommand_required_set();
                let any = after.split_whitespace().next().is_some_and(|word| word.contains(":*"));
                assert!(whole || any, "{name}: `hookkeeper {}`", after.lines().next().unwrap());
            }
            names.push(*name);
        }
        for name in
            ["autonomous", "branch-loop", "execute", "handoff", "iterative", "loop", "status"]
        {
            assert!(names.contains(&name), "there is no /hookkeeper:{name}");
        }
    }
}
