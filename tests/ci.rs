//! `.ci/run` says in its own words which part failed.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test fails by panicking, and makes its own files"
)]

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

#[test]
fn a_part_that_fails_is_named() {
    let bin = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ci");
    std::fs::create_dir_all(&bin).unwrap();
    let cargo = bin.join("cargo");
    std::fs::write(&cargo, "#!/bin/sh\n[ \"$1\" != clippy ]\n").unwrap();
    std::fs::set_permissions(&cargo, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join(".ci/run");
    let ended = Command::new(script).env("PATH", path).output().unwrap();
    assert_eq!(ended.status.code(), Some(1));
    assert_eq!(String::from_utf8_lossy(&ended.stdout), "\n== rustfmt\n\n== clippy\n");
    assert_eq!(
        String::from_utf8_lossy(&ended.stderr),
        "\nFAILED: clippy: run it alone with: cargo clippy --locked --all-targets -- -D warnings\n"
    );
}
