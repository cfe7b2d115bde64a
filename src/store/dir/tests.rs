#![expect(clippy::disallowed_methods, reason = "a test makes its own folders")]

use super::*;
use crate::core::json::scan::Span;
use crate::core::pieces::Pieces;

#[test]
fn pieces_are_written_one_after_the_other() {
    let source = std::rc::Rc::new("0123456789".repeat(10_000).into_bytes());
    let path = std::env::temp_dir().join(format!("hookkeeper-pieces-{source:p}"));
    std::fs::create_dir_all(&path).unwrap();
    let mut pieces = Pieces::default();
    for end in [100_000, 5_000, 0] {
        pieces.push("[");
        pieces.keep(&source, Span { start: 0, end });
    }
    let dir = Dir::open(&path).unwrap();
    let slices: Vec<&[u8]> = pieces.slices().collect();
    dir.create_of("new", &slices, true).unwrap();
    assert_eq!(dir.read("new").unwrap(), Some(pieces.to_vec()));
    dir.create("empty", b"", false).unwrap();
    assert_eq!(dir.read("empty").unwrap(), Some(Vec::new()));
    std::fs::remove_dir_all(&path).unwrap();
}

/// A record that came with a project may name anything.
#[test]
fn a_name_is_no_path() {
    let base = std::env::temp_dir().join(format!("hk-dir-{}", std::process::id()));
    std::fs::create_dir_all(base.join("in/side")).unwrap();
    std::fs::write(base.join("victim"), "mine").unwrap();
    std::fs::write(base.join("in/side/file"), "ours").unwrap();
    let dir = Dir::open(&base.join("in")).unwrap();
    for name in ["../victim", "side/file", "..", ".", "", "/etc/passwd"] {
        assert!(dir.read(name).is_err() && dir.read_tail(name, 9).is_err(), "{name}");
        assert!(dir.sub(name).is_err() && dir.make(name).is_err(), "{name}");
        assert!(dir.make_new(name).is_err() && dir.create(name, b"x", false).is_err());
        assert!(dir.append(name, b"x").is_err() && dir.open_lock(name).is_err());
        assert!(dir.remove(name).is_err() && dir.remove_tree(name).is_err());
        assert!(dir.rename(name, &dir, "new").is_err());
        assert!(dir.rename_new(name, &dir, "new").is_err());
        assert!(dir.exists(name).is_err() && !dir.is_dir(name));
        dir.create("ours", b"x", false).unwrap();
        assert!(dir.rename("ours", &dir, name).is_err());
        assert!(dir.rename_new("ours", &dir, name).is_err());
        assert!(dir.replace("ours", &dir, name).is_err());
        assert!(!matches!(dir.exchange("ours", name), Ok(true)));
        dir.remove("ours").unwrap();
    }
    assert_eq!(std::fs::read(base.join("victim")).unwrap(), b"mine");
    assert_eq!(std::fs::read(base.join("in/side/file")).unwrap(), b"ours");
    std::fs::remove_dir_all(&base).unwrap();
}
