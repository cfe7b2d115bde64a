//! What holds for any graph of things that need each other, by their ids.

use std::collections::BTreeMap;

/// The ids of the first cycle along what each one needs, in that order, each once; empty if there is
/// none. Nothing recursive: a chain may be as long as it likes.
pub fn find_cycle<'a>(
    ids: impl IntoIterator<Item = &'a str>,
    needs: impl Fn(&str) -> &'a [String],
) -> Vec<&'a str> {
    // Whether an id that was met is on the path to where we are.
    let mut on_path: BTreeMap<&str, bool> = BTreeMap::new();
    for start in ids {
        if on_path.contains_key(start) {
            continue;
        }
        on_path.insert(start, true);
        let mut path = vec![(start, needs(start).iter())];
        while let Some((id, open)) = path.last_mut() {
            let Some(next) = open.next().map(String::as_str) else {
                on_path.insert(*id, false);
                path.pop();
                continue;
            };
            match on_path.get(next) {
                None => {
                    on_path.insert(next, true);
                    path.push((next, needs(next).iter()));
                }
                Some(true) => {
                    return path.iter().map(|(id, _)| *id).skip_while(|id| *id != next).collect();
                }
                Some(false) => {}
            }
        }
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cycle(edges: &[(&str, &[&str])]) -> Vec<String> {
        let owned = |needs: &&[&str]| needs.iter().map(|need| (*need).to_owned()).collect();
        let needs: BTreeMap<&str, Vec<String>> =
            edges.iter().map(|(id, needs)| (*id, owned(needs))).collect();
        let ids = edges.iter().map(|(id, _)| *id);
        let found = find_cycle(ids, |id| needs.get(id).map(Vec::as_slice).unwrap_or_default());
        found.into_iter().map(str::to_owned).collect()
    }

    #[test]
    fn only_what_is_on_the_cycle_is_named() {
        assert_eq!(
            cycle(&[("a", &["b"]), ("b", &["z", "c"]), ("c", &["d", "b"]), ("d", &[])]),
            ["b", "c"]
        );
        assert_eq!(cycle(&[("a", &["a"])]), ["a"]);
        assert!(cycle(&[("a", &[]), ("b", &["a"]), ("c", &["a", "b", "missing"])]).is_empty());
    }
}
