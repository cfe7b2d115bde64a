//! What is recorded: sessions, agents and their findings, errors, compactions, branches. The rules
//! that hooks and commands share.

#![forbid(unsafe_code)]

use hookkeeper_base::{client, core, git, process, state};
use hookkeeper_execute::execute;
use hookkeeper_store::store;

pub mod agents;
pub mod branch;
pub mod compaction;
pub mod errors;
pub mod session;
pub mod turn;
