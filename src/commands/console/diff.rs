//! Two texts side by side, as a unified diff, in colour where that is wanted.

use crate::core::gate::Printed;

/// Lines that stay around what changes.
const CONTEXT: usize = 3;
/// Beyond so many lines that go and come, a shortest way is not looked for.
const MOST_EDITS: usize = 1000;

/// Nothing if the texts are the same. `from` and `to` are file names, or `/dev/null`.
pub fn unified(old: &str, new: &str, from: &str, to: &str, colour: bool) -> Printed {
    let mut page = Page { text: Printed::default(), colour };
    if old == new {
        return page.text;
    }
    let old: Vec<&str> = old.split_inclusive('\n').collect();
    let new: Vec<&str> = new.split_inclusive('\n').collect();
    let steps = steps(&old, &new);
    page.line("1", &format!("--- {from}"));
    page.line("1", &format!("+++ {to}"));
    for hunk in hunks(&steps) {
        page.line("36", &format!("@@ -{} +{} @@", range(hunk, 0), range(hunk, 1)));
        for step in hunk {
            match step.change {
                Change::Delete => page.line("31", &format!("-{}", step.line)),
                Change::Insert => page.line("32", &format!("+{}", step.line)),
                Change::Equal => page.line("0", &format!(" {}", step.line)),
            }
        }
    }
    page.text
}

struct Page {
    text: Printed,
    colour: bool,
}

impl Page {
    fn line(&mut self, style: &'static str, line: &str) {
        let line = line.trim_end_matches(['\r', '\n']);
        if self.colour {
            self.text.push(Printed::painted(style, line));
        } else {
            self.text.push(line);
        }
        self.text.push("\n");
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Change {
    Equal,
    Delete,
    Insert,
}

#[derive(Clone, Copy)]
struct Step<'a> {
    change: Change,
    line: &'a str,
    /// How many lines of the old and of the new text stand before it.
    before: [usize; 2],
}

/// From the old text to the new one, line by line.
fn steps<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<Step<'a>> {
    let (mut x, mut y) = (0, 0);
    let mut steps = Vec::new();
    for change in changes(old, new) {
        let line = if change == Change::Insert { new.get(y) } else { old.get(x) };
        steps.push(Step { change, line: line.copied().unwrap_or_default(), before: [x, y] });
        x += usize::from(change != Change::Insert);
        y += usize::from(change != Change::Delete);
    }
    steps
}

fn changes(old: &[&str], new: &[&str]) -> Vec<Change> {
    let shorter = old.len().min(new.len());
    let head = same(old.iter(), new.iter());
    let tail = same(old.iter().rev(), new.iter().rev()).min(shorter - head);
    let (old_end, new_end) = (old.len() - tail, new.len() - tail);
    let mut changes = vec![Change::Equal; head];
    match (old.get(head..old_end), new.get(head..new_end)) {
        (Some(old), Some(new)) => changes.extend(shortest(old, new)),
        _ => changes.clear(),
    }
    changes.resize(changes.len() + tail, Change::Equal);
    changes
}

/// How many lines are the same, from where both begin.
fn same<'a>(
    old: impl Iterator<Item = &'a &'a str>,
    new: impl Iterator<Item = &'a &'a str>,
) -> usize {
    old.zip(new).take_while(|(old, new)| old == new).count()
}

/// The fewest lines that go and come: Myers, "An O(ND) difference algorithm" (1986). `reach[k]` is
/// how far into the old text `d` edits lead, where `k - offset` is how much further that is than in
/// the new text.
fn shortest(old: &[&str], new: &[&str]) -> Vec<Change> {
    let most = (old.len() + new.len()).min(MOST_EDITS);
    let offset = most + 1;
    let mut reach = vec![0_usize; 2 * offset + 1];
    let mut history = Vec::new();
    for d in 0..=most {
        history.push(reach.clone());
        for k in (offset - d..=offset + d).step_by(2) {
            let mut x = start(&reach, k, offset, d);
            let mut y = x + offset - k;
            while x < old.len() && y < new.len() && old.get(x) == new.get(y) {
                x += 1;
                y += 1;
            }
            put(&mut reach, k, x);
            if x >= old.len() && y >= new.len() {
                return backwards(&history, old.len(), new.len(), offset);
            }
        }
    }
    let mut all = vec![Change::Delete; old.len()];
    all.resize(old.len() + new.len(), Change::Insert);
    all
}

/// Where the way on diagonal `k` begins: below the one beside it that leads further, or right of it.
fn start(reach: &[usize], k: usize, offset: usize, d: usize) -> usize {
    let (left, right) = (get(reach, k - 1), get(reach, k + 1));
    let is_insert = k == offset - d || (k != offset + d && left < right);
    if is_insert { right } else { left + 1 }
}

/// The way back, from the end of both texts.
fn backwards(history: &[Vec<usize>], x: usize, y: usize, offset: usize) -> Vec<Change> {
    let (mut x, mut y) = (x, y);
    let mut changes = Vec::new();
    for (d, reach) in history.iter().enumerate().rev() {
        let k = x + offset - y;
        let (left, right) = (get(reach, k - 1), get(reach, k + 1));
        let begins = if d == 0 { 0 } else { start(reach, k, offset, d) };
        while x > begins {
            changes.push(Change::Equal);
            x -= 1;
            y -= 1;
        }
        if d == 0 {
            break;
        }
        let is_insert = k == offset - d || (k != offset + d && left < right);
        if is_insert {
            changes.push(Change::Insert);
            y -= 1;
        } else {
            changes.push(Change::Delete);
            x -= 1;
        }
    }
    changes.reverse();
    changes
}

fn get(reach: &[usize], k: usize) -> usize {
    reach.get(k).copied().unwrap_or(0)
}

fn put(reach: &mut [usize], k: usize, x: usize) {
    if let Some(place) = reach.get_mut(k) {
        *place = x;
    }
}

/// What changes, with some lines around it; what lies close together is one.
fn hunks<'s, 'a>(steps: &'s [Step<'a>]) -> Vec<&'s [Step<'a>]> {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        if step.change == Change::Equal {
            continue;
        }
        let (begin, end) = (at.saturating_sub(CONTEXT), (at + 1 + CONTEXT).min(steps.len()));
        match ranges.last_mut() {
            Some(last) if begin <= last.1 => last.1 = end,
            _ => ranges.push((begin, end)),
        }
    }
    ranges.into_iter().filter_map(|(begin, end)| steps.get(begin..end)).collect()
}

/// `12,3`: from which line, and how many; `side` is 0 for the old text and 1 for the new one.
fn range(hunk: &[Step], side: usize) -> String {
    let other = if side == 0 { Change::Insert } else { Change::Delete };
    let lines = hunk.iter().filter(|step| step.change != other).count();
    let before = hunk.first().and_then(|step| step.before.get(side)).copied().unwrap_or(0);
    match lines {
        0 => format!("{before},0"),
        1 => format!("{}", before + 1),
        _ => format!("{},{lines}", before + 1),
    }
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

    #[test]
    fn hunks_say_where_they_are() {
        let old: Vec<String> = (1..=30).map(|n| format!("{n}\n")).collect();
        let mut new = old.clone();
        new[3] = "four\n".into();
        new.remove(20);
        new.push("31".into());
        let text = unified(&old.concat(), &new.concat(), "x", "y", false);
        let heads: Vec<&str> = text.lines().filter(|line| line.starts_with("@@")).collect();
        assert_eq!(heads, ["@@ -1,7 +1,7 @@", "@@ -18,7 +18,6 @@", "@@ -28,3 +27,4 @@"]);
        assert!(unified("", "a\n", "x", "y", false).contains("@@ -0,0 +1 @@\n+a\n"));
        assert!(unified("a\nb\n", "", "x", "y", false).contains("@@ -1,2 +0,0 @@\n-a\n-b\n"));
    }

    /// Random texts of few different lines: what is kept and deleted is the old text, what is kept
    /// and inserted the new one, and no way is shorter.
    #[test]
    fn the_steps_lead_from_one_text_to_the_other() {
        let mut dice = 7_u64;
        let mut text = || -> Vec<&'static str> {
            let mut roll = |most: u64| {
                dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (dice >> 33) % most
            };
            (0..roll(12)).map(|_| ["a\n", "b\n", "c\n"][roll(3) as usize]).collect()
        };
        for _ in 0..3000 {
            let (old, new) = (text(), text());
            let steps = steps(&old, &new);
            let side = |not: Change| -> Vec<&str> {
                steps.iter().filter(|step| step.change != not).map(|step| step.line).collect()
            };
            assert_eq!((side(Change::Insert), side(Change::Delete)), (old.clone(), new.clone()));
            let kept = steps.iter().filter(|step| step.change == Change::Equal).count();
            assert_eq!(kept, longest_common(&old, &new), "{old:?} {new:?}");
        }
    }

    fn longest_common(old: &[&str], new: &[&str]) -> usize {
        let mut rows = vec![vec![0; new.len() + 1]; old.len() + 1];
        for (x, a) in old.iter().enumerate() {
            for (y, b) in new.iter().enumerate() {
                let longer = rows[x][y + 1].max(rows[x + 1][y]);
                rows[x + 1][y + 1] = if a == b { rows[x][y] + 1 } else { longer };
            }
        }
        rows[old.len()][new.len()]
    }

    #[test]
    fn what_has_too_little_in_common_is_replaced() {
        let old: String = (0..2000).map(|n| format!("{n}\n")).collect();
        let new: String = (3000..5000).map(|n| format!("{n}\n")).collect();
        let text = unified(&old, &new, "x", "y", false);
        assert!(text.contains("@@ -1,2000 +1,2000 @@\n-0\n-1\n"));
        assert_eq!(text.lines().count(), 4003);
    }
}
