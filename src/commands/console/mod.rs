//! What commands have in common: the project, the session that they act for, tables, the terminal.

pub mod canvas;
pub mod checkout;
pub mod diff;
pub mod local_time;
pub mod progress;
pub mod project;
pub mod projects;
pub mod screen;
pub mod settings;
pub mod style;
pub mod usage;
