//! `hookkeeper --version --json`: what this program is, for scripts and for reports of bugs.

use serde_json::{Value, json};

use crate::core::gate::Printed;
use crate::core::journal;
use crate::core::outcome::Outcome;
use crate::session::live::HOOKS_VERSION;

/// Whether somebody asks for the version as JSON, in either order, and for nothing else.
pub fn is_asked_as_json(args: &[String]) -> bool {
    let words: Vec<&str> = args.iter().skip(1).map(String::as_str).collect();
    matches!(words.as_slice(), ["--version" | "-V", "--json"] | ["--json", "--version" | "-V"])
}

pub fn print_json() -> Outcome {
    Outcome::printed(Printed::json_line(&describe()))
}

fn describe() -> Value {
    let commit = Some(env!("HOOKKEEPER_BUILD_COMMIT")).filter(|commit| !commit.is_empty());
    json!({
        "name": "hookkeeper",
        "version": env!("CARGO_PKG_VERSION"),
        "target": env!("HOOKKEEPER_BUILD_TARGET"),
        "profile": env!("HOOKKEEPER_BUILD_PROFILE"),
        "static": cfg!(target_feature = "crt-static"),
        "commit": commit,
        "state": HOOKS_VERSION,
        "journal": journal::VERSION,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_asked(words: &[&str]) -> bool {
        let args: Vec<String> =
            ["hookkeeper"].iter().chain(words).map(|&word| word.to_owned()).collect();
        is_asked_as_json(&args)
    }

    #[test]
    fn in_either_order_and_alone() {
        assert!(is_asked(&["--version", "--json"]) && is_asked(&["--json", "-V"]));
        assert!(
            !is_asked(&["--version"]) && !is_asked(&["--json"]) && !is_asked(&["status", "--json"])
        );
    }
}
