//! The loop of a branch: one prompt, given again until a promise is made. It is a part of the
//! branch's `state.json`, and the smallest of the loops.

pub mod drive;
pub mod rules;
