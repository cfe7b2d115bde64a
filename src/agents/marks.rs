//! Severity marks: `[S1]`, `**High**`, `P2:`. Only whole marks count, and only where they are marked
//! as such; a word that merely contains "s3" is none.

/// The severity mark of an item and the item without it: bracketed anywhere, or bold or before a
/// colon at the beginning.
pub fn split_severity(item: &str) -> Option<(&'static str, String)> {
    leading(item).or_else(|| bracketed(item))
}

fn leading(item: &str) -> Option<(&'static str, String)> {
    let item = item.trim_start_matches(|c: char| !c.is_ascii() || c == ' ');
    let plain = item.trim_start_matches(['*', '_', '`', '[', '(', ' ']);
    let decorated = plain.len() < item.len();
    let length = plain.bytes().take_while(u8::is_ascii_alphanumeric).count();
    let severity = severity(plain.get(..length)?)?;
    let rest = plain.get(length..)?;
    let rest = [" severity", " priority"].iter().find_map(|w| rest.strip_prefix(w)).unwrap_or(rest);
    let text = rest.trim_start_matches(['*', '_', '`', ']', ')', ':', ' ', '-', '–', '—', '|']);
    let closed = rest.starts_with(['*', '_', '`', ']', ')']) && decorated;
    let colon = rest.starts_with(':');
    // A whole bold line, as in `**S1 – Missing limit**`.
    let dashed = item.starts_with("**") && rest.trim_start().starts_with(['-', '–', '—', '|']);
    (closed || colon || dashed).then(|| (severity, text.trim_end_matches("**").to_owned()))
}

fn bracketed(item: &str) -> Option<(&'static str, String)> {
    for (open, close) in [("[", "]"), ("(", ")"), ("**", "**")] {
        let mut from = 0;
        while let Some(at) = item.get(from..).and_then(|rest| rest.find(open)) {
            let at = from + at;
            let inside = item.get(at + open.len()..)?;
            if let Some(end) = inside.find(close)
                && let Some(severity) =
                    inside.get(..end).map(|word| word.trim_matches('*')).and_then(severity)
            {
                let before = item.get(..at)?.trim_end_matches([' ', '*', '-', '–', '—']);
                let after = inside.get(end + close.len()..)?.trim_start_matches('*');
                return Some((severity, format!("{before}{after}")));
            }
            from = at + open.len();
        }
    }
    None
}

/// `S1`, `P1`, `High` and the like as the seed's S0–S3.
pub fn severity(word: &str) -> Option<&'static str> {
    Some(match word {
        "S0" | "P0" => "S0",
        "S1" | "P1" => "S1",
        "S2" | "P2" => "S2",
        "S3" | "P3" => "S3",
        word if word.eq_ignore_ascii_case("critical") => "S0",
        word if word.eq_ignore_ascii_case("high") => "S1",
        word if word.eq_ignore_ascii_case("medium") => "S2",
        word if word.eq_ignore_ascii_case("low") => "S3",
        _ => return None,
    })
}
