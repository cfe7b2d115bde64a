//! What another program says to `--version`.

use std::path::Path;
use std::time::Duration;

use crate::process::child::{self, Input, Run};

const LIMIT: Duration = Duration::from_secs(5);

/// What a program answered to `--version`.
pub enum VersionAnswer {
    /// It was not asked: it is part of the project, and looking must not run a project's code.
    NotAsked,
    /// The first line that it printed.
    Line(String),
    Failed(String),
}

/// Asks a program. One that a project brings along is not started: who checks a project has not
/// said yet that its code may run.
pub fn ask(program: &Path, root: &Path) -> VersionAnswer {
    let inside = |path: &Path| path.starts_with(root);
    if inside(program) || program.canonicalize().is_ok_and(|real| inside(&real)) {
        return VersionAnswer::NotAsked;
    }
    let run = Run {
        program,
        args: &["--version".as_ref()],
        dir: Some(Path::new("/")),
        env: &[],
        input: Input::Nothing,
        limit: LIMIT,
    };
    let ended = match child::run(&run) {
        Err(error) => return VersionAnswer::Failed(error.to_string()),
        Ok(ended) => ended,
    };
    let text = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        text.lines().next().unwrap_or_default().trim().to_owned()
    };
    match ended.code {
        Some(0) => VersionAnswer::Line(text(&ended.stdout)),
        Some(code) => VersionAnswer::Failed(format!("exit code {code}: {}", text(&ended.stderr))),
        None => VersionAnswer::Failed("it was ended by a signal, or after 5 seconds by us".into()),
    }
}
