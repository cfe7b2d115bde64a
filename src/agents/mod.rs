pub mod agent;
pub mod commands;
pub mod findings;
pub mod lists;
pub mod marks;
pub mod result;
pub mod synthesis;
