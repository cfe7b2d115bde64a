//! What belongs to Claude Code: its own files, as far as we read or change them.

pub mod settings;
