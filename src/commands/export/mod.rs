//! What happened, sent elsewhere: the journals as OTLP logs, spans and metrics (`docs/fleet.md`).
//!
//! The journals are the outbox. A hook does nothing for it but what it does anyway; whoever sends
//! (`hookkeeper export flush`, by hand, by a service or by a hook that the client runs `async`)
//! remembers how far it has come ([`cursor`]). What is decided here does no I/O but through the
//! journal and a [`flush::Transport`]; only `commands` knows a network.

pub mod answer;
pub mod backlog;
pub mod batch;
pub mod clean;
pub mod commands;
pub mod counters;
pub mod cursor;
pub mod faults;
pub mod flush;
pub mod headers;
pub mod ids;
pub mod logs;
pub mod names;
pub mod otlp;
pub mod settings;
pub mod spans;
pub mod standing;
pub mod step;
pub mod what_to_send;
