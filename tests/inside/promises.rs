//! What counts as a promise: `tests/corpus/promises/`, one message a file. A name that begins with
//! `made` is a promise, one that begins with `not` is none.

use std::fs;
use std::path::Path;

use hookkeeper::inside::loops::promise::is_made;

#[test]
fn a_promise_is_a_tag_alone_on_its_line() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/promises");
    let mut wrong = Vec::new();
    let mut seen = 0;
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let wanted = match name.split('-').next() {
            Some("made") => true,
            Some("not") => false,
            _ => panic!("{name}"),
        };
        if is_made(&fs::read_to_string(&path).unwrap(), "BUILD COMPLETE") != wanted {
            wrong.push(name.to_owned());
        }
        seen += 1;
    }
    assert!(seen >= 30, "{seen} messages");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
