//! The commands of the features: one folder or file for each.

pub mod agents;
pub mod branch;
pub mod client;
pub mod compaction;
pub mod errors;
pub mod execute;
pub mod handoff;
pub mod loops;
pub mod session;
