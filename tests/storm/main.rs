//! Many processes at once. It is a program of its own, so that nothing that measures time runs beside it.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a test fails by panicking, and makes its own files"
)]

#[path = "../support/mod.rs"]
mod support;

mod events;
mod execute_many;
