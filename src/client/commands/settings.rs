//! The client's settings files, as the commands that deal with them see them.

use std::path::PathBuf;

use anyhow::anyhow;
use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};

use crate::client::settings::scope::Scope;
use crate::console::project::Project;
use crate::store::settings_file::SettingsPaths;

/// Which file, and whether it may be changed.
#[derive(clap::Args)]
pub struct SettingsTarget {
    /// Which settings file: project (.claude/settings.json), local (.claude/settings.local.json)
    /// or user (~/.claude/settings.json)
    #[arg(long, default_value = "project", value_name = "SCOPE", value_parser = SuggestedValues(&["project", "local", "user"]))]
    scope: String,
    /// Show what would change, and change nothing
    #[arg(long)]
    pub dry_run: bool,
}

impl SettingsTarget {
    pub fn scope(&self) -> anyhow::Result<Scope> {
        let found = Scope::ALL.into_iter().find(|scope| scope.name() == self.scope);
        found.ok_or_else(|| {
            anyhow!(
                "there is no scope `{}`; there are project (.claude/settings.json), local \
                 (.claude/settings.local.json) and user (~/.claude/settings.json)",
                self.scope
            )
        })
    }
}

/// Words that a shell can complete. Others are taken too: the command says what is wrong with them.
#[derive(Clone)]
pub struct SuggestedValues(pub &'static [&'static str]);

impl TypedValueParser for SuggestedValues {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.0.iter().map(|word| PossibleValue::new(*word))))
    }
}

pub fn with_paths<T>(
    project: &Project,
    work: impl FnOnce(&SettingsPaths) -> crate::core::error::Result<T>,
) -> anyhow::Result<T> {
    let root = project.root()?;
    let (home, client) = (project.process.home(), project.process.client_dir());
    let paths = SettingsPaths { root: &root, home: home.as_deref(), client: client.as_deref() };
    Ok(work(&paths)?)
}

/// A scope's file and its bytes, if there is one.
pub fn read_scope(project: &Project, scope: Scope) -> anyhow::Result<(PathBuf, Option<Vec<u8>>)> {
    with_paths(project, |paths| Ok((paths.path(scope)?, paths.read(scope)?)))
}

pub fn decode(bytes: Option<&[u8]>, shown: &str) -> anyhow::Result<String> {
    let bytes = bytes.unwrap_or_default().to_vec();
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let before = error.as_bytes().get(..at).unwrap_or_default();
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        anyhow!("{shown}: line {line}: it is not UTF-8")
    })
}
