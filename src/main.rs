//! The edge: the world in, bytes and an exit code out.
//!
//! On Linux with glibc the C runtime calls us directly. Rust's own start-up would read
//! `/proc/self/maps` to find the stack's guard page, which costs about a sixth of an empty
//! process; all that it does besides and that we need is in [`Process::real`].
#![cfg_attr(all(target_os = "linux", target_env = "gnu"), no_main)]

use std::io::Write;

use hookkeeper::Process;

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
    let mut code = outcome.code;
    if let Some(text) = outcome.stdout {
        let text = format!("{}\n", text.trim_end_matches('\n'));
        // A reader that went away is no error of ours; a disk that is full is one.
        if let Err(error) = std::io::stdout().write_all(text.as_bytes())
            && error.kind() != std::io::ErrorKind::BrokenPipe
        {
            code = code.max(1);
            let _ =
                writeln!(std::io::stderr().lock(), "hookkeeper: cannot write to stdout: {error}");
        }
    }
    if let Some(line) = outcome.stderr {
        let _ = writeln!(std::io::stderr().lock(), "hookkeeper: {line}");
    }
    i32::from(code)
}
