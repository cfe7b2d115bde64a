//! The typed handle for the state of a project, for hooks and commands, with and without the lock.
//!
//! A document is declared once, beside its type ([`Document`] with its [`Row`]); [`State`] reads it
//! when it is first asked for, once. Nothing here knows a single document.

pub mod declared;
pub mod frozen;
pub mod handle;
mod list;
#[cfg(feature = "testing")]
pub mod map;
pub mod panel;
pub mod plan;
pub mod row;
pub mod source;
#[cfg(test)]
pub mod tests;

pub use declared::{Declared, Documents};
pub use frozen::{Frozen, is_newer};
pub use handle::{Read, State, Write, left_out_remark};
pub use row::{Bytes, Doc, Document, Format, Row, Trouble, Writers};
pub use row::{document, text_document};
pub use source::{Aside, NoFiles, Source};
