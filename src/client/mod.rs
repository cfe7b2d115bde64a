//! What belongs to Claude Code: its own files, as far as we read or change them.

pub mod commands;
pub mod hook_runs;
pub mod plan_file;
pub mod settings;
pub mod side_file;
pub mod todos;
pub mod transcript;
pub mod wiring;
