//! Whether the work of a loop moves: by what can be seen, not by what is said.
//!
//! HEAD, items, gates' results and files that a tool changed are looked at first. Where none of
//! them tells anything after a turn with tools, the checkout is compared with the one of the Stop
//! before, for what commands change. Without an answer from git the rest decides.

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
    /// A digest of what the checkout holds; `None` if nobody looked, or git did not say.
    pub tree: Option<String>,
}

/// From here on the work has to move.
pub fn begin(queue: &mut Queue, evidence: &Evidence) {
    let signature = signature(queue, evidence);
    queue.stall = Some(Stall { signature, tree: evidence.tree.clone(), ..Stall::default() });
}

/// Whether only the checkout can tell if the work has moved: commands change files unseen.
pub fn needs_tree(queue: &Queue, evidence: &Evidence) -> bool {
    let before = queue.stall.as_ref().map(|stall| stall.signature.as_str());
    !evidence.has_changes && before == Some(signature(queue, evidence).as_str())
}

/// Counts an iteration in which tools ran; whether too many in a row moved nothing.
pub fn is_stalled(queue: &mut Queue, evidence: &Evidence) -> bool {
    let signature = signature(queue, evidence);
    let before = queue.stall.take().unwrap_or_default();
    let is_other = before.signature != signature;
    let trees = before.tree.as_ref().zip(evidence.tree.as_ref());
    let has_moved = evidence.has_changes || is_other || trees.is_some_and(|(was, is)| was != is);
    let count = if has_moved { 0 } else { before.count + 1 };
    queue.stall = Some(Stall { signature, count, tree: evidence.tree.clone(), ..before });
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
        Evidence { head: Some(head.repeat(40)), has_changes, tree: None }
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
    fn another_checkout_is_progress_and_one_that_git_does_not_tell_of_is_none() {
        let stalls = |trees: &[Option<&str>]| {
            let mut queue = Queue::default();
            let seen = |tree: Option<&str>| Evidence {
                tree: tree.map(str::to_owned),
                ..evidence("a", false)
            };
            begin(&mut queue, &seen(Some("0")));
            trees.iter().map(|tree| is_stalled(&mut queue, &seen(*tree))).collect::<Vec<_>>()
        };
        let (a, b, c) = (Some("a"), Some("b"), Some("c"));
        assert_eq!(stalls(&[a, b, c, a, b]), [false; 5]);
        assert_eq!(stalls(&[a, a, a, a]), [false, false, false, true]);
        assert_eq!(stalls(&[Some("0"), Some("0"), Some("0")]), [false, false, true]);
        assert_eq!(stalls(&[None, None, None]), [false, false, true]);
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
