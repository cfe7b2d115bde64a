//! What became of a session's loops, from its journal.

use crate::core::journal::EntryKind;
use crate::loops::Verdict;
use crate::store::journal::read::Order;
use crate::store::journal::{self, Journal};

/// How many loops of a session did what they were for; none if its journal is gone.
pub fn loops_completed(journal: &Journal, session: &str) -> usize {
    let complete = Verdict::Complete.name();
    let texts = ["\"loop\""];
    let lines = journal.of_stem(&journal::stem(session), Order::OldestFirst).with_any(&texts);
    let is_meant = |kind, what: Option<&str>| kind == EntryKind::Loop && what == Some(complete);
    lines.filter(|line| is_meant(line.kind, line.what.as_deref())).count()
}
