//! Every setting with its origin, as commands see them: what hooks read, and beside that the user's
//! own file and the environment.

use anyhow::bail;

use crate::console::project::Project;
use crate::core::gate::shell_word;
use crate::core::settings::layers::{Layers, Resolved};
use crate::core::settings::table::{TABLE, Trust};
use crate::store::{home, user_settings};

impl Project<'_> {
    pub fn resolved_settings(&self) -> anyhow::Result<Resolved> {
        let user = self.process.client_dir().map(|client| user_settings::read(&client));
        let user = user.transpose()?.flatten();
        let project = home::current_bytes(&self.root()?, self.process.home().as_deref())?;
        let (project, trust) = project.unzip();
        let layers = Layers {
            table: TABLE,
            user: user.as_deref(),
            project: project.as_deref(),
            trust: trust.unwrap_or(Trust::Own),
            env: &|name| self.process.env(name),
        };
        Ok(layers.resolve())
    }

    /// Refuses to change anything of a system that is switched off.
    pub fn ensure_on(&self, system: &str) -> anyhow::Result<()> {
        match self.off_note(system)? {
            Some(note) => bail!("{note}"),
            None => Ok(()),
        }
    }

    /// That a system (`systems.errors`) is switched off, if it is, for who only shows what there is.
    pub fn off_note(&self, system: &str) -> anyhow::Result<Option<String>> {
        let settings = self.settings()?;
        let row = TABLE.iter().find(|row| row.key == system);
        let is_off = row.is_some_and(|row| row.field.get(&settings) == false);
        let word = shell_word(system);
        Ok(is_off.then(|| {
            let so = match system {
                "systems.export" => "nothing of this project is sent",
                _ => "hooks add nothing to it",
            };
            format!(
                "`{system}` is off in .claude/hookkeeper.json, so {so}; \
                 `hookkeeper config unset {word}` switches it on"
            )
        }))
    }
}
