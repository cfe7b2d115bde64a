//! What tools, agents and people really write, and what has to be made of it. The expectations
//! were written before the rules; each test prints how many of them hold.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a test fails by panicking, makes its own files and prints its figures"
)]

mod support;

#[path = "corpus/errors.rs"]
mod errors;
#[path = "corpus/findings.rs"]
mod findings;
#[path = "corpus/prompts.rs"]
mod prompts;
#[path = "corpus/score.rs"]
mod score;

/// The texts of a corpus, by name.
fn texts(corpus: &str) -> Vec<(String, String)> {
    let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(corpus);
    let files = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let is_text = |path: &std::path::PathBuf| path.extension().is_some_and(|end| end == "txt");
    let mut files: Vec<_> = files.filter(is_text).collect();
    files.sort();
    let name = |path: &std::path::Path| path.file_stem().unwrap().to_str().unwrap().to_owned();
    files.iter().map(|path| (name(path), std::fs::read_to_string(path).unwrap())).collect()
}
