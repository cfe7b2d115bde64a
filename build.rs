//! Asks the linker for what makes a hook start faster.

#![expect(clippy::disallowed_methods, reason = "a build script reads the environment")]

use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = std::env::var("CARGO_MANIFEST_DIR")?;
    for argument in link_arguments(Path::new(&root)) {
        println!("cargo::rustc-link-arg-bins={argument}");
    }
    Ok(())
}

/// Every 64 KiB of an executable that a process touches is a page fault, and every address in it
/// that has to be adjusted at start-up is one for its page: most of what a hook costs above an
/// empty program. So the crates of the hooks stand side by side (`src/link-order.ld`),
/// and the program has its place fixed. Here, and not in `.cargo/config.toml`,
/// because what is built from a registry has only this file.
fn link_arguments(root: &Path) -> Vec<String> {
    let order = root.join("src/link-order.ld");
    println!("cargo::rerun-if-changed={}", order.display());
    let is_fast = variable("PROFILE") == "release" && variable("CARGO_CFG_TARGET_OS") == "linux";
    if !is_fast || !order.is_file() || !knows_scripts() {
        return Vec::new();
    }
    let mut arguments = vec![format!("-T{}", order.display())];
    let is_static = variable("CARGO_CFG_TARGET_FEATURE").split(',').any(|has| has == "crt-static");
    if variable("CARGO_CFG_TARGET_ENV") == "gnu" && !is_static {
        arguments.push("-no-pie".into());
    }
    arguments
}

/// Rust's own linker and the GNU one do; one that somebody chose may not.
fn knows_scripts() -> bool {
    let chosen = variable("RUSTC_LINKER");
    let flags = variable("CARGO_ENCODED_RUSTFLAGS");
    (chosen.is_empty() || chosen == "rust-lld") && !flags.contains("-fuse-ld")
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}
