//! Git and the remote: reading refs and the objects behind them, and making claims. What moves refs is
//! in `push.rs`.

use std::collections::BTreeMap;

use crate::execute::graph::validate_task_id;
use crate::execute::remote::claim::{
    ClaimRecord, ExecutionRecord, MERGE, is_object_id, parse_claim, parse_execution,
};
use crate::execute::remote::remote_name::{ensure_remote, is_ref_name, shown_remote};
use crate::execute::{Repository, Result, ensure_started};
use crate::process::lines;

const CLAIMS: &str = "refs/hookkeeper/claims";
const WORK: &str = "refs/hookkeeper/work";
const EARLIER: &str = "refs/hookkeeper/earlier";
pub const EXECUTIONS: &str = "refs/hookkeeper/executions";
/// More refs than this are not looked at, nor objects that are larger.
const MOST_REFS: usize = 20_000;
const LARGEST_CLAIM: u64 = 64 << 10;
const LARGEST_RECORD: u64 = 4 << 20;
/// A ref that moves while it is fetched is looked at again.
pub const TRIES: usize = 4;

/// A remote, as git knows it by name.
pub struct Wire<'a> {
    pub repository: &'a Repository,
    pub remote: &'a str,
}

/// What the remote has of an execution.
#[derive(Default)]
pub struct Snapshot {
    /// Where the base branch is; none if the remote has no such branch.
    pub base: Option<String>,
    pub record: Option<ExecutionRecord>,
    /// Somebody has put something else there.
    pub has_unreadable_record: bool,
    /// The last claims: commit, and what it says.
    pub claims: BTreeMap<String, (String, ClaimRecord)>,
    pub merger: Option<(String, ClaimRecord)>,
    /// Branches of tasks.
    pub work: BTreeMap<String, String>,
}

/// Why nothing came of a contact.
#[derive(Clone, Debug)]
pub enum Trouble {
    /// The remote does not answer.
    Offline(String),
    /// It answered, and says no.
    Refused(String),
}

pub fn claim_ref(execution: &str, task: &str) -> String {
    format!("{CLAIMS}/{execution}/{task}")
}

pub fn work_ref(execution: &str, task: &str) -> String {
    format!("{WORK}/{execution}/{task}")
}

/// Where work stays that another attempt begins beside: named by its commit, so nothing is ever put in
/// its place.
pub fn earlier_ref(execution: &str, task: &str, commit: &str) -> String {
    format!("{EARLIER}/{execution}/{task}/{commit}")
}

pub fn execution_ref(execution: &str) -> String {
    format!("{EXECUTIONS}/{execution}")
}

impl Wire<'_> {
    /// Reads all that the remote has of an execution; what is missing here is fetched.
    pub fn read(&self, execution: &str, base: &str) -> std::result::Result<Snapshot, Trouble> {
        let patterns = [
            format!("{CLAIMS}/{execution}/*"),
            format!("{WORK}/{execution}/*"),
            execution_ref(execution),
            format!("refs/heads/{base}"),
        ];
        let refs = self.read_refs(&patterns)?;
        let objects = self.read_records(&refs)?;
        let mut snapshot =
            Snapshot { base: refs.get(&patterns[3]).cloned(), ..Snapshot::default() };
        if let Some(commit) = refs.get(&patterns[2]) {
            let bytes = objects.get(commit);
            snapshot.record = bytes.and_then(|bytes| parse_execution(bytes, execution));
            snapshot.has_unreadable_record = snapshot.record.is_none();
        }
        for (name, commit) in &refs {
            let below = |prefix: &str| {
                let rest = name.strip_prefix(prefix)?.strip_prefix('/')?;
                let id = rest.strip_prefix(execution)?.strip_prefix('/')?;
                validate_task_id(id).is_ok().then_some(id)
            };
            if let Some(id) = below(CLAIMS) {
                let object = objects.get(commit);
                let bytes = object.map(Vec::as_slice).unwrap_or_default();
                let mut claim = parse_claim(bytes, execution, id);
                if object.is_none() {
                    claim.host = "somebody (the claim there is no commit, or too large)".into();
                }
                let found = (commit.clone(), claim);
                match id == MERGE {
                    true => snapshot.merger = Some(found),
                    false => drop(snapshot.claims.insert(id.to_owned(), found)),
                }
            } else if let Some(id) = below(WORK) {
                snapshot.work.insert(id.to_owned(), commit.clone());
            }
        }
        Ok(snapshot)
    }

    /// Refs of the remote by patterns; the objects that they are at are here afterwards.
    pub fn read_refs(
        &self,
        patterns: &[String],
    ) -> std::result::Result<BTreeMap<String, String>, Trouble> {
        let mut left_out = String::new();
        for _ in 0..TRIES {
            let refs = self.list(patterns)?;
            let missing = self.missing(&refs)?;
            if missing.is_empty() {
                return Ok(refs);
            }
            self.fetch(&missing)?;
            match self.missing(&refs)?.first() {
                None => return Ok(refs),
                Some(name) => left_out.clone_from(name),
            }
        }
        Err(Trouble::Refused(format!("{left_out} cannot be fetched")))
    }

    /// What refs of the remote are at.
    pub fn list(
        &self,
        patterns: &[String],
    ) -> std::result::Result<BTreeMap<String, String>, Trouble> {
        let mut args = vec!["ls-remote", "--", self.remote];
        args.extend(patterns.iter().map(String::as_str));
        let out = self.contact(&args)?;
        let is_wanted = |name: &str| {
            patterns.iter().any(|pattern| match pattern.strip_suffix('*') {
                Some(prefix) => name.starts_with(prefix),
                None => name == pattern,
            })
        };
        let refs = out.lines().filter_map(|line| line.split_once('\t'));
        let refs =
            refs.filter(|(id, name)| is_object_id(id) && is_wanted(name) && is_ref_name(name));
        Ok(refs.take(MOST_REFS).map(|(id, name)| (name.to_owned(), id.to_owned())).collect())
    }

    /// Makes a claim; nothing but an object is written.
    pub fn write_commit(&self, parent: Option<&str>, message: &str) -> Result<String> {
        let git = self.repository.git();
        let feed = |args: &[&str], bytes: &[u8]| -> Result<String> {
            let (code, out) = ensure_started(git.feed(args, bytes))?;
            let id = String::from_utf8_lossy(&out).trim().to_owned();
            match code == Some(0) && is_object_id(&id) {
                true => Ok(id),
                false => refuse!("git {} wrote no object", args.first().unwrap_or(&"")),
            }
        };
        let tree = feed(&["mktree"], b"")?;
        let mut args = vec!["commit-tree", tree.as_str()];
        args.extend(parent.iter().flat_map(|parent| ["-p", parent]));
        args.extend(["-F", "-"]);
        feed(&args, message.as_bytes()).map_err(|error| {
            error.context("a claim cannot be made (are user.name and user.email set?)")
        })
    }

    /// The refs whose objects are not here.
    fn missing(
        &self,
        refs: &BTreeMap<String, String>,
    ) -> std::result::Result<Vec<String>, Trouble> {
        let sizes = self.sizes(refs)?;
        let missing = refs.iter().filter(|(_, id)| !sizes.contains_key(*id));
        Ok(missing.map(|(name, _)| name.clone()).collect())
    }

    fn fetch(&self, names: &[String]) -> std::result::Result<(), Trouble> {
        let mut args = vec![
            "fetch",
            "--quiet",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-auto-maintenance",
            "--refmap=",
            "--",
            self.remote,
        ];
        args.extend(names.iter().map(String::as_str));
        lines::hint(&format!("{}: fetching …", self.remote).into());
        self.contact(&args).map(drop)
    }

    /// The commits among some objects, with their sizes.
    fn sizes(
        &self,
        refs: &BTreeMap<String, String>,
    ) -> std::result::Result<BTreeMap<String, u64>, Trouble> {
        let ids: String = refs.values().map(|id| format!("{id}\n")).collect();
        let out = self.cat(&["cat-file", "--batch-check"], &ids)?;
        let text = String::from_utf8_lossy(&out);
        let sized = text.lines().filter_map(|line| {
            let mut fields = line.split(' ');
            let (id, kind, size) = (fields.next()?, fields.next()?, fields.next()?);
            let size = if kind == "commit" { size.parse().ok()? } else { u64::MAX };
            Some((id.to_owned(), size))
        });
        Ok(sized.collect())
    }

    /// The commits that claims and records are, as far as they are of a sensible size.
    pub fn read_records(
        &self,
        refs: &BTreeMap<String, String>,
    ) -> std::result::Result<BTreeMap<String, Vec<u8>>, Trouble> {
        let sizes = self.sizes(refs)?;
        let most = |name: &str| match (name.starts_with(CLAIMS), name.starts_with(EXECUTIONS)) {
            (true, _) => LARGEST_CLAIM,
            (_, true) => LARGEST_RECORD,
            _ => 0,
        };
        let fits = |name: &str, id: &String| sizes.get(id).is_some_and(|size| *size <= most(name));
        let ids = refs.iter().filter(|(name, id)| fits(name, id));
        let ids: String = ids.map(|(_, id)| format!("{id}\n")).collect();
        Ok(split_batch(&self.cat(&["cat-file", "--batch"], &ids)?))
    }

    /// What git answers to a list of objects; nothing if the list is empty.
    pub fn cat(&self, args: &[&str], ids: &str) -> std::result::Result<Vec<u8>, Trouble> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let output = self.repository.git().feed(args, ids.as_bytes());
        match output {
            Ok((Some(0), out)) => Ok(out),
            Ok(_) => Err(Trouble::Refused("git cannot read objects of this repository".into())),
            Err(error) => Err(Trouble::Refused(crate::git::command::explain_start_error(&error))),
        }
    }

    fn contact(&self, args: &[&str]) -> std::result::Result<String, Trouble> {
        ensure_remote(self.repository, self.remote)
            .map_err(|error| Trouble::Refused(error.to_string()))?;
        match self.repository.git().contact(args) {
            Ok(output) if output.is_good() => Ok(output.out),
            // Its time was over.
            Ok(output) if output.code.is_none() => {
                let said = format!("it does not answer {}", output.complaint());
                Err(Trouble::Offline(said.trim_end().to_owned()))
            }
            Ok(output) => Err(Trouble::Offline(output.complaint())),
            Err(error) => Err(Trouble::Refused(crate::git::command::explain_start_error(&error))),
        }
    }
}

/// `ID commit SIZE`, the bytes, a line break; again and again.
pub fn split_batch(mut bytes: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
        let head = String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).into_owned();
        let rest = bytes.get(end + 1..).unwrap_or_default();
        let mut fields = head.split(' ');
        let (id, size) = (fields.next().unwrap_or_default(), fields.nth(1));
        let Some(size) = size.and_then(|size| size.parse::<usize>().ok()) else {
            bytes = rest;
            continue;
        };
        found.insert(id.to_owned(), rest.get(..size).unwrap_or_default().to_vec());
        bytes = rest.get(size + 1..).unwrap_or_default();
    }
    found
}

impl Trouble {
    /// As a sentence about a remote.
    pub fn explain(&self, remote: &str) -> String {
        let remote = shown_remote(remote);
        match self {
            Self::Offline(why) => format!("{remote} cannot be reached ({why})"),
            Self::Refused(why) => format!("{remote}: {why}"),
        }
    }
}
