//! A shell command, as far as it tells what was tried: which programs, in which order.
//! This is no shell parser; quotes are respected, everything else is taken as it stands.

/// The simple commands of a command line, each as its words. Leading assignments, `sudo`, `env`,
/// `time` and a directory change are no part of what was tried.
pub fn steps(command: &str) -> Vec<Vec<String>> {
    let mut steps = vec![Vec::new()];
    for token in tokens(command) {
        match token {
            Token::Break => steps.push(Vec::new()),
            Token::Word(word) => {
                if let Some(step) = steps.last_mut() {
                    step.push(word);
                }
            }
        }
    }
    let steps = steps.into_iter().map(|step| unwrapped(&step).to_vec());
    steps.filter(|step| step.first().is_some_and(|program| program != "cd")).collect()
}

/// The command behind what only changes how it runs: `timeout 60`, `sudo -u x`, `nice`, `A=1`.
fn unwrapped(step: &[String]) -> &[String] {
    let mut rest = step;
    while let Some((first, behind)) = rest.split_first() {
        let asks = first == "command" && behind.first().is_some_and(|word| word.starts_with('-'));
        let wraps = matches!(
            first.as_str(),
            "sudo"
                | "env"
                | "time"
                | "command"
                | "exec"
                | "nice"
                | "nohup"
                | "stdbuf"
                | "ionice"
                | "timeout"
                | "xvfb-run"
                | "dotenv"
                | "!"
                | "("
                | "{"
        );
        if asks || !(wraps || is_assignment(first)) {
            return rest;
        }
        // Options, their values and durations go with the wrapper.
        let value = |word: &str| word.starts_with(|c: char| c.is_ascii_digit());
        let mut skip =
            behind.iter().take_while(|word| word.starts_with('-') || value(word)).count();
        if behind.first().is_some_and(|word| matches!(word.as_str(), "-u" | "-s" | "-k" | "-g")) {
            skip = skip.max(2);
        }
        rest = behind.get(if wraps { skip } else { 0 }..).unwrap_or_default();
    }
    rest
}

/// The name of a program, without its directory.
pub fn program(step: &[String]) -> &str {
    let word = step.first().map_or("", String::as_str);
    match cfg!(windows) {
        true => program_on_windows(word),
        false => word.rsplit('/').next().unwrap_or(word),
    }
}

/// Windows has two separators, and an ending that is no part of the name.
fn program_on_windows(word: &str) -> &str {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
    let at = name.len().saturating_sub(".exe".len());
    match name.split_at_checked(at) {
        Some((stem, end)) if end.eq_ignore_ascii_case(".exe") => stem,
        _ => name,
    }
}

/// Whether the command runs tests: then a non-zero exit is what was asked for.
pub fn runs_tests(command: &str) -> bool {
    steps(command).iter().any(|step| {
        let has = |word: &str| step.iter().skip(1).any(|have| have == word);
        let script = || {
            let is_test =
                |word: &String| word == "t" || word == "test" || word.starts_with("test:");
            step.iter().skip(1).any(is_test)
        };
        match program(step) {
            "pytest" | "jest" | "vitest" | "mocha" | "rspec" | "phpunit" | "ctest" | "tox"
            | "nox" | "bats" | "ava" | "karma" | "nosetests" | "gotestsum" | "py.test" => true,
            "cargo" => has("test") || has("nextest") || has("t"),
            "playwright" | "cypress" | "wtr" => has("test") || has("run"),
            "php" | "rails" | "ng" | "nx" | "turbo" | "sbt" | "lein" | "rush" => has("test"),
            "go" | "dotnet" | "mvn" | "mvnw" | "mix" | "swift" | "rake" | "zig" | "deno"
            | "flutter" | "bazel" => has("test"),
            "gradle" | "gradlew" | "make" | "just" | "task" => {
                has("test") || has("check") || has("tests")
            }
            "npm" | "pnpm" | "yarn" | "bun" => script(),
            "npx" | "bunx" | "uv" | "poetry" | "pipenv" | "bundle" | "python" | "python3" => {
                let runner =
                    ["pytest", "jest", "vitest", "mocha", "unittest", "rspec", "tox", "nox", "ava"];
                // These also install and serve.
                let browser = has("playwright") || has("cypress");
                let manages = step.get(1).is_some_and(|word| word.ends_with("manage.py"));
                runner.iter().any(|name| has(name))
                    || (manages && has("test"))
                    || (browser && (has("test") || has("run")))
            }
            "node" => has("--test"),
            _ => false,
        }
    })
}

/// Whether the last program's exit code 1 is an answer ("no", "different"), not a failure.
pub fn asks(command: &str) -> bool {
    let steps = steps(command);
    let Some(last) = steps.last() else { return false };
    match program(last) {
        "grep" | "egrep" | "fgrep" | "rg" | "ag" | "zgrep" | "diff" | "cmp" | "test" | "["
        | "[[" | "which" | "pgrep" | "false" => true,
        "git" => {
            last.iter().any(|word| matches!(word.as_str(), "grep" | "--quiet" | "--exit-code"))
        }
        "gh" => last.iter().any(|word| word == "checks"),
        "command" | "type" => true,
        _ => false,
    }
}

/// Whether the command checks sources: a non-zero exit is its verdict.
pub fn checks(command: &str) -> bool {
    steps(command).iter().any(|step| {
        let has = |names: &[&str]| step.iter().skip(1).any(|word| names.contains(&word.as_str()));
        match program(step) {
            "npx" | "bunx" | "uv" | "poetry" | "pipenv" | "bundle" | "python" | "python3"
            | "yarn" | "pnpm" => has(CHECKERS) || has(CHECK_SCRIPTS),
            "npm" | "bun" => has(CHECK_SCRIPTS),
            "cargo" => has(&["clippy", "fmt"]),
            "go" => has(&["vet"]),
            "dart" | "flutter" => has(&["analyze"]),
            "make" | "just" | "task" => has(CHECK_SCRIPTS),
            name => CHECKERS.contains(&name),
        }
    })
}

const CHECK_SCRIPTS: &[&str] =
    &["lint", "typecheck", "type-check", "check", "format:check", "check-types"];

const CHECKERS: &[&str] = &[
    "eslint",
    "tsc",
    "prettier",
    "biome",
    "stylelint",
    "ruff",
    "mypy",
    "pyright",
    "flake8",
    "pylint",
    "black",
    "isort",
    "shellcheck",
    "hadolint",
    "golangci-lint",
    "gofmt",
    "rubocop",
    "pre-commit",
];

/// Whether all that the command runs only prints what is in files: its output is no message.
pub fn only_reads(command: &str) -> bool {
    let steps = steps(command);
    !steps.is_empty()
        && steps.iter().all(|step| match program(step) {
            "cat" | "ls" | "sed" | "head" | "tail" | "grep" | "egrep" | "fgrep" | "rg" | "ag"
            | "find" | "fd" | "tree" | "wc" | "awk" | "sort" | "uniq" | "cut" | "tr" | "echo"
            | "diff" | "jq" | "nl" | "stat" | "file" | "du" => true,
            "git" => step.get(1).is_some_and(|word| {
                matches!(word.as_str(), "log" | "show" | "diff" | "status" | "grep" | "blame")
            }),
            _ => false,
        })
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

enum Token {
    Word(String),
    /// `;`, `&`, `&&`, `|`, `||`, a newline.
    Break,
}

fn tokens(command: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut word = String::new();
    let mut quote = None;
    let mut escaped = false;
    for c in command.chars() {
        match (quote, c) {
            _ if escaped => {
                word.push(c);
                escaped = false;
            }
            (None | Some('"'), '\\') => escaped = true,
            (Some(open), c) if c == open => quote = None,
            (Some(_), c) => word.push(c),
            (None, '\'' | '"') => quote = Some(c),
            (None, ';' | '|' | '&' | '\n') => {
                flush(&mut word, &mut tokens);
                if !matches!(tokens.last(), Some(Token::Break)) {
                    tokens.push(Token::Break);
                }
            }
            (None, c) if c.is_whitespace() => flush(&mut word, &mut tokens),
            (None, c) => word.push(c),
        }
    }
    flush(&mut word, &mut tokens);
    tokens
}

fn flush(word: &mut String, tokens: &mut Vec<Token>) {
    if !word.is_empty() {
        tokens.push(Token::Word(std::mem::take(word)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_of_windows_is_known_by_its_name() {
        for word in
            ["hookkeeper", "C:\\a b\\hookkeeper.exe", "C:/bin/HookKeeper.EXE", "hookkeeper.exe"]
        {
            assert_eq!(program_on_windows(word).to_lowercase(), "hookkeeper", "{word}");
        }
        assert_eq!(program_on_windows("C:\\hookkeeper.cmd"), "hookkeeper.cmd");
        assert_eq!(program_on_windows("é"), "é");
        assert_eq!(program_on_windows(""), "");
    }

    #[test]
    fn steps_are_what_was_tried() {
        let steps = steps("cd /x && FOO=1 sudo /usr/bin/curl -s 'a b' | jq . ; ls");
        assert_eq!(steps[0], ["/usr/bin/curl", "-s", "a b"]);
        assert_eq!(program(&steps[0]), "curl");
        assert_eq!(steps.len(), 3);
    }

    #[test]
    fn test_runs_and_questions() {
        for yes in [
            "timeout 60 pytest -q",
            "python manage.py test",
            "npx playwright test",
            "pnpm --filter web test",
            "npm --prefix x test",
            "./mvnw test",
            "cargo t",
            "sudo -u bob php artisan test",
        ] {
            assert!(runs_tests(yes), "{yes}");
        }
        for yes in
            ["cargo test -q", "npm test", "npm run test:unit", "python -m pytest x", "pytest"]
        {
            assert!(runs_tests(yes), "{yes}");
        }
        for no in
            ["cargo build", "npm run build", "cat test.txt", "echo test", "git commit -m test"]
        {
            assert!(!runs_tests(no), "{no}");
        }
        for yes in [
            "grep x f",
            "cat f | grep -q x",
            "diff a b",
            "test -f x",
            "[ -f x ]",
            "cmp a b",
            "command -v foo",
        ] {
            assert!(asks(yes), "{yes}");
        }
        for no in ["grep x f && curl y", "ls grep", "git push", ""] {
            assert!(!asks(no), "{no}");
        }
    }
}
