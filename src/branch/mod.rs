pub mod agents_document;
pub mod checkout;
pub mod commands;
pub mod document;
pub mod folder;
pub mod saved;
pub mod tracked;
pub mod witness;
