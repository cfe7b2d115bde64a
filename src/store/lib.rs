//! The documents on disk. [`store`] begins with the protocol.

#![forbid(unsafe_code)]

use hookkeeper_base::{client, core, git, process, state};

#[path = "mod.rs"]
pub mod store;
