//! Which `hookkeeper` there are: on the PATH, and in plugins that the client installed.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::client::settings::handler::PROGRAM;
use crate::doctor::facts::{Facts, InstalledPlugin, Program};
use crate::process::{Process, files, is_program, version};

/// The client's list of plugins is smaller.
const LARGEST_LIST: u64 = 16 << 20;

/// The programs that the PATH leads to, each file once. A plugin's launcher is none: it starts one
/// of these, or the plugin's own.
pub fn on_path(process: &Process, root: &Path) -> Vec<Program> {
    let mut seen: Vec<PathBuf> = Vec::new();
    let mut found = Vec::new();
    for path in process.all_on_path(PROGRAM) {
        let Ok(real) = path.canonicalize() else { continue };
        if seen.contains(&real) || is_plugin_launcher(&real) {
            continue;
        }
        seen.push(real);
        let answer = version::ask(&path, root);
        found.push(Program { word: PROGRAM.into(), path: Some(path), answer });
    }
    found
}

fn is_plugin_launcher(program: &Path) -> bool {
    let plugin = program.parent().and_then(Path::parent);
    plugin.is_some_and(|plugin| plugin.join(".claude-plugin/plugin.json").is_file())
}

/// Our enabled plugins, from the client's list of what it installed. Without one, none: a directory
/// that the client was started with is not in it.
pub fn plugins(facts: &Facts) -> Vec<InstalledPlugin> {
    let list = facts.client_dir.as_ref().map(|dir| dir.join("plugins/installed_plugins.json"));
    let bytes = list.and_then(|list| files::head(&list, LARGEST_LIST)).unwrap_or_default();
    let list: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let mut found = Vec::new();
    for (_, _, name) in facts.plugins() {
        let installs = list.get("plugins").and_then(|plugins| plugins.get(name));
        // Older clients have one object here, newer ones a list of them.
        let installs = match installs {
            Some(Value::Array(installs)) => installs.as_slice(),
            Some(one) => std::slice::from_ref(one),
            None => &[],
        };
        found.extend(
            installs
                .iter()
                .filter(|install| is_for_project(install, &facts.root))
                .filter_map(|install| read_install(name, install, &facts.root)),
        );
    }
    found
}

/// A plugin may be installed for one project only.
fn is_for_project(install: &Value, root: &Path) -> bool {
    let project = install.get("projectPath").and_then(Value::as_str);
    project.is_none_or(|project| root.starts_with(project))
}

fn read_install(name: &str, install: &Value, root: &Path) -> Option<InstalledPlugin> {
    let text = |key| install.get(key).and_then(Value::as_str);
    let version = text("version")?.to_owned();
    let folder = PathBuf::from(text("installPath")?);
    let file = format!("{PROGRAM}{}", std::env::consts::EXE_SUFFIX);
    let program = folder.join("node_modules").join(package()).join("bin").join(file);
    let program = is_program(&program).then(|| {
        let answer = version::ask(&program, root);
        (program, answer)
    });
    Some(InstalledPlugin { name: name.to_owned(), version, program })
}

/// The npm package with the program for this machine.
fn package() -> String {
    let system = match std::env::consts::OS {
        "macos" => "darwin",
        "windows" => "win32",
        other => other,
    };
    let processor = match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => other,
    };
    format!("@hookkeeper/{system}-{processor}")
}
