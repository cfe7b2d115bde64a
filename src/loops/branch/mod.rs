pub mod commands;
pub mod drive;
pub mod rules;
