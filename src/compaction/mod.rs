pub mod backup;
pub mod commands;
