//! Data and pure helpers, with no I/O: events, replies, the gate for words, ids, JSON, time, text,
//! tables, settings, the line of the journal, redaction, graphs.

pub mod command_line;
pub mod ending;
pub mod entries;
pub mod error;
pub mod event;
pub mod gate;
pub mod graph;
pub mod id;
pub mod journal;
pub mod json;
pub mod outcome;
pub mod pieces;
pub mod redaction;
pub mod reply;
#[cfg(feature = "testing")]
pub mod repository;
#[cfg(feature = "testing")]
pub mod schema_fields;
pub mod settings;
pub mod spelling;
pub mod table;
pub mod text;
pub mod time;
pub mod words;
