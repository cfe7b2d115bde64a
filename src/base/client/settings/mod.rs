//! How Claude Code comes to call us: the `hooks` of a settings file, read and edited as text.
//!
//! A settings file belongs to its user. So it is never parsed and printed again: `core/json/tree`
//! says where every value stands in the text, and [`edit`] puts a piece in or takes one out, one
//! place at a time. Every other byte stays. Nothing here touches a file.
//!
//! `install` goes to one's own file unless it is told otherwise, and refuses clients that are too
//! old (`client/version.rs`).
//!
//! **Why no crate does the editing.** Tried: `jsonc-parser` 0.34 and its syntax tree that keeps
//! every byte, on the 50 files in `tests/settings/` that have no entries of ours yet. Four it does
//! not read (`bom*.json`: it takes no byte order mark; `unicode-escapes.json`: half a surrogate
//! pair). Of the other 46, 14 are not byte-equal after our entries were put in and taken out (files
//! on one line are broken into lines, `{ }` and `null` and duplicate keys do not come back), and
//! none is written by `install` as today. Its errors do not say what to do either ("Unexpected
//! token").

pub mod edit;
pub mod faults;
pub mod flush_hooks;
pub mod handler;
pub mod keys;
pub mod layout;
pub mod matcher;
pub mod scope;
pub mod status_line;
pub mod unwired;
#[cfg(test)]
pub mod wiring_files;
