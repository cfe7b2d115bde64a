//! `hookkeeper/installs` in the client's own directory: a digest of every install that was made on
//! this machine. The record of a project is in the project, and may have come with it: what it says
//! that a file was is only believed if it is known here.

use std::io;
use std::path::{Path, PathBuf};

use crate::core::error::{Error, Result};
use crate::core::id::sha256_hex;
use crate::store::dir::Dir;

/// The folder of ours in the client's own directory.
pub const FOLDER: &str = "hookkeeper";
pub const FILE: &str = "installs";

/// The client's own directory, made if need be.
pub fn open_client(client: &Path) -> Result<Dir> {
    match (client.parent(), client.file_name()) {
        (Some(parent), Some(name)) if !client.exists() => {
            Dir::open(parent)?.make(&name.to_string_lossy())
        }
        _ => Dir::open(client),
    }
}

/// The installs into one settings file.
pub struct Installs {
    /// The client's own directory; without one nothing is known.
    client: Option<PathBuf>,
    /// The settings file.
    file: PathBuf,
}

impl Installs {
    pub fn into_file(file: &Path, client: Option<&Path>) -> Result<Self> {
        let file =
            match (file.parent().map(|parent| (parent, parent.canonicalize())), file.file_name()) {
                (Some((_, Ok(parent))), Some(name)) => parent.join(name),
                (Some((parent, Err(error))), _) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(Error::io("resolve", parent, error));
                }
                _ => file.to_owned(),
            };
        Ok(Self { client: client.map(Path::to_owned), file })
    }

    /// Notes an install, before it is made.
    pub fn note(&self, before: Option<&[u8]>, after: &str) -> Result<()> {
        let Some(client) = &self.client else { return Ok(()) };
        let line = format!("{}\n", self.digest(before, after));
        open_client(client)?.make(FOLDER)?.append(FILE, line.as_bytes()).map(drop)
    }

    pub fn knows(&self, before: Option<&[u8]>, after: &str) -> Result<bool> {
        let known = self.known()?.unwrap_or_default();
        let digest = self.digest(before, after);
        Ok(known.split(|byte| *byte == b'\n').any(|line| line == digest.as_bytes()))
    }

    /// Whether it is known that something else was there: there are digests, and this is none of them.
    pub fn deny(&self, before: &[u8], after: &str) -> Result<bool> {
        Ok(self.known()?.is_some() && !self.knows(Some(before), after)?)
    }

    fn known(&self) -> Result<Option<Vec<u8>>> {
        let Some(client) = &self.client else { return Ok(None) };
        let client = match Dir::open(client) {
            Err(error) if error.is_not_found() => return Ok(None),
            other => other?,
        };
        client.sub(FOLDER)?.map_or(Ok(None), |folder| folder.read(FILE))
    }

    /// Which file, what was in it before, and what after.
    fn digest(&self, before: Option<&[u8]>, after: &str) -> String {
        let before = before.map_or("no file".into(), sha256_hex);
        sha256_hex(format!("{}\n{before}\n{after}", self.file.display()).as_bytes())
    }
}
