//! Plays every folder below `tests/cases`: what a payload finds, and what comes of it. README there says
//! what the files mean. `UPDATE_CASES=1 cargo test --test cases` rewrites what is expected.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a test fails by panicking, and makes its own files"
)]

#[path = "cases_runner/mod.rs"]
mod runner;
mod support;

use libtest_mimic::{Arguments, Trial};
use runner::case::Case;
use runner::trials;

/// A test of the runner itself.
type Own = fn() -> Result<(), String>;

fn main() {
    let arguments = Arguments::from_args();
    if std::env::var_os("UPDATE_CASES").is_some() {
        runner::update_fresh();
    }
    let mut all = Vec::new();
    for folder in runner::folders() {
        let name = folder.strip_prefix(runner::base()).unwrap().display().to_string();
        all.push(Trial::test(name, move || Ok(Case::read(&folder).check()?)));
    }
    let own: [(&str, Own); 3] = [
        ("every_promise_can_be_broken", trials::every_promise_can_be_broken),
        ("nothing_changes_unsaid", trials::nothing_changes_unsaid),
        ("no_file_is_nobodys", trials::no_file_is_nobodys),
    ];
    for (name, trial) in own {
        all.push(Trial::test(format!("runner/{name}"), move || Ok(trial()?)));
    }
    libtest_mimic::run(&arguments, all).exit();
}
