//! `hookkeeper doctor`: what can be wrong with an installation, as numbered checks.
//!
//! Every check is a pure function from [`Facts`] to findings, so each can be tried with made-up
//! facts; [`gather`] fetches the real ones. One file per group of checks; the table of all of them
//! is in [`table`], and for people in `docs/doctor.md`.
//!
//! To add a check: "A check of doctor" in CONTRIBUTING.md.

pub mod commands;
pub mod effect;
pub mod export;
pub mod facts;
pub mod finding;
pub mod gather;
pub mod handlers;
pub mod installed;
pub mod machine;
pub mod print;
pub mod program;
pub mod repair;
pub mod settings;
pub mod state;
pub mod survey;
pub mod switches;
pub mod table;
pub mod timings;
pub mod twice;
pub mod versions;
pub mod wiring;

use facts::Facts;
use finding::Finding;
use table::{CHECKS, Check};

/// A check and one thing that it says.
pub struct Checked {
    pub check: &'static Check,
    pub finding: Finding,
    /// Set by whoever mended it.
    pub fixed: bool,
}

/// All checks, in the order of the table. Each says at least one thing.
pub fn examine(facts: &Facts) -> Vec<Checked> {
    let all = CHECKS.iter().flat_map(|check| {
        let findings = (check.run)(facts).into_iter();
        findings.map(move |finding| Checked { check, finding, fixed: false })
    });
    all.collect()
}
