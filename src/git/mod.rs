pub mod command;
pub mod refs;
