pub mod context;
pub mod locked_store;
pub mod new_project;
pub mod root;
pub mod world;
