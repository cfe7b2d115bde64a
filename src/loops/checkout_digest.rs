//! What a checkout holds, so that two looks at it can be compared: the commit, `git status`, and
//! what is in the changed files, without `.claude/`. At a Stop git has two seconds for it at most.

use std::path::Path;

use crate::core::id::sha256_hex;
use crate::turn::context::Facts;

/// Files whose contents are compared; of more, the names and times.
const READ: usize = 500;
const STATUS: [&str; 6] = ["status", "--porcelain", "-z", "--untracked-files=all", "--", "."];

/// What is seen, in lines. What the state and the client's settings say is not the work. An error says
/// why git could not be asked.
pub fn look(facts: &dyn Facts, root: &Path, head: Option<&str>) -> Result<Vec<String>, String> {
    let mut lines = vec![head.unwrap_or_default().to_owned()];
    // Without a repository there is nobody to ask.
    let status = if head.is_some() { facts.ask_git(&STATUS)? } else { None };
    let status = status.unwrap_or_default();
    let entries = status.split('\0').filter(|entry| !entry.is_empty());
    // Git names paths from its own top, which may be above the project.
    let top = root.ancestors().find(|dir| facts.is_checkout(dir)).unwrap_or(root);
    let claude = root.strip_prefix(top).unwrap_or(root).join(".claude");
    for (n, entry) in entries.enumerate() {
        let path = entry.get(3..).unwrap_or_default();
        if Path::new(path).starts_with(&claude) {
            continue;
        }
        let path = top.join(path);
        let has = match n < READ {
            true => facts.digest(&path),
            false => facts.modified(&path).map(|at| at.to_rfc3339()),
        };
        lines.push(format!("{entry} {}", has.unwrap_or_default()));
    }
    Ok(lines)
}

/// A digest of what was seen.
pub fn digest(lines: &[String]) -> String {
    sha256_hex(lines.join("\n").as_bytes()).chars().take(16).collect()
}

/// Both; `None` without a repository, or where git does not answer.
pub fn of_repository(facts: &dyn Facts, root: &Path, head: Option<&str>) -> Option<String> {
    let lines = look(facts, root, Some(head?)).ok()?;
    Some(digest(&lines))
}
