//! All that the checks look at, as plain data.

use std::path::{Path, PathBuf};

use crate::client::settings::scope::Scope;
use crate::client::version::ClientVersion;
use crate::client::wiring::WiredFile;
use crate::doctor::export::ExportFacts;
use crate::doctor::settings::{ExaminedSettings, HookEntry};
use crate::doctor::survey::Survey;
use crate::process::version::VersionAnswer;
use crate::turn::root;
use crate::validate::Report;

#[derive(Default)]
pub struct Facts {
    /// Of the program that is running.
    pub version: String,
    pub running: Option<PathBuf>,
    pub root: PathBuf,
    pub home: Option<PathBuf>,
    pub client_dir: Option<PathBuf>,
    pub files: Vec<ExaminedSettings>,
    /// The programs that our entries name, each once.
    pub programs: Vec<Program>,
    /// Every `hookkeeper` that the PATH leads to, each file once; the first is what a shell starts.
    pub on_path: Vec<Program>,
    /// The folders with slash commands of ours, as people write them.
    pub slash_commands: Vec<&'static str>,
    /// Our plugins that are enabled here, as the client installed them.
    pub installed_plugins: Vec<InstalledPlugin>,
    /// What `install` says that it wired.
    pub recorded: Vec<(Scope, WiredFile)>,
    /// `HOOKKEEPER_OFF=1` in our own environment.
    pub off: bool,
    pub state: Survey,
    /// The documents against their schemas.
    pub documents: Report,
    /// Files of the documents that git has in its index.
    pub tracked: Vec<String>,
    /// Live sessions whose client does not run any more.
    pub gone: Vec<String>,
    /// Bytes that are free where the state is.
    pub free: Option<u64>,
    /// The kind of file system that the state is on, if it is one of the network.
    pub network: Option<&'static str>,
    pub client: ClientVersion,
    pub transcripts: Transcripts,
    pub export: ExportFacts,
}

impl Facts {
    /// A path as people write it: from the project, or from the home directory.
    pub fn show(&self, path: &Path) -> String {
        root::shown(path, &self.root, self.home.as_deref())
    }

    /// Every handler of every settings file.
    pub fn hooks(&self) -> impl Iterator<Item = (&ExaminedSettings, &HookEntry)> {
        self.files.iter().flat_map(|file| file.hooks().iter().map(move |hook| (file, hook)))
    }

    pub fn ours(&self) -> impl Iterator<Item = (&ExaminedSettings, &HookEntry)> {
        self.hooks().filter(|(_, hook)| hook.ours)
    }

    /// Enabled plugins of ours: the file, the line and the name. Where several files speak of one,
    /// the local one decides, then the project's.
    pub fn plugins(&self) -> impl Iterator<Item = (&ExaminedSettings, usize, &str)> {
        let rank =
            |scope| [Scope::Local, Scope::Project, Scope::User].iter().position(|s| *s == scope);
        let named = self.files.iter().flat_map(|file| {
            let plugins = file.parsed().map_or(&[][..], |parsed| &parsed.plugins);
            plugins.iter().map(move |plugin| (file, plugin))
        });
        let mut named: Vec<_> = named.collect();
        named.sort_by_key(|(file, (name, ..))| (name.clone(), rank(file.scope)));
        named.dedup_by(|second, first| second.1.0 == first.1.0);
        let enabled = named.into_iter().filter(|(_, (_, _, enabled))| *enabled);
        enabled.map(|(file, (name, line, _))| (file, *line, name.as_str()))
    }
}

/// A program that our entries name.
pub struct Program {
    /// As the settings have it.
    pub word: String,
    /// `None`: it was not found.
    pub path: Option<PathBuf>,
    pub answer: VersionAnswer,
}

/// A plugin of ours, as the client installed it.
pub struct InstalledPlugin {
    /// `hookkeeper@MARKETPLACE`
    pub name: String,
    pub version: String,
    /// The program that it brings for this machine, and what that answers.
    pub program: Option<(PathBuf, VersionAnswer)>,
}

#[derive(Default)]
pub struct Transcripts {
    /// `None` without a home directory.
    pub dir: Option<PathBuf>,
    /// `None`: there is no such directory.
    pub files: Option<usize>,
    pub unreadable: Option<String>,
}
