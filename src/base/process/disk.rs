//! The disk under a directory: how much room there is, and whether it is another machine's.

use std::path::Path;

use crate::process::system;

/// Bytes that a user may still write there.
pub fn free(dir: &Path) -> Option<u64> {
    system::disk::free(dir)
}

/// The file system's name, if locks may not hold across the machines that use it. `None` where it is
/// local, or cannot be told (FUSE can be either).
pub fn network(dir: &Path) -> Option<&'static str> {
    system::disk::network(dir)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_has_room() {
        assert!(free(&std::env::temp_dir()).is_some());
        assert_eq!(free(Path::new("/nowhere")), None);
    }
}
