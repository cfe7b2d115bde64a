//! The edge: the world in, bytes and an exit code out.
//!
//! On Linux with glibc the C runtime calls us directly. Rust's own start-up would read
//! `/proc/self/maps` to find the stack's guard page, which costs about a sixth of an empty
//! process; all that it does besides and that we need is in [`Process::real`].
#![cfg_attr(all(target_os = "linux", target_env = "gnu"), no_main)]

use std::io::Write;

use hookkeeper::process::Process;

/// Called by the C runtime.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "the symbol is the C runtime's entry point, and nobody else's")]
#[unsafe(no_mangle)]
pub extern "C" fn main() -> i32 {
    work()
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
#[expect(clippy::disallowed_methods, reason = "the end of the process")]
fn main() {
    std::process::exit(work());
}

fn work() -> i32 {
    let outcome = hookkeeper::run(&Process::real());
    if let Some(text) = outcome.stdout {
        // A reader that went away is no error of ours.
        let _ =
            std::io::stdout().write_all(format!("{}\n", text.trim_end_matches('\n')).as_bytes());
    }
    if let Some(line) = outcome.stderr {
        let _ = writeln!(std::io::stderr().lock(), "hookkeeper: {line}");
    }
    i32::from(outcome.code)
}
