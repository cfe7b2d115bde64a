//! Random histories of an autonomous loop, through the binary and with real git, against a model that
//! knows what is proven: none ends `complete` without what completes it, and none is trapped.

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Value, json};

use crate::support::autonomous::*;
use crate::support::dice::Dice;
use crate::support::{Scratch, event, good};

const PHASES: [&str; 11] = [
    "brainstorm",
    "plan",
    "spec_test",
    "deepen",
    "work",
    "review",
    "fix",
    "re_review",
    "compound",
    "test",
    "ship",
];
const DOCUMENTS: [&str; 5] = ["brainstorm", "plan", "spec_test", "deepen", "compound"];

/// What really happened, whatever anybody wrote into a file.
#[derive(Default)]
struct Truth {
    /// Phases that somebody showed something for that was committed while they lasted.
    proven: BTreeSet<String>,
    approved: bool,
    /// By the last report.
    open: bool,
    /// Documents that were committed in this phase and have not been shown.
    fresh: BTreeSet<String>,
    /// Whether anything was committed in this phase, after the last receipt.
    commits: bool,
    phase: String,
    step: u64,
}

/// As it was seen last: the file may say anything.
fn phase(scratch: &Scratch) -> String {
    scratch.doc("loop/autonomous.json")["phase"].as_str().unwrap_or_default().to_owned()
}

impl Truth {
    /// Notes where the loop is after a step; a new phase begins without commits.
    fn look(&mut self, scratch: &Scratch) {
        let now = phase(scratch);
        if now != self.phase {
            self.fresh.clear();
            self.commits = false;
        }
        self.phase = now;
    }

    fn commits(&mut self, scratch: &Scratch) {
        let name = format!("docs/{}.md", self.phase);
        self.step += 1;
        commit(scratch, &name, &format!("Version {}\n", self.step));
        self.fresh.insert(name);
        self.commits = true;
    }

    /// A receipt through the command: honest or not, only what is new may be taken.
    fn advances(&mut self, scratch: &Scratch, dice: &mut Dice) {
        let at = self.phase.clone();
        let document = match dice.roll(4) {
            0 => "README.md".to_owned(),
            1 => "docs/plan.md".to_owned(),
            _ => format!("docs/{at}.md"),
        };
        let findings = u64::from(dice.roll(3) == 0);
        let mut args = vec!["autonomous", "advance", "--summary", "x"];
        let count = findings.to_string();
        let finds = ["review", "re_review", "test"].contains(&at.as_str());
        if DOCUMENTS.contains(&at.as_str()) {
            args.extend(["--artifact", &document]);
        }
        if finds {
            args.extend(["--findings", &count]);
        }
        let ships = at == "ship" && dice.roll(2) == 0;
        if ships {
            args.extend(["--pr-url", "https://example.com/pull/7"]);
        }
        if scratch.run(&args, b"").code != Some(0) {
            return;
        }
        let earned = match at.as_str() {
            phase if DOCUMENTS.contains(&phase) => self.fresh.contains(&document),
            "work" | "fix" | "test" => self.commits,
            "ship" => ships,
            _ => true,
        };
        assert!(earned, "{at} was left with nothing new ({document})");
        if finds {
            self.open = findings > 0;
        }
        self.proven.insert(at);
        self.fresh.clear();
        self.commits = false;
    }

    /// A model that writes the file: receipts of any commit, any phase, counters, verdicts.
    fn meddles(&mut self, scratch: &Scratch, dice: &mut Dice) {
        let commits = git(scratch, &["rev-list", "--max-count=4", "HEAD"]);
        let commits: Vec<&str> = commits.lines().collect();
        let old = git(scratch, &["rev-list", "--max-parents=0", "HEAD"]);
        let sha = match dice.roll(3) {
            0 => commits[0].to_owned(),
            1 => old,
            _ => "0000000".to_owned(),
        };
        let to = PHASES[dice.roll(11) as usize];
        let roll = dice.roll(8);
        edit(scratch, |state| {
            match roll {
            0 => drop(state.insert("phase".into(), json!(to))),
            1 => {
                let all = PHASES.map(|phase| json!({"phase": phase, "artifact": "README.md", "git_sha": sha, "timestamp": ""}));
                state.insert("receipts".into(), all.to_vec().into());
                state.insert("phase".into(), json!("ship"));
                state.insert("phases_completed".into(), json!(PHASES));
            }
            2 => drop(state.insert("receipts".into(), json!([]))),
            3 => {
                state.insert("skip_test_review".into(), json!(true));
                state.remove("awaiting_approval");
            }
            4 => drop(state.insert("errors".into(), json!([{"phase": to, "message": "advanced without a receipt: x", "iteration": 1, "timestamp": ""}]))),
            5 => drop(state.insert("max_fix_cycles".into(), json!(99))),
            6 => drop(state.insert("fix_review_cycles".into(), json!(0))),
            _ => drop(state.remove("session_id")),
        }
        });
    }

    fn says(&mut self, scratch: &Scratch, text: &str) {
        scratch.hook(&event(SESSION, "UserPromptSubmit", json!({"prompt": text})));
        if text == "approve" && phase(scratch) != "spec_test" {
            self.approved = true;
        }
        if text == "ship" && state(scratch).get("verdict").is_none() {
            self.open = false;
        }
    }
}

#[test]
fn nothing_is_complete_that_is_not_and_nobody_is_trapped() {
    let seconds = std::env::var("HOOKKEEPER_FUZZ_SECONDS").ok().and_then(|s| s.parse::<u64>().ok());
    let seeds = seconds.map_or(6, |seconds| seconds * 2);
    let mut completed = 0;
    for seed in 1..=seeds {
        completed += u64::from(history(seed));
    }
    assert!(completed > 0, "no history came to its end: the model proves nothing");
}

/// Plays one history; whether it was complete.
fn history(seed: u64) -> bool {
    let mut dice = Dice(seed * 17 + 9);
    let scratch = shop();
    start(
        &scratch,
        &[
            "--skip-brainstorm",
            "--max-iterations",
            "200",
            "--max-phase-iterations",
            "100",
            "--max-fix-cycles",
            "1",
        ],
    );
    let mut truth = Truth { phase: "plan".into(), ..Truth::default() };
    // Some models do their work, others write the file.
    let diligence = 2 + dice.roll(5);
    for step in 0..110 {
        match dice.roll(9) {
            0 if dice.roll(diligence) == 0 => truth.meddles(&scratch, &mut dice),
            0..=2 => truth.commits(&scratch),
            3..=5 => truth.advances(&scratch, &mut dice),
            6 => truth
                .says(&scratch, ["approve", "Approve?", "ship", "go on"][dice.roll(4) as usize]),
            _ => {
                let message = ["on", "<promise>SHIPPED</promise>"][dice.roll(2) as usize];
                stop(&scratch, message);
            }
        }
        let found = state(&scratch);
        if found.get("verdict") == Some(&json!("complete")) {
            let wanted =
                ["plan", "spec_test", "deepen", "work", "review", "compound", "test", "ship"];
            let missing: Vec<&&str> =
                wanted.iter().filter(|phase| !truth.proven.contains(**phase)).collect();
            assert!(
                missing.is_empty(),
                "seed {seed}, step {step}: complete without {missing:?}: {found:#}"
            );
            assert!(truth.approved, "seed {seed}, step {step}: nobody approved");
            assert!(!truth.open, "seed {seed}, step {step}: findings are open");
            return true;
        }
        if found.get("verdict").is_some() {
            let _ = scratch.run(&["autonomous", "resume"], b"");
        }
        truth.look(&scratch);
    }
    leave(&scratch, seed);
    false
}

/// A person can always leave: by a prompt, or by a command.
fn leave(scratch: &Scratch, seed: u64) {
    let running = state(scratch).get("verdict").is_none_or(Value::is_null);
    if running && seed.is_multiple_of(2) {
        scratch.hook(&event(SESSION, "UserPromptSubmit", json!({"prompt": "stop the loop"})));
        assert_eq!(state(scratch)["verdict"], "cancelled", "seed {seed}");
    } else if running {
        good(scratch.run(&["autonomous", "cancel"], b""));
    }
    assert_ne!(stop(scratch, "on").get("decision"), Some(&json!("block")), "seed {seed}");
    assert_eq!(stop(scratch, "on"), Value::Null, "seed {seed}");
    fs::remove_file(file(scratch)).unwrap();
    assert_ne!(stop(scratch, "on").get("decision"), Some(&json!("block")), "seed {seed}");
}
