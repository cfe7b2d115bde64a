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
