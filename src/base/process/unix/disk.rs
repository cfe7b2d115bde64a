//! The disk under a directory.

use std::path::Path;

/// Bytes that a user may still write there.
pub fn free(dir: &Path) -> Option<u64> {
    let stat = rustix::fs::statvfs(dir).ok()?;
    Some(stat.f_bavail.saturating_mul(stat.f_frsize))
}

/// The file system's name, if `flock` may not hold across the machines that use it.
#[cfg(target_os = "linux")]
pub fn network(dir: &Path) -> Option<&'static str> {
    let kind = rustix::fs::statfs(dir).ok()?.f_type;
    // Some are larger than 31 bits, and on some machines the field is signed.
    by_number(kind as u64 & 0xffff_ffff)
}

/// By the numbers in the kernel's `magic.h` and in the manual page of `statfs`.
#[cfg(target_os = "linux")]
fn by_number(kind: u64) -> Option<&'static str> {
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

/// The file system's name, if `flock` may not hold across the machines that use it.
#[cfg(target_vendor = "apple")]
pub fn network(dir: &Path) -> Option<&'static str> {
    let stat = rustix::fs::statfs(dir).ok()?;
    let name: Vec<u8> = stat.f_fstypename.iter().map(|byte| byte.cast_unsigned()).collect();
    match name.split(|byte| *byte == 0).next()? {
        b"nfs" => Some("NFS"),
        b"smbfs" => Some("SMB"),
        b"afpfs" => Some("AFP"),
        b"webdav" => Some("WebDAV"),
        _ => None,
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_network_is_known_by_its_number() {
        assert_eq!(by_number(0x6969), Some("NFS"));
        assert_eq!(by_number(0xef53), None, "ext4");
    }
}
