pub mod command;
pub mod history;
pub mod index;
pub mod refs;
