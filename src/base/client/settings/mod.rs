//! How Claude Code comes to call us: the `hooks` of a settings file, read and edited as text.
//!
//! A settings file belongs to its user. So it is never parsed and printed again: [`tree`] says
//! where every value stands in the text, and [`edit`] puts a piece in or takes one out. Every
//! other byte stays. Nothing here touches a file.

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
