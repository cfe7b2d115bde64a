//! Branch and commit read from `.git` (`refs`), the index (`index`), and git as a program
//! (`command`, `history`).

pub mod command;
pub mod history;
pub mod index;
pub mod refs;
