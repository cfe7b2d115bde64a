//! What a clone knows of the remote that its execution is shared by (`execute/remote/` has the
//! protocol). Without `--remote` none of this is in the file.

use serde::{Deserialize, Serialize};

#[cfg(feature = "testing")]
use crate::core::schema_fields;
use crate::core::text::Extra;

/// Who waits for a merge takes over sooner: a merge is a matter of seconds.
const MERGE_LEASE: u64 = 120;

/// The remote of an execution, as this clone has seen it last.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "testing", schemars(extend("required" = ["name", "execution", "clone_id", "lease_seconds"])))]
pub struct SharedRemote {
    /// As git knows it: `origin`.
    pub name: String,
    /// What the execution is called in the names of refs.
    pub execution: String,
    /// Tells this clone from all others.
    pub clone_id: String,
    /// A claim that was not renewed for so long may be taken over.
    pub lease_seconds: u64,
    /// Where the base branch was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// When the remote answered last.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "testing", schemars(schema_with = "schema_fields::time_or_null"))]
    pub reached_at: Option<String>,
    /// Who merges.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merger: Option<SeenClaim>,
    #[serde(flatten)]
    pub extra: Extra,
}

/// A claim on the remote, as this clone has seen it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "testing", schemars(extend("required" = ["commit", "state", "host", "own", "seen_at"])))]
pub struct SeenClaim {
    /// The commit that the ref is at: what the next push expects there.
    pub commit: String,
    pub state: ClaimState,
    /// Whether this clone made it.
    pub own: bool,
    pub host: String,
    pub user: String,
    /// Attempts that were begun, as in the task.
    pub attempts: u64,
    /// When it was made, by its holder's clock: for people, never to decide anything.
    pub at: String,
    pub lease_seconds: u64,
    /// The commit of the task's branch that was pushed with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// Since when this clone sees this very commit, by its own clock.
    #[cfg_attr(feature = "testing", schemars(schema_with = "schema_fields::time_or_empty"))]
    pub seen_at: String,
    /// It was not renewed for a whole lease.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub stale: bool,
    #[serde(flatten)]
    pub extra: Extra,
}

/// What the last claim of a task says of it: somebody works on it; it was given back; an attempt
/// failed; its branch was verified and is on the remote, where anybody may merge it; the base branch
/// has it.
// Words at the variants would make a schema that our checker does not know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
pub enum ClaimState {
    #[default]
    Held,
    Free,
    Failed,
    Verified,
    Merged,
}

impl SeenClaim {
    /// Another clone has it: this one leaves it alone.
    pub fn is_elsewhere(&self) -> bool {
        !self.own && !self.stale && matches!(self.state, ClaimState::Held | ClaimState::Verified)
    }

    /// Another clone works on it.
    pub fn is_worked_on_elsewhere(&self) -> bool {
        self.is_elsewhere() && self.state == ClaimState::Held
    }

    pub fn is_own(&self, state: ClaimState) -> bool {
        self.own && self.state == state
    }

    /// The work that another attempt may go on from. A merge commit is none: it has the base branch of
    /// its time below it.
    pub fn unmerged_head(&self) -> Option<&String> {
        self.head.as_ref().filter(|_| self.state != ClaimState::Merged)
    }

    pub fn holder(&self) -> String {
        holder(&self.user, &self.host)
    }
}

/// Who and where, for people. Not everybody has a name: a container may have no `USER`.
pub fn holder(user: &str, host: &str) -> String {
    if user.is_empty() { host.to_owned() } else { format!("{user} on {host}") }
}

impl SharedRemote {
    pub fn merge_lease(&self) -> u64 {
        self.lease_seconds.min(MERGE_LEASE)
    }
}
