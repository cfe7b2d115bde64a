//! What tools, agents and people really write, and what has to be made of it. The expectations
//! were written before the rules; each test prints how many of them hold.

mod errors;
mod findings;
mod prompts;
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
