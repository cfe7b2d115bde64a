pub mod document;
pub mod drive;
pub mod panel;
pub mod rules;
pub mod watched;
