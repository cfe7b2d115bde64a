//! `hookkeeper schema` and `hookkeeper validate`: what they say. `repair.rs` has the damage.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use hookkeeper::inside::validate::schema;
use serde_json::{Value, json};

use crate::support::books::{project, validate, write};
use crate::support::{Scratch, tree};

#[test]
fn good_books() {
    let scratch = project();
    let before = tree(&scratch.root());
    let (code, lines) = validate(&scratch, &[]);
    assert_eq!((code, lines.len()), (0, 1), "{lines:#?}");
    let ours = |name: &&String| !name.ends_with(".lock") && !name.ends_with(".gitignore");
    let documents = tree(&scratch.root().join(".claude")).keys().filter(ours).count();
    assert_eq!(lines[0], format!("{documents} documents, all good"));
    let (code, lines) = validate(&scratch, &["--json"]);
    assert_eq!(code, 0);
    let report: Value = serde_json::from_str(&lines[0]).unwrap();
    assert_eq!(report, json!({"documents": documents, "problems": [], "notes": []}));
    validate(&scratch, &["--repair"]);
    assert_eq!(before, tree(&scratch.root()), "nothing is written");
}

#[test]
fn no_books() {
    let scratch = Scratch::new();
    for args in [&[][..], &["--repair"]] {
        let (code, lines) = validate(&scratch, args);
        assert_eq!(code, 0);
        assert!(lines[0].ends_with("no state yet, nothing to check."), "{lines:?}");
        assert!(!scratch.root().join(".claude").exists());
    }
    let (_, lines) = validate(&scratch, &["--json"]);
    assert_eq!(lines, [r#"{"documents":0,"problems":[],"notes":[]}"#]);
}

#[test]
fn settings_are_the_users() {
    let scratch = project();
    let settings = scratch.root().join(".claude/hookkeeper.json");
    for (text, problem) in [
        ("{\"keep_backups\": \"three\"}", "/keep_backups: is a string, must be a whole number"),
        ("{\"redact\": [\"(\"]}", "the pattern `(` in `redact` is no regular expression"),
        ("{", "is not JSON: EOF while parsing an object at line 1 column 1"),
    ] {
        fs::write(&settings, text).unwrap();
        for args in [&[][..], &["--repair"]] {
            let (code, lines) = validate(&scratch, args);
            assert_eq!(code, 1);
            assert_eq!(lines[0], format!(".claude/hookkeeper.json: {problem}"));
        }
        assert_eq!(fs::read_to_string(&settings).unwrap(), text);
    }
}

#[test]
fn newer_documents_are_left() {
    let scratch = project();
    write(&scratch, "loop/work_queue.json", r#"{"version": 2, "items": "in another file"}"#);
    let before = tree(&scratch.state());
    for args in [&[][..], &["--repair"]] {
        let (code, lines) = validate(&scratch, args);
        assert_eq!((code, lines.len()), (0, 2), "{lines:?}");
        assert_eq!(
            lines[0],
            "loop/work_queue.json: was written by a newer version; it is left alone"
        );
        assert!(lines[1].ends_with("documents, all good"), "{lines:?}");
    }
    assert_eq!(before, tree(&scratch.state()));
}

#[test]
fn foreign_files_are_mentioned() {
    let scratch = project();
    write(&scratch, "notes/today.txt", "x");
    write(&scratch, "session/live/notes.txt", "x");
    write(&scratch, ".new", "x");
    write(&scratch, "quarantine/broken.json", "{");
    write(&scratch, "rejected/broken.txt", "{");
    let (code, lines) = validate(&scratch, &[]);
    assert_eq!(code, 0);
    assert_eq!(
        lines[..3],
        [
            ".new: was left by a process that was killed; the next event removes it",
            "notes: is no document of HookKeeper",
            "session/live/notes.txt: is no document of HookKeeper",
        ]
    );
    assert_eq!(lines.len(), 4, "{lines:?}");
}

#[test]
fn read_only_books() {
    let scratch = project();
    write(&scratch, "notices.json", "[]");
    // Root may write anywhere; a file in the place of the quarantine stops everybody.
    write(&scratch, "quarantine", "");
    let folders = ["", "session", "session/live", "agents", "agents/results"];
    let mode = |mode: u32| {
        for folder in folders {
            let path = scratch.state().join(folder);
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        }
    };
    mode(0o500);
    let before = tree(&scratch.state());
    let (code, lines) = validate(&scratch, &[]);
    assert_eq!((code, lines[0].as_str()), (1, "notices.json: is a list, must be an object"));
    let run = scratch.run(&["validate", "--repair"], b"");
    assert_eq!(run.code, Some(1));
    let refused = run.stderr.starts_with("hookkeeper: cannot open the lock: ");
    let stays =
        run.stdout.starts_with("notices.json: stays where it is: refusing to write through");
    assert!(refused || stays, "{}{}", run.stdout, run.stderr);
    assert_eq!(before, tree(&scratch.state()));
    mode(0o700);
}

#[test]
fn schemas_are_listed_and_printed() {
    let scratch = Scratch::new();
    let list = scratch.run(&["schema"], b"");
    assert_eq!((list.code, list.stdout.lines().count()), (Some(0), schema::all().len()));
    for (line, row) in list.stdout.lines().zip(schema::all()) {
        assert!(line.starts_with(&format!("{} ", row.schema)), "{line}");
        let outside = row.schema == "execute-state";
        let below = if outside { "  " } else { ".claude/" };
        assert!(line.contains(&format!("{below}{} ", row.path)), "{line}");
        let one = scratch.run(&["schema", row.schema], b"");
        assert_eq!((one.code, one.stdout.as_str()), (Some(0), &*schema::text(row.schema)));
    }
    let unknown = scratch.run(&["schema", "lives"], b"");
    assert_eq!((unknown.code, unknown.stdout.as_str()), (Some(64), ""));
    let names: Vec<&str> = schema::all().iter().map(|row| row.schema).collect();
    let says =
        format!("hookkeeper: there is no document \"lives\"; there are {}\n", names.join(", "));
    assert_eq!(unknown.stderr, says);
}

#[test]
fn every_file_is_listed_as_json() {
    let scratch = Scratch::new();
    let list = scratch.run(&["schema", "--json"], b"");
    let rows: Vec<Value> = serde_json::from_str(&list.stdout).unwrap();
    let keys = [
        "name", "path", "also_at", "schema", "title", "about", "format", "durable", "writers",
        "version",
    ];
    for row in &rows {
        assert!(row.as_object().unwrap().keys().map(String::as_str).eq(keys), "{row}");
    }
    let find = |name: &str| rows.iter().find(|row| row["name"] == name).unwrap();
    let queue = find("work-queue");
    assert_eq!(queue["path"], "state/loop/work_queue.json");
    assert_eq!(queue["writers"], "shared");
    assert_eq!((&queue["durable"], &queue["version"]), (&Value::Bool(true), &Value::from(1)));
    let text = find("loop-state");
    assert_eq!((&text["schema"], &text["format"]), (&Value::Null, &json!("text")));
    for row in schema::all() {
        assert!(rows.iter().any(|listed| listed["schema"] == row.schema), "{}", row.schema);
    }
    assert_ne!(scratch.run(&["schema", "--json", "live"], b"").code, Some(0));
}
