//! Collects the files in `validate/schemas/` into one table, so that a new schema is only a new file; and
//! notes what is built, for `hookkeeper --version --json`.

#![expect(
    clippy::disallowed_methods,
    reason = "a build script reads the environment and writes files"
)]

use std::fmt::Write as _;
use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let out = std::env::var("OUT_DIR")?;
    let root = std::env::var("CARGO_MANIFEST_DIR")?;
    write_schema_table(Path::new(&root), &out)?;
    note_build(&out)
}

fn write_schema_table(root: &Path, out: &str) -> Result<(), Box<dyn std::error::Error>> {
    let dir = root.join("validate/schemas");
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
    std::fs::write(Path::new(out).join("schemas.rs"), table)?;
    Ok(())
}

/// The target, the profile and the commit. Whoever builds a release says the commit: a crate from
/// a registry has no git to ask.
fn note_build(out: &str) -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-env-changed=HOOKKEEPER_COMMIT");
    let commit = std::env::var("HOOKKEEPER_COMMIT").unwrap_or_default();
    let is_commit = commit.len() >= 7 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !commit.is_empty() && !is_commit {
        return Err(format!("HOOKKEEPER_COMMIT={commit:?} is no commit").into());
    }
    println!("cargo::rustc-env=HOOKKEEPER_BUILD_COMMIT={commit}");
    println!("cargo::rustc-env=HOOKKEEPER_BUILD_TARGET={}", std::env::var("TARGET")?);
    // Cargo says `release` for every profile that inherits from it; its own name is in the path:
    // target/TRIPLE/PROFILE/build/hookkeeper-HASH/out.
    let folder = Path::new(out).ancestors().nth(3).and_then(Path::file_name);
    let named = folder.map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let profile = if named.is_empty() { std::env::var("PROFILE")? } else { named };
    println!("cargo::rustc-env=HOOKKEEPER_BUILD_PROFILE={profile}");
    Ok(())
}
