//! Branches: the state of each, its agents, and who of them is stuck.
//!
//! `state.json` is synced: it has the loop and the count of hand-offs. A hand-off itself is synced
//! too. `agents.json` is not, although it outlives sessions: two syncs for every agent would cost
//! more than all the rest of the two hooks. Moving it into place by rename would cost as much,
//! because ext4 makes that nearly a sync while the disk is busy. The price: a power cut within half
//! a minute after an agent's start or end can leave the document empty. It is then read as empty,
//! and counts from there.

pub mod agents_document;
pub mod checkout;
pub mod document;
pub mod folder;
pub mod panels;
pub mod saved;
pub mod tracked;
pub mod witness;

use crate::state::Documents;

/// The documents of this room.
pub fn documents(all: &mut Documents) {
    all.add::<document::BranchState>();
    all.add::<agents_document::BranchAgents>();
}
