//! The edge: the world in, bytes and an exit code out.
//!
//! On Linux the C runtime calls us directly. Rust's own start-up would read
//! `/proc/self/maps` to find the stack's guard page, which costs about a sixth of an empty
//! process; all that it does besides and that we need is in [`Process::real`]. That takes the one
//! `#[expect(unsafe_code)]` of the program, on an attribute; the library forbids unsafe code. What
//! else was taken out of a start is in `benches/README.md`.
#![cfg_attr(all(target_os = "linux", any(target_env = "gnu", target_env = "musl")), no_main)]

use std::io::Write;

use hookkeeper::Process;

/// musl's own allocator is 2.6 times slower on long transcripts.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

/// Called by the C runtime. musl tells its arguments to nobody else.
#[cfg(all(target_os = "linux", any(target_env = "gnu", target_env = "musl")))]
#[expect(unsafe_code, reason = "the symbol is the C runtime's entry point, and nobody else's")]
#[unsafe(no_mangle)]
unsafe extern "C" fn main(count: i32, arguments: *const *const std::ffi::c_char) -> i32 {
    use std::os::unix::ffi::OsStrExt as _;
    let count = usize::try_from(count).unwrap_or(0);
    let given = (0..count).map(|index| {
        // SAFETY: the C runtime passes `count` pointers to strings that end in a zero byte.
        let text = unsafe { std::ffi::CStr::from_ptr(*arguments.add(index)) };
        std::ffi::OsStr::from_bytes(text.to_bytes()).to_owned()
    });
    work(&Process::real(given))
}

#[cfg(not(all(target_os = "linux", any(target_env = "gnu", target_env = "musl"))))]
#[expect(clippy::disallowed_methods, reason = "the end of the process")]
fn main() {
    std::process::exit(work(&Process::real(std::env::args_os())));
}

fn work(process: &Process) -> i32 {
    let outcome = hookkeeper::run(process);
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
