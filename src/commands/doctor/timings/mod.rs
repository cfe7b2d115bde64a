//! `doctor --timings`: hook runs, counted and sorted by how long they take.

pub mod print;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::client::hook_runs::{HookRun, RunResult};
use crate::client::settings::handler::{PROGRAM, command_steps};
use crate::core::command_line;

/// What came together: runs of one event, or of one command at one event.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TimingRow {
    pub event: String,
    /// `None` for all commands of an event.
    pub command: Option<String>,
    pub ours: bool,
    pub count: usize,
    pub p50: Option<u64>,
    pub p95: Option<u64>,
    pub max: Option<u64>,
    /// Time-outs included.
    pub failures: usize,
    pub timeouts: usize,
    pub blocked: usize,
}

pub struct Timings {
    /// Slowest first.
    pub commands: Vec<TimingRow>,
    /// Slowest first.
    pub events: Vec<TimingRow>,
    /// The first and the last run, as the client spells times.
    pub span: Option<(String, String)>,
}

pub fn tabulate(runs: &[HookRun]) -> Timings {
    let mut by_command: BTreeMap<(&str, Option<&str>), Vec<&HookRun>> = BTreeMap::new();
    let mut by_event: BTreeMap<(&str, Option<&str>), Vec<&HookRun>> = BTreeMap::new();
    for run in runs {
        by_command.entry((&run.event, Some(&run.command))).or_default().push(run);
        by_event.entry((&run.event, None)).or_default().push(run);
    }
    let times = || runs.iter().filter_map(|run| run.time.as_ref());
    let span = times().min().cloned().zip(times().max().cloned());
    Timings { commands: rows(by_command), events: rows(by_event), span }
}

fn rows(groups: BTreeMap<(&str, Option<&str>), Vec<&HookRun>>) -> Vec<TimingRow> {
    let mut rows: Vec<TimingRow> =
        groups.into_iter().map(|((event, command), runs)| row(event, command, &runs)).collect();
    rows.sort_by_key(|row| Reverse((row.p95, row.max, row.count)));
    rows
}

fn row(event: &str, command: Option<&str>, runs: &[&HookRun]) -> TimingRow {
    let mut millis: Vec<u64> = runs.iter().filter_map(|run| run.millis).collect();
    millis.sort_unstable();
    let ended = |how: RunResult| runs.iter().filter(|run| run.ended == how).count();
    let timeouts = ended(RunResult::Cancelled);
    TimingRow {
        event: event.to_owned(),
        command: command.map(str::to_owned),
        ours: command.is_some_and(is_ours),
        count: runs.len(),
        p50: percentile(&millis, 50),
        p95: percentile(&millis, 95),
        max: millis.last().copied(),
        failures: ended(RunResult::Failed) + timeouts,
        timeouts,
        blocked: ended(RunResult::Blocked),
    }
}

/// The smallest value that at least so many percent of all do not exceed.
pub fn percentile(sorted: &[u64], percent: usize) -> Option<u64> {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied()
}

/// The client notes program and arguments as one line.
fn is_ours(line: &str) -> bool {
    let steps = command_steps(line);
    let hook = |step: &Vec<String>| step.get(1).is_none_or(|word| word == "hook");
    let launcher = |step: &Vec<String>| command_line::program(step) == "hookkeeper.sh";
    let ours = |step: &Vec<String>| command_line::program(step) == PROGRAM && hook(step);
    steps.first().is_some_and(|step| launcher(step) || ours(step))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_occurred() {
        let hundred: Vec<u64> = (1..=100).collect();
        assert_eq!(percentile(&hundred, 50), Some(50));
        assert_eq!(percentile(&hundred, 95), Some(95));
        assert_eq!(percentile(&[7], 95), Some(7));
        assert_eq!(percentile(&[1, 9], 50), Some(1));
        assert_eq!(percentile(&[], 50), None);
    }
}
