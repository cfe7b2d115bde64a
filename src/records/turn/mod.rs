pub mod context;
pub mod root;
pub mod world;
