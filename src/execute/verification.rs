//! Running a task's commands, and what is kept of what they print.

use std::path::Path;
use std::time::Duration;

use crate::core::text::clip;
use crate::execute::document::Claim;
use crate::execute::{Error, Result};
use crate::process::child::{self, End};
use crate::process::lines::Lines;

/// So much is kept of what the commands print.
const KEPT: usize = 500;

/// What all the commands came to.
#[derive(Default)]
pub struct CommandsResult {
    /// The one that failed, and how.
    pub failure: Option<String>,
    pub interrupted: bool,
    pub millis: u64,
    pub output: String,
}

/// Marks the commands that a verification runs, so that they are known if it is killed.
pub fn process_mark(claim: &Claim) -> String {
    format!("{}.{}", claim.by.pid, claim.by.started.unwrap_or(0))
}

/// Runs commands one after the other, until one fails. While they run, `tick` is called every moment.
pub fn run_commands(
    commands: &[String],
    mark: &str,
    dir: &Path,
    limit: Duration,
    shown: bool,
    tick: &mut dyn FnMut(),
) -> Result<CommandsResult> {
    let mut result = CommandsResult::default();
    let terminal = Lines::default();
    for (n, command) in commands.iter().enumerate() {
        let named = clip(command, 200);
        if shown {
            let _ = terminal.print(&format!("[{}/{}] {named}", n + 1, commands.len()).into());
        }
        let tried = child::try_line(command, mark, dir, limit, shown, tick)
            .map_err(|error| Error::from(format!("`{named}` cannot be run: {error}")))?;
        result.millis += tried.millis;
        result.output = tried.tail;
        let how = match tried.end {
            End::Code(0) => continue,
            End::Code(code) => format!("exited with {code}"),
            End::TooLong => format!("took longer than {} s", limit.as_secs()),
            End::Interrupted => {
                result.interrupted = true;
                return Ok(result);
            }
        };
        result.failure = Some(format!("`{named}` {how}"));
        break;
    }
    Ok(result)
}

/// The last characters, from the beginning of a line where one begins in time.
pub fn output_tail(text: &str) -> String {
    let text = text.trim();
    let skip = text.chars().count().saturating_sub(KEPT);
    let cut: String = text.chars().skip(skip).collect();
    match cut.split_once('\n') {
        Some((_, rest)) if skip > 0 && rest.len() > KEPT / 2 => rest.to_owned(),
        _ => cut,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_an_output_is_kept() {
        let long: String = (0..200).map(|n| format!("line {n}\n")).collect();
        let kept = output_tail(&long);
        assert!(
            kept.len() <= 500 && kept.starts_with("line ") && kept.ends_with("line 199"),
            "{kept}"
        );
        assert_eq!(output_tail(&"é".repeat(600)).chars().count(), 500);
        assert_eq!(output_tail(" short \n"), "short");
    }
}
