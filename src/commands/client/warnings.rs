//! What `install` warns of: what would keep hooks or slash commands from working, or make hooks run
//! twice.

use std::path::Path;

use crate::client::settings::handler::PROGRAM;
use crate::client::settings::scope::Scope;
use crate::client::settings::{edit, faults};
use crate::client::version::OLDEST;
use crate::commands::client::install::is_same_file;
use crate::commands::client::settings::read_scope;
use crate::commands::client::slash;
use crate::console::project::Project;
use crate::core::json::tree;

/// What would keep the hooks from working, or make them run twice.
pub fn warnings(project: &Project, scope: Scope) -> Vec<String> {
    let mut warnings = Vec::new();
    if scope == Scope::Project {
        warnings.push(format!(
            "Note: everybody who works in this project reads this file. Their Claude Code must be \
             {OLDEST} or later: one before 2.1.101 would ignore the whole file, permission rules \
             included. Who does not have the program gets one hint when a session starts."
        ));
    }
    if let Some(named_in) = named_in(scope, slash::are_written(project, scope)) {
        warnings.extend(path_warning(project, scope, named_in));
    }
    for other in Scope::ALL {
        let Ok((path, Some(bytes))) = read_scope(project, other) else { continue };
        let text = String::from_utf8_lossy(&bytes);
        let root = tree::parse(&text).ok();
        let faults = root.map(|root| faults::faults(&text, &root)).unwrap_or_default();
        for fault in faults.iter().filter(|fault| fault.voids_file) {
            warnings.push(format!(
                "Warning: {}:{}: {}: {}. Claude Code applies nothing of that file until it is mended: no hook, \
                 no permission rule.",
                project.shown(&path),
                fault.line,
                fault.event,
                fault.what
            ));
        }
        for event in edit::events_with_compound_commands(&text) {
            warnings.push(format!(
                "Warning: {}: the {event} hook calls HookKeeper inside a longer command. That is left as it \
                 is, and now runs beside ours.",
                project.shown(&path)
            ));
        }
        for plugin in edit::enabled_plugins(&text) {
            warnings.push(format!(
                "Warning: {}: the plugin {plugin} is enabled, so each hook would run twice. Disable it, or \
                 take this out: hookkeeper uninstall --scope {}",
                project.shown(&path),
                scope.name()
            ));
        }
        if other != scope && edit::is_wired(&text) {
            warnings.push(format!(
                "Warning: {} wires HookKeeper too, so each hook would run twice. Take one out: \
                 hookkeeper uninstall --scope {}",
                project.shown(&path),
                other.name()
            ));
        }
    }
    warnings
}

/// What was written that starts the program by its name alone.
fn named_in(scope: Scope, has_commands: bool) -> Option<&'static str> {
    match (scope, has_commands) {
        (Scope::Project, false) => Some("the file names"),
        (Scope::Project, true) => Some("the file and the slash commands name"),
        (Scope::Local | Scope::User, true) => Some("the slash commands name"),
        (Scope::Local | Scope::User, false) => None,
    }
}

/// That the name leads nowhere, or to another program.
fn path_warning(project: &Project, scope: Scope, named_in: &str) -> Option<String> {
    let program = project.process.program();
    match (project.process.on_path(PROGRAM), program) {
        (None, program) => {
            let dir = program.as_deref().and_then(Path::parent);
            let dir = dir.map_or_else(|| "its directory".into(), |dir| project.shown(dir));
            // The hooks of one's own file name the program by its path.
            let or = if scope == Scope::Project { ", or use --scope local" } else { "" };
            Some(format!(
                "Warning: {named_in} `hookkeeper`, which is not on your PATH. Add {dir} to it{or}."
            ))
        }
        (Some(found), Some(program)) if !is_same_file(&found, &program) => Some(format!(
            "Warning: {named_in} `hookkeeper`, which is another program on your PATH: {}",
            project.shown(&found)
        )),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_starts_the_program_by_its_name_needs_the_path() {
        assert_eq!(named_in(Scope::Local, false), None);
        assert_eq!(named_in(Scope::User, true), Some("the slash commands name"));
        assert_eq!(named_in(Scope::Project, false), Some("the file names"));
    }
}
