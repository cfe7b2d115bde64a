//! Reading and writing at a place in a file, which is the same on all systems.

#[cfg(windows)]
pub use self::windows::FileExt;
#[cfg(unix)]
pub use std::os::unix::fs::FileExt;

#[cfg(windows)]
mod windows {
    use std::fs::File;
    use std::io;
    use std::os::windows::fs::FileExt as _;

    /// Moves the file's own place, which nobody of ours goes by.
    pub trait FileExt {
        fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<usize>;
        fn read_exact_at(&self, bytes: &mut [u8], at: u64) -> io::Result<()>;
        fn write_all_at(&self, bytes: &[u8], at: u64) -> io::Result<()>;
    }

    impl FileExt for File {
        fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<usize> {
            self.seek_read(bytes, at)
        }

        fn read_exact_at(&self, mut bytes: &mut [u8], mut at: u64) -> io::Result<()> {
            while !bytes.is_empty() {
                let read = self.seek_read(bytes, at)?;
                if read == 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                bytes = bytes.get_mut(read..).unwrap_or_default();
                at += read as u64;
            }
            Ok(())
        }

        fn write_all_at(&self, mut bytes: &[u8], mut at: u64) -> io::Result<()> {
            while !bytes.is_empty() {
                let written = self.seek_write(bytes, at)?;
                if written == 0 {
                    return Err(io::ErrorKind::WriteZero.into());
                }
                bytes = bytes.get(written..).unwrap_or_default();
                at += written as u64;
            }
            Ok(())
        }
    }
}
