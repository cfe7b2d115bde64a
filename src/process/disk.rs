//! The disk under a directory: how much room there is, and whether it is another machine's.

use std::path::Path;

/// Bytes that a user may still write there.
pub fn free(dir: &Path) -> Option<u64> {
    let stat = rustix::fs::statvfs(dir).ok()?;
    Some(stat.f_bavail.saturating_mul(stat.f_frsize))
}

/// The file system's name, if `flock` may not hold across the machines that use it. `None` where
/// it is local, or cannot be told (FUSE can be either).
#[cfg(target_os = "linux")]
pub fn network(dir: &Path) -> Option<&'static str> {
    let kind = rustix::fs::statfs(dir).ok()?.f_type;
    // Some are larger than 31 bits, and on some machines the field is signed.
    network_name(kind as u64 & 0xffff_ffff)
}

#[cfg(not(target_os = "linux"))]
pub fn network(_: &Path) -> Option<&'static str> {
    None
}

/// By the numbers in the kernel's `magic.h` and in the manual page of `statfs`.
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
fn network_name(kind: u64) -> Option<&'static str> {
    Some(match kind {
        0x6969 => "NFS",
        0x517b | 0xff53_4d42 | 0xfe53_4d42 => "SMB",
        0x0102_1997 => "9P",
        0x00c3_6400 => "Ceph",
        0x5346_414f | 0x6b41_4653 => "AFS",
        0x7375_7245 => "Coda",
        0x0bd0_0bd0 => "Lustre",
        0x4750_4653 => "GPFS",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_has_room_and_is_local() {
        assert!(free(Path::new("/")).is_some());
        assert_eq!(free(Path::new("/nowhere")), None);
        assert_eq!(network_name(0x6969), Some("NFS"));
        assert_eq!(network_name(0xef53), None, "ext4");
    }
}
