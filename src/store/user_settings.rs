//! `hookkeeper.json` in the client's own directory: what only a person may set, for all projects.
//! Hooks do not read it.

use std::path::Path;

use crate::core::error::{Error, Result};
use crate::store::dir::Dir;
use crate::store::home::{self, LARGEST_SETTINGS, SETTINGS};
use crate::store::lock::{self, Lock};
use crate::store::settings_file::installs::{self, open_client};

/// Where the new file is written before it takes its place.
const NEW: &str = ".hookkeeper.json.new";

/// The bytes of the file; `None` if there is none. Nothing is made, nothing is locked.
pub fn read(client: &Path) -> Result<Option<Vec<u8>>> {
    match Dir::open(client) {
        Ok(dir) => dir.read_up_to(SETTINGS, LARGEST_SETTINGS),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}

/// The file, while nobody else of us changes it.
pub struct UserSettings {
    client: Dir,
    _lock: Lock,
}

impl UserSettings {
    pub fn open(client: &Path) -> Result<Self> {
        let client = open_client(client)?.for_its_owner();
        let open =
            || Ok((Dir::open(client.path())?.for_its_owner(), client.make(installs::FOLDER)?));
        let (dir, own, Some(lock)) = lock::acquire_in(lock::PATIENCE, open)? else {
            return Err(Error::Busy);
        };
        home::hide_from_git(&own)?;
        Ok(Self { client: dir, _lock: lock })
    }

    pub fn read(&self) -> Result<Option<Vec<u8>>> {
        self.client.read_up_to(SETTINGS, LARGEST_SETTINGS)
    }

    /// Puts these bytes in its place. The file is its user's: its mode stays.
    pub fn put(&self, bytes: &[u8]) -> Result<()> {
        self.client.remove(NEW)?;
        self.client.write_and(NEW, &[bytes], true, || {
            self.client.copy_mode_to(SETTINGS, &self.client, NEW)?;
            self.client.rename(NEW, &self.client, SETTINGS)
        })
    }
}
