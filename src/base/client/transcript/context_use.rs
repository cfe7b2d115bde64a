//! How much is in a session's context now, from the last lines of its transcript.

use std::ops::ControlFlow;
use std::path::Path;

use crate::client::context_window::ContextUse;
use crate::client::transcript::{Kind, has, is_boundary, kind, post_tokens, usage};
use crate::core::json::Object;
use crate::process::{files, tail};

/// The last answer is near the end; what it read may lie behind it.
const TAIL: u64 = 512 << 10;

/// What the last answer of the model used; after a compaction what that left.
pub fn context_use(path: &Path) -> Option<ContextUse> {
    let file = files::open(path)?;
    let (mut after, mut found) = (None, None);
    tail::lines(&file, TAIL, |_, line| {
        let kind = kind(line);
        if after.is_none() && kind == Kind::System && is_boundary(line) {
            after = post_tokens(line);
        } else if kind == Kind::Other && has(line, b"\"usage\"") {
            found = usage(line).and_then(|(_, used)| {
                let message = Object::parse(line).ok()?.object("message")?;
                Some(ContextUse { tokens: used.sum(), model: message.word("model")? })
            });
        }
        match found {
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(()),
        }
    });
    let used = found?;
    Some(ContextUse { tokens: after.unwrap_or(used.tokens), ..used })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &[&str]) -> Option<ContextUse> {
        let path =
            std::env::temp_dir().join(format!("hookkeeper-use-{:p}-{}", &lines, lines.len()));
        #[expect(clippy::disallowed_methods, reason = "a test makes its own files")]
        std::fs::write(&path, lines.join("\n")).unwrap();
        let found = context_use(&path);
        #[expect(clippy::disallowed_methods, reason = "a test removes its own files")]
        std::fs::remove_file(&path).unwrap();
        found
    }

    #[test]
    fn the_last_answer_of_the_main_thread_counts() {
        let old = r#"{"type":"assistant","message":{"id":"m1","model":"claude-opus-5","usage":{"input_tokens":1,"cache_read_input_tokens":10,"output_tokens":100}}}"#;
        let aside = r#"{"type":"assistant","isSidechain":true,"message":{"id":"m2","model":"claude-haiku-5-5","usage":{"input_tokens":9}}}"#;
        let synthetic = r#"{"type":"assistant","message":{"id":"m3","model":"<synthetic>","usage":{"input_tokens":0}}}"#;
        let compacted = r#"{"type":"system","subtype":"compact_boundary","compactMetadata":{"preTokens":111,"postTokens":7}}"#;
        let of = |tokens: u64| Some(ContextUse { tokens, model: "claude-opus-5".into() });
        assert_eq!(read(&[old, aside, synthetic, r#"{"type":"user"}"#, "{"]), of(111));
        assert_eq!(read(&[old, compacted, "{}"]), of(7));
        assert_eq!(read(&[old, compacted, &old.replace("100", "1")]), of(12));
        assert_eq!(read(&[aside, "not JSON"]), None);
    }
}
