pub mod locate;
pub mod loop_steps;
