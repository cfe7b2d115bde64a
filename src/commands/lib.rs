//! The command line: what people and models run, and all that only they need.

#![forbid(unsafe_code)]

use hookkeeper_base::{client, core, git, process, state};
use hookkeeper_execute::execute;
use hookkeeper_loops::{handoff, loops};
use hookkeeper_records::{agents, branch, compaction, errors, session, turn};
use hookkeeper_store::store;

pub mod cli;
#[path = "mod.rs"]
pub mod commands;
pub mod console;
pub mod doctor;
pub mod export;
pub mod history;
pub mod report;
pub mod validate;
pub mod view;
