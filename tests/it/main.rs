//! What runs the program, as the client and people run it: one module for each subject.
//!
//! What also uses the library is in `tests/inside/`, what fills the machine in `tests/storm/`.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a test fails by panicking, makes its own files and prints its figures"
)]

#[path = "../support/mod.rs"]
mod support;

mod agreement;
mod all_loops;
mod autonomous;
mod autonomous_histories;
mod autonomous_proofs;
mod branch_loop;
mod branches;
mod clock;
mod commands;
mod config;
mod corpus;
mod cost;
mod demo;
mod ended_sessions;
mod escapes;
mod execute;
mod execute_beside;
mod execute_killed;
mod execute_plans;
mod execute_refusals;
mod execute_remote;
mod execute_seed;
mod execute_work;
mod export;
mod gates;
mod handoffs;
mod history;
mod history_gaps;
mod iterative;
mod iterative_recovery;
mod iterative_work;
mod loop_histories;
mod loop_recovery;
mod loops;
mod odd_entries;
mod planted;
mod projects;
mod purge;
mod recorded;
mod redaction_events;
mod repair;
mod replay;
mod report;
mod search;
mod sequences;
mod settings;
mod sizes;
mod slash_commands;
mod status;
mod store;
mod systems;
mod witness;
