//! Which model a session uses, and when it changed.

use serde::{Deserialize, Serialize};

#[cfg(feature = "testing")]
use crate::core::schema_fields;
use crate::core::text::{Extra, keep_newest};

const SWITCHES: usize = 20;

/// The client changes the model by itself: the one that was asked for could not be had.
const AUTO: &str = "auto";

/// The model of a session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
pub struct ModelUse {
    /// The one that it uses now.
    pub name: String,
    /// How often the client fell back to another model by itself.
    pub fallbacks: u64,
    /// The newest last.
    pub switches: Vec<ModelSwitch>,
    #[serde(flatten)]
    pub extra: Extra,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "testing", schemars(extend("required" = ["at", "from", "to", "source"])))]
pub struct ModelSwitch {
    #[cfg_attr(feature = "testing", schemars(schema_with = "schema_fields::time"))]
    pub at: String,
    pub from: String,
    pub to: String,
    /// Who wanted it: `command`, `auto`, ….
    pub source: String,
    #[serde(flatten)]
    pub extra: Extra,
}

impl ModelUse {
    /// Notes a switch; the same one again (an event that is played twice) changes nothing.
    pub fn switch(&mut self, switch: ModelSwitch) {
        if self.switches.iter().any(|known| known.at == switch.at && known.to == switch.to) {
            return;
        }
        self.name.clone_from(&switch.to);
        self.fallbacks += u64::from(switch.source == AUTO);
        self.switches.push(switch);
        keep_newest(&mut self.switches, SWITCHES);
    }
}
