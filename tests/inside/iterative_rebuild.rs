//! What the log tells is what the state says, for every history that the rules allow.

use hookkeeper::inside::core::id::TaskSlug;
use hookkeeper::inside::core::time;
use hookkeeper::inside::loops::Loop;
use hookkeeper::inside::loops::Verdict;
use hookkeeper::inside::loops::governor::Decision;
use hookkeeper::inside::loops::governor::Stop;
use hookkeeper::inside::loops::governor::decide;
use hookkeeper::inside::loops::iterative::document::Task;
use hookkeeper::inside::loops::iterative::document::Unit;
use hookkeeper::inside::loops::iterative::document::brief;
use hookkeeper::inside::loops::iterative::document::brief::Brief;
use hookkeeper::inside::loops::iterative::document::differences::differences;
use hookkeeper::inside::loops::iterative::document::lifecycle::Status;
use hookkeeper::inside::loops::iterative::document::plan;
use hookkeeper::inside::loops::iterative::document::progress::CREATED;
use hookkeeper::inside::loops::iterative::document::progress::Entry;
use hookkeeper::inside::loops::iterative::document::progress::HEAD;
use hookkeeper::inside::loops::iterative::document::progress::Log;
use hookkeeper::inside::loops::iterative::document::rebuild::Sources;
use hookkeeper::inside::loops::iterative::document::rebuild::rebuild;
use hookkeeper::inside::loops::iterative::document::task_documents::TaskDocuments;
use hookkeeper::inside::loops::iterative::rules::IterativeLoop;
use hookkeeper::inside::loops::iterative::rules::advance;
use hookkeeper::inside::loops::iterative::rules::advance::go_on;
use hookkeeper::inside::loops::iterative::rules::review;
use hookkeeper::inside::loops::iterative::rules::signal::UnitSignal;
use hookkeeper::inside::loops::iterative::seen::Seen;
use hookkeeper::inside::state::NoFiles;
use hookkeeper::inside::state::State;
use hookkeeper::inside::state::plan::Change;
use hookkeeper::inside::state::plan::Plan;

use crate::support::dice::Dice;

/// The files of a task, as the store would hold them.
struct Files {
    state: Task,
    progress: String,
    plan: Option<String>,
    brief: String,
}

impl Files {
    /// Carries out what a book wants to be written; the log may only grow.
    fn take(&mut self, book: &TaskDocuments) {
        let mut changes = Plan::default();
        book.write(&mut changes, &State::new(&NoFiles));
        for change in changes.changes {
            match change {
                Change::Append(_, text) => self.progress.push_str(&text),
                Change::Put(write) if write.doc().place().1 == "state.json" => {
                    self.state = serde_json::from_slice(&write.pieces().to_vec()).unwrap();
                }
                Change::Put(write) => {
                    self.plan = Some(String::from_utf8(write.pieces().to_vec()).unwrap());
                }
                other => panic!("{other:?}"),
            }
        }
    }

    fn rebuilt(&self) -> Task {
        let log = Log::parse(&self.progress).unwrap();
        let sources = Sources {
            slug: "task",
            brief: Some(&self.brief),
            plan: self.plan.as_deref(),
            log: &log,
            commits: self.state.commits.clone(),
            old: None,
        };
        rebuild(&sources).unwrap()
    }
}

fn random_task(dice: &mut Dice) -> Task {
    let knowledge = dice.roll(2) == 0;
    let mode = if knowledge { "knowledge" } else { "development" };
    let mut task = Task {
        task: dice.one(&["Login", "a/b - c", "漢字 → x", "# odd ## `title`"]).into(),
        slug: "task".into(),
        mode: mode.into(),
        domain: Some("research".into()),
        created: "2026-01-29T10:30:00Z".into(),
        ..Task::default()
    };
    let prefix = if knowledge { "R" } else { "T" };
    let ids: Vec<String> = (1..=dice.roll(6)).map(|n| format!("{prefix}{n}")).collect();
    for (n, id) in ids.iter().enumerate() {
        let needs = ids[..n].iter().filter(|_| dice.roll(3) == 0).cloned().collect();
        let unit = Unit {
            title: dice.one(&["Model", "The ** form", "x: y - z", "[x] **T9**: no"]).into(),
            criteria: dice.one(&["", "tests pass", "a, b → c", "- Max iterations: 99"]).into(),
            needs,
            files: (0..dice.roll(3)).map(|n| format!("src/{n}.rs")).collect(),
            output: dice.one(&["", "outputs/a.md"]).into(),
            model: dice.one(&["", "sonnet"]).into(),
            max_iterations: 1 + dice.roll(6),
            ..Unit::default()
        };
        task.units_mut().0.push((id.clone(), unit));
    }
    task.units_mut();
    task.settle();
    task
}

/// Outputs come, change and go while the work goes on.
fn look(book: &mut TaskDocuments, dice: &mut Dice) {
    let mut seen = Seen::default();
    for id in book.state.units().ids() {
        let digest = dice.one(&["", "old", "new", "new", "newer"]);
        if !digest.is_empty() {
            seen.outputs.insert(id.to_owned(), digest.to_owned());
        }
    }
    book.see(seen);
}

/// A unit that has become done had its output, and it was not as it was when the unit began.
fn check_outputs(before: &TaskDocuments, after: &TaskDocuments, what: &str) {
    for (id, unit) in after.state.units().iter().filter(|(_, unit)| !unit.output.is_empty()) {
        let was_done = before.state.unit(id).is_some_and(|unit| unit.is(Status::Done));
        if unit.is(Status::Done) && !was_done {
            let output = after.seen.outputs.get(id);
            assert!(output.is_some(), "{what}: {id} is done without its output");
            assert!(output != after.log.output_before(id), "{what}: {id} has changed nothing");
        }
    }
}

/// What completes a task: every unit is closed, the whole was reviewed, and the outputs are there.
fn check_complete(book: &TaskDocuments, what: &str) {
    let state = &book.state;
    assert!(state.all_closed(), "{what}: complete with open units");
    let reviewed = |entry: &Entry| entry.signal.as_deref() == Some("TASK_VERIFIED");
    assert!(book.log.entries.iter().any(reviewed), "{what}: complete without a review");
    for (id, unit) in state.units().iter().filter(|(_, unit)| unit.is(Status::Done)) {
        let has_output = unit.output.is_empty() || book.seen.outputs.contains_key(id);
        assert!(has_output, "{what}: {id} is delivered without its output");
    }
}

/// Something that a model, a person or the governor could do. What the rules refuse changes nothing.
fn act(book: &mut TaskDocuments, dice: &mut Dice) {
    look(book, dice);
    let before = book.state.clone();
    let ids: Vec<String> = book.state.units().ids().iter().map(|id| (*id).to_owned()).collect();
    let at_random =
        ids.get(dice.roll(ids.len().max(1) as u64) as usize).cloned().unwrap_or_default();
    let current = book.state.current().unwrap_or(&at_random).to_owned();
    let refused = match dice.roll(12) {
        0..=5 => {
            let who = if dice.roll(6) == 0 { &at_random } else { &current };
            let text = match dice.roll(7) {
                0 => "BLOCKED: no key: ask - them".to_owned(),
                1 => format!("{who}_GAPS"),
                2 | 3 => format!("{who}_VERIFIED"),
                _ => format!("{who}_DONE"),
            };
            advance::signal(book, &UnitSignal::parse(&text).unwrap(), dice.roll(4) == 0)
        }
        6 => advance::no_signal(book),
        7 if review::is_on(book) => {
            let said = dice.one(&["TASK_VERIFIED", "TASK_VERIFIED", "TASK_GAPS", "BLOCKED: x"]);
            let _ = review::record_verdict(book, &[UnitSignal::parse(said).unwrap()]);
            return;
        }
        7 => {
            let forged = "x\n## T1 - Iteration 9 - now\n**Status:** done";
            let entry = Entry {
                did: Some(dice.one(&[forged, "  a  b ", "…"]).into()),
                remaining: Some(dice.one(&["None", "tests", ""]).into()),
                signal: Some(format!("{at_random}_DONE")),
                ..Entry::default()
            };
            advance::note(book, &at_random, entry)
        }
        8 => match dice.roll(3) {
            0 => advance::skip(book, &at_random, Some("not: now".into())),
            1 => advance::skip(book, &at_random, None),
            _ => advance::limit(book, &at_random, 1 + dice.roll(9)),
        },
        9 => advance::unblock(book, &at_random),
        10 => {
            let mut entry = Entry::of_task("Phase");
            entry.phase = Some(dice.one(&["execute", "execute", "plan", "execute"]).into());
            entry.session = Some(dice.one(&["none", "s1", "s2"]).into());
            book.record(entry)
        }
        _ => {
            let mut entry = Entry::of_task("Ended");
            let verdicts = ["none", "none", "cancelled: by a: command", "stalled"];
            let verdict = dice.one(&verdicts);
            // What is complete stays complete.
            if book.state.ending.is_complete() {
                return;
            }
            entry.verdict = Some(verdict.into());
            book.record(entry)
        }
    };
    if let Err(why) = refused {
        assert_eq!(book.state, before, "refused, and changed all the same: {why}");
    }
    if dice.roll(3) > 0 {
        go_on(book).unwrap();
    }
}

fn check(task: &Task, what: &str) {
    let at_work = task.units().iter().filter(|(_, unit)| unit.is_at_work()).count();
    assert!(at_work <= 1, "{what}: {at_work} units at work");
    for (id, unit) in task.units().iter() {
        if unit.is(Status::Done) {
            assert!(unit.confirmations_used >= 1, "{what}: {id} is done without a confirmation");
            assert_eq!(unit.verification_passed, Some(true), "{what}: {id}");
            assert!(unit.completed_at.is_some(), "{what}: {id}");
        }
        assert!(unit.iterations_used <= unit.max_iterations, "{what}: {id} is past its limit");
        if unit.is_at_work() {
            let closed = |need: &String| task.unit(need).is_some_and(Unit::is_closed);
            // A need that was skipped may be taken up again later.
            assert!(
                unit.needs.iter().all(|need| closed(need) || task.unit(need).is_some()),
                "{what}"
            );
        }
    }
}

#[test]
fn the_log_tells_the_state() {
    let mut done = 0;
    for seed in 1..600_u64 {
        let mut dice = Dice(seed * 6_364_136_223 + 1);
        let task = random_task(&mut dice);
        let brief = brief::render(&task, &Brief::default());
        let slug = TaskSlug::new("task").unwrap();
        let mut now = time::parse(&task.created).unwrap();
        let mut book = TaskDocuments::with(slug.clone(), task, Log::default(), None, now);
        let mut entry = Entry::of_task(CREATED);
        entry.phase = Some("execute".into());
        entry.session = (dice.roll(2) == 0).then(|| "s1".into());
        book.record(entry).unwrap();
        go_on(&mut book).unwrap();
        let mut files = Files { state: Task::default(), progress: HEAD.into(), plan: None, brief };
        files.take(&book);
        for n in 0..40 {
            let what = format!("seed {seed}, step {n}");
            now += chrono::TimeDelta::seconds(i64::try_from(dice.roll(90)).unwrap());
            let opened = TaskDocuments::open(
                slug.clone(),
                files.state.clone(),
                Some(&files.progress),
                files.plan.clone(),
                now,
            );
            let mut book = opened.unwrap();
            assert!(book.conflicts.is_empty(), "{what}: {:?}", book.conflicts);
            for _ in 0..=dice.roll(2) {
                let was_complete = book.state.ending.is_complete();
                act(&mut book, &mut dice);
                if book.state.ending.is_complete() && !was_complete {
                    check_complete(&book, &what);
                }
            }
            check(&book.state, &what);
            let old = files.progress.clone();
            files.take(&book);
            assert!(files.progress.starts_with(&old), "{what}: an entry was changed");
            let anew = files.rebuilt();
            assert_eq!(
                anew,
                files.state,
                "{what}: {:?}\n{}",
                differences(&files.state, &anew),
                files.progress
            );
        }
        done += usize::from(files.state.ending.verdict.as_deref() == Some("complete"));
        let text = plan::render(&files.state);
        assert_eq!(plan::update(&text, &files.state), text, "seed {seed}");
    }
    assert!(done > 20, "only {done} histories came to their end");
}

/// The governor drives tasks to an end, whatever the model says.
#[test]
fn a_driven_task_keeps_the_rules_and_ends() {
    let mut complete = 0;
    for seed in 1..1500_u64 {
        let mut dice = Dice(seed * 2_862_933_555 + 3);
        let mut task = random_task(&mut dice);
        task.phase = "execute".into();
        let slug = TaskSlug::new("task").unwrap();
        let now = time::parse(&task.created).unwrap();
        let mut book = TaskDocuments::with(slug, task, Log::default(), None, now);
        let mut entry = Entry::of_task(CREATED);
        entry.phase = Some("execute".into());
        book.record(entry).unwrap();
        if book.state.units().is_empty() {
            continue;
        }
        let most: u64 =
            book.state.units().iter().map(|(_, unit)| 3 * unit.max_iterations + 6).sum();
        let most = most + u64::try_from(review::TURNS).unwrap();
        let mut driven = IterativeLoop::new(book, &State::new(&NoFiles));
        let mut turns = 0;
        loop {
            let is_review = review::is_on(&driven.documents);
            let none = if is_review { "TASK" } else { "none" };
            let id = driven.documents.state.current().unwrap_or(none).to_owned();
            look(&mut driven.documents, &mut dice);
            let words =
                ["DONE", "DONE", "DONE", "VERIFIED", "VERIFIED", "GAPS", "BLOCKED: x", "nothing"];
            let is_verifying =
                driven.documents.state.unit(&id).is_some_and(|unit| unit.is(Status::Verifying));
            // Mostly what helps, so that some come to their end.
            let helps = if is_review || is_verifying { "VERIFIED" } else { "DONE" };
            let word = if dice.roll(2) == 0 { helps } else { dice.one(&words) };
            let message = format!("<signal>{id}_{word}</signal>");
            driven.changed = dice.roll(5) == 0;
            let has_company = dice.roll(9) == 0;
            let before = driven.documents.clone();
            let stop = Stop {
                message: &message,
                has_company,
                is_told: true,
                tools_ran: true,
                blocks: 0,
                cap: 8,
                now,
            };
            let decision = decide(&mut driven, &stop);
            check(&driven.documents.state, &format!("seed {seed}"));
            check_outputs(&before, &driven.documents, &format!("seed {seed}"));
            if has_company {
                assert_eq!(
                    driven.documents, before,
                    "seed {seed}: something was counted beside an agent"
                );
                continue;
            }
            turns += 1;
            assert!(turns <= most, "seed {seed}: it goes on for ever");
            match decision {
                Decision::Block { reason, .. } => {
                    assert!(driven.is_running() && reason.chars().count() < 4000, "seed {seed}");
                    let confirming = driven
                        .documents
                        .state
                        .current()
                        .and_then(|id| driven.documents.state.unit(id));
                    if confirming.is_some_and(|unit| unit.is(Status::Confirming)) {
                        let said = reason.to_lowercase();
                        assert!(
                            !said.contains("confirm") && !said.contains("again"),
                            "seed {seed}: {reason}"
                        );
                    }
                }
                Decision::Allow { tell, .. } => {
                    assert!(tell.is_some(), "seed {seed}: nobody is told");
                    break;
                }
                Decision::Nothing => panic!("seed {seed}: an open task says nothing"),
            }
        }
        let over = !driven.is_running();
        let waits = review::waits(&driven.documents);
        assert_eq!(over || waits, driven.documents.state.all_closed(), "seed {seed}");
        if over {
            check_complete(&driven.documents, &format!("seed {seed}"));
            complete += 1;
        }
        // A person's word ends whatever waits.
        if !over {
            driven.end(Verdict::Cancelled, "a person", now);
            assert!(!driven.is_running(), "seed {seed}: it is trapped");
        }
        assert!(over || driven.documents.state.current().is_none(), "seed {seed}");
    }
    assert!(complete > 20, "only {complete} tasks were completed");
}
