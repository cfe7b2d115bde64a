//! Executions of a plan: layers, worktrees, merge queue. Nothing here prints; what people run is
//! in the crate of the commands.

#![forbid(unsafe_code)]

use hookkeeper_base::{core, git, process, state};
use hookkeeper_store::store;

#[path = "mod.rs"]
pub mod execute;
