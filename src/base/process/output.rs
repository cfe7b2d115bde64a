//! A file that a person asked for. It is whole or not there, and nothing of somebody else's is lost
//! for it.
#![expect(clippy::disallowed_methods, reason = "the file is a person's, not the state's")]

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::Path;

/// How far into a file its mark is looked for.
const HEAD: u64 = 4096;

/// Writes a file; one that is there is replaced only if it has `mark` near its beginning, or by force.
pub fn write(path: &Path, bytes: &[u8], mark: &[u8], force: bool) -> io::Result<()> {
    // A link stays one.
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    match fs::metadata(path) {
        Ok(meta) if meta.is_dir() => return Err(io::Error::other("it is a directory")),
        Ok(meta) if !meta.is_file() => return Err(io::Error::other("it is not a file")),
        Ok(_) if !force && !has_mark(path, mark)? => {
            return Err(io::Error::other(
                "it is there and is no report; --force replaces it, -o names another",
            ));
        }
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let name = path.file_name().ok_or_else(|| io::Error::other("it has no name"))?;
    let half = path.with_file_name(format!(
        ".{}.{}.half",
        name.to_string_lossy().chars().take(100).collect::<String>(),
        std::process::id()
    ));
    let written = File::create_new(&half).and_then(|mut file| file.write_all(bytes));
    let placed = written.and_then(|()| fs::rename(&half, path));
    placed.inspect_err(|error| {
        if error.kind() != io::ErrorKind::AlreadyExists {
            let _ = fs::remove_file(&half);
        }
    })
}

fn has_mark(path: &Path, mark: &[u8]) -> io::Result<bool> {
    let mut head = Vec::new();
    File::open(path)?.take(HEAD).read_to_end(&mut head)?;
    Ok(memchr::memmem::find(&head, mark).is_some())
}
