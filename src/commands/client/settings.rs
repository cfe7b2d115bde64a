//! The client's settings files, as the commands that deal with them see them.

use std::path::PathBuf;

use anyhow::anyhow;
use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};

use crate::client::settings::edit;
use crate::client::settings::scope::Scope;
use crate::console::project::Project;
use crate::console::usage::usage;
use crate::store::settings_file::SettingsPaths;

/// Which file, and whether it may be changed.
#[derive(clap::Args)]
pub struct SettingsTarget {
    /// Which settings file: local (.claude/settings.local.json), project (.claude/settings.json,
    /// which everybody reads who works in the project) or user (~/.claude/settings.json). Without
    /// it: the file of this project that was wired, else the local one
    #[arg(long, value_name = "SCOPE", value_parser = SuggestedValues(&["local", "project", "user"]))]
    scope: Option<String>,
    /// Show what would change, and change nothing
    #[arg(long)]
    pub dry_run: bool,
}

impl SettingsTarget {
    pub fn scope(&self, project: &Project) -> anyhow::Result<Scope> {
        let Some(named) = &self.scope else {
            let own = || [Scope::Local, Scope::Project].into_iter();
            let wired = own().find(|scope| is_wired(project, *scope));
            // Somebody else may have dropped our entries.
            let recorded = |scope: &Scope| {
                with_paths(project, |paths| Ok(paths.wired_file(*scope)?.is_some()))
                    .unwrap_or(false)
            };
            return Ok(wired.or_else(|| own().find(recorded)).unwrap_or(Scope::Local));
        };
        let found = Scope::ALL.into_iter().find(|scope| scope.name() == named);
        // Wrong whatever the state is.
        found.ok_or_else(|| {
            let why = format!(
                "there is no scope `{named}`; there are local (.claude/settings.local.json), project \
                 (.claude/settings.json) and user (~/.claude/settings.json)"
            );
            usage(why).into()
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

/// Whether a scope's file has an entry of ours.
pub fn is_wired(project: &Project, scope: Scope) -> bool {
    let bytes = read_scope(project, scope).ok().and_then(|(_, bytes)| bytes);
    bytes.is_some_and(|bytes| edit::is_wired(&String::from_utf8_lossy(&bytes)))
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
