//! How many compactions there were, from the journal: as the session's record counts them, and so as
//! `sessions` and `recap` do.

use crate::core::journal::{Entry, EntryKind};

/// Those that happened. One that is only announced (PreCompact) may be refused or fail; one that is
/// reported twice is one; an agent's own context is not the session's.
pub fn compactions<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> usize {
    let is_meant = |entry: &&Entry| entry.kind == EntryKind::Compacted && entry.agent.is_none();
    let mut told: Vec<_> =
        entries.into_iter().filter(is_meant).map(|entry| (&entry.prompt_id, &entry.text)).collect();
    told.dedup();
    told.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_announced_and_what_is_an_agent_s_is_none() {
        let over = |summary: &str| Entry::new(EntryKind::Compacted).text(summary);
        let lines = [
            Entry::new(EntryKind::Compact).what("auto"),
            over("one"),
            over("one"),
            over("two"),
            over("three").of_agent("a1".to_owned()),
        ];
        assert_eq!((compactions(&lines), compactions(&lines[..1])), (2, 0));
    }
}
