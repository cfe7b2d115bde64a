//! The plan of a branch: a file in `.claude/plans`, which people and models write and git tracks.

use std::path::Path;

use crate::core::redaction::Redactor;
use crate::core::text::{Extra, clip_block};
use crate::process::files;
use serde::{Deserialize, Serialize};

const FOLDER: &str = ".claude/plans";
const LINES: usize = 40;
const LONGEST_LINE: usize = 300;
/// Forty lines are near the beginning, however long the file is.
const HEAD: u64 = 64 << 10;
/// A folder with more files than this is no folder of plans.
const FILES: usize = 2000;

/// The plan of a branch, and how it begins.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "testing", schemars(rename = "Plan"))]
pub struct PlanFile {
    pub exists: bool,
    /// From the project.
    pub file: Option<String>,
    pub preview: Option<String>,
    #[serde(flatten)]
    pub extra: Extra,
}

/// Whether a file of this name is this machine's.
pub type IsBelieved<'a> = &'a dyn Fn(&str) -> bool;

/// The plan of a branch by its folder's name, else the newest one; and how it begins.
pub fn find(
    root: &Path,
    branch: &str,
    redact: &Redactor,
    is_believed: IsBelieved,
) -> Option<PlanFile> {
    let folder = root.join(FOLDER);
    if !std::fs::symlink_metadata(&folder).is_ok_and(|meta| meta.is_dir()) {
        return None;
    }
    let own = [format!("{branch}.md"), format!("{branch}.plan.md")];
    let name = own.into_iter().find(|name| is_plain(&folder.join(name)) && is_believed(name));
    let name = name.or_else(|| newest(&folder, is_believed))?;
    let preview = files::head(&folder.join(&name), HEAD).map(|head| preview(&head, redact));
    Some(PlanFile {
        exists: true,
        file: Some(format!("{FOLDER}/{name}")),
        preview,
        ..PlanFile::default()
    })
}

/// A file of its own: a link could lead to what is not the project's.
fn is_plain(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file())
}

fn newest(folder: &Path, is_believed: IsBelieved) -> Option<String> {
    let entries = files::entries(folder).ok()?.into_iter().take(FILES);
    let plans = entries.filter_map(|entry| {
        let name = entry.file_name()?.to_str()?.to_owned();
        let meta = entry.symlink_metadata().ok().filter(std::fs::Metadata::is_file)?;
        let is_plan = name.ends_with(".md") && !name.starts_with('.');
        (is_plan && is_believed(&name)).then_some((meta.modified().ok()?, name))
    });
    plans.max().map(|(_, name)| name)
}

/// The first lines of a text; a word instead of what is none.
fn preview(head: &[u8], redact: &Redactor) -> String {
    // The end may be in the middle of a character; anywhere else that is no text.
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() => {
            head.get(..error.valid_up_to()).and_then(|h| str::from_utf8(h).ok()).unwrap_or_default()
        }
        Err(_) => return NO_TEXT.into(),
    };
    if text.contains('\0') {
        return NO_TEXT.into();
    }
    // What is secret may span lines.
    let is_cut = u64::try_from(head.len()).is_ok_and(|length| length >= HEAD);
    let text = if is_cut { redact.cut(text) } else { redact.text(text) };
    let short = |line: &str| clip_block(line.trim_end(), LONGEST_LINE);
    text.lines().take(LINES).map(short).collect::<Vec<_>>().join("\n")
}

const NO_TEXT: &str = "(not a text)";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forty_lines_of_a_text_and_none_of_anything_else() {
        let of = |bytes: &[u8]| preview(bytes, &Redactor::default());
        let long = (1..100).map(|n| format!("line {n}  \r\n")).collect::<String>();
        let lines = of(long.as_bytes());
        assert_eq!((lines.lines().count(), lines.lines().last()), (40, Some("line 40")));
        assert_eq!(of("x".repeat(9000).as_bytes()).chars().count(), 301);
        assert_eq!(of(b"a\xff\xfeb"), NO_TEXT);
        assert_eq!(of(b"a\0b"), NO_TEXT);
        assert_eq!(of("é".as_bytes().get(..1).unwrap()), "", "cut in the middle");
        assert_eq!(of(b""), "");
    }
}
