//! The claims that an execution had: what the last ones alone do not tell.

use std::collections::BTreeMap;

use crate::execute::remote::claim::{ClaimRecord, is_object_id, parse_past_claim};
use crate::execute::remote::wire::{Snapshot, Trouble, Wire, claim_ref};

/// Claims before these are not looked at: every renewal is one.
const MOST_CLAIMS: &str = "--max-count=50000";

impl Wire<'_> {
    /// All claims of the tasks, those of a task in the order in which they were made.
    pub fn read_history(
        &self,
        execution: &str,
        snapshot: &Snapshot,
    ) -> Result<Vec<ClaimRecord>, Trouble> {
        // What nobody can read may be no commit, which has no history.
        let known = snapshot.claims.values().filter(|(_, claim)| !claim.clone_id.is_empty());
        let tips: String = known.map(|(commit, _)| format!("{commit}\n")).collect();
        let args = ["rev-list", "--stdin", "--topo-order", "--reverse", MOST_CLAIMS];
        let ids = self.cat(&args, &tips)?;
        let ids = String::from_utf8_lossy(&ids).into_owned();
        let ids: Vec<&str> = ids.lines().filter(|id| is_object_id(id)).collect();
        let named =
            |(n, id): (usize, &&str)| (claim_ref(execution, &n.to_string()), (*id).to_owned());
        let refs: BTreeMap<String, String> = ids.iter().enumerate().map(named).collect();
        let objects = self.read_records(&refs)?;
        let claims = ids.iter().filter_map(|id| objects.get(*id));
        Ok(claims.filter_map(|bytes| parse_past_claim(bytes, execution)).collect())
    }
}
