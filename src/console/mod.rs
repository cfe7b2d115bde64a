//! What commands have in common: the project, the session that they act for, tables, the terminal.

pub mod checkout;
pub mod diff;
pub mod project;
pub mod projects;
pub mod screen;
