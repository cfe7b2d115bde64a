//! One hook run: from the payload to the reply. Whatever a hook runs is in this crate or below it,
//! and none of these can reach clap, anyhow, a terminal, HTML or the network: they are not linked.

#![forbid(unsafe_code)]

use hookkeeper_base::{client, core, process, state};
use hookkeeper_execute::execute;
use hookkeeper_loops::{handoff, loops};
use hookkeeper_records::{agents, branch, compaction, errors, session, turn};
use hookkeeper_store::store;

pub mod hook_path;
#[path = "mod.rs"]
pub mod hooks;
