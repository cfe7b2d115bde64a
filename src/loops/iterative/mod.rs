pub mod commands;
pub mod document;
pub mod drive;
pub mod folder;
pub mod panel;
pub mod rules;
