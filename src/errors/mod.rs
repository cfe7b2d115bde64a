pub mod classify;
pub mod commands;
pub mod document;
pub mod location;
pub mod retry;
pub mod target;
