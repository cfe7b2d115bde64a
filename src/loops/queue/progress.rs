//! Whether the work of a loop moves: by what can be seen, not by what is said.

use crate::core::id::sha256_hex;
use crate::loops::queue::document::{Gate, Queue, Stall};

/// Iterations without progress that end a loop.
pub const STALL: u64 = 3;

/// What is seen of the work beside the queue.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evidence {
    /// The commit that is checked out.
    pub head: Option<String>,
    /// A tool call changed a file in this iteration.
    pub has_changes: bool,
}

/// From here on the work has to move.
pub fn begin(queue: &mut Queue, evidence: &Evidence) {
    let signature = signature(queue, evidence);
    queue.stall = Some(Stall { signature, ..Stall::default() });
}

/// Counts an iteration in which tools ran; whether too many in a row moved nothing.
pub fn is_stalled(queue: &mut Queue, evidence: &Evidence) -> bool {
    let signature = signature(queue, evidence);
    let before = queue.stall.take().unwrap_or_default();
    let has_moved = evidence.has_changes || before.signature != signature;
    let count = if has_moved { 0 } else { before.count + 1 };
    queue.stall = Some(Stall { signature, count, ..before });
    count >= STALL
}

/// The commit, the items and the gates' results, so that two of them can be compared.
fn signature(queue: &Queue, evidence: &Evidence) -> String {
    let mut seen = String::new();
    for item in &queue.items {
        seen.push_str(&format!("{} {}\n", item.id, item.is_open()));
    }
    for name in queue.gate_names() {
        let Gate { status, issues, exit_code, last_line, .. } =
            queue.gate(&name).unwrap_or_default();
        let last_line = without_times(&last_line.unwrap_or_default());
        seen.push_str(&format!("{name} {status} {issues:?} {exit_code:?} {last_line}\n"));
    }
    let mut digest = sha256_hex(seen.as_bytes());
    digest.truncate(16);
    let head = evidence.head.as_deref().and_then(|head| head.get(..12)).unwrap_or("-");
    format!("head {head} work {digest}")
}

/// A line without the words that are other ones each time: how long it took, and when.
fn without_times(line: &str) -> String {
    let is_unit = |word: &str| {
        matches!(word, "s" | "ms" | "µs" | "us" | "ns" | "m" | "min")
            || word.starts_with("second")
            || word.starts_with("minute")
            || word.starts_with("millisecond")
    };
    let is_number = |c: char| c.is_ascii_digit() || matches!(c, '.' | ':' | ',');
    let mut words: Vec<&str> = Vec::new();
    for word in line.split_whitespace() {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric() && c != 'µ');
        let unit = word.trim_start_matches(is_number);
        let is_clock = unit.is_empty() && word.matches(':').count() == 2;
        if word.is_empty() || is_clock || (unit.len() < word.len() && is_unit(unit)) {
            continue;
        }
        // `in 3.4 seconds`
        if is_unit(word) && words.last().is_some_and(|last| last.chars().all(is_number)) {
            words.pop();
            continue;
        }
        words.push(word);
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn evidence(head: &str, has_changes: bool) -> Evidence {
        Evidence { head: Some(head.repeat(40)), has_changes }
    }

    #[test]
    fn three_iterations_in_a_row_without_any_evidence_are_a_stall() {
        let mut queue = Queue::default();
        begin(&mut queue, &evidence("a", false));
        let mut iterate = |gate: serde_json::Value, seen: Evidence| {
            queue.gate_results.insert("test".into(), gate);
            is_stalled(&mut queue, &seen)
        };
        let red = |issues: u64, last: &str| json!({"status": "fail", "exit_code": 1, "issues": issues, "last_line": last});
        for _ in 0..2 {
            assert!(!iterate(red(3, "3 failed in 0.1s"), evidence("a", true)));
            assert!(!iterate(red(3, "3 failed in 0.2s"), evidence("a", false)));
            assert!(!iterate(red(3, "3 failed in 11.7s"), evidence("a", false)));
            // A commit, an issue fewer, another last line, another exit code.
            assert!(!iterate(red(3, "3 failed in 1 second"), evidence("b", false)));
            assert!(!iterate(red(2, "2 failed in 0.2s"), evidence("b", false)));
            assert!(!iterate(red(2, "2 errors in 0.2s"), evidence("b", false)));
            assert!(!iterate(json!({"status": "fail", "exit_code": 2}), evidence("b", false)));
        }
        assert!(!iterate(json!({"status": "fail", "exit_code": 2}), evidence("b", false)));
        assert!(!iterate(json!({"status": "fail", "exit_code": 2}), evidence("b", false)));
        assert!(iterate(json!({"status": "fail", "exit_code": 2}), evidence("b", false)));
    }

    #[test]
    fn durations_and_clocks_are_no_news() {
        assert_eq!(without_times("== 3 failed in 0.12s (0:00:01) =="), "3 failed in");
        assert_eq!(without_times("Done in 3.4 seconds, 12:30:01"), "Done in");
        assert_eq!(
            without_times("error at main.rs:10:3 of 4 steps"),
            "error at main.rs:10:3 of 4 steps"
        );
    }
}
