//! Random events in random order, against a model in memory that does the counting. Begins at
//! `HOOKKEEPER_FUZZ_SEED`, goes on for `HOOKKEEPER_FUZZ_SECONDS` if that is set.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::dice::Dice;
use crate::support::{Scratch, books, event};

const EVENTS: usize = 150;
const SESSIONS: [&str; 3] = ["first", "second", "third"];
const AGENTS: u64 = 4;

/// What a session should come to.
#[derive(Default)]
struct Model {
    is_live: bool,
    running: BTreeSet<String>,
    ended: BTreeMap<String, End>,
    /// How the run before ended, of those that run again.
    earlier: BTreeMap<String, End>,
    /// Those that are known to have been started by the first one.
    nested: BTreeSet<String>,
}

/// How an agent ended: well or not, and whether somebody said so.
#[derive(Clone, Copy)]
struct End {
    well: bool,
    is_guess: bool,
}

impl Model {
    fn starts(&mut self, id: &str) {
        if let Some(end) = self.ended.remove(id) {
            self.earlier.insert(id.to_owned(), end);
        }
        self.running.insert(id.to_owned());
    }

    /// A second end of the same run changes nothing; one that comes after a guess replaces it.
    fn ends(&mut self, id: &str, well: bool) {
        let is_known = self.ended.get(id).is_some_and(|end| !end.is_guess);
        if self.running.remove(id) || !is_known {
            self.ended.insert(id.to_owned(), End { well, is_guess: false });
        }
    }

    /// Nobody says how these ended. A run of which nothing was seen was none.
    fn lose(&mut self, gone: Vec<String>) {
        for id in gone {
            let earlier = self.earlier.remove(&id);
            self.running.remove(&id);
            self.ended.insert(id, earlier.unwrap_or(End { well: false, is_guess: true }));
        }
    }

    fn lose_all(&mut self) {
        self.lose(self.running.iter().cloned().collect());
    }

    /// The client lists these as running, and perhaps a workflow: whoever could have been started
    /// by one of them may run.
    fn lose_all_but(&mut self, listed: &BTreeSet<String>, has_workflow: bool) {
        let has_owner = has_workflow || !listed.is_empty();
        let stays = |id: &String| match id {
            id if listed.contains(id) => true,
            id if is_of_workflow(id) => has_workflow,
            id => has_owner && !self.nested.contains(id),
        };
        let with_parent = |id: &String| {
            let parent = first_of(id);
            stays(id)
                || self.nested.contains(id) && self.running.contains(&parent) && stays(&parent)
        };
        let gone = self.running.iter().filter(|id| !with_parent(id)).cloned().collect();
        self.lose(gone);
    }

    fn spawned(&self) -> usize {
        self.running.len() + self.ended.len()
    }

    fn completed(&self) -> usize {
        self.ended.values().filter(|end| end.well).count()
    }

    fn failed(&self) -> usize {
        self.ended.len() - self.completed()
    }
}

fn first_of(id: &str) -> String {
    format!("{}-0", id.split('-').next().unwrap())
}

fn is_of_workflow(id: &str) -> bool {
    id.ends_with("-3")
}

/// One event, for the program and for the model.
fn step(dice: &mut Dice, model: &mut BTreeMap<&str, Model>) -> Value {
    let session = dice.one(&SESSIONS);
    let model = model.get_mut(session).unwrap();
    let id = format!("{session}-{}", dice.roll(AGENTS));
    let agent = |fields: Value| {
        let kind = if is_of_workflow(&id) { "workflow-subagent" } else { "Explore" };
        let mut all = json!({"agent_id": id, "agent_type": kind});
        all.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        all
    };
    let (name, fields) = match dice.roll(13) {
        0 => ("SessionStart", json!({"source": "resume"})),
        1 => {
            model.lose_all();
            ("SessionEnd", json!({"reason": "other"}))
        }
        2..=5 => {
            model.starts(&id);
            ("SubagentStart", agent(json!({})))
        }
        6 | 7 => {
            model.ends(&id, true);
            ("SubagentStop", agent(json!({"last_assistant_message": "- [S2] Something"})))
        }
        8 => {
            model.ends(&id, false);
            ("SubagentStop", agent(json!({})))
        }
        9 | 10 => {
            // The client lists what runs; now and then some have gone without a word, or are
            // behind another one.
            let mut listed = model.running.clone();
            listed.retain(|id| !is_of_workflow(id) && dice.roll(3) > 0);
            let has_workflow = dice.roll(2) == 0;
            model.lose_all_but(&listed, has_workflow);
            let task = |id: &str, kind: &str| json!({"id": id, "type": kind, "status": "running", "description": "x"});
            let mut tasks: Vec<Value> = listed.iter().map(|id| task(id, "subagent")).collect();
            tasks.push(task("make", "shell"));
            tasks.extend(has_workflow.then(|| task("audit", "workflow")));
            ("Stop", json!({"stop_hook_active": false, "background_tasks": tasks}))
        }
        11 if id.ends_with("-2") && model.running.contains(&id) => {
            model.nested.insert(id.clone());
            let call = json!({"agent_id": first_of(&id), "agent_type": "Explore", "tool_name": "Agent",
                "tool_use_id": format!("call-{id}"), "tool_input": {"description": "Look"},
                "tool_response": {"agentId": id, "status": "async_launched"}});
            ("PostToolUse", call)
        }
        11 => ("UserPromptSubmit", json!({"prompt": "Go on"})),
        _ => {
            let call = json!({"tool_name": "Edit", "tool_use_id": "t", "tool_response": {},
                "tool_input": {"file_path": "/home/dev/shop/src/a.rs"}});
            ("PostToolUse", call)
        }
    };
    // An end that comes late does not open its session again.
    model.is_live = match name {
        "SessionEnd" => false,
        "SubagentStop" => model.is_live,
        _ => true,
    };
    event(session, name, fields)
}

fn check(scratch: &Scratch, model: &BTreeMap<&str, Model>, what: &str) {
    let known = scratch.names("session/live");
    let mut running = BTreeSet::new();
    for (session, model) in model {
        assert_eq!(known.contains(&format!("{session}.json")), model.is_live, "{what}: {session}");
        if !model.is_live {
            continue;
        }
        let live = scratch.doc(&format!("session/live/{session}.json"));
        let ids = live["agents"].as_array().unwrap().iter();
        let ids: BTreeSet<String> = ids.map(|a| a["id"].as_str().unwrap().to_owned()).collect();
        assert_eq!(ids, model.running, "{what}: {session}");
        let counts = ["agents_spawned", "agents_completed", "agents_failed"]
            .map(|key| live[key].as_u64().unwrap_or(0) as usize);
        let wanted = [model.spawned(), model.completed(), model.failed()];
        assert_eq!(counts, wanted, "{what}: {session}");
        running.extend(ids);
    }
    if !running.is_empty() {
        let active = scratch.doc("agents/active.json");
        let ids = active["agents"].as_array().unwrap().iter();
        let ids: BTreeSet<String> = ids.map(|a| a["id"].as_str().unwrap().to_owned()).collect();
        assert_eq!(ids, running, "{what}");
    }
}

/// The branch's book outlives the sessions, and so do the metrics.
fn check_end(scratch: &Scratch, model: &BTreeMap<&str, Model>, what: &str) {
    let sum = |count: fn(&Model) -> usize| model.values().map(count).sum::<usize>();
    let file = scratch.root().join(".claude/branches/unknown/agents.json");
    if sum(Model::spawned) > 0 {
        let book: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
        let counts = ["total_spawned", "completed", "failed"]
            .map(|key| book["stats"][key].as_u64().unwrap() as usize);
        let wanted = [sum(Model::spawned), sum(Model::completed), sum(Model::failed)];
        assert_eq!(counts, wanted, "{what}: the branch's agents.json");
    }
    let metrics = scratch.doc("session/metrics.json");
    for (session, model) in model {
        let entries = metrics["sessions"].as_array().unwrap().iter();
        let entries: Vec<&Value> =
            entries.filter(|entry| entry["session_id"] == *session).collect();
        assert_eq!(entries.len(), 1, "{what}: {session}");
        let counts = ["spawned", "completed", "failed"]
            .map(|key| entries[0]["agents"][key].as_u64().unwrap() as usize);
        let wanted = [model.spawned(), model.completed(), model.failed()];
        assert_eq!(counts, wanted, "{what}: metrics of {session}");
    }
    assert_eq!(books::validate(scratch, &[]).0, 0, "{what}");
}

fn play(seed: u64) {
    let scratch = Scratch::new();
    let mut dice = Dice(seed * 2 + 1);
    // A session in which nothing was asked for leaves no metrics, and is forgotten when it ends.
    for session in SESSIONS {
        scratch.hook(&event(session, "UserPromptSubmit", json!({"prompt": "Go"})));
    }
    let mut model: BTreeMap<&str, Model> =
        SESSIONS.map(|session| (session, Model { is_live: true, ..Model::default() })).into();
    for n in 0..EVENTS {
        let payload = step(&mut dice, &mut model);
        scratch.hook(&payload);
        check(&scratch, &model, &format!("seed {seed}, event {n}, {payload}"));
    }
    for (session, model) in &mut model {
        if model.is_live {
            model.lose_all();
            scratch.hook(&event(session, "SessionEnd", json!({"reason": "other"})));
        }
    }
    check_end(&scratch, &model, &format!("seed {seed}"));
}

#[test]
fn the_books_are_what_the_events_come_to() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let first = number("HOOKKEEPER_FUZZ_SEED").unwrap_or(1);
    let until =
        Instant::now() + Duration::from_secs(number("HOOKKEEPER_FUZZ_SECONDS").unwrap_or(0));
    for seed in first.. {
        play(seed);
        if seed >= first + 5 && Instant::now() >= until {
            break;
        }
    }
}
