//! What happened, sent elsewhere: the journals as OTLP logs, spans and metrics. `docs/fleet.md` has
//! names, settings and what is promised.
//!
//! **The journals are the outbox.** They are append-only, bounded (`keep_sessions`,
//! `keep_megabytes`) and crash-safe already. A second log would cost every hook another open and
//! write, and the two could differ. So a hook does nothing for export; whoever sends
//! (`hookkeeper export flush`, by hand, by a service or by a hook that the client runs `async`)
//! keeps a [`cursor`].
//!
//! What is decided here does no I/O but through the journal and a [`flush::Transport`], which the
//! commands give it; the tests give it a collector on loopback. `answer` judges answers, `step`
//! what follows from them, `faults` what is said of it and when it is tried again. Only `commands`
//! knows a network.

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
