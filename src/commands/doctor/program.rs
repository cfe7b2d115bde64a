//! Which program a hook starts, where that is certain. A shell command can hide its program behind
//! anything; then nothing is said.

use std::path::{Path, PathBuf};

use crate::doctor::settings::HookEntry;

#[derive(Clone, Debug, PartialEq)]
pub enum Requirement {
    /// Must be there and executable.
    Program(PathBuf),
    /// Must be on the PATH.
    Name(String),
    /// An interpreter reads it: it must be there.
    Script(PathBuf),
}

/// Where to look things up.
pub struct SearchRoots<'a> {
    pub root: &'a Path,
    pub home: Option<&'a Path>,
}

/// What a hook needs in order to start.
pub fn requirements(hook: &HookEntry, roots: &SearchRoots) -> Vec<Requirement> {
    let Some(first) = hook.words.first() else { return Vec::new() };
    if !hook.exec && !starts_with(&hook.command, first) {
        return Vec::new();
    }
    let program = roots.find(first, hook.exec);
    let shell_word = !hook.exec && SHELL_WORDS.contains(&first.as_str());
    let mut all: Vec<Requirement> = program.filter(|_| !shell_word).into_iter().collect();
    if INTERPRETERS.contains(&first.rsplit('/').next().unwrap_or(first)) {
        let script = hook.words.get(1).filter(|word| word.contains('/'));
        if let Some(Requirement::Program(path)) =
            script.and_then(|word| roots.find(word, hook.exec))
        {
            all.push(Requirement::Script(path));
        }
    }
    all
}

impl SearchRoots<'_> {
    /// What a word stands for; `None` if only a shell or the client could tell.
    pub fn find(&self, word: &str, exec: bool) -> Option<Requirement> {
        for name in ["${CLAUDE_PROJECT_DIR}", "$CLAUDE_PROJECT_DIR"] {
            if let Some(below) = word.strip_prefix(name) {
                let below = below.strip_prefix('/').filter(|below| exec || is_plain(below))?;
                return Some(Requirement::Program(self.root.join(below)));
            }
        }
        if let Some(below) = word.strip_prefix("~/").filter(|_| !exec) {
            return self
                .home
                .filter(|_| is_plain(below))
                .map(|home| Requirement::Program(home.join(below)));
        }
        if word.contains("${") || !(exec || is_plain(word)) {
            return None;
        }
        match word {
            _ if word.starts_with('/') => Some(Requirement::Program(word.into())),
            _ if word.starts_with("./") => Some(Requirement::Program(self.root.join(word))),
            _ if word.contains('/') || word.is_empty() => None,
            _ => Some(Requirement::Name(word.to_owned())),
        }
    }
}

/// Whether a shell would take a word as it stands. Spaces can only be in it by quotes.
fn is_plain(word: &str) -> bool {
    word.chars()
        .all(|c| c.is_alphanumeric() || matches!(c, '.' | '_' | '/' | '+' | '-' | ' ' | '@'))
}

/// Whether the first thing in a command is this word, and not a `cd` or `sudo` before it.
fn starts_with(command: &str, word: &str) -> bool {
    let bare: String = command.chars().filter(|c| !matches!(c, '"' | '\'')).collect();
    bare.trim_start().starts_with(word)
}

const INTERPRETERS: [&str; 12] = [
    "bash", "bun", "dash", "deno", "ksh", "node", "perl", "python", "python3", "ruby", "sh", "zsh",
];

/// What a shell understands without any program of that name.
const SHELL_WORDS: [&str; 46] = [
    "!", ".", ":", "[", "[[", "alias", "bg", "break", "case", "cd", "command", "continue",
    "declare", "echo", "eval", "exec", "exit", "export", "false", "fg", "for", "function",
    "getopts", "hash", "if", "jobs", "kill", "let", "local", "printf", "pwd", "read", "return",
    "set", "shift", "source", "test", "time", "trap", "true", "type", "ulimit", "umask", "unset",
    "until", "while",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::settings::{SettingsContent, read};

    fn seek(handler: &str) -> Vec<Requirement> {
        let text = format!("{{\"hooks\": {{\"Stop\": [{{\"hooks\": [{handler}]}}]}}}}");
        let SettingsContent::Parsed(parsed) = read(text.as_bytes()) else { panic!("{text}") };
        let roots = SearchRoots { root: Path::new("/p"), home: Some(Path::new("/h")) };
        requirements(&parsed.hooks[0], &roots)
    }

    fn shell(command: &str) -> Vec<Requirement> {
        seek(&serde_json::json!({"type": "command", "command": command}).to_string())
    }

    fn program(path: &str) -> Requirement {
        Requirement::Program(path.into())
    }

    #[test]
    fn certain_programs_are_named() {
        assert_eq!(shell("/opt/x --y"), [program("/opt/x")]);
        assert_eq!(shell("\"$CLAUDE_PROJECT_DIR\"/.claude/a b"), [program("/p/.claude/a")]);
        assert_eq!(shell("'${CLAUDE_PROJECT_DIR}/a b.sh'"), [program("/p/a b.sh")]);
        assert_eq!(shell("./x.sh && y"), [program("/p/./x.sh")]);
        assert_eq!(shell("~/x.sh"), [program("/h/x.sh")]);
        assert_eq!(shell("jq -r ."), [Requirement::Name("jq".into())]);
        assert_eq!(
            shell("python3 $CLAUDE_PROJECT_DIR/a.py"),
            [Requirement::Name("python3".into()), Requirement::Script("/p/a.py".into())]
        );
        assert_eq!(shell("bash -c 'x/y'"), [Requirement::Name("bash".into())]);
        assert_eq!(seek(r#"{"command": "a b", "args": []}"#), [Requirement::Name("a b".into())]);
    }

    #[test]
    fn where_it_is_not_certain_nothing_is_said() {
        for command in [
            "cd x && ./y",
            "sudo /x",
            "A=1 /x",
            "if true; then x; fi",
            "echo hi",
            "$MY/x",
            "$(which x) y",
            "x/y",
            "(x)",
            "${CLAUDE_PLUGIN_ROOT}/x",
            "$CLAUDE_PROJECT_DIRECTORY/x",
            "/x/*/y",
            "",
        ] {
            assert_eq!(shell(command), [], "{command}");
        }
        assert_eq!(seek(r#"{"type": "prompt", "prompt": "x"}"#), []);
    }
}
