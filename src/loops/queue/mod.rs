pub mod commands;
pub mod document;
pub mod drive;
pub mod render;
pub mod rules;
