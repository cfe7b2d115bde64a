//! Errors: their classes, when a retry makes sense, and what became of them.

pub mod advice;
pub mod classify;
pub mod compiles;
pub mod diagnostics;
pub mod document;
pub mod location;
pub mod panel;
pub mod phrases;
pub mod retry;
pub mod standing;
pub mod target;

use crate::state::Documents;

/// The documents of this room.
pub fn documents(all: &mut Documents) {
    all.add::<document::Errors>();
}
