pub mod drive;
pub mod rules;
