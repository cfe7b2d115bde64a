//! What the governor promises, over random loops and random stops: it never blocks a loop that is
//! over, never exceeds a limit, never loses count, and a loop that is over stays over.

use std::cell::Cell;

use hookkeeper::inside::branch::document::BranchLoop;
use hookkeeper::inside::core::id::BranchKey;
use hookkeeper::inside::core::time;
use hookkeeper::inside::loops::Loop;
use hookkeeper::inside::loops::autonomous::document::Autonomous;
use hookkeeper::inside::loops::autonomous::document::Receipt;
use hookkeeper::inside::loops::autonomous::rules as autonomous;
use hookkeeper::inside::loops::autonomous::rules::phase::Phase;
use hookkeeper::inside::loops::autonomous::rules::receipts::Evidence;
use hookkeeper::inside::loops::branch::rules::DrivenBranch;
use hookkeeper::inside::loops::governor::Decision;
use hookkeeper::inside::loops::governor::Stop;
use hookkeeper::inside::loops::governor::decide;
use hookkeeper::inside::loops::queue::document::Item;
use hookkeeper::inside::loops::queue::document::Queue;
use hookkeeper::inside::loops::queue::progress;
use hookkeeper::inside::loops::queue::rules::QueueLoop;
use hookkeeper::inside::loops::queue::rules::start;

use crate::support::dice::Dice;

struct Stand {
    iteration: u64,
    most: u64,
    verdict: Option<String>,
    /// A person is waited for.
    waits: bool,
}

/// Plays stops against a loop, and checks what must hold after each of them.
fn play<L: Loop>(
    seed: u64,
    mut driven: L,
    stand: impl Fn(&L) -> Stand,
    mut meddle: impl FnMut(&mut L, &mut Dice),
) {
    let mut dice = Dice(seed * 2 + 1);
    let mut now = time::parse("2026-01-29T10:30:00Z").unwrap();
    let cap = [0, 1, 2, 3, 8][dice.roll(5) as usize];
    let mut blocks = 0;
    for step in 0..60 {
        let what = format!("seed {seed}, step {step}");
        now += chrono::TimeDelta::seconds(i64::try_from(dice.roll(400)).unwrap());
        if dice.roll(3) == 0 {
            blocks = 0;
        }
        meddle(&mut driven, &mut dice);
        let before = stand(&driven);
        let was_over = !driven.is_running();
        let message = ["", "working", "<promise>DONE</promise>", "`<promise>DONE</promise>`"]
            [dice.roll(4) as usize];
        let has_company = dice.roll(5) == 0;
        let stop = Stop {
            message,
            has_company,
            is_told: blocks > 0,
            tools_ran: blocks == 0,
            blocks,
            cap,
            now,
        };
        let decision = decide(&mut driven, &stop);
        let after = stand(&driven);
        assert!(after.iteration >= before.iteration, "{what}: the counter goes back");
        assert!(after.iteration <= after.most.max(before.iteration), "{what}: past the limit");
        match &decision {
            Decision::Block { reason, tell, .. } => {
                assert!(!was_over && driven.is_running(), "{what}: a loop that is over blocks");
                assert!(!has_company, "{what}: blocked while an agent runs");
                assert!(
                    !reason.is_empty() && reason.chars().count() < 4000 && !tell.is_empty(),
                    "{what}"
                );
                assert_eq!(
                    after.iteration,
                    before.iteration + 1,
                    "{what}: a block is an iteration"
                );
                blocks += 1;
                assert!(
                    cap == 0 || blocks < cap.max(2),
                    "{what}: {blocks} blocks in a row with a cap of {cap}"
                );
            }
            Decision::Allow { tell, .. } => {
                assert!(!was_over, "{what}");
                assert_eq!(
                    after.verdict.is_some() || after.waits,
                    tell.is_some(),
                    "{what}: a verdict is told, and who is waited for"
                );
                blocks = 0;
            }
            Decision::Nothing => assert!(was_over, "{what}: nothing is said of a loop that runs"),
        }
        if was_over {
            assert_eq!(after.verdict, before.verdict, "{what}: a verdict changes");
            assert_eq!(after.iteration, before.iteration, "{what}");
        }
        assert_eq!(!driven.is_running(), after.verdict.is_some(), "{what}: an end has a verdict");
    }
}

#[test]
fn a_queue_loop_keeps_the_rules() {
    for seed in 1..3000 {
        let mut dice = Dice(seed * 7 + 3);
        let mut queue = Queue::default();
        let now = time::parse("2026-01-29T10:30:00Z").unwrap();
        start(&mut queue, "task", Some("s".into()), &progress::Evidence::default(), now);
        queue.max_iterations = Some(1 + dice.roll(20));
        queue.max_minutes = (dice.roll(3) == 0).then(|| 1 + dice.roll(200));
        queue.gates = (0..dice.roll(3)).map(|n| format!("gate{n}")).collect();
        let stand = |driven: &QueueLoop| Stand {
            iteration: driven.queue.iteration,
            most: driven.queue.max_iterations.unwrap(),
            verdict: driven.queue.ending.verdict.clone(),
            waits: false,
        };
        play(seed, QueueLoop { queue, ..QueueLoop::default() }, stand, |driven, dice| {
            // The model works on its items and gates, and sometimes writes nonsense.
            let queue = &mut driven.queue;
            match dice.roll(6) {
                0 => {
                    queue.add(Item { priority: "S1".into(), title: "i".into(), ..Item::default() });
                }
                1 => queue.items.iter_mut().for_each(|item| item.status = "done".into()),
                2 | 3 => {
                    for name in queue.gate_names() {
                        let status = ["pass", "warn", "fail"][dice.roll(3) as usize];
                        let gate = serde_json::json!({"status": status, "iteration": queue.iteration, "timestamp": ""});
                        queue.gate_results.insert(name, gate);
                    }
                }
                4 => {
                    queue.gate_results.insert("odd".into(), serde_json::json!([1, "x"]));
                }
                _ => {}
            }
        });
    }
}

#[test]
fn a_branch_loop_keeps_the_rules() {
    for seed in 1..3000 {
        let mut dice = Dice(seed * 11 + 5);
        let the_loop = BranchLoop {
            active: true,
            iteration: 1,
            max_iterations: 1 + dice.roll(20),
            completion_promise: "DONE".into(),
            prompt: "x".repeat(dice.roll(9000) as usize),
            started_at: "2026-01-29T10:30:00Z".into(),
            max_minutes: (dice.roll(3) == 0).then(|| 1 + dice.roll(200)),
            ..BranchLoop::default()
        };
        let driven = DrivenBranch {
            the_loop,
            branch: "b".into(),
            key: BranchKey::from_branch("b"),
            elsewhere: None,
        };
        let stand = |driven: &DrivenBranch| Stand {
            iteration: driven.the_loop.iteration,
            most: driven.the_loop.max_iterations,
            verdict: driven.the_loop.ending.verdict.clone(),
            waits: false,
        };
        play(seed, driven, stand, |_, _| {});
    }
}

#[test]
fn an_autonomous_loop_keeps_the_rules() {
    for seed in 1..3000 {
        let mut dice = Dice(seed * 13 + 7);
        let most = dice.roll(40) + 1;
        let state = Autonomous {
            feature: "x".repeat(dice.roll(9000) as usize),
            phase: Phase::ALL[dice.roll(11) as usize].name().into(),
            max_iterations: most,
            max_phase_iterations: 1 + dice.roll(6),
            completion_promise: "DONE".into(),
            skip_test_review: dice.roll(2) == 0,
            started_at: "2026-01-29T10:30:00Z".into(),
            max_minutes: (dice.roll(3) == 0).then(|| 1 + dice.roll(200)),
            ..Autonomous::default()
        };
        let now = time::parse("2026-01-29T10:30:00Z").unwrap();
        // Git confirms every other receipt.
        let evidence = Evidence {
            present: ["there.md".to_owned()].into(),
            faults: (0..200).map(|at| (at, (at % 2 == 1).then(|| "no".to_owned()))).collect(),
            ..Evidence::default()
        };
        let driven = autonomous::AutonomousLoop::new(state, None, evidence.clone(), now);
        let gated = Cell::new(driven.watched.gate && !driven.watched.approved);
        let stand = |driven: &autonomous::AutonomousLoop| {
            let past = Phase::named(&driven.state.phase).is_some_and(|at| at > Phase::SpecTest);
            // A phase that was moved by hand is there until the Stop that judges it.
            let judged = driven.state.phase == driven.watched.phase;
            assert!(!(gated.get() && past && judged), "seed {seed}: nobody approved");
            Stand {
                iteration: driven.state.global_iteration,
                most,
                verdict: driven.state.ending.verdict.clone(),
                waits: driven.state.awaiting_approval
                    || Phase::named(&driven.state.phase).is_none(),
            }
        };
        play(seed, driven, stand, |driven, dice| {
            // What a Stop leaves behind is what the next one begins with. In between the model
            // writes the file as it likes.
            let seen = driven.seen();
            let past = Phase::named(&seen.phase).is_some_and(|at| at > Phase::SpecTest);
            assert!(
                !(gated.get() && past),
                "seed {seed}: nobody approved, and it is past the tests"
            );
            let before = driven.state.clone();
            let mut state = before.clone();
            let receipt = |phase: &str, artifact: &str| Receipt {
                phase: phase.into(),
                artifact: artifact.into(),
                git_sha: "a1b2c3d".into(),
                ..Receipt::default()
            };
            match dice.roll(10) {
                0 => state.phase = Phase::ALL[dice.roll(11) as usize].name().into(),
                1 | 2 => {
                    let file = ["there.md", "missing.md"][dice.roll(2) as usize];
                    state.receipts.push(receipt(&before.phase, file));
                    let at = Phase::named(&before.phase);
                    if let Some(next) = at.and_then(|at| at.next(dice.roll(2) == 0, true)) {
                        state.phase = next.name().into();
                    }
                }
                3 => (state.awaiting_approval, state.skip_test_review) = (false, true),
                4 => (state.phase_iteration, state.fix_review_cycles) = (0, 0),
                5 => state.receipts.clear(),
                6 if dice.roll(9) == 0 => state.phase = "polish".into(),
                7 => state.global_iteration = 0,
                8 => (state.max_iterations, state.max_phase_iterations) = (u64::MAX, u64::MAX),
                9 => (state.session_id, state.ending.verdict) = (None, None),
                _ => {}
            }
            *driven = autonomous::AutonomousLoop::new(state, Some(seen), evidence.clone(), now);
            if dice.roll(3) == 0 {
                // A command that changes nothing of the phase.
                driven.settle();
                driven.watched = driven.seen();
            }
            if hookkeeper::inside::loops::autonomous::drive::is_awaiting(&driven.state)
                && dice.roll(4) == 0
            {
                // A person approves.
                gated.set(false);
                driven.watched = driven.seen();
                driven.approve(now);
            }
        });
    }
}

/// Each way on of the autonomous loop has a case that is called after it.
#[test]
fn every_way_on_has_a_case() {
    let cases = stop_cases();
    for phase in Phase::ALL {
        for has_findings in [false, true] {
            let Some(then) = phase.next(has_findings, true) else { continue };
            let name = format!("autonomous_loop_{}_to_{}", phase.name(), then.name());
            assert!(cases.contains(&name), "there is no case {name}");
        }
    }
}

/// The tables of decisions and the cases belong together.
#[test]
fn every_row_has_a_case() {
    let cases = stop_cases();
    for (file, prefix) in
        [("loops/governor.rs", ""), ("loops/iterative/rules/mod.rs", "iterative_")]
    {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(root.join("src").join(file)).unwrap();
        let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("//! | ")).collect();
        assert!(rows.len() > 20, "{file} has its table");
        for row in &rows[1..] {
            let names = row.split('|').nth(5).unwrap();
            let words: Vec<&str> = names.split('`').skip(1).step_by(2).collect();
            assert!(!words.is_empty(), "{file} names no case: {row}");
            for word in words {
                let is_case = |name: &String| name.starts_with(prefix) && name.contains(word);
                assert!(cases.iter().any(is_case), "{file} names a case that is not there: {word}");
            }
        }
    }
}

fn stop_cases() -> Vec<String> {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let entries = std::fs::read_dir(root.join("tests/cases/stop")).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}
