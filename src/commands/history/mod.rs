//! What happened: the journals of all sessions, as people ask for them. The lines themselves are
//! `core/journal`, their files `store/journal`.
//!
//! `describe` has the words for a line, `filter` what `--since`, `--event` and `--agent` mean,
//! `ledger` puts ended and live sessions together.

pub mod agents;
pub mod commands;
pub mod compactions;
pub mod describe;
pub mod errors;
pub mod filter;
pub mod ledger;
pub mod loops;
pub mod search;
pub mod sessions;
pub mod story;
