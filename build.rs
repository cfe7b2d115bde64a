//! Collects the files in `schemas/` into one table, so that a new schema is only a new file.

#![expect(
    clippy::disallowed_methods,
    reason = "a build script reads the environment and writes files"
)]

use std::fmt::Write as _;
use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = std::env::var("CARGO_MANIFEST_DIR")?;
    let dir = Path::new(&root).join("schemas");
    println!("cargo::rerun-if-changed={}", dir.display());
    let mut names: Vec<String> = std::fs::read_dir(&dir)?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter_map(|name| Some(name.strip_suffix(".schema.json")?.to_owned()))
        .collect();
    names.sort();
    let mut table = String::from("static TEXTS: &[(&str, &str)] = &[\n");
    for name in names {
        let path = dir.join(format!("{name}.schema.json"));
        writeln!(table, "    ({name:?}, include_str!({:?})),", path.display().to_string())?;
    }
    table.push_str("];\n");
    std::fs::write(Path::new(&std::env::var("OUT_DIR")?).join("schemas.rs"), table)?;
    Ok(())
}
