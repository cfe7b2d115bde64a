//! What can go wrong on the hook path, as one line with a path and a cause.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub enum Error {
    /// A file or directory could not be used.
    Io { what: &'static str, path: PathBuf, cause: io::Error },
    /// A place that has to be a plain directory or file of ours is something else.
    Planted { path: PathBuf, is: &'static str },
    /// A link in the place of `.claude` that git brought.
    TrackedLink { path: PathBuf },
    /// A file that is larger than any of ours; how large one may be.
    TooLarge { path: PathBuf, most: u64 },
    /// Somebody else holds the lock, for longer than a command waits.
    Busy,
    /// A schema of ours has a keyword that the checker does not know. Tests see to it that none has.
    Schema { name: &'static str, why: String },
    /// The payload cannot be used; where it was kept, if it was.
    Payload { why: String, kept: Option<PathBuf> },
}

impl Error {
    pub fn io(what: &'static str, path: &Path, cause: impl Into<io::Error>) -> Self {
        Self::Io { what, path: path.to_owned(), cause: cause.into() }
    }

    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Io { cause, .. } if cause.kind() == io::ErrorKind::NotFound)
    }

    /// Whether it is the machine that cannot at the moment, and not what was asked of it.
    pub fn may_pass(&self) -> bool {
        let Self::Io { cause, .. } = self else { return false };
        !matches!(
            cause.kind(),
            io::ErrorKind::PermissionDenied
                | io::ErrorKind::IsADirectory
                | io::ErrorKind::NotADirectory
                | io::ErrorKind::InvalidFilename
                | io::ErrorKind::InvalidInput
                | io::ErrorKind::Other
        )
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { what, path, cause } => {
                write!(f, "cannot {what}: {}: {cause}", path.display())
            }
            Self::Planted { path, is } => {
                write!(f, "refusing to write through {}: it is {is}", path.display())
            }
            Self::TrackedLink { path } => write!(
                f,
                "{} is a link that git tracks: it is not followed, and nothing is kept in this project \
                 (if the link is yours: `git rm --cached .claude`)",
                path.display()
            ),
            Self::TooLarge { path, most } => {
                let (most, unit) =
                    if *most < 1 << 20 { (most >> 10, "KiB") } else { (most >> 20, "MiB") };
                write!(f, "cannot read: {}: it is larger than {most} {unit}", path.display())
            }
            Self::Busy => write!(f, "the state is in use by another process"),
            Self::Schema { name, why } => write!(f, "the schema {name} cannot be used: {why}"),
            Self::Payload { why, kept: Some(path) } => {
                write!(f, "{why}; the payload is kept in {}", path.display())
            }
            Self::Payload { why, kept: None } => write!(f, "{why}"),
        }
    }
}

impl std::error::Error for Error {}

pub type Result<T> = std::result::Result<T, Error>;
