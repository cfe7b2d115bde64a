//! Which settings file: the project's shared one, the user's own one for this project, or the one
//! for all of the user's projects.

use std::path::{Path, PathBuf};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    Project,
    Local,
    User,
}

/// In a project.
pub const LOCAL_SETTINGS: &str = ".claude/settings.local.json";

impl Scope {
    pub const ALL: [Self; 3] = [Self::Project, Self::Local, Self::User];

    pub fn name(self) -> &'static str {
        match self {
            Self::Project => "project",
            Self::Local => "local",
            Self::User => "user",
        }
    }

    pub fn file_name(self) -> &'static str {
        match self {
            Self::Project | Self::User => "settings.json",
            Self::Local => "settings.local.json",
        }
    }

    /// `config` is the client's own directory; without one there is no user scope.
    pub fn path(self, root: &Path, config: Option<&Path>) -> Option<PathBuf> {
        match self {
            Self::Project => Some(root.join(".claude/settings.json")),
            Self::Local => Some(root.join(LOCAL_SETTINGS)),
            Self::User => config.map(|config| config.join("settings.json")),
        }
    }
}
