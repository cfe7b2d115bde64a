//! The slash commands, as `install` and `uninstall` deal with them.

use crate::client::settings::edit;
use crate::client::settings::scope::Scope;
use crate::client::slash_commands::{ALL, FOLDER};
use crate::commands::client::settings::{read_scope, with_paths};
use crate::console::checkout;
use crate::console::project::Project;
use crate::core::text::plural;
use crate::store::slash_commands::{self, FileStep, Steps};

#[derive(clap::Args)]
pub struct CommandsChoice {
    /// Write the slash commands too (/hookkeeper:loop and others). Without this you are asked, if
    /// somebody is there to answer
    #[arg(long)]
    commands: bool,
    /// Write no slash commands, and do not ask
    #[arg(long, conflicts_with = "commands")]
    no_commands: bool,
}

/// In the project.
pub const PROJECT_FOLDER: &str = ".claude/commands/hookkeeper";

fn shown(scope: Scope) -> String {
    let (commands, own) = FOLDER;
    match scope {
        Scope::User => format!("~/.claude/{commands}/{own}"),
        Scope::Project | Scope::Local => PROJECT_FOLDER.to_owned(),
    }
}

/// Writes the commands if that is wanted, and says what was done or, for a preview, would be.
pub fn install(
    project: &Project,
    scope: Scope,
    choice: &CommandsChoice,
    dry: bool,
) -> anyhow::Result<Vec<String>> {
    if choice.no_commands {
        return Ok(Vec::new());
    }
    if let Some(plugin) = enabled_plugin(project) {
        let said = format!("Note: the plugin {plugin} brings the slash commands already");
        return Ok(if choice.commands { vec![said] } else { Vec::new() });
    }
    // Who has them gets new ones with a new version.
    let has_some = with_paths(project, |paths| slash_commands::are_written(paths, scope))?;
    let is_wanted = choice.commands || has_some;
    if dry && !is_wanted {
        return Ok(Vec::new());
    }
    if dry {
        let steps = with_paths(project, |paths| slash_commands::steps_to_write(paths, scope))?;
        return Ok(lines(&steps, scope, true));
    }
    if !is_wanted && !asked(project, scope) {
        return Ok(Vec::new());
    }
    let mut lines = match with_paths(project, |paths| slash_commands::write(paths, scope)) {
        Ok(done) => lines(&done, scope, false),
        // The hooks are wired by now, and work without them.
        Err(why) => {
            return Ok(vec![format!("Warning: the slash commands are not written: {why:#}")]);
        }
    };
    let root = project.root()?;
    match scope {
        Scope::Local => {
            let hidden = checkout::hide_from_git(&root, PROJECT_FOLDER);
            let seen = |why| format!("Warning: git sees {PROJECT_FOLDER}: {why:#}");
            lines.extend(hidden.err().map(seen));
        }
        // They were one person's before, and are the team's now, who commits them.
        Scope::Project => lines.extend(match checkout::show_to_git(&root, PROJECT_FOLDER) {
            Ok(shown) => {
                shown.iter().map(|line| format!(".git/info/exclude: without {line}")).collect()
            }
            Err(why) => vec![format!("Warning: git may not see {PROJECT_FOLDER}: {why:#}")],
        }),
        Scope::User => {}
    }
    Ok(lines)
}

/// Whether there are any of ours, as far as can be seen.
pub fn are_written(project: &Project, scope: Scope) -> bool {
    with_paths(project, |paths| slash_commands::are_written(paths, scope)).unwrap_or_default()
}

/// Takes them out, and says what was done or would be.
pub fn uninstall(project: &Project, scope: Scope, dry: bool) -> anyhow::Result<Vec<String>> {
    let steps = with_paths(project, |paths| match dry {
        true => slash_commands::steps_to_remove(paths, scope),
        false => slash_commands::remove(paths, scope),
    })?;
    Ok(lines(&steps, scope, dry))
}

fn lines(steps: &Steps, scope: Scope, dry: bool) -> Vec<String> {
    let folder = shown(scope);
    let count = |wanted: FileStep| steps.iter().filter(|(_, step)| *step == wanted).count();
    let mut lines = Vec::new();
    for (step, did, would) in [
        (FileStep::Write, "written", "would be written"),
        (FileStep::Same, "there already", "there already"),
        (FileStep::Remove, "removed", "would be removed"),
    ] {
        let n = count(step);
        if n > 0 {
            let done = if dry { would } else { did };
            lines.push(format!("{folder}: {} {done}", plural(n, "slash command")));
        }
    }
    if count(FileStep::Write) > 0 {
        let names = ALL.iter().map(|command| format!("/hookkeeper:{}", command.name));
        let names = names.collect::<Vec<_>>().join(", ");
        lines.push(format!("In Claude Code: {names}"));
    }
    let changed = steps.iter().filter(|(_, step)| *step == FileStep::Stays);
    lines.extend(
        changed.map(|(name, _)| format!("{folder}/{name}: not as HookKeeper wrote it, stays")),
    );
    lines
}

fn asked(project: &Project, scope: Scope) -> bool {
    if project.process.is_in_client() {
        return false;
    }
    let folder = shown(scope);
    let question =
        format!("Write the slash commands (/hookkeeper:loop and others) to {folder}? [Y/n] ");
    let answer = project.process.ask(&question);
    answer.is_some_and(|answer| matches!(answer.trim().to_lowercase().as_str(), "" | "y" | "yes"))
}

fn enabled_plugin(project: &Project) -> Option<String> {
    Scope::ALL.into_iter().find_map(|scope| {
        let bytes = read_scope(project, scope).ok()?.1?;
        edit::enabled_plugins(&String::from_utf8_lossy(&bytes)).into_iter().next()
    })
}
