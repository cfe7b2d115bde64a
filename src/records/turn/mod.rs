//! What a decision may look at beside the event and the documents: `context`, the real one
//! (`world`), and which directory is the project (`root`).

pub mod context;
pub mod root;
pub mod world;
