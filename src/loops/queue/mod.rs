pub mod commands;
pub mod document;
pub mod drive;
pub mod panel;
pub mod render;
pub mod rules;
