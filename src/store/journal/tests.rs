#![expect(clippy::disallowed_methods, reason = "a test makes its own folders")]

use std::path::PathBuf;

use super::prune::Limits;
use super::read::{Order, PassedOver};
use super::*;
use crate::core::journal::EntryKind;
use crate::core::time;

/// A state directory of its own, removed at the end.
struct Place {
    path: PathBuf,
    state: Dir,
}

impl Place {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("hk-journal-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        let state = Dir::open(&path).unwrap();
        Self { path, state }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.path.join(FOLDER).join(name)
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        std::fs::create_dir_all(self.path.join(FOLDER)).unwrap();
        std::fs::write(self.file(name), bytes).unwrap();
    }

    fn journal(&self) -> Journal {
        Journal::new(Ok(self.state.sub(FOLDER).unwrap().map(Rc::new)))
    }

    fn targets(&self, session: &str, order: Order) -> (Vec<String>, PassedOver) {
        let journal = self.journal();
        let mut all = journal.of_stem(&stem(session), order);
        (all.by_ref().filter_map(|entry| entry.target).collect(), all.passed_over())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

fn entry(session: &str, second: u32, target: &str) -> Entry {
    let time = time::parse(&format!("2026-01-29T10:{:02}:{:02}Z", second / 60, second % 60));
    Entry::new(EntryKind::Tool).target(target).at(time.unwrap(), session)
}

fn line(session: &str, second: u32, target: &str) -> Vec<u8> {
    let mut line = serde_json::to_vec(&entry(session, second, target)).unwrap();
    line.push(b'\n');
    line
}

const ROOMY: Limits = Limits { sessions: 1000, bytes: 1 << 30 };

#[test]
fn lines_are_added_to_the_files_of_their_sessions_and_read_in_both_orders() {
    let place = Place::new("both");
    let entries =
        [entry("s1", 0, "a"), entry("s2", 1, "b"), entry("s1", 2, "c"), entry("", 3, "d")];
    add(&place.state, &entries, Some(ROOMY));
    assert_eq!(place.targets("s1", Order::OldestFirst).0, ["a", "c"]);
    assert_eq!(place.targets("s1", Order::NewestFirst).0, ["c", "a"]);
    assert_eq!(place.targets("", Order::NewestFirst).0, ["d"]);
    assert_eq!(place.targets("s3", Order::NewestFirst).0, Vec::<String>::new());
    let all: Vec<String> =
        place.journal().newest_first().filter_map(|entry| entry.target).collect();
    assert_eq!(all, ["d", "c", "b", "a"]);
    let stems: Vec<String> = place.journal().sessions().into_iter().map(|one| one.stem).collect();
    assert_eq!(stems.len(), 3);
    assert!(stems.contains(&"no-session".to_owned()), "{stems:?}");
}

#[test]
fn a_line_that_was_cut_off_is_passed_over_and_ended_by_the_next_one() {
    let place = Place::new("torn");
    let torn = [&line("s1", 0, "a")[..], br#"{"v":1,"time":"2026-01-29T10:3"#].concat();
    place.write("s1.jsonl", &torn);
    let damaged = |damaged| PassedOver { damaged, ..PassedOver::default() };
    assert_eq!(place.targets("s1", Order::NewestFirst), (vec!["a".into()], damaged(1)));
    add(&place.state, &[entry("s1", 1, "b")], Some(ROOMY));
    for order in [Order::NewestFirst, Order::OldestFirst] {
        let (mut targets, passed_over) = place.targets("s1", order);
        targets.sort_unstable();
        assert_eq!((targets, passed_over), (vec!["a".into(), "b".into()], damaged(1)));
    }
}

#[test]
fn what_is_damaged_huge_or_newer_is_passed_over_and_counted() {
    let place = Place::new("damaged");
    let mut bytes = line("s1", 0, "a");
    bytes.extend(b"\n\n[1]\n\xff\xfe\n{\"v\":1}\n{\"v\":2,\"time\":\"t\",\"kind\":{\"deep\":1}}\n");
    bytes.extend(b"{\"v\":2,\"time\":\"2026-01-29T10:30:00Z\",\"kind\":\"dream\"}\n");
    // Longer than any block, in the middle; one that fits beside it.
    bytes.extend(std::iter::repeat_n(b'x', 5 << 20));
    bytes.push(b'\n');
    let long = "y".repeat(300 << 10);
    bytes.extend(line("s1", 1, &long));
    bytes.extend(line("s1", 2, "c"));
    bytes.extend(std::iter::repeat_n(0, 2 << 20));
    place.write("s1.jsonl", &bytes);
    let (mut targets, passed_over) = place.targets("s1", Order::OldestFirst);
    assert_eq!(targets, ["a", &long, "c"]);
    assert_eq!(passed_over, PassedOver { damaged: 5, newer: 2, unreadable: 0 });
    targets.reverse();
    assert_eq!(place.targets("s1", Order::NewestFirst), (targets, passed_over));
}

#[test]
fn blocks_meet_at_line_ends_whatever_the_lengths() {
    let place = Place::new("blocks");
    let mut bytes = Vec::new();
    let mut targets = Vec::new();
    for n in 0..3000_u32 {
        let target = format!("{n} {}", "z".repeat((n * 7919 % 997) as usize));
        bytes.extend(line("s1", n, &target));
        targets.push(target);
    }
    place.write("s1.1.jsonl", &bytes);
    place.write("s1.jsonl", &line("s1", 3000, "last"));
    targets.push("last".into());
    assert_eq!(place.targets("s1", Order::OldestFirst), (targets.clone(), PassedOver::default()));
    targets.reverse();
    assert_eq!(place.targets("s1", Order::NewestFirst).0, targets);
}

#[test]
fn a_full_file_is_turned_over_and_its_last_one_goes() {
    let place = Place::new("full");
    let full = usize::try_from(LARGEST_FILE).unwrap();
    place.write("s1.jsonl", &[&line("s1", 0, "old")[..], &vec![b'\n'; full]].concat());
    add(&place.state, &[entry("s1", 1, "a")], None);
    assert!(!place.file("s1.1.jsonl").exists(), "who has not the lock does not turn it over");
    add(&place.state, &[entry("s1", 2, "b")], Some(ROOMY));
    add(&place.state, &[entry("s1", 3, "c")], Some(ROOMY));
    assert_eq!(place.targets("s1", Order::OldestFirst).0, ["old", "a", "b", "c"]);
    assert_eq!(place.journal().sessions().len(), 1);
}

#[test]
fn the_oldest_sessions_go_but_not_a_live_one() {
    let place = Place::new("prune");
    std::fs::create_dir_all(place.path.join("session/live")).unwrap();
    std::fs::write(place.path.join("session/live/s0.json"), "{}").unwrap();
    let limits = Limits { sessions: 3, bytes: 1 << 30 };
    for n in 0..6_u64 {
        let session = format!("s{n}");
        add(&place.state, &[entry(&session, 0, "a")], Some(limits));
        let age = std::time::Duration::from_secs(1000 - n * 100);
        let file =
            std::fs::File::options().append(true).open(place.file(&format!("{session}.jsonl")));
        file.unwrap().set_modified(std::time::SystemTime::now() - age).unwrap();
    }
    let mut left: Vec<String> =
        place.journal().sessions().into_iter().map(|files| files.stem).collect();
    left.sort_unstable();
    assert_eq!(left, ["s0", "s3", "s4", "s5"]);
    let small = Limits { sessions: 10, bytes: 250 };
    let folder = place.state.sub(FOLDER).unwrap().unwrap();
    let gone = prune::too_old(&place.state, &folder, small);
    assert_eq!(gone.iter().map(|one| one.stem.as_str()).collect::<Vec<_>>(), ["s3"]);
}

#[test]
fn an_event_that_is_played_twice_is_told_once() {
    let place = Place::new("played");
    let played = [entry("s1", 0, "a"), entry("s1", 0, "b")];
    add_played(&place.state, &played, ROOMY);
    add_played(&place.state, &played, ROOMY);
    assert_eq!(place.targets("s1", Order::OldestFirst).0, ["a", "b"]);
    add_played(&place.state, &[entry("s1", 1, "c")], ROOMY);
    assert_eq!(place.targets("s1", Order::OldestFirst).0, ["a", "b", "c"]);
}

#[test]
fn a_line_that_is_too_long_goes_without_its_text() {
    let place = Place::new("long");
    let long = entry("s1", 0, "a").text("x".repeat(LONGEST_LINE));
    add(&place.state, &[long, entry("s1", 1, "b")], None);
    assert_eq!(place.targets("s1", Order::OldestFirst).0, ["a", "b"]);
    assert!(place.journal().sessions()[0].bytes < 1000);
}

#[test]
fn who_waits_sees_what_is_added_and_what_was_turned_over() {
    let place = Place::new("follow");
    add(&place.state, &[entry("s1", 0, "a")], None);
    let journal = place.journal();
    let mut known = journal.sizes();
    let mut targets = || -> Vec<String> {
        journal.added(&mut known).into_iter().filter_map(|(_, entry)| entry.target).collect()
    };
    assert_eq!(targets(), Vec::<String>::new());
    add(&place.state, &[entry("s1", 1, "b"), entry("s2", 1, "c")], None);
    assert_eq!(targets(), ["b", "c"]);
    add(&place.state, &[entry("s1", 2, "d")], None);
    std::fs::rename(place.file("s1.jsonl"), place.file("s1.1.jsonl")).unwrap();
    place.write("s1.jsonl", &[&line("s1", 3, "e")[..], b"{\"v\""].concat());
    assert_eq!(targets(), ["d", "e"], "and not what is not finished");
}
