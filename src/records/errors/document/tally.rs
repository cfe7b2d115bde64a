//! How many failures there were, and what became of them.

use serde::{Deserialize, Serialize};

use crate::core::text::Extra;
use crate::errors::document::{ESCALATED, RECOVERED};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "testing", schemars(extend("required" = ["total", "recovered", "pending", "escalated"])))]
pub struct Summary {
    pub total: u64,
    pub recovered: u64,
    pub pending: u64,
    pub escalated: u64,
    #[serde(flatten)]
    pub extra: Extra,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "testing", schemars(extend("required" = ["total", "recovered", "escalated"])))]
pub struct Tally {
    pub total: u64,
    pub recovered: u64,
    pub escalated: u64,
    #[serde(flatten)]
    pub extra: Extra,
}

impl Tally {
    /// Counts a record by its status.
    pub fn add(&mut self, status: &str) {
        self.total += 1;
        self.recovered += u64::from(status == RECOVERED);
        self.escalated += u64::from(status == ESCALATED);
    }

    pub fn join(&mut self, other: &Self) {
        self.total += other.total;
        self.recovered += other.recovered;
        self.escalated += other.escalated;
    }
}
