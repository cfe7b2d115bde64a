//! The name of a remote, as git's configuration has it.

use crate::core::text::clip;
use crate::execute::{Error, Repository, Result};

/// A name, not an address: that could be a program.
pub fn is_remote_name(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_./".contains(&b);
    let begins = name.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric());
    begins && name.bytes().all(plain)
}

/// A remote that git has under this name.
pub fn ensure_remote(repository: &Repository, name: &str) -> Result<()> {
    let fine = is_remote_name(name);
    let key = format!("remote.{name}.url");
    if !fine || !repository.try_query(&["config", "--get", &key])?.is_good() {
        return Err(Error::from(format!(
            "{} has no remote {}; `git remote` lists those that it has",
            repository.top.display(),
            clip(name, 80)
        )));
    }
    Ok(())
}
