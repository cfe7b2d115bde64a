//! The loop of the work queue: items and gates, until all of them pass twice in a row.

pub mod document;
pub mod drive;
pub mod lifecycle;
pub mod output;
pub mod page;
pub mod panel;
pub mod phase;
pub mod progress;
pub mod recover;
pub mod render;
pub mod rules;
