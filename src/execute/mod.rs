//! An execution's pure parts: the plan as the breakdown left it, what may run next, which step
//! leads where, and what git says about all of it. Nothing here touches a file or starts git.

pub mod brief;
pub mod counts;
pub mod graph;
pub mod log;
pub mod plan;
pub mod schedule;
pub mod steps;
pub mod truth;
pub mod unite;
pub mod xml;
