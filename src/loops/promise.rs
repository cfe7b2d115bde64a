//! The promise that ends a loop: `<promise>TEXT</promise>` alone on a line of the model's last
//! message, outside quotes, lists, comments and code. Anything else is talk about it: the model
//! quotes the tag when it explains the loop.

/// Whether a message makes this promise. Blanks are collapsed on both sides.
pub fn is_made(message: &str, promise: &str) -> bool {
    let wanted = collapsed(promise);
    if wanted.is_empty() || !message.contains("<promise>") {
        return false;
    }
    let text = without_elements(&without_fences(message));
    let mut paragraph = Paragraph::default();
    for line in text.lines() {
        let tag = line.trim().strip_prefix("<promise>").and_then(|l| l.strip_suffix("</promise>"));
        if tag.is_some_and(|tag| collapsed(tag) == wanted) && !paragraph.encloses(line) {
            return true;
        }
        paragraph.read(line);
    }
    false
}

/// What stands above a line, as far as it may belong to it.
#[derive(Default)]
struct Paragraph {
    is_quote: bool,
    is_list: bool,
    /// A quotation mark, or the tick of a span, is open.
    is_open: bool,
    text: String,
}

impl Paragraph {
    /// Whether a tag on the next line would be a part of a quote, a list, a span or code.
    fn encloses(&self, line: &str) -> bool {
        let indent = line.len() - line.trim_start_matches(' ').len();
        let is_code = indent > 3 || line.starts_with('\t');
        is_code || self.is_quote || self.is_open || (self.is_list && indent > 0)
    }

    fn read(&mut self, line: &str) {
        let trimmed = line.trim();
        if trimmed.is_empty() {
            // What is indented below a list belongs to it, whatever is between them.
            *self = Self { is_list: self.is_list, ..Self::default() };
            return;
        }
        self.is_quote |= trimmed.starts_with('>');
        self.is_list = is_item(trimmed) || (self.is_list && line.starts_with([' ', '\t']));
        self.text.push_str(trimmed);
        self.text.push('\n');
        let count = |mark: char| self.text.matches(mark).count();
        let ticks = without_spans(&self.text).contains('`');
        self.is_open =
            count('"') % 2 == 1 || count('“') > count('”') || count('«') > count('»') || ticks;
    }
}

/// `- a`, `* a`, `+ a`, `1. a`, `2) a`
fn is_item(line: &str) -> bool {
    let number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let rest = match number.len() < line.len() {
        true => number.strip_prefix(['.', ')']),
        false => line.strip_prefix(['-', '*', '+']),
    };
    rest.is_some_and(|rest| rest.starts_with([' ', '\t']))
}

/// The text without comments and without elements that hold code or a quote. One that is not closed
/// lasts to the end.
fn without_elements(text: &str) -> String {
    const ELEMENTS: [(&str, &str); 4] = [
        ("<!--", "-->"),
        ("<pre", "</pre>"),
        ("<code", "</code>"),
        ("<blockquote", "</blockquote>"),
    ];
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    loop {
        let first = ELEMENTS.iter().filter_map(|(open, close)| Some((rest.find(open)?, close)));
        let Some((at, close)) = first.min_by_key(|(at, _)| *at) else { break };
        let (before, from) = rest.split_at_checked(at).unwrap_or((rest, ""));
        out.push_str(before);
        // What follows on the same line is not alone on it.
        out.push('·');
        rest = from.split_once(close).map_or("", |(_, behind)| behind);
    }
    out.push_str(rest);
    out
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
    fn blanks_are_collapsed_and_nothing_is_no_promise() {
        assert!(is_made("<promise> BUILD  COMPLETE </promise>", "BUILD   COMPLETE"));
        assert!(!is_made("<promise></promise>", " "));
    }
}
