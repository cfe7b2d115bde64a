//! What commands show of a branch. `hookkeeper branch` itself is in `cli/branch.rs`: hand-offs and the
//! branch loop, which are features of their own, belong to it.

pub mod show;
pub mod standing;
