//! The texts of tasks that an execution began with: their digests are published once, and the files
//! may be edited afterwards.

use std::collections::BTreeSet;

use crate::execute::plan_files::text_digest;
use crate::execute::remote::claim::{ExecutionRecord, PlannedRecord, is_object_id};
use crate::execute::remote::wire::{Wire, split_batch};
use crate::execute::{Result, TasksFolder};

/// Of a task file; a larger one is none, and is not read.
const LARGEST_TEXT: u64 = 4 << 20;

/// A task whose text differs from the one that the execution began with.
pub struct OtherText<'a> {
    pub id: &'a str,
    published: &'a str,
}

/// The tasks of a plan whose texts differ, as far as both are known.
pub fn find_others<'a>(
    plan: &'a [PlannedRecord],
    record: &'a ExecutionRecord,
) -> Vec<OtherText<'a>> {
    let pairs = plan.iter().zip(&record.tasks).filter(|(own, theirs)| own.has_other_text(theirs));
    pairs.map(|(own, theirs)| OtherText { id: &own.id, published: &theirs.digest }).collect()
}

/// Keeps those whose published text the base branch never had since the execution began: the others
/// were edited on the way, and are of the same plan.
pub fn retain_unknown(
    folder: &TasksFolder,
    wire: &Wire,
    record: &ExecutionRecord,
    base: &str,
    others: &mut Vec<OtherText>,
) -> Result<()> {
    if others.is_empty() {
        return Ok(());
    }
    let had = past_digests(folder, wire, &record.base_commit, base)?;
    others.retain(|other| !had.contains(other.published));
    Ok(())
}

/// The digests of all task files that the base branch had from one commit (with it) to another.
fn past_digests(
    folder: &TasksFolder,
    wire: &Wire,
    begun: &str,
    base: &str,
) -> Result<BTreeSet<String>> {
    let repository = wire.repository;
    let top = repository.top.canonicalize().unwrap_or_else(|_| repository.top.clone());
    // A plan beside the repository has no history.
    let Ok(below) = folder.path().strip_prefix(&top) else { return Ok(BTreeSet::new()) };
    let below = below.display().to_string();
    // An empty path would be an error.
    let (place, pathspec) = match below.is_empty() {
        true => (".", ":(top)".to_owned()),
        false => (below.as_str(), format!(":(top,literal){below}")),
    };
    let tree = ["ls-tree", "-r", "--full-tree", begun, "--", place];
    let range = format!("{begun}..{base}");
    // What came with a merge counts too, and what the merge itself made of it.
    let log = [
        "log",
        "--format=",
        "--raw",
        "--no-abbrev",
        "--no-renames",
        "--no-follow",
        "--full-history",
        "-m",
        &range,
        "--",
        &pathspec,
    ];
    let mut blobs = BTreeSet::new();
    for args in [&tree[..], &log] {
        let said = repository.try_query(args)?;
        if said.is_good() {
            blobs.extend(said.out.lines().flat_map(task_blobs).map(str::to_owned));
        }
    }
    let read = |args: &[&str], ids: &[&str]| {
        let ids: String = ids.iter().map(|id| format!("{id}\n")).collect();
        wire.cat(args, &ids).map_err(|trouble| trouble.explain(wire.remote))
    };
    let blobs: Vec<&str> = blobs.iter().map(String::as_str).collect();
    let sizes = read(&["cat-file", "--batch-check"], &blobs)?;
    let sizes = String::from_utf8_lossy(&sizes);
    let fitting = sizes.lines().filter_map(|line| {
        let (id, rest) = line.split_once(' ')?;
        let size: u64 = rest.strip_prefix("blob ")?.parse().ok()?;
        (size <= LARGEST_TEXT).then_some(id)
    });
    let fitting: Vec<&str> = fitting.collect();
    let texts = split_batch(&read(&["cat-file", "--batch"], &fitting)?);
    Ok(texts.values().map(|bytes| text_digest(bytes)).collect())
}

/// The objects of a line about a task file, as `ls-tree` and `log --raw` print it.
fn task_blobs(line: &str) -> impl Iterator<Item = &str> {
    let fields = line.split_once('\t').filter(|(_, path)| {
        // Git puts a name with unusual letters in quotes.
        path.trim_end_matches('"').to_ascii_lowercase().ends_with(".xml")
    });
    let words = fields.map(|(fields, _)| fields.split(' ')).into_iter().flatten();
    words.filter(|word| is_object_id(word) && word.bytes().any(|b| b != b'0'))
}
