pub mod command_line;
pub mod ending;
pub mod entries;
pub mod error;
pub mod event;
pub mod graph;
pub mod id;
pub mod json;
pub mod outcome;
pub mod pieces;
pub mod redaction;
pub mod reply;
#[cfg(test)]
pub mod schema_fields;
pub mod settings;
pub mod text;
pub mod time;
pub mod words;
