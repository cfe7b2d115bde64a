//! What the file system knows of a file and no checkout, archive or copy can bring with it.

#[cfg(unix)]
pub use super::unix::seen_file;
#[cfg(windows)]
pub use super::windows::seen_file;

/// Whether a file can be read while somebody else has it locked. Windows keeps readers away too.
pub const LOCKED_IS_READABLE: bool = cfg!(unix);

/// A moment on the file system's clock: seconds and nanoseconds.
pub type Moment = (i64, u32);

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    pub ino: u64,
    /// `None` where the file system does not keep that.
    pub birth: Option<Moment>,
    pub changed: Moment,
    pub modified: Moment,
    pub size: u64,
    /// Under how many names it goes.
    pub links: u64,
    pub is_dir: bool,
}

impl Seen {
    /// When it came to be, as far as that is known.
    pub fn born(&self) -> Moment {
        self.birth.unwrap_or(self.changed)
    }
}
