//! What is read from outside the books: the transcript, git, other processes; and what can be read
//! out of a text: findings, error classes, secrets. Nothing here writes.

pub mod classify;
pub mod client;
pub mod command;
pub mod disk;
pub mod execution;
pub mod files;
pub mod findings;
pub mod git;
pub mod hook_runs;
pub mod lists;
pub mod marks;
pub mod place;
pub mod plans;
pub mod processes;
pub mod retry;
pub mod secrets;
pub mod side_file;
pub mod tail;
pub mod target;
pub mod todos;
pub mod transcript;
pub mod words;
pub mod world;
