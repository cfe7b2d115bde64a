//! `settings/wiring.json`: which settings files we were written into, so that they can be given
//! back byte for byte, and so that it is noticed when somebody else drops our entries.

use serde::{Deserialize, Serialize};

#[cfg(feature = "testing")]
use crate::core::schema_fields;
use crate::core::text::{Extra, keep_newest};
use crate::state::Row;

/// Installs without an uninstall between them: new versions, other paths.
const MAX_STEPS: usize = 20;

/// The settings files that we were written into.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "testing", schemars(extend("required" = ["files"])))]
#[serde(default)]
pub struct Wiring {
    pub files: Vec<WiredFile>,
    #[serde(flatten)]
    pub extra: Extra,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "testing", schemars(extend("required" = ["file", "scope", "command", "version", "wired_at", "steps"])))]
#[serde(default)]
pub struct WiredFile {
    pub file: String,
    #[cfg_attr(feature = "testing", schemars(extend("enum" = ["project", "local", "user"])))]
    pub scope: String,
    /// The program that the entries name.
    pub command: String,
    /// Ours, when it was wired last.
    pub version: String,
    #[cfg_attr(feature = "testing", schemars(schema_with = "schema_fields::time"))]
    pub wired_at: String,
    /// What was done to it, oldest first.
    pub steps: Vec<InstallStep>,
    #[serde(flatten)]
    pub extra: Extra,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "testing", schemars(rename = "Step", extend("required" = ["backup", "after"])))]
#[serde(default)]
pub struct InstallStep {
    /// The file as it was before; `None`: there was no file.
    pub backup: Option<String>,
    /// SHA-256 of the file after it.
    pub after: String,
    #[serde(flatten)]
    pub extra: Extra,
}

impl Wiring {
    pub fn file(&self, name: &str) -> Option<&WiredFile> {
        self.files.iter().find(|file| file.file == name)
    }

    /// Enters that a file was wired, on top of what was done to it before.
    pub fn add(&mut self, mut file: WiredFile, step: InstallStep) {
        file.steps = self.file(&file.file).map(|known| known.steps.clone()).unwrap_or_default();
        file.steps.push(step);
        keep_newest(&mut file.steps, MAX_STEPS);
        self.remove(&file.file);
        self.files.push(file);
    }

    pub fn remove(&mut self, name: &str) {
        self.files.retain(|file| file.file != name);
    }
}

pub const ROW: Row = Row {
    name: "wiring",
    path: "state/settings/wiring.json",
    schema: "wiring",
    title: "Wired settings files",
    about: "the settings files that install wired",
    ..Row::DURABLE
};
