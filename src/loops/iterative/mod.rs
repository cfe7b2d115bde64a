pub mod commits;
pub mod document;
pub mod drive;
pub mod folder;
pub mod panel;
pub mod recover;
pub mod rules;
pub mod seen;
