//! The name of a remote, as git's configuration has it.

use crate::core::text::clip;
use crate::execute::{Error, Repository, Result};

const LONGEST_REF: usize = 255;

/// A name, not an address: that could be a program.
pub fn is_remote_name(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_./".contains(&b);
    let begins = name.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric());
    begins && name.bytes().all(plain)
}

/// A remote that git has under this name. Asked at every contact: what git does not know by name it
/// takes for a path, and a state file may name one.
pub fn ensure_remote(repository: &Repository, name: &str) -> Result<()> {
    let fine = is_remote_name(name);
    let key = format!("remote.{name}.url");
    if !fine || !repository.try_query(&["config", "--get", &key])?.is_good() {
        return Err(Error::from(format!(
            "{} has no remote {}; `git remote` lists those that it has",
            repository.top.display(),
            shown_remote(name)
        )));
    }
    Ok(())
}

/// A name as it may be repeated: what is none may be an address with a password in it.
pub fn shown_remote(name: &str) -> String {
    match is_remote_name(name) {
        true => clip(name, 80),
        false => "of that name (an address is none)".into(),
    }
}

/// Whether git would take it for the name of a ref (`git check-ref-format`). What is none could be
/// more than a name where git reads it: `A:B` fetches A to B.
pub fn is_ref_name(name: &str) -> bool {
    let plain = |c: char| !c.is_control() && !" :^~?*[\\".contains(c);
    let is_part = |part: &str| {
        !part.is_empty()
            && !part.starts_with('.')
            && !part.ends_with('.')
            && !part.ends_with(".lock")
    };
    name.starts_with("refs/")
        && name.len() <= LONGEST_REF
        && name.chars().all(plain)
        && name.split('/').all(is_part)
        && !name.contains("..")
        && !name.contains("@{")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_refs_are_those_that_git_has() {
        for name in ["refs/heads/trunk", "refs/hookkeeper/claims/shop/L1-001", "refs/heads/ä/@"] {
            assert!(is_ref_name(name), "{name}");
        }
        for rest in [
            "x:refs/heads/y",
            "x^{}",
            "x~1",
            "x?",
            "x*",
            "x[1]",
            "x\\y",
            "x y",
            "x\ty",
            "x\u{7f}",
            "a..b",
            "a@{1}",
            "",
            "a//b",
            ".a",
            "a/.b",
            "a.lock",
            "a.lock/b",
            "a.",
            "a/",
        ] {
            assert!(!is_ref_name(&format!("refs/heads/{rest}")), "{rest}");
        }
        assert!(!is_ref_name("HEAD") && !is_ref_name("+refs/heads/x"));
    }

    #[test]
    fn what_is_no_name_is_not_repeated() {
        assert_eq!(shown_remote("origin"), "origin");
        for name in ["https://user:s3cret@host/x", "s3cret@host:x", "-s3cret"] {
            assert!(!shown_remote(name).contains("s3cret"), "{name}");
        }
    }
}
