//! The typed handle for the state of a project, for hooks and commands. Nothing here knows a single
//! document.
//!
//! A document is declared once, beside its type: `document!(Type, Row { … })` ([`Document`],
//! [`Row`]). Paths, schemas, `validate`, the panels of `status`, the quarantine and the lists of
//! the fault suite (`hookkeeper schema --json`) follow from the rows.
//!
//! Hooks and commands read through [`State`]: `state.get::<Errors>()`, `state.get_by::<Live>(id)`,
//! `state.all::<Live>()`. A document is read when it is first asked for, and once. One that is not
//! there is `None`. `state.read::<T>(key)` gives a [`Read`], and only a [`Read`] can be written
//! (`plan.put(&read, &document)`). So nothing is overwritten that nobody looked at.
//!
//! What cannot be read is a value: `Read::frozen` says why a document must stay as it is (newer,
//! unreadable, unusable, planted). So a `plan` does no I/O of its own and cannot fail for its
//! reasons. What it needs from outside (git, processes, the client's files) comes through
//! `context.facts` in the same way. Tests make both up, with `state::map::Files` and
//! `hooks::testing`.
//!
//! The same handle works under the lock (`Store`), without it (`View`, for people) and on a map.

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
