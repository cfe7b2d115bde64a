//! The promise that ends a loop: `<promise>TEXT</promise>` in the model's last message, outside
//! code spans and fences. Bare words never count: the model quotes them when it explains the loop.

/// Whether a message makes this promise. Blanks are collapsed on both sides.
pub fn is_made(message: &str, promise: &str) -> bool {
    let wanted = collapsed(promise);
    if wanted.is_empty() {
        return false;
    }
    tagged_texts(message, "promise").contains(&wanted)
}

/// What a message says between these tags, outside code spans and fences, blanks collapsed.
pub fn tagged_texts(message: &str, tag: &str) -> Vec<String> {
    let (open, close) = (format!("<{tag}>"), format!("</{tag}>"));
    let mut found = Vec::new();
    if !message.contains(&open) {
        return found;
    }
    let text = without_spans(&without_fences(message));
    let mut rest = text.as_str();
    while let Some((_, after)) = rest.split_once(&open) {
        let Some((inner, behind)) = after.split_once(&close) else { break };
        // `<promise> … <promise>X</promise>`: the inner one is the promise.
        found.push(collapsed(inner.rsplit(&open).next().unwrap_or(inner)));
        rest = behind;
    }
    found
}

fn collapsed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The lines that are in no fenced block. A fence that is not closed lasts to the end.
fn without_fences(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut open: Option<(char, usize)> = None;
    for line in text.lines() {
        let fence = fence(line);
        match (open, fence) {
            (None, Some((mark, length, _))) => open = Some((mark, length)),
            (None, None) => {
                out.push_str(line);
                out.push('\n');
            }
            (Some((mark, length)), Some((other, more, bare)))
                if mark == other && more >= length && bare =>
            {
                open = None;
            }
            (Some(_), _) => {}
        }
    }
    out
}

/// The mark and length of a fence, and whether nothing follows it.
fn fence(line: &str) -> Option<(char, usize, bool)> {
    let inner = line.trim_start_matches(' ');
    if line.len() - inner.len() > 3 {
        return None;
    }
    let mark = inner.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = inner.chars().take_while(|c| *c == mark).count();
    let info = inner.trim_start_matches(mark);
    // A backtick after the fence makes it a span.
    let is_fence = length >= 3 && !(mark == '`' && info.contains('`'));
    is_fence.then(|| (mark, length, info.trim().is_empty()))
}

/// The text without what stands between backticks: as many behind it as before it.
fn without_spans(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('`') {
        let (before, from) = rest.split_at_checked(at).unwrap_or((rest, ""));
        out.push_str(before);
        let run = from.len() - from.trim_start_matches('`').len();
        let (ticks, after) = from.split_at_checked(run).unwrap_or((from, ""));
        match end_of_span(after, run) {
            Some(end) => rest = after.get(end..).unwrap_or_default(),
            None => {
                out.push_str(ticks);
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

/// Where the span that `run` backticks opened is over.
fn end_of_span(text: &str, run: usize) -> Option<usize> {
    let mut from = 0;
    loop {
        let rest = text.get(from..)?;
        let at = from + rest.find('`')?;
        let tail = text.get(at..)?;
        let length = tail.len() - tail.trim_start_matches('`').len();
        if length == run {
            return Some(at + length);
        }
        from = at + length;
    }
}

#[cfg(test)]
mod tests {
    use super::is_made;

    #[test]
    fn only_the_tag_counts() {
        let made = |message: &str| is_made(message, "BUILD  COMPLETE");
        assert!(made("All done.\n<promise>BUILD COMPLETE</promise>\nBye."));
        assert!(made("<promise>\n  BUILD\n COMPLETE </promise>"));
        assert!(made("first <promise>NO</promise> then <promise>BUILD COMPLETE</promise>"));
        assert!(made("a tag <promise> opens, then <promise>BUILD COMPLETE</promise>"));
        assert!(made("it's a ` lone tick <promise>BUILD COMPLETE</promise>"));
        assert!(!made("BUILD COMPLETE"));
        assert!(!made("<promise>BUILD COMPLETE"));
        assert!(!made("<promise>build complete</promise>"));
        assert!(!made("<promise>BUILD COMPLETE!</promise>"));
        assert!(!made("say `<promise>BUILD COMPLETE</promise>` at the end"));
        assert!(!made("say ``<promise>BUILD COMPLETE</promise> ` `` at the end"));
        assert!(!made("```\n<promise>BUILD COMPLETE</promise>\n```"));
        assert!(!made("~~~text\n<promise>BUILD COMPLETE</promise>\n```\n"));
        assert!(made("```\ncode\n```\n<promise>BUILD COMPLETE</promise>"));
        assert!(!is_made("<promise></promise>", " "));
    }
}
