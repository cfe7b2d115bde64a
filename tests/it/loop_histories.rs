//! Random histories of the queue loop, of a branch's loop and of an iterative task, through the
//! binary, against models of what completes them: none ends `complete` without that, and none is
//! trapped, whatever became of its files.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::dice::Dice;
use crate::support::{Scratch, event};

/// A project, the session that is open in it, and what its loop's files are.
struct Shop {
    scratch: Scratch,
    session: String,
    sessions: u64,
    /// What starts every command of the loop.
    command: &'static [&'static str],
    file: PathBuf,
    /// Whether anybody has touched the files of the loop.
    is_damaged: bool,
}

/// What may become of a loop's file while it runs.
const NONSENSE: [&str; 7] =
    ["", "{ broken", "[]", "{}", "null", "{\"iteration\": \"fifty\"}", "\u{0}\u{1}"];

impl Shop {
    fn new(command: &'static [&'static str], file: &str) -> Self {
        let scratch = Scratch::new();
        let heads = scratch.root().join(".git/refs/heads");
        fs::create_dir_all(&heads).unwrap();
        for branch in ["main", "other"] {
            fs::write(heads.join(branch), "abc1".repeat(10)).unwrap();
        }
        let file = scratch.root().join(file);
        let mut shop =
            Self { scratch, session: String::new(), sessions: 0, command, file, is_damaged: false };
        shop.check_out("main");
        shop.opens("startup");
        shop
    }

    fn check_out(&self, branch: &str) {
        let head = self.scratch.root().join(".git/HEAD");
        fs::write(head, format!("ref: refs/heads/{branch}\n")).unwrap();
    }

    fn sends(&self, name: &str, fields: Value) -> Value {
        let reply = self.scratch.hook(&event(&self.session, name, fields)).stdout;
        // What a summary has to keep is plain text.
        if reply.is_empty() || name == "PreCompact" {
            return Value::Null;
        }
        serde_json::from_str(&reply).unwrap()
    }

    /// A session begins; one that goes on keeps its id.
    fn opens(&mut self, source: &str) {
        if matches!(source, "startup" | "clear") {
            self.sessions += 1;
            self.session = format!("{:08x}-1111-4222-8333-444455556666", self.sessions);
            self.scratch.env.insert("CLAUDE_CODE_SESSION_ID".into(), self.session.clone());
        }
        self.sends("SessionStart", json!({"source": source}));
    }

    /// Something that happens to sessions, and leaves the loop where it is.
    fn turns(&mut self, dice: &mut Dice) {
        match dice.roll(4) {
            0 => {
                self.sends("SessionEnd", json!({"reason": "clear"}));
                self.opens("clear");
                if dice.roll(2) == 0 {
                    self.runs(&["adopt"]);
                }
            }
            1 => {
                self.sends("SessionEnd", json!({"reason": "other"}));
                self.opens("resume");
            }
            2 => {
                self.sends("PreCompact", json!({"trigger": "auto", "custom_instructions": ""}));
                self.opens("compact");
            }
            _ => {
                self.sends("SubagentStart", json!({"agent_id": "a1", "agent_type": "x"}));
                self.sends("SubagentStop", json!({"agent_id": "a1", "agent_type": "x"}));
            }
        }
    }

    fn works(&self, dice: &mut Dice) {
        let tool = dice.one(&["Read", "Edit", "Bash", "TodoWrite"]);
        let path = self.scratch.root().join("src/a.rs");
        self.sends("PostToolUse", json!({"tool_name": tool, "tool_use_id": "t", "tool_input": {"file_path": path}, "tool_response": {}}));
    }

    fn stops(&self, message: &str, has_company: bool) -> Value {
        let tasks = match has_company {
            true => json!([{"id": "a1", "type": "subagent", "status": "running"}]),
            false => json!([]),
        };
        self.sends("Stop", json!({"stop_hook_active": true, "last_assistant_message": message, "background_tasks": tasks}))
    }

    fn runs(&self, args: &[&str]) -> bool {
        let run = self.scratch.run(&[self.command, args].concat(), b"");
        assert!(matches!(run.code, Some(0 | 1)), "{args:?}: {}", run.stderr);
        run.code == Some(0)
    }

    fn read(&self) -> Value {
        let bytes = fs::read(&self.file).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or(Value::Null)
    }

    /// Somebody removes the file, empties it, or writes nonsense into it.
    fn damages(&mut self, dice: &mut Dice) {
        self.is_damaged = true;
        match dice.roll(3) {
            0 => drop(fs::remove_file(&self.file)),
            _ => fs::write(&self.file, dice.one(&NONSENSE)).unwrap(),
        }
    }

    /// A person can always leave: by a prompt in the session, or by a command in a terminal.
    fn leaves(&mut self, dice: &mut Dice, what: &str) {
        if dice.roll(2) == 0 {
            self.damages(dice);
        }
        let by_prompt = dice.roll(2) == 0;
        match by_prompt {
            true => drop(self.sends("UserPromptSubmit", json!({"prompt": "stop the loop"}))),
            false => {
                self.scratch.env.remove("CLAUDE_CODE_SESSION_ID");
                self.runs(&["cancel"]);
            }
        }
        for n in 0..3 {
            let reply = self.stops("on", false);
            assert_ne!(
                reply["decision"], "block",
                "{what}, by prompt {by_prompt}, stop {n}: {reply}"
            );
        }
    }
}

fn seeds() -> std::ops::RangeInclusive<u64> {
    let seconds = std::env::var("HOOKKEEPER_FUZZ_SECONDS").ok().and_then(|s| s.parse::<u64>().ok());
    1..=seconds.map_or(12, |seconds| seconds * 4)
}

/// What really happened in a queue loop, whatever its file says.
#[derive(Default)]
struct QueueTruth {
    /// By gate: whether its last run passed, and was in this iteration.
    gates: BTreeMap<&'static str, (bool, bool)>,
    /// By title: whether it is open.
    items: BTreeMap<String, bool>,
    passes: u64,
}

impl QueueTruth {
    fn passes_now(&self) -> bool {
        let has_something = !self.gates.is_empty() || self.items.values().any(|open| !open);
        has_something
            && self.gates.values().all(|gate| *gate == (true, true))
            && self.items.values().all(|open| !open)
    }

    /// An iteration has ended, if one has; whether the loop is complete by its own word.
    fn ends(&mut self, before: &Value, after: &Value) -> bool {
        let is_complete = after["verdict"] == "complete";
        if is_complete || after["iteration"].as_u64() > before["iteration"].as_u64() {
            self.passes = if self.passes_now() { self.passes + 1 } else { 0 };
            self.gates.values_mut().for_each(|gate| gate.1 = false);
        }
        is_complete
    }

    fn acts(&mut self, shop: &Shop, dice: &mut Dice) {
        let queue = |args: &[&str]| shop.scratch.run(&[&["queue"], args].concat(), b"");
        match dice.roll(8) {
            0 => {
                let title = format!("item {}", self.items.len());
                if queue(&["add", "--priority", "S1", "--title", &title]).code == Some(0) {
                    self.items.insert(title, true);
                }
            }
            1..=3 => {
                let open: Vec<&Value> = Vec::new();
                let list = shop.read();
                let items = list["items"].as_array();
                let items = items.map_or(open, |items| items.iter().collect());
                let Some(item) = items.iter().find(|item| item["status"] != "done") else { return };
                let (id, title) = (item["id"].as_str().unwrap(), item["title"].as_str().unwrap());
                if queue(&["done", id]).code == Some(0) {
                    self.items.insert(title.to_owned(), false);
                }
            }
            roll => {
                let gate = if roll == 4 { "lint" } else { "test" };
                let program = dice.one(&["true", "true", "true", "false"]);
                shop.scratch.run(&["run-gate", gate, "--", program], b"");
                self.gates.insert(gate, (program == "true", true));
            }
        }
    }
}

#[test]
fn a_queue_loop_is_complete_after_two_passes_and_lets_go() {
    let mut completed = 0;
    for seed in seeds() {
        let mut dice = Dice(seed * 31 + 5);
        let mut shop = Shop::new(&["loop"], ".claude/state/loop/work_queue.json");
        assert!(shop.runs(&["start", "Add login", "--gate", "test", "--max-iterations", "90"]));
        let mut truth = QueueTruth::default();
        truth.gates.insert("test", (false, false));
        let clumsiness = dice.roll(3);
        let mut is_complete = false;
        for step in 0..70 {
            let before = shop.read();
            match dice.roll(14) {
                0 if dice.roll(3) < clumsiness => shop.damages(&mut dice),
                1 if dice.roll(2) == 0 => shop.turns(&mut dice),
                2 => shop.works(&mut dice),
                3 => drop(shop.stops("All gates pass, complete.", true)),
                4 => drop(shop.runs(&["next"])),
                5..=8 => drop(shop.stops("All gates pass, complete.", false)),
                _ => truth.acts(&shop, &mut dice),
            }
            let after = shop.read();
            if truth.ends(&before, &after) {
                assert!(truth.passes >= 2, "seed {seed}, step {step}: {after:#}");
                is_complete = true;
                break;
            }
            assert!(
                truth.passes < 2 || shop.is_damaged,
                "seed {seed}, step {step}: two passes, and it goes on: {after:#}"
            );
            if after["verdict"].is_string() {
                shop.runs(&["resume"]);
                truth.passes = 0;
            }
        }
        completed += u64::from(is_complete);
        shop.leaves(&mut dice, &format!("queue, seed {seed}"));
    }
    assert!(completed > 0, "no history came to its end: the model proves nothing");
}

#[test]
fn a_branch_loop_is_complete_by_its_promise_and_lets_go() {
    let words = [
        ("on", false),
        ("I would say <promise>ALL GREEN</promise> if it were.", false),
        ("```\n<promise>ALL GREEN</promise>\n```", false),
        ("> <promise>ALL GREEN</promise>", false),
        ("<promise>BUILD COMPLETE</promise>", false),
        ("So.\n<promise>ALL GREEN</promise>\n", true),
    ];
    let mut completed = 0;
    for seed in seeds() {
        let mut dice = Dice(seed * 13 + 3);
        let mut shop = Shop::new(&["branch", "loop"], ".claude/branches/main/state.json");
        let start = ["start", "Make it green", "--promise", "ALL GREEN", "--max-iterations", "90"];
        assert!(shop.runs(&start));
        let clumsiness = dice.roll(3);
        let mut is_complete = false;
        for step in 0..50 {
            let mut promised = false;
            match dice.roll(12) {
                0 if dice.roll(3) < clumsiness => shop.damages(&mut dice),
                1 if dice.roll(2) == 0 => shop.turns(&mut dice),
                2 => {
                    // A session that was resumed elsewhere finds its loop again with a prompt.
                    shop.check_out(dice.one(&["main", "other"]));
                    shop.sends("UserPromptSubmit", json!({"prompt": "go on"}));
                }
                3..=5 => shop.works(&mut dice),
                _ => {
                    // The true word comes late: most of a history is on its way.
                    let (message, counts) = words[dice.roll(5 + u64::from(step > 25)) as usize];
                    shop.stops(message, dice.roll(4) == 0);
                    promised = counts;
                }
            }
            let now = shop.read();
            let verdict = now["loop"]["verdict"].as_str();
            assert!(verdict != Some("complete") || promised, "seed {seed}, step {step}: {now:#}");
            let drives = now["loop"]["session_id"] == shop.session.as_str();
            if promised && drives && !shop.is_damaged {
                assert_eq!(verdict, Some("complete"), "seed {seed}, step {step}: {now:#}");
            }
            is_complete = verdict == Some("complete");
            if is_complete {
                break;
            }
            if verdict.is_some() {
                shop.runs(&["resume"]);
            }
        }
        completed += u64::from(is_complete);
        shop.leaves(&mut dice, &format!("branch, seed {seed}"));
    }
    assert!(completed > 0, "no history came to its end: the model proves nothing");
}

#[test]
fn an_iterative_task_is_complete_after_all_its_signals_and_lets_go() {
    let signals = [
        "T1_DONE",
        "T1_VERIFIED",
        "T1_GAPS",
        "T2_DONE",
        "T2_VERIFIED",
        "TASK_VERIFIED",
        "BLOCKED: no",
    ];
    let mut completed = 0;
    for seed in seeds() {
        let mut dice = Dice(seed * 7 + 1);
        let mut shop = Shop::new(&["iterative"], ".claude/iterative/auth/state.json");
        let units =
            ["--unit", "T1: Model | tests pass | max 40", "--unit", "T2: Login | works | max 40"];
        assert!(shop.runs(
            &[&["new", "auth", "--task", "Auth", "--mode", "development"], &units[..]].concat()
        ));
        let mut said: BTreeMap<&str, u64> = BTreeMap::new();
        let clumsiness = dice.roll(3);
        let mut is_complete = false;
        // A model that is told what to say does so more often than not.
        let mut next = "T1_DONE";
        for step in 0..60 {
            let reply = match dice.roll(12) {
                0 if dice.roll(3) < clumsiness => {
                    shop.damages(&mut dice);
                    Value::Null
                }
                1 if dice.roll(2) == 0 => {
                    shop.turns(&mut dice);
                    Value::Null
                }
                2 => {
                    shop.works(&mut dice);
                    Value::Null
                }
                roll => {
                    let signal = if roll < 4 { dice.one(&signals) } else { next };
                    if signal.starts_with("BLOCKED") && dice.roll(3) > 0 {
                        continue;
                    }
                    *said.entry(signal).or_default() += 1;
                    shop.stops(&format!("So.\n<signal>{signal}</signal>"), dice.roll(6) == 0)
                }
            };
            let asked = reply["reason"].as_str().unwrap_or_default();
            let wanted =
                signals.iter().find(|signal| asked.contains(&format!("<signal>{signal}<")));
            next = wanted.unwrap_or(&next);
            if shop.read()["verdict"] == "complete" {
                for (signal, times) in [
                    ("T1_DONE", 2),
                    ("T2_DONE", 2),
                    ("T1_VERIFIED", 1),
                    ("T2_VERIFIED", 1),
                    ("TASK_VERIFIED", 1),
                ] {
                    let heard = said.get(signal).copied().unwrap_or(0);
                    assert!(
                        heard >= times,
                        "seed {seed}, step {step}: {signal} was said {heard} times"
                    );
                }
                is_complete = true;
                break;
            }
        }
        completed += u64::from(is_complete);
        shop.leaves(&mut dice, &format!("iterative, seed {seed}"));
    }
    assert!(completed > 0, "no history came to its end: the model proves nothing");
}
