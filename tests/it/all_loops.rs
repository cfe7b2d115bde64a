//! One behaviour of all loops, through the binary: what the first page of `src/loops` says of their
//! commands, run over each of them.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Run, Scratch, event, good, refused};

const OWNER: &str = "0f3e8a2c-1111-4222-8333-444455556666";
const OTHER: &str = "1f3e8a2c-1111-4222-8333-444455556666";

/// A kind of loop, as the table sees it.
struct Kind {
    /// How its commands begin.
    command: &'static [&'static str],
    start: &'static [&'static str],
    /// What it is called in sentences.
    noun: &'static str,
    /// What `driven_by` calls it.
    title: &'static str,
    /// What there is none of.
    none: &'static str,
    file: &'static str,
    /// Where in the file its fields are.
    inside: &'static str,
}

const KINDS: [Kind; 4] = [
    Kind {
        command: &["loop"],
        start: &["start", "Work"],
        noun: "the loop",
        title: "loop \"Work\"",
        none: "there is no loop; `hookkeeper loop start TASK` starts one",
        file: "state/loop/work_queue.json",
        inside: "",
    },
    Kind {
        command: &["branch", "loop"],
        start: &["start", "Work"],
        noun: "the loop",
        title: "loop of branch unknown",
        none: "there is no loop of branch unknown; `hookkeeper branch loop start PROMPT` starts one",
        file: "branches/unknown/state.json",
        inside: "/loop",
    },
    Kind {
        command: &["autonomous"],
        start: &["start", "Work"],
        noun: "the loop",
        title: "autonomous loop \"Work\"",
        none: "there is no autonomous loop; `hookkeeper autonomous start FEATURE` starts one",
        file: "autonomous-loop.json",
        inside: "",
    },
    Kind {
        command: &["iterative"],
        start: &["new", "work", "--task", "Work", "--mode", "development", "--unit", "T1: a | b"],
        noun: "the task work",
        title: "task work",
        none: "there is no task; `hookkeeper iterative new SLUG` starts one",
        file: "iterative/work/state.json",
        inside: "",
    },
];

impl Kind {
    fn name(&self) -> String {
        format!("hookkeeper {}", self.command.join(" "))
    }

    fn run(&self, scratch: &Scratch, args: &[&str]) -> Run {
        scratch.run(&[self.command, args].concat(), b"")
    }

    fn path(&self, scratch: &Scratch) -> std::path::PathBuf {
        scratch.root().join(".claude").join(self.file)
    }

    fn document(&self, scratch: &Scratch) -> Value {
        serde_json::from_slice(&fs::read(self.path(scratch)).unwrap()).unwrap()
    }

    fn field(&self, scratch: &Scratch, name: &str) -> Value {
        let document = self.document(scratch);
        document.pointer(self.inside).unwrap().get(name).cloned().unwrap_or_default()
    }

    /// A loop that the owner drives, beside another live session.
    fn started(&self) -> Scratch {
        let scratch = sessions();
        let said = good(self.run(&acting(&scratch, Some(OWNER)), self.start));
        assert!(said.contains(&format!("driven by session {OWNER}.")), "{}: {said}", self.name());
        scratch.0
    }
}

/// The kind that there may be several of.
fn task() -> &'static Kind {
    KINDS.iter().find(|kind| kind.title == "task work").unwrap()
}

struct Sessions(Scratch);

impl std::ops::Deref for Sessions {
    type Target = Scratch;

    fn deref(&self) -> &Scratch {
        &self.0
    }
}

/// A project with two live sessions.
fn sessions() -> Sessions {
    let scratch = Scratch::new();
    for id in [OWNER, OTHER] {
        scratch.hook(&event(id, "SessionStart", json!({"source": "startup"})));
    }
    Sessions(scratch)
}

/// The same project, for the commands of a session, or of a person in a terminal.
fn acting(scratch: &Scratch, session: Option<&str>) -> std::mem::ManuallyDrop<Scratch> {
    let mut same = scratch.same();
    same.env.remove("CLAUDE_CODE_SESSION_ID");
    if let Some(id) = session {
        same.env.insert("CLAUDE_CODE_SESSION_ID".into(), id.into());
    }
    std::mem::ManuallyDrop::new(same)
}

fn stop(scratch: &Scratch, session: &str) -> Value {
    let payload =
        json!({"stop_hook_active": false, "last_assistant_message": "on", "background_tasks": []});
    let reply = scratch.hook(&event(session, "Stop", payload)).stdout;
    if reply.is_empty() { Value::Null } else { serde_json::from_str(&reply).unwrap() }
}

fn end_session(scratch: &Scratch, session: &str) {
    scratch.hook(&event(session, "SessionEnd", json!({"reason": "other"})));
}

#[test]
fn without_a_loop_there_is_nothing_to_change() {
    for kind in &KINDS {
        let scratch = sessions();
        for verb in ["cancel", "adopt", "resume"] {
            refused(&kind.run(&acting(&scratch, Some(OWNER)), &[verb]), kind.none);
        }
    }
}

#[test]
fn the_session_that_drives_it_ends_it_and_goes_on() {
    for kind in &KINDS {
        let (scratch, name) = (kind.started(), kind.name());
        let own = acting(&scratch, Some(OWNER));
        refused(&kind.run(&own, &["resume"]), &format!("{} is running; `{name} status", kind.noun));
        let said = good(kind.run(&own, &["cancel"]));
        assert!(said.starts_with(&format!("Cancelled: {}", kind.title)), "{name}: {said}");
        assert_eq!(stop(&scratch, OWNER), Value::Null, "{name}: it knows");
        assert_eq!(stop(&scratch, OTHER), Value::Null, "{name}: it is no business of others");
        assert_eq!(kind.field(&scratch, "verdict"), "cancelled", "{name}");
        assert_eq!(kind.field(&scratch, "verdict_reason"), "cancelled by a command", "{name}");
        let live = |id: &str| scratch.doc(&format!("session/live/{id}.json"));
        assert_eq!(live(OWNER)["loop_verdict"], "cancelled", "{name}");
        for verb in ["cancel", "adopt"] {
            let args: &[&str] = if kind.inside.is_empty() && kind.title == "task work" {
                &[verb, "work"]
            } else {
                &[verb]
            };
            let says = format!("{} has ended (cancelled); `{name} resume", kind.noun);
            refused(&kind.run(&own, args), &says);
        }
        let said = good(kind.run(&own, &["resume"]));
        assert!(said.starts_with(&format!("Goes on: {}", kind.title)), "{name}: {said}");
        assert_eq!(kind.field(&scratch, "verdict"), Value::Null, "{name}");
        assert_eq!(live(OWNER).get("loop_verdict"), None, "{name}");
        assert_eq!(stop(&scratch, OWNER)["decision"], "block", "{name}");
    }
}

#[test]
fn another_live_session_may_only_adopt_it() {
    for kind in &KINDS {
        let (scratch, name) = (kind.started(), kind.name());
        let other = acting(&scratch, Some(OTHER));
        let says = format!("is driven by session {OWNER}; to act for it: --session {OWNER}");
        refused(&kind.run(&other, &["cancel"]), &says);
        refused(&kind.run(&other, &["resume"]), &says);
        // In the owner's name it may, and the user hears of it.
        good(kind.run(&other, &["cancel", "--session", OWNER]));
        let told = stop(&scratch, OWNER);
        let told = told["systemMessage"].as_str().unwrap();
        assert!(told.ends_with("is cancelled: cancelled by a command."), "{name}: {told}");
        assert_eq!(stop(&scratch, OWNER), Value::Null, "{name}: once");
        good(kind.run(&other, &["resume", "--session", OWNER]));
        let said = good(kind.run(&other, &["adopt"]));
        let first = said.lines().next().unwrap();
        assert!(first.ends_with(&format!(": now driven by session {OTHER}")), "{name}: {said}");
        assert!(said.lines().count() > 1, "{name}: who drives it hears how it works: {said}");
        let told = stop(&scratch, OWNER);
        assert_eq!(told.get("decision"), None, "{name}: {told}");
        let told = told["systemMessage"].as_str().unwrap();
        let says = format!("is now driven by session {OTHER}, not by {OWNER}.");
        assert!(told.ends_with(&says), "{name}: {told}");
        assert_eq!(stop(&scratch, OWNER), Value::Null, "{name}: once");
        assert_eq!(kind.field(&scratch, "session_id"), OTHER, "{name}");
        assert_eq!(stop(&scratch, OTHER)["decision"], "block", "{name}");
    }
}

#[test]
fn a_session_takes_over_what_another_left() {
    for kind in &KINDS {
        for ended in [false, true] {
            let (scratch, name) = (kind.started(), kind.name());
            if ended {
                good(kind.run(&acting(&scratch, Some(OWNER)), &["cancel"]));
            }
            end_session(&scratch, OWNER);
            let other = acting(&scratch, Some(OTHER));
            if !ended {
                let says = format!("was driven by session {OWNER}, which has ended; `{name} adopt");
                refused(&kind.run(&other, &["cancel"]), &says);
            }
            // A person in a terminal hands it to nobody, and hears that.
            if !ended {
                let said = good(kind.run(&acting(&scratch, None), &["resume"]));
                let says = format!("Its session {OWNER} is not live: resume that one");
                assert!(said.contains(&says), "{name}: {said}");
                assert_eq!(kind.field(&scratch, "session_id"), OWNER, "{name}");
                assert_eq!(stop(&scratch, OTHER), Value::Null, "{name}");
            }
            let said = good(kind.run(&other, &["resume"]));
            assert!(said.starts_with("Goes on: "), "{name}: {said}");
            assert_eq!(kind.field(&scratch, "session_id"), OTHER, "{name}, ended: {ended}");
            assert_eq!(stop(&scratch, OTHER)["decision"], "block", "{name}");
        }
    }
}

#[test]
fn a_person_may_do_all_of_it() {
    for kind in &KINDS {
        let (scratch, name) = (kind.started(), kind.name());
        let person = acting(&scratch, None);
        refused(&kind.run(&person, &["resume"]), &format!("{} is running", kind.noun));
        refused(&kind.run(&person, &["adopt"]), "several sessions are live; name one");
        refused(
            &kind.run(&person, &["adopt", "--session", "x"]),
            "there is no session `x` (hookkeeper sessions)",
        );
        good(kind.run(&person, &["adopt", "--session", OTHER]));
        assert_eq!(kind.field(&scratch, "session_id"), OTHER, "{name}");
        assert!(stop(&scratch, OWNER)["systemMessage"].is_string(), "{name}: the old one hears");
        good(kind.run(&person, &["cancel"]));
        let told = stop(&scratch, OTHER);
        let told = told["systemMessage"].as_str().unwrap();
        assert!(told.ends_with("is cancelled: cancelled by a command."), "{name}: {told}");
        good(kind.run(&person, &["resume"]));
        assert_eq!(stop(&scratch, OTHER)["decision"], "block", "{name}");
        // With --session a person acts as that session.
        let says = format!("is driven by session {OTHER}; to act for it");
        refused(&kind.run(&person, &["cancel", "--session", OWNER]), &says);
        good(kind.run(&person, &["cancel", "--session", OTHER]));
    }
}

/// A session drives one loop, also when a model wrote the first one's file anew and forgot whose it
/// is.
#[test]
fn a_second_loop_is_refused() {
    for first in &KINDS {
        for second in KINDS.iter().filter(|second| second.command != first.command) {
            for forgets in [false, true] {
                let scratch = first.started();
                let own = acting(&scratch, Some(OWNER));
                if forgets {
                    let mut document = first.document(&scratch);
                    let inside = document.pointer_mut(first.inside).unwrap();
                    inside.as_object_mut().unwrap().remove("session_id").unwrap();
                    fs::write(first.path(&scratch), document.to_string()).unwrap();
                }
                let says = format!("session {OWNER} drives the {}", first.title);
                let ran = second.run(&own, second.start);
                refused(&ran, &says);
                refused(&ran, &format!("`{} cancel` ends it", first.name()));
                assert!(!second.path(&scratch).exists(), "{}", second.name());
                // Nor is one taken over, or taken up again.
                good(second.run(&acting(&scratch, Some(OTHER)), second.start));
                refused(&second.run(&own, &["adopt"]), &says);
                good(second.run(&acting(&scratch, Some(OTHER)), &["cancel"]));
                end_session(&scratch, OTHER);
                refused(&second.run(&own, &["resume"]), &says);
                assert_eq!(stop(&scratch, OWNER)["decision"], "block", "{}", first.name());
                assert_eq!(first.field(&scratch, "session_id"), OWNER, "{}", first.name());
            }
        }
    }
}

#[test]
fn a_second_loop_of_a_kind_is_refused() {
    for kind in KINDS.iter().filter(|kind| kind.title != "task work") {
        let (scratch, name) = (kind.started(), kind.name());
        for session in [Some(OWNER), Some(OTHER), None] {
            let ran = kind.run(&acting(&scratch, session), kind.start);
            refused(&ran, &format!(" is open: `{name} cancel` ends it"));
        }
    }
    // There may be several tasks, each with a session of its own.
    let scratch = task().started();
    let second = ["iterative", "new", "second", "--task", "x", "--mode", "development"];
    let says = "drives the task work: `hookkeeper iterative cancel` ends it";
    refused(&acting(&scratch, Some(OWNER)).run(&second, b""), says);
    good(acting(&scratch, Some(OTHER)).run(&second, b""));
}

/// A person's stop holds, whatever the loop's document is worth at that moment.
#[test]
fn a_persons_stop_holds_while_the_document_cannot_be_read() {
    let say = |scratch: &Scratch, prompt: &str| {
        scratch.hook(&event(OWNER, "UserPromptSubmit", json!({"prompt": prompt}))).stdout
    };
    for kind in &KINDS {
        for damage in [Some("{"), None] {
            let (scratch, name) = (kind.started(), format!("{} {damage:?}", kind.name()));
            let own = acting(&scratch, Some(OWNER));
            assert_eq!(stop(&scratch, OWNER)["decision"], "block", "{name}");
            let kept = fs::read(kind.path(&scratch)).unwrap();
            let hurt = || match damage {
                Some(text) => fs::write(kind.path(&scratch), text).unwrap(),
                None => fs::remove_file(kind.path(&scratch)).unwrap(),
            };
            hurt();
            let heard = say(&scratch, "stop the loop");
            assert_eq!(heard.matches("is paused: the user asked to stop").count(), 2, "{name}");
            fs::write(kind.path(&scratch), &kept).unwrap();
            // Neither by a stop nor by a prompt does it go on.
            assert_eq!(stop(&scratch, OWNER).get("decision"), None, "{name}");
            say(&scratch, "and now the docs");
            assert_eq!(stop(&scratch, OWNER).get("decision"), None, "{name}");
            // Who wants it to go on says so, before the session has seen the file again, too.
            let said = good(kind.run(&own, &["resume"]));
            assert!(said.contains("Goes on: "), "{name}: {said}");
            assert_eq!(stop(&scratch, OWNER)["decision"], "block", "{name}");
            let kept = fs::read(kind.path(&scratch)).unwrap();
            hurt();
            say(&scratch, "stop the loop");
            fs::write(kind.path(&scratch), &kept).unwrap();
            let said = good(kind.run(&own, &["resume"]));
            assert!(said.contains("Goes on: "), "{name}: {said}");
            assert_eq!(stop(&scratch, OWNER)["decision"], "block", "{name}");
        }
    }
}

/// Every limit of a document, wherever it stands.
fn limits(document: &mut Value, set: &mut dyn FnMut(&mut Value)) {
    match document {
        Value::Object(fields) => {
            for (name, value) in fields {
                if name == "max_iterations" || name == "maxIterations" {
                    set(value);
                }
                limits(value, set);
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| limits(value, set)),
        _ => {}
    }
}

#[test]
fn what_is_adopted_has_limits() {
    for kind in &KINDS {
        let (scratch, name) = (kind.started(), kind.name());
        let mut document = kind.document(&scratch);
        limits(&mut document, &mut |limit| *limit = json!(999_999));
        fs::write(kind.path(&scratch), document.to_string()).unwrap();
        let plan = scratch.root().join(".claude/iterative/work/tasks.md");
        if let Ok(text) = fs::read_to_string(&plan) {
            let text = text.replace("Max iterations: 10", "Max iterations: 999999");
            fs::write(&plan, text).unwrap();
        }
        good(kind.run(&acting(&scratch, Some(OTHER)), &["adopt"]));
        for _ in 0..2 {
            let mut seen = 0;
            limits(&mut kind.document(&scratch), &mut |limit| {
                seen += 1;
                assert!(limit.as_u64().unwrap() <= 200, "{name}: {limit}");
            });
            assert!(seen > 0, "{name}");
            let said = stop(&scratch, OTHER).to_string();
            assert!(said.contains("block") && !said.contains("999999"), "{name}: {said}");
        }
    }
}

#[test]
fn two_loops_do_not_wait_for_one_session() {
    for first in &KINDS {
        for second in KINDS.iter().filter(|second| second.command != first.command) {
            let scratch = Scratch::new();
            let person = acting(&scratch, None);
            good(first.run(&person, first.start));
            let ran = second.run(&person, second.start);
            refused(&ran, &format!("waits for the next session already, the {}", first.title));
            let task = if first.name().ends_with("iterative") { " work" } else { "" };
            refused(&ran, &format!("`{} cancel{task}` ends it", first.name()));
            assert!(!second.path(&scratch).exists(), "{}", second.name());
            // Nor does one that ended go on then.
            good(first.run(&person, &["cancel"]));
            good(second.run(&person, second.start));
            refused(&first.run(&person, &["resume"]), "waits for the next session");
            good(second.run(&person, &["cancel"]));
            good(first.run(&person, &["resume"]));
            scratch.hook(&event(OWNER, "SessionStart", json!({"source": "startup"})));
            // The session that will drive it starts no other.
            let ran = second.run(&acting(&scratch, Some(OWNER)), &["resume"]);
            refused(&ran, &format!("`{} cancel` ends it", first.name()));
            assert_eq!(stop(&scratch, OWNER)["decision"], "block", "{}", first.name());
        }
    }
    // Tasks too.
    let scratch = Scratch::new();
    let person = acting(&scratch, None);
    good(task().run(&person, task().start));
    let second = ["new", "second", "--task", "x", "--mode", "development"];
    refused(&task().run(&person, &second), "waits for the next session already, the task work");
}
