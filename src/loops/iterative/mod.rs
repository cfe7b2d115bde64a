//! Iterative tasks: units that are worked on, confirmed and verified one after the other.
//! `document/` has the files of a task, `rules/` what becomes of a unit, `seen` what is seen of the
//! work.

pub mod commits;
pub mod document;
pub mod drive;
pub mod folder;
pub mod panel;
pub mod recover;
pub mod rules;
pub mod seen;
