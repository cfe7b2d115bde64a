pub mod commands;
pub mod document;
pub mod drive;
pub mod output;
pub mod panel;
pub mod progress;
pub mod render;
pub mod rules;
