//! `.ci/run` says in its own words which part failed; the checks beside it see what they are for.

use std::path::Path;
use std::process::{Command, Output};

use crate::support::program;

/// A script of `.ci/`, with another cargo.
fn run_with_cargo(script: &str, arguments: &[&str], name: &str, cargo: &str) -> Output {
    let bin = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&bin).unwrap();
    program(&bin.join("cargo"), &format!("#!/bin/sh\n{cargo}\n"));
    // They are there: `.ci/run` would install them.
    for tool in ["strace", "tmux", "chromium", "musl-gcc"] {
        program(&bin.join(tool), "#!/bin/sh\n");
    }
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join(".ci").join(script);
    Command::new(script).args(arguments).env("PATH", path).output().unwrap()
}

#[test]
fn a_part_that_fails_is_named() {
    let only = ["--only", "rustfmt", "--only", "clippy"];
    let ended = run_with_cargo("run", &only, "ci", "[ \"$1\" != clippy ]");
    assert_eq!(ended.status.code(), Some(1));
    let (stdout, stderr) = (lossy(&ended.stdout), lossy(&ended.stderr));
    let seconds = |part: &str| stdout.lines().any(|line| line.starts_with(&format!("== {part} (")));
    assert!(seconds("rustfmt") && seconds("clippy") && !stdout.contains("all good"), "{stdout}");
    let alone = "cargo clippy --locked --workspace --all-targets -- -D warnings";
    assert_eq!(stderr, format!("\nFAILED: clippy: run it alone with: {alone}\n"));
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn package(name: &str, version: &str, licence: &str, source: &str) -> String {
    format!(
        r#"{{"name":"{name}","version":"{version}","license":"{licence}","source":"{source}"}}"#
    )
}

#[test]
fn a_dependency_that_may_not_be_there_is_named() {
    const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";
    let packages = [
        package("free", "1.0.0", "(MIT OR GPL-3.0) AND Unicode-3.0", REGISTRY),
        package("old", "1.0.0", "GPL-3.0/Apache-2.0", REGISTRY),
        package("exception", "1.0.0", "Apache-2.0 WITH LLVM-exception", REGISTRY),
        package("windows-sys", "2.0.0", "MIT", REGISTRY),
        package("windows-sys", "3.0.0", "MIT", REGISTRY),
        package("copyleft", "1.0.0", "MIT AND GPL-3.0", REGISTRY),
        package("nothing", "1.0.0", "", REGISTRY),
        package("twice", "1.0.0", "MIT", REGISTRY),
        package("twice", "2.0.0", "MIT", REGISTRY),
        package("tokio", "1.0.0", "MIT", REGISTRY),
        package("elsewhere", "1.0.0", "MIT", "git+https://example.com/elsewhere"),
    ];
    // What is only below a package of `skip-tree` may be there twice.
    let job = r#"{"id":"job","name":"win32job","version":"2.0.0","license":"MIT","source":null}"#;
    let old = r#"{"id":"old","name":"free","version":"0.1.0","license":"MIT","source":null}"#;
    // A crate that only people need, below one that hooks link.
    let hooks = r#"{"id":"hooks","name":"hookkeeper-hooks","version":"1.0.0","license":"MIT","source":null}"#;
    let clap = r#"{"id":"clap","name":"clap","version":"4.0.0","license":"MIT","source":null}"#;
    let needs = r#"{"nodes":[{"id":"job","dependencies":["old"]},{"id":"old","dependencies":[]},
                     {"id":"hooks","dependencies":["clap"]},{"id":"clap","dependencies":[]}]}"#
        .replace('\n', " ");
    let packages = packages.join(",");
    let metadata =
        format!(r#"{{"packages":[{packages},{job},{old},{hooks},{clap}],"resolve":{needs}}}"#);
    let ended =
        run_with_cargo("dependencies.py", &[], "dependencies", &format!("echo '{metadata}'"));
    assert_eq!(ended.status.code(), Some(1));
    assert_eq!(
        String::from_utf8_lossy(&ended.stderr),
        "dependencies: copyleft 1.0.0: the licence 'MIT AND GPL-3.0' is not allowed\n\
         dependencies: nothing 1.0.0: the licence '' is not allowed\n\
         dependencies: twice is there in 2 versions: 1.0.0, 2.0.0\n\
         dependencies: tokio: threads and timers before the first line of a hook\n\
         dependencies: clap is used by hookkeeper-hooks: no hook may link it\n\
         dependencies: elsewhere comes from git+https://example.com/elsewhere\n"
    );
}
