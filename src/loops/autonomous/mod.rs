//! The autonomous loop: a feature on its way through phases, each of which has to be proven.
//! `rules/phase` is the machine, `rules/receipts` says what proves a phase, `rules/edited` what
//! becomes of a file that a model has written in, and `watched` is what we saw last.

pub mod document;
pub mod drive;
pub mod panel;
pub mod rules;
pub mod watched;
