//! What everything stands on. No document of ours is known here.

#![forbid(unsafe_code)]

pub mod client;
pub mod core;
pub mod git;
pub mod process;
pub mod state;
