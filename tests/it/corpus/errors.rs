//! `tests/corpus/errors/`: failed tool calls, their class, and whether the model gains by advice.

use serde_json::{Value, json};

use crate::corpus::score::Score;
use crate::corpus::texts;
use crate::support::{self, Scratch};

const SESSION: &str = "0f3e8a2c-1111-4222-8333-444455556666";

struct Entry {
    name: String,
    class: String,
    wants_advice: bool,
    place: Option<String>,
    fields: Value,
}

fn entries() -> Vec<Entry> {
    let blocks = |(name, text): &(String, String)| -> Vec<Entry> {
        let blocks = text.strip_prefix("== ").unwrap().split("\n== ").enumerate();
        blocks.map(|(n, block)| entry(&format!("{name} {}", n + 1), block)).collect()
    };
    texts("errors").iter().flat_map(blocks).collect()
}

fn entry(name: &str, block: &str) -> Entry {
    let (head, rest) = block.split_once('\n').unwrap();
    let (call, rest) = rest.split_once('\n').unwrap();
    let mut words = head.split(' ');
    let class = words.next().unwrap().to_owned();
    let wants_advice = match words.next().unwrap() {
        "advice" => true,
        "silent" => false,
        other => panic!("{name}: {other}"),
    };
    let (tool, mut input): (&str, Value) = match call.split_at(2) {
        ("$ ", command) => ("Bash", json!({"command": command})),
        ("@ ", call) => {
            let (tool, input) = call.split_once(' ').unwrap();
            (tool, serde_json::from_str(input).unwrap())
        }
        _ => panic!("{name}: {call}"),
    };
    let (measured, message) = match rest.strip_prefix("% ") {
        Some(rest) => rest.split_once('\n').map(|(m, rest)| (Some(m), rest)).unwrap(),
        None => (None, rest),
    };
    let mut duration = 40;
    if let Some((took, limit)) = measured.and_then(|measured| measured.split_once(' ')) {
        duration = took.parse().unwrap();
        if limit != "-" {
            input["timeout"] = limit.parse::<u64>().unwrap().into();
        }
    }
    let fields = json!({"tool_name": tool, "tool_input": input, "error": message.trim_end(),
        "duration_ms": duration, "is_interrupt": false});
    let place = words.next().map(str::to_owned);
    Entry { name: name.to_owned(), class, wants_advice, place, fields }
}

struct Played {
    class: String,
    place: Option<String>,
    advice: String,
    calls_person: bool,
}

/// The answer to the last of `times` failures in a row.
fn play(entry: &Entry, times: usize) -> Played {
    let scratch = Scratch::new();
    let mut stdout = String::new();
    let mut calls_person = false;
    for n in 0..times {
        let mut fields = entry.fields.clone();
        fields["tool_use_id"] = format!("call-{n}").into();
        stdout = scratch.hook(&support::event(SESSION, "PostToolUseFailure", fields)).stdout;
        calls_person |= stdout.contains("systemMessage");
    }
    let reply: Value = serde_json::from_str(&stdout).unwrap_or_default();
    let record = &scratch.doc("errors/classified.json")["errors"][0];
    let context = &record["context"];
    let place = context["file"].as_str().zip(context["line"].as_u64());
    Played {
        class: record["classification"].as_str().unwrap().to_owned(),
        place: place.map(|(file, line)| format!("{file}:{line}")),
        advice: reply["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or("").to_owned(),
        calls_person,
    }
}

#[test]
fn advice_is_given_where_it_helps() {
    let entries = entries();
    assert!(entries.len() >= 200, "{}", entries.len());
    let (mut classes, mut advice, mut persons) = (Score::default(), Score::default(), 0);
    let mut wrong = Vec::new();
    for entry in &entries {
        let played = play(entry, 1);
        let word = |yes: bool| if yes { "advice" } else { "silent" };
        let gives = !played.advice.is_empty();
        classes.add(&entry.class, &played.class);
        advice.add(word(entry.wants_advice), word(gives));
        persons += usize::from(played.calls_person);
        let is_transient =
            ["network", "rate_limit", "timeout", "resource"].contains(&played.class.as_str());
        assert!(is_transient || !played.advice.contains("A retry makes sense"), "{}", entry.name);
        if (entry.class != played.class) || entry.wants_advice != gives {
            let Played { class, advice, .. } = &played;
            wrong.push(format!("{}: {} is {class}: {advice}", entry.name, entry.class));
        }
        if entry.place.is_some() && entry.place != played.place {
            wrong.push(format!("{}: {:?} is {:?}", entry.name, entry.place, played.place));
        }
    }
    classes.print("class");
    advice.print("advice");
    println!("a person is called {persons} times in {}", entries.len());
    assert!(persons * 100 <= entries.len());
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), entries.len(), wrong.join("\n"));
}

#[test]
fn what_a_retry_cannot_mend_never_calls_a_person() {
    for entry in entries().iter().filter(|entry| !entry.wants_advice).step_by(4) {
        let played = play(entry, 6);
        assert!(!played.calls_person && played.advice.is_empty(), "{}", entry.name);
    }
}

#[test]
fn a_full_disk_is_not_waited_for() {
    let entries = entries();
    let full = entries.iter().filter(|entry| entry.wants_advice).filter(|entry| {
        let message = entry.fields["error"].as_str().unwrap();
        message.to_lowercase().contains("no space left")
    });
    let advice: Vec<String> = full.map(|entry| play(entry, 1).advice).collect();
    assert!(advice.len() >= 4);
    for advice in advice {
        assert!(!advice.contains(" in 30s") && advice.contains("space"), "{advice}");
    }
}
