//! What became of a session's loops, from its journal.

use crate::core::journal::EntryKind;
use crate::loops::Verdict;
use crate::store::journal::read::Order;
use crate::store::journal::{self, Journal};

/// How the loops of a session ended, in the order of their ends; none if its journal is gone. One that
/// goes on after its end has not ended.
pub fn loop_verdicts(journal: &Journal, session: &str) -> Vec<Verdict> {
    let lines =
        journal.of_stem(&journal::stem(session), Order::OldestFirst).with_any(&["\"loop\""]);
    let mut ended = Vec::new();
    for line in lines.filter(|line| line.kind == EntryKind::Loop) {
        let what = line.what.as_deref().unwrap_or_default();
        let which = (line.loop_kind, line.target);
        if let Some(verdict) = Verdict::ALL.into_iter().find(|verdict| verdict.name() == what) {
            ended.push((which, verdict));
        } else if what == "resumed"
            && let Some(at) = ended.iter().rposition(|(other, _)| *other == which)
        {
            ended.remove(at);
        }
    }
    ended.into_iter().map(|(_, verdict)| verdict).collect()
}
