//! What looks inside: the library through `hookkeeper::inside`, beside the program where both have to say
//! the same, and the source itself.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a test fails by panicking, makes its own files and prints its figures"
)]

#[allow(dead_code, reason = "the cases are read here, and few are played")]
#[path = "../cases_runner/mod.rs"]
mod runner;
#[path = "../support/mod.rs"]
mod support;

mod ci;
mod doctor;
mod execute_format;
mod fuzz;
mod governor;
mod iterative_rebuild;
mod promises;
mod redaction;
mod rooms;
mod schemas;
mod screen;
mod validate;
