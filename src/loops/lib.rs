//! The loops, the governor that drives them at a Stop, and hand-offs.

#![forbid(unsafe_code)]

use hookkeeper_base::{client, core, git, state};
use hookkeeper_records::{agents, branch, errors, session, turn};
use hookkeeper_store::store;

pub mod handoff;
#[path = "mod.rs"]
pub mod loops;
