//! Whether a command that succeeded shows that a source file can be compiled: it names the file to a
//! compiler or interpreter, or builds or checks the whole of its language.

use crate::core::command_line;

/// Programs that read a file which they are given as source.
const READERS: [&str; 36] = [
    "bash",
    "bun",
    "bunx",
    "cc",
    "clang",
    "clang++",
    "deno",
    "eslint",
    "g++",
    "gcc",
    "go",
    "java",
    "javac",
    "jq",
    "kotlinc",
    "luac",
    "mypy",
    "node",
    "npx",
    "perl",
    "php",
    "pnpm",
    "pyflakes",
    "python",
    "python3",
    "ruby",
    "ruff",
    "rustc",
    "sh",
    "shellcheck",
    "swiftc",
    "ts-node",
    "tsc",
    "tsx",
    "yarn",
    "zsh",
];

/// What compiles or checks all files of a language: extensions, program, and one of these words; none:
/// the program alone.
const BUILDERS: [(&[&str], &str, &[&str]); 24] = [
    (RUST, "cargo", &["build", "check", "clippy", "run", "test", "nextest", "b", "c", "t", "r"]),
    (SCRIPT, "tsc", &[]),
    (SCRIPT, "eslint", &[]),
    (SCRIPT, "npx", &["tsc", "eslint"]),
    (SCRIPT, "vite", &["build"]),
    (SCRIPT, "next", &["build"]),
    (SCRIPT, "npm", SCRIPTS),
    (SCRIPT, "yarn", SCRIPTS),
    (SCRIPT, "pnpm", SCRIPTS),
    (SCRIPT, "bun", SCRIPTS),
    (&["go"], "go", &["build", "install", "run", "test", "vet"]),
    (JVM, "gradle", &[]),
    (JVM, "gradlew", &[]),
    (JVM, "mvn", &[]),
    (JVM, "mvnw", &[]),
    (&["py"], "mypy", &[]),
    (&["py"], "pytest", &[]),
    (&["py"], "python", &["compileall", "pytest"]),
    (&["py"], "python3", &["compileall", "pytest"]),
    (&["py"], "ruff", &["check"]),
    (NATIVE, "make", &[]),
    (NATIVE, "ninja", &[]),
    (NATIVE, "cmake", &["--build"]),
    (&["rb"], "rspec", &[]),
];
const RUST: &[&str] = &["rs"];
const SCRIPT: &[&str] = &["ts", "tsx", "js", "jsx", "mjs", "cjs", "mts", "cts", "vue", "svelte"];
const JVM: &[&str] = &["java", "kt"];
const NATIVE: &[&str] = &["c", "h", "cc", "cpp", "cxx", "hpp"];
const SCRIPTS: &[&str] = &["build", "check", "lint", "test", "typecheck", "type-check"];

/// Whether a command that succeeded may have compiled anything.
pub fn may_compile(command: &str) -> bool {
    telling_steps(command).iter().any(|step| {
        let program = command_line::program(step);
        READERS.contains(&program) || BUILDERS.iter().any(|(_, builder, _)| *builder == program)
    })
}

/// Whether a command that succeeded shows that a file of the project compiles.
pub fn covers(command: &str, file: &str) -> bool {
    let extension = file.rsplit('.').next().unwrap_or_default();
    telling_steps(command).iter().any(|step| {
        let program = command_line::program(step);
        let has = |words: &[&str]| {
            words.is_empty() || step.iter().skip(1).any(|word| words.contains(&word.as_str()))
        };
        let builds = |(extensions, builder, words): &(&[&str], &str, &[&str])| {
            *builder == program && extensions.contains(&extension) && has(words)
        };
        let names = || step.iter().skip(1).any(|word| is_same_file(word, file));
        READERS.contains(&program) && names() || BUILDERS.iter().any(builds)
    })
}

/// The steps whose success a command's exit status tells of.
fn telling_steps(command: &str) -> Vec<Vec<String>> {
    let mut steps = command_line::steps(command);
    if command.contains(['|', ';', '\n']) {
        steps.drain(..steps.len().saturating_sub(1));
    }
    steps
}

fn is_same_file(word: &str, file: &str) -> bool {
    let word = word.trim_start_matches("./");
    let is_end = |long: &str, short: &str| {
        long.strip_suffix(short).is_some_and(|before| before.is_empty() || before.ends_with('/'))
    };
    !word.is_empty() && (is_end(word, file) || is_end(file, word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_corrected_form_covers_the_file() {
        for (command, file) in [
            ("node broken.js", "broken.js"),
            ("cd src && node --check ./broken.js", "src/broken.js"),
            ("cargo check", "src/lib.rs"),
            ("cargo fmt && cargo test --lib", "src/lib.rs"),
            ("npx tsc --noEmit", "src/app.ts"),
            ("npm run build", "src/app.tsx"),
            ("python3 -m py_compile app/views.py", "app/views.py"),
            ("go vet ./...", "main.go"),
            ("cat x; make", "src/list.c"),
        ] {
            assert!(may_compile(command) && covers(command, file), "{command}");
        }
    }

    #[test]
    fn other_commands_do_not() {
        for (command, file) in [
            ("cat broken.js", "broken.js"),
            ("node other.js", "broken.js"),
            ("node not-broken.js", "broken.js"),
            ("cargo fmt", "src/lib.rs"),
            ("cargo build 2>&1 | tail -3", "src/lib.rs"),
            ("node broken.js || true", "broken.js"),
            ("node broken.js; echo done", "broken.js"),
            ("npm install", "src/app.ts"),
            ("cargo check", "src/app.ts"),
            ("", "a.js"),
        ] {
            assert!(!covers(command, file), "{command}");
        }
    }
}
