//! What the history of a checkout proves: that a commit is there, is new, and changed a file.

use std::io;

use crate::core::text::clip;
use crate::git::command::{Git, GitOutput, explain_start_error};

/// What somebody says of a commit.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim<'a> {
    pub sha: &'a str,
    pub shows: Shows<'a>,
    /// Commits that were there before: what they have is not new.
    pub since: Vec<&'a str>,
    /// Seconds since 1970; what was committed before that is not new either.
    pub not_before: Option<i64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shows<'a> {
    /// It is in the history of HEAD, however old.
    Known,
    /// It is new.
    Commit,
    /// It is new, and wrote this file.
    File(&'a str),
    /// It is a new merge.
    Merge,
    /// It is new, and this tag names it.
    Tag(&'a str),
}

const SLOW: &str = "git did not answer in time";
/// So many commits are looked through.
const MOST: &str = "--max-count=10000";

/// What is wrong with a claim; `None` if nothing is.
pub fn fault(git: &Git, claim: &Claim) -> Option<String> {
    let said = match claim.shows {
        _ if !is_sha(claim.sha) => Ok(Some(unknown(claim.sha))),
        Shows::Known => place(git, claim.sha).map(|place| place.err()),
        _ => check_new(git, claim),
    };
    said.unwrap_or_else(Some)
}

/// An abbreviated commit, which nothing else can be taken for.
pub fn is_sha(text: &str) -> bool {
    (4..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn check_new(git: &Git, claim: &Claim) -> Result<Option<String>, String> {
    let since: Vec<String> =
        claim.since.iter().filter(|sha| is_sha(sha)).map(|sha| format!("^{sha}")).collect();
    let mut args =
        vec!["log", "--no-ext-diff", "--no-textconv", "--ignore-missing", "--format=%H %ct", MOST];
    match claim.shows {
        Shows::Merge => args.push("--merges"),
        // One that takes the file away does not have it.
        Shows::File(_) => args.push("--diff-filter=ACMRT"),
        _ => {}
    }
    args.push("HEAD");
    args.extend(since.iter().map(String::as_str));
    args.push("--");
    if let Shows::File(path) = claim.shows {
        args.push(path);
    }
    let log = ask(git, &args)?;
    let is_it = |line: &&str| {
        let (sha, at) = line.split_once(' ').unwrap_or((line, ""));
        let at = at.parse::<i64>().ok();
        let late = claim.not_before.is_none_or(|first| at.is_some_and(|at| at >= first));
        late && sha.starts_with(&claim.sha.to_ascii_lowercase())
    };
    if log.is_good() && log.out.lines().any(|line| is_it(&line)) {
        return match claim.shows {
            Shows::Tag(name) => tag_fault(git, name, claim.sha),
            _ => Ok(None),
        };
    }
    // Why not: it is not there, or not new.
    if let Err(why) = place(git, claim.sha)? {
        return Ok(Some(why));
    }
    let sha = clip(claim.sha, 40);
    Ok(Some(match claim.shows {
        Shows::File(path) => format!(
            "commit {sha} does not write {}, or is not newer than the phase and the receipt before it",
            clip(path, 160)
        ),
        Shows::Merge => format!("commit {sha} is no merge that was made in this phase"),
        _ => format!("commit {sha} is not newer than the phase and the receipt before it"),
    }))
}

fn tag_fault(git: &Git, name: &str, sha: &str) -> Result<Option<String>, String> {
    let named = format!("refs/tags/{name}^{{commit}}");
    let said = ask(git, &["rev-parse", "--verify", "--quiet", "--end-of-options", &named])?;
    let is_it = said.is_good() && said.out.trim().starts_with(&sha.to_ascii_lowercase());
    Ok((!is_it).then(|| format!("no tag {} names commit {}", clip(name, 80), clip(sha, 40))))
}

/// Whether a commit is in the history of HEAD; else where it is.
fn place(git: &Git, sha: &str) -> Result<Result<(), String>, String> {
    let said = ask(git, &["merge-base", "--is-ancestor", sha, "HEAD"])?;
    Ok(match said.code {
        Some(0) => Ok(()),
        Some(1) => Err(format!("commit {} is not in the history of HEAD", clip(sha, 40))),
        _ if said.err.contains("not a git repository") => {
            Err("there is no git repository to ask".into())
        }
        _ => Err(unknown(sha)),
    })
}

fn ask(git: &Git, args: &[&str]) -> Result<GitOutput, String> {
    match git.ask(args) {
        Ok(said) if said.code.is_some() => Ok(said),
        Ok(_) => Err(SLOW.into()),
        Err(error) if error.kind() == io::ErrorKind::TimedOut => Err(SLOW.into()),
        Err(error) => Err(explain_start_error(&error)),
    }
}

fn unknown(sha: &str) -> String {
    format!("git has no commit {}", clip(sha, 40))
}
