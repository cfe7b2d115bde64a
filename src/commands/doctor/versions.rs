//! HK024 and HK025: whether plugin, settings and program are of one version, and whether it is
//! clear which program is meant.

use std::path::Path;

use crate::client::version;
use crate::core::gate::shell_word;
use crate::core::text::clip;
use crate::doctor::facts::{Facts, InstalledPlugin, Program};
use crate::doctor::finding::{Finding, or_ok};
use crate::process::version::VersionAnswer;

const LONGEST_VERSION: usize = 60;

/// The program that the settings name is HK001's.
pub fn versions(facts: &Facts) -> Vec<Finding> {
    let mut problems: Vec<Finding> = wired_by_newer(facts).collect();
    for plugin in &facts.installed_plugins {
        problems.extend(of_plugin(facts, plugin));
        problems.extend(of_its_program(facts, plugin));
    }
    or_ok(problems, || match facts.installed_plugins.first() {
        Some(plugin) => format!("the plugin and this program are {}", plugin.version),
        None => format!("nothing here is of another version than {}", facts.version),
    })
}

fn wired_by_newer(facts: &Facts) -> impl Iterator<Item = Finding> {
    facts.recorded.iter().filter_map(|(scope, recorded)| {
        let file = facts.files.iter().find(|file| file.scope == *scope && file.wires_us())?;
        newer_than(&recorded.version, &facts.version).map(|newer| {
            Finding::warning(
                format!(
                    "{}: hookkeeper {} wired it; this is {}, which may not know all of it",
                    file.shown, newer, facts.version
                ),
                format!(
                    "Update this program, or wire the file with it: `hookkeeper install --scope {}`.",
                    scope.name()
                ),
            )
        })
    })
}

fn of_plugin(facts: &Facts, plugin: &InstalledPlugin) -> Option<Finding> {
    let (name, version) = (clip(&plugin.name, 80), clip(&plugin.version, LONGEST_VERSION));
    if plugin.version == facts.version {
        return None;
    }
    let hint = match newer_than(&plugin.version, &facts.version) {
        Some(newer) => format!("Update the program: `npm install --global hookkeeper@{newer}`."),
        None => format!("Update the plugin: `claude plugin update {}`.", shell_word(&name)),
    };
    Some(Finding::warning(
        format!("the plugin {name} is {version}; this program is {}", facts.version),
        hint,
    ))
}

/// A plugin's own program is the one that its hooks run.
fn of_its_program(facts: &Facts, plugin: &InstalledPlugin) -> Option<Finding> {
    let (path, answer) = plugin.program.as_ref()?;
    let name = clip(&plugin.name, 80);
    let word = shell_word(&name);
    let again = format!(
        "Install the plugin again: `claude plugin uninstall {word}`, then `claude plugin install {word}`."
    );
    match answer {
        VersionAnswer::Line(line) if *line == format!("hookkeeper {}", plugin.version) => None,
        VersionAnswer::Line(line) => Some(Finding::warning(
            format!(
                "the plugin {name} is {}, but its program {} is {:?}",
                clip(&plugin.version, LONGEST_VERSION),
                facts.show(path),
                clip(line, LONGEST_VERSION)
            ),
            again,
        )),
        VersionAnswer::Failed(why) => Some(Finding::error(
            format!(
                "{}, which the plugin {name} brings, does not run: {}",
                facts.show(path),
                clip(why, 200)
            ),
            again,
        )),
        VersionAnswer::NotAsked => None,
    }
}

pub fn programs(facts: &Facts) -> Vec<Finding> {
    let programs = &facts.on_path;
    let [first, _, ..] = programs.as_slice() else {
        return vec![match programs.first() {
            Some(only) => Finding::ok(format!("one on the PATH: {}", spell(facts, only))),
            None => none_on_path(facts),
        }];
    };
    let all: Vec<String> = programs.iter().map(|program| spell(facts, program)).collect();
    let text = format!("{} on the PATH: {}; a shell starts the first", all.len(), all.join(", "));
    let hint = "Remove those that you do not use.";
    let same = programs.iter().all(|program| answered(program) == answered(first));
    vec![if same { Finding::note(text, hint) } else { Finding::warning(text, hint) }]
}

/// Hooks that name a program which is not there are HK001's. A plugin puts its own on the PATH of the
/// client's shell.
fn none_on_path(facts: &Facts) -> Finding {
    if facts.slash_commands.is_empty() || facts.plugins().next().is_some() {
        return Finding::ok("none on the PATH here");
    }
    let dir = facts.running.as_deref().and_then(Path::parent);
    let dir = dir.map_or_else(|| "its directory".into(), |dir| facts.show(dir));
    Finding::warning(
        format!(
            "none on the PATH here, and the slash commands in {} start `hookkeeper` by its name",
            facts.slash_commands.join(" and ")
        ),
        format!("Add {dir} to the PATH that Claude Code is started with."),
    )
}

fn spell(facts: &Facts, program: &Program) -> String {
    let path = program.path.as_deref().map_or(program.word.clone(), |path| facts.show(path));
    format!("{path} ({})", clip(answered(program), LONGEST_VERSION))
}

fn answered(program: &Program) -> &str {
    match &program.answer {
        VersionAnswer::Line(line) => line.strip_prefix("hookkeeper ").unwrap_or("not HookKeeper"),
        VersionAnswer::Failed(_) => "does not run",
        VersionAnswer::NotAsked => "not asked: it is part of the project",
    }
}

/// The one version, if it is newer than the other.
fn newer_than(one: &str, other: &str) -> Option<String> {
    let (one, other) = (version::parse(one)?, version::parse(other)?);
    (one > other).then(|| version::spell(one))
}
