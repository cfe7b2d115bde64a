//! `tests/corpus/prompts/`: sessions as their prompts, and what they are about.

use serde_json::{Value, json};

use crate::corpus::score::Score;
use crate::corpus::texts;
use crate::support::{self, Scratch};

const SESSION: &str = "0f3e8a2c-1111-4222-8333-444455556666";

/// Gives a session these prompts; its record after them.
fn play(prompts: &[&str]) -> Value {
    let scratch = Scratch::new();
    for (n, prompt) in prompts.iter().enumerate() {
        let (source, text) = prompt.split_once("> ").unwrap();
        let text = text.replace("\\n", "\n");
        let mut fields = json!({"prompt": text, "prompt_id": format!("p{n}")});
        if !source.is_empty() {
            fields["source"] = source.into();
        }
        scratch.hook(&support::event(SESSION, "UserPromptSubmit", fields));
    }
    let live = scratch.doc(&format!("session/live/{SESSION}.json")).to_string();
    serde_json::from_str(&scratch.recorded(&live)).unwrap()
}

#[test]
fn the_task_is_what_a_session_is_about() {
    let (mut score, mut wrong, mut count) = (Score::default(), Vec::new(), 0);
    for (_, text) in texts("prompts") {
        for block in text.strip_prefix("==== ").unwrap().split("\n==== ") {
            let (name, rest) = block.split_once('\n').unwrap();
            let (mut prompts, mut expected) = (Vec::new(), None);
            for line in rest.lines() {
                match line.split_at(1) {
                    (">", prompt) if prompt.starts_with(' ') => prompts.push(line),
                    (">", prompt) => prompts.push(prompt),
                    ("=", task) => expected = Some(task.trim()),
                    _ => panic!("{name}: {line}"),
                }
            }
            count += 1;
            let expected = expected.unwrap();
            let live = play(&prompts);
            let task = live["task"].as_str().unwrap_or_default();
            let (want, got) = (
                if expected.is_empty() { "none" } else { "task" },
                match task {
                    "" => "none",
                    task if task == expected => "task",
                    _ => "another",
                },
            );
            score.add(want, got);
            if task != expected {
                wrong.push(format!("{name}: {task:?} instead of {expected:?}"));
            }
        }
    }
    score.print("task");
    assert!(count >= 40, "{count}");
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn what_was_asked_last_is_kept_beside_the_task() {
    let live = play(&["> Add a search to the list", "> use the index for it", "> yes"]);
    assert_eq!(
        (&live["task"], &live["last_prompt"]),
        (&json!("Add a search to the list"), &json!("yes"))
    );
    let spoken = play(&["> Add a search to the list", "system> a job has ended"]);
    assert_eq!(spoken["last_prompt"], "Add a search to the list");
}

#[test]
fn a_command_counts_once_whichever_event_comes_first() {
    let prompt = |id: Option<&str>| {
        (id.map(str::to_owned), "UserPromptSubmit", json!({"prompt": "/plan the login"}))
    };
    let expansion = |id: Option<&str>| {
        (
            id.map(str::to_owned),
            "UserPromptExpansion",
            json!({"command_name": "plan", "command_args": "the login"}),
        )
    };
    for (events, times) in [
        (vec![prompt(None), expansion(None), prompt(None), expansion(None)], 2),
        (vec![expansion(None), prompt(None), expansion(None), prompt(None)], 2),
        (
            vec![
                expansion(Some("p0")),
                prompt(Some("p1")),
                expansion(Some("p1")),
                prompt(Some("p2")),
            ],
            2,
        ),
        (
            vec![
                prompt(Some("p1")),
                expansion(Some("p1")),
                prompt(Some("p2")),
                expansion(Some("p2")),
            ],
            2,
        ),
        (vec![expansion(Some("p1")), prompt(Some("p1"))], 1),
        (vec![prompt(None), prompt(None)], 2),
    ] {
        let scratch = Scratch::new();
        for (id, name, mut fields) in events.clone() {
            if let Some(id) = id {
                fields["prompt_id"] = id.into();
            }
            scratch.hook(&support::event(SESSION, name, fields));
        }
        let live = scratch.doc(&format!("session/live/{SESSION}.json"));
        assert_eq!(live["command_counts"]["plan"], times, "{events:?}");
    }
}

#[test]
fn an_ide_hides_no_command_and_no_approval() {
    let ide = "> <ide_opened_file>The user opened a.ts</ide_opened_file>\\n/plan the login";
    let live = play(&[ide]);
    assert_eq!(
        (&live["commands_executed"], &live["task"]),
        (&json!(["plan"]), &json!("/plan the login"))
    );
}
