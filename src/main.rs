//! The edge: the world in, bytes and an exit code out.

use std::io::Write;

use hookkeeper::process::Process;

#[expect(clippy::disallowed_methods, reason = "the end of the process; nothing is left to drop")]
fn main() {
    let outcome = hookkeeper::run(&Process::real());
    if let Some(text) = outcome.stdout {
        // A reader that went away is no error of ours.
        let _ = writeln!(std::io::stdout().lock(), "{}", text.trim_end_matches('\n'));
    }
    if let Some(line) = outcome.stderr {
        let _ = writeln!(std::io::stderr().lock(), "hookkeeper: {line}");
    }
    std::process::exit(i32::from(outcome.code));
}
