//! Texts, line by line.

/// Beyond this many comparisons all lines are taken for new ones.
const MOST_COMPARISONS: usize = 4_000_000;

#[derive(Clone, Debug, PartialEq)]
pub enum Edit<'a> {
    Keep(&'a str),
    Remove(&'a str),
    Add(&'a str),
}

/// What makes the second text of the first, with as few lines as there can be.
pub fn edits<'a>(before: &[&'a str], after: &[&'a str]) -> Vec<Edit<'a>> {
    let shorter = before.len().min(after.len());
    let mut head = 0;
    while head < shorter && before[head] == after[head] {
        head += 1;
    }
    let mut tail = 0;
    while tail < shorter - head && before[before.len() - 1 - tail] == after[after.len() - 1 - tail]
    {
        tail += 1;
    }
    let mut edits: Vec<Edit> = before[..head].iter().map(|line| Edit::Keep(line)).collect();
    edits.extend(middle(&before[head..before.len() - tail], &after[head..after.len() - tail]));
    edits.extend(before[before.len() - tail..].iter().map(|line| Edit::Keep(line)));
    edits
}

/// By the longest common subsequence.
fn middle<'a>(before: &[&'a str], after: &[&'a str]) -> Vec<Edit<'a>> {
    let (rows, columns) = (before.len(), after.len());
    let mut edits = Vec::new();
    let (mut row, mut column) = (0, 0);
    if rows * columns <= MOST_COMPARISONS {
        // How much the rest of both have in common, from each place.
        let mut common = vec![vec![0_usize; columns + 1]; rows + 1];
        for row in (0..rows).rev() {
            for column in (0..columns).rev() {
                common[row][column] = if before[row] == after[column] {
                    common[row + 1][column + 1] + 1
                } else {
                    common[row + 1][column].max(common[row][column + 1])
                };
            }
        }
        while row < rows && column < columns {
            if before[row] == after[column] {
                edits.push(Edit::Keep(before[row]));
                row += 1;
                column += 1;
            } else if common[row + 1][column] >= common[row][column + 1] {
                edits.push(Edit::Remove(before[row]));
                row += 1;
            } else {
                edits.push(Edit::Add(after[column]));
                column += 1;
            }
        }
    }
    edits.extend(before[row..].iter().map(|line| Edit::Remove(line)));
    edits.extend(after[column..].iter().map(|line| Edit::Add(line)));
    edits
}

/// What changed: `@ 7` (the line of the first text at which it begins), `- gone`, `+ new`.
pub fn changes(before: &str, after: &str) -> Vec<String> {
    let old: Vec<&str> = before.split_terminator('\n').collect();
    let new: Vec<&str> = after.split_terminator('\n').collect();
    let mut lines = Vec::new();
    let (mut at, mut is_open) = (1, false);
    for edit in edits(&old, &new) {
        if !is_open && !matches!(edit, Edit::Keep(_)) {
            lines.push(format!("@ {at}"));
        }
        is_open = !matches!(edit, Edit::Keep(_));
        match edit {
            Edit::Keep(_) => at += 1,
            Edit::Remove(line) => {
                lines.push(marked("-", line));
                at += 1;
            }
            Edit::Add(line) => lines.push(marked("+", line)),
        }
    }
    lines.extend(end(after));
    lines
}

/// A text as it is.
pub fn whole(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for line in text.split_terminator('\n') {
        lines.push(marked("|", line));
    }
    lines.extend(end(text));
    lines
}

/// What is said of a text without a line break at its end.
fn end(text: &str) -> Option<String> {
    if text.ends_with('\n') { None } else { Some("(no line break at the end)".into()) }
}

/// No blanks at the end of a line but those that are meant.
pub fn marked(mark: &str, line: &str) -> String {
    if line.is_empty() { mark.to_owned() } else { format!("{mark} {line}") }
}

/// The same with a few lines around, for who reads why a case failed.
pub fn report(before: &str, after: &str) -> String {
    const AROUND: usize = 2;
    let old: Vec<&str> = before.lines().collect();
    let new: Vec<&str> = after.lines().collect();
    let edits = edits(&old, &new);
    let mut report = String::new();
    for (n, edit) in edits.iter().enumerate() {
        let near = &edits[n.saturating_sub(AROUND)..edits.len().min(n + AROUND + 1)];
        match edit {
            Edit::Remove(line) => report += &format!("-{line}\n"),
            Edit::Add(line) => report += &format!("+{line}\n"),
            Edit::Keep(line) if near.iter().any(|edit| !matches!(edit, Edit::Keep(_))) => {
                report += &format!(" {line}\n");
            }
            Edit::Keep(_) => {}
        }
    }
    report
}
