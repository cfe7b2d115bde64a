//! The setting that somebody may have meant.

use std::cmp::min;

use crate::core::settings::table::Setting;

/// Longer words are nobody's typing error of ours.
const LONGEST: usize = 100;

/// The known key, or group of keys, that is nearest to this one; `None` if none is near. Case, `-`
/// and `_` do not count; a name without its group is taken for the name in it.
pub fn nearest(table: &[Setting], key: &str) -> Option<String> {
    if key.len() > LONGEST {
        return None;
    }
    let groups = table.iter().filter_map(|row| Some(row.key.rsplit_once('.')?.0));
    let whole = table.iter().map(|row| row.key).chain(groups);
    let whole = whole.filter_map(|known| {
        let (typed, meant) = names_in_one_group(key, known).unwrap_or((key, known));
        Some((near(typed, meant, 0)?, known))
    });
    let names = table.iter().filter_map(|row| {
        let (_, name) = row.key.rsplit_once('.')?;
        Some((near(key, name, 1)?, row.key))
    });
    whole.chain(names).min_by_key(|(far, _)| *far).map(|(_, key)| key.to_owned())
}

/// What is left of two keys of the same group: the group that they share makes them no nearer.
fn names_in_one_group<'k>(typed: &'k str, known: &'k str) -> Option<(&'k str, &'k str)> {
    let ((a, typed), (b, known)) = (typed.rsplit_once('.')?, known.rsplit_once('.')?);
    (plain(a) == plain(b)).then_some((typed, known))
}

/// How far they are from each other, if that may be a typing error.
fn near(typed: &str, known: &str, more: usize) -> Option<usize> {
    let typed = plain(typed);
    let far = distance(&typed, &plain(known)) + more;
    (far <= typed.len().div_ceil(3)).then_some(far)
}

fn plain(key: &str) -> Vec<char> {
    key.chars().filter(|c| !matches!(c, '-' | '_')).flat_map(char::to_lowercase).collect()
}

/// How many letters have to be put in, taken out, changed, or exchanged with their neighbour.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, to) in b.iter().enumerate() {
            let at = |row: &[usize], j: usize| row.get(j).copied().unwrap_or(usize::MAX - 1);
            let mut least = min(at(&row, j), at(&last, j + 1)) + 1;
            least = min(least, at(&last, j) + usize::from(from != to));
            let is_swapped =
                i > 0 && j > 0 && a.get(i - 1) == Some(to) && b.get(j - 1) == Some(from);
            if is_swapped {
                least = min(least, at(&before, j - 1) + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut last, row);
    }
    last.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::settings::table::TABLE;

    #[test]
    fn the_nearest_key_is_found_and_none_is_made_up() {
        for (typed, meant) in [
            ("stuckAfterMinutes", Some("stuck_after_minutes")),
            ("keep-backup", Some("keep_backups")),
            ("sytsems.errors", Some("systems.errors")),
            ("systems.error", Some("systems.errors")),
            ("errors", Some("systems.errors")),
            ("system", Some("systems")),
            ("recrod", Some("record")),
            ("systems.telepathy", None),
            ("System_s.erors", Some("systems.errors")),
            ("colour_of_the_sky", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(nearest(TABLE, typed).as_deref(), meant, "{typed}");
        }
        assert_eq!(nearest(TABLE, &"é".repeat(1000)), None);
    }

    #[test]
    fn distances_are_symmetric_and_count_exchanges_once() {
        let far = |a: &str, b: &str| distance(&plain(a), &plain(b));
        for (a, b, wanted) in [
            ("", "", 0),
            ("", "abc", 3),
            ("abc", "acb", 1),
            ("kitten", "sitting", 3),
            ("abcd", "badc", 2),
        ] {
            assert_eq!((far(a, b), far(b, a)), (wanted, wanted), "{a} {b}");
        }
    }
}
