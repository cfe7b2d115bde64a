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
    let steps = steps.into_iter().map(|step| {
        let prefix = |word: &String| {
            matches!(word.as_str(), "sudo" | "env" | "time" | "command" | "exec" | "!" | "(" | "{")
                || is_assignment(word)
        };
        step.into_iter().skip_while(prefix).collect::<Vec<String>>()
    });
    steps.filter(|step| step.first().is_some_and(|program| program != "cd")).collect()
}

/// The name of a program, without its directory.
pub fn program(step: &[String]) -> &str {
    let word = step.first().map_or("", String::as_str);
    word.rsplit('/').next().unwrap_or(word)
}

/// Whether the command runs tests: then a non-zero exit is what was asked for.
pub fn runs_tests(command: &str) -> bool {
    steps(command).iter().any(|step| {
        let has = |word: &str| step.iter().skip(1).any(|have| have == word);
        let script = || {
            let plain = step.iter().skip(1).find(|word| !word.starts_with('-') && *word != "run");
            plain.is_some_and(|name| *name == "t" || *name == "test" || name.starts_with("test:"))
        };
        match program(step) {
            "pytest" | "jest" | "vitest" | "mocha" | "rspec" | "phpunit" | "ctest" | "tox"
            | "nox" | "bats" | "ava" | "karma" | "nosetests" | "gotestsum" | "py.test" => true,
            "cargo" => has("test") || has("nextest"),
            "go" | "dotnet" | "mvn" | "mix" | "swift" | "rake" | "zig" | "deno" | "flutter"
            | "bazel" => has("test"),
            "gradle" | "gradlew" | "make" | "just" | "task" => {
                has("test") || has("check") || has("tests")
            }
            "npm" | "pnpm" | "yarn" | "bun" => script(),
            "npx" | "bunx" | "uv" | "poetry" | "pipenv" | "bundle" | "python" | "python3" => {
                ["pytest", "jest", "vitest", "mocha", "unittest", "rspec", "tox", "nox", "ava"]
                    .iter()
                    .any(|name| has(name))
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
        "command" | "type" => true,
        _ => false,
    }
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
    fn steps_are_what_was_tried() {
        let steps = steps("cd /x && FOO=1 sudo /usr/bin/curl -s 'a b' | jq . ; ls");
        assert_eq!(steps[0], ["/usr/bin/curl", "-s", "a b"]);
        assert_eq!(program(&steps[0]), "curl");
        assert_eq!(steps.len(), 3);
    }

    #[test]
    fn test_runs_and_questions() {
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
        for yes in ["grep x f", "cat f | grep -q x", "diff a b", "test -f x", "[ -f x ]", "cmp a b"]
        {
            assert!(asks(yes), "{yes}");
        }
        for no in ["grep x f && curl y", "ls grep", "git push", ""] {
            assert!(!asks(no), "{no}");
        }
    }
}
