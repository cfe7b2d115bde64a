//! Two texts side by side, as a unified diff, in colour where that is wanted.

use similar::{ChangeTag, TextDiff};

use crate::core::gate::Printed;

/// Nothing if the texts are the same. `from` and `to` are file names, or `/dev/null`.
pub fn unified(old: &str, new: &str, from: &str, to: &str, colour: bool) -> Printed {
    if old == new {
        return Printed::default();
    }
    let diff = TextDiff::from_lines(old, new);
    let mut out = Printed::default();
    let mut line = |style: &'static str, text: &str| {
        let text = text.trim_end_matches(['\r', '\n']);
        match colour {
            true => out.push(Printed::painted(style, text)),
            false => out.push(text),
        }
        out.push("\n");
    };
    line("1", &format!("--- {from}"));
    line("1", &format!("+++ {to}"));
    for hunk in diff.unified_diff().context_radius(3).iter_hunks() {
        line("36", &hunk.header().to_string());
        for change in hunk.iter_changes() {
            let (style, sign) = match change.tag() {
                ChangeTag::Delete => ("31", '-'),
                ChangeTag::Insert => ("32", '+'),
                ChangeTag::Equal => ("0", ' '),
            };
            line(style, &format!("{sign}{}", change.value()));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_reads_like_a_diff() {
        let text = unified("a\nb\n", "a\nc\x1b[2J\n", "x", "y", false);
        assert_eq!(&*text, "--- x\n+++ y\n@@ -1,2 +1,2 @@\n a\n-b\n+c\u{fffd}[2J\n");
        assert!(unified("a\n", "b\n", "x", "y", true).contains("\x1b[32m+b\x1b[0m"));
        assert!(unified("a", "a", "x", "y", true).is_empty());
    }
}
