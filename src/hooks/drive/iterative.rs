//! An iterative task. A session that drives one has noted its folder.

use super::{Owner, count, counted};
use crate::books::iterative::book::Book;
use crate::books::iterative::lifecycle::Status;
use crate::books::iterative::progress::{Entry, Step};
use crate::books::live::Live;
use crate::event::Event;
use crate::hooks::session_start;
use crate::loops::governor::{Decision, Stop, decide};
use crate::loops::iterative::Driven;
use crate::loops::iterative::advance::confirm_anew;
use crate::plan::Plan;
use crate::snapshot::{Ask, Snapshot};
use crate::store::layout::Doc;

pub fn asks(live: &Live) -> Option<Ask> {
    live.loop_task.as_ref().map(|_| Ask::Iterative)
}

/// Of several tasks, the one that concerns a session: its own, the one that it goes on with, one
/// that nobody drives. The smaller the nearer.
pub fn rank(owner: Option<&str>, event: &Event, snapshot: &Snapshot) -> u8 {
    let own = event.session_id.as_str();
    let known = snapshot.own(event).and_then(|live| live.lineage.as_ref());
    let parent = known.map(|lineage| lineage.parent.clone());
    let parent = parent.or_else(|| session_start::parent(event, snapshot));
    match owner {
        Some(owner) if owner == own => 0,
        Some(owner) if parent.as_deref() == Some(owner) => 1,
        None => 2,
        Some(_) => 3,
    }
}

fn running(snapshot: &Snapshot) -> Option<&Book> {
    let book = snapshot.iterative.as_ref().filter(|book| book.state.is_open())?;
    (!Book::is_frozen(&book.slug, &snapshot.frozen)).then_some(book)
}

pub fn owner(snapshot: &Snapshot) -> Option<Owner<'_>> {
    running(snapshot).map(|book| Owner::of(book.state.session_id.as_ref()))
}

pub fn take(plan: &mut Plan, live: &mut Live, snapshot: &Snapshot) {
    let Some(book) = running(snapshot) else { return };
    live.loop_task = Some(book.slug.as_str().to_owned());
    let mut book = book.clone();
    let owner = book.state.session_id.clone();
    // What the driver before it changed, or this session before its record was closed, is forgotten.
    let mut moved = owner.is_some() && status(&book) == Some(Status::Confirming);
    moved = moved && confirm_anew(&mut book).is_ok();
    if owner.as_ref() != Some(&live.session_id) {
        moved |= book.record(adopted(&live.session_id)).is_ok();
    }
    if moved {
        book.write(plan);
    }
}

pub fn adopted(session_id: &str) -> Entry {
    let mut entry = Entry::of_task("Adopted");
    entry.session = Some(session_id.to_owned());
    entry
}

pub fn at_stop(
    plan: &mut Plan,
    live: &mut Live,
    snapshot: &Snapshot,
    stop: &Stop,
) -> Option<Decision> {
    live.loop_task.as_ref()?;
    let Some(book) = running(snapshot) else {
        left_behind(plan, snapshot);
        // It was ended elsewhere, or is gone; one that cannot be read may come back.
        let kept = snapshot.iterative.is_none() && snapshot.has(&Ask::Iterative);
        let frozen = snapshot.frozen.iter().any(|doc| matches!(doc, Doc::Iterative(..)));
        live.loop_task = live.loop_task.take().filter(|_| kept && frozen);
        return None;
    };
    let signalled = std::mem::take(&mut live.loop_signalled);
    if book.state.session_id.as_ref() != Some(&live.session_id) {
        return None;
    }
    if let Some(why) = rests(book) {
        return Some(Decision::Allow { outcome: why, tell: None });
    }
    let mut driven = Driven { book: book.clone(), changed: live.loop_edits > 0, signalled };
    put_back(&mut driven.book, live);
    let decision = decide(&mut driven, stop);
    let book = driven.book;
    if let Some(id) = book.state.current() {
        count(live, counter(&book, id), book.state.current_iteration);
    }
    if book.begins_to_confirm() {
        live.loop_edits = 0;
    }
    if !book.state.is_open() {
        live.loop_task = None;
        live.loop_edits = 0;
        live.loop_verdict.clone_from(&book.state.verdict);
    }
    if book.is_changed() {
        book.write(plan);
    }
    Some(decision)
}

/// A task that its log has ended, by a command that was killed before it could say so in the state.
fn left_behind(plan: &mut Plan, snapshot: &Snapshot) {
    let book = snapshot.iterative.as_ref();
    let book = book.filter(|book| !Book::is_frozen(&book.slug, &snapshot.frozen));
    if let Some(mut book) = book.cloned()
        && book.settle_conflicts()
    {
        book.write(plan);
    }
}

/// Why nothing drives the task at the moment, if nothing does: it is talked about, or a person was
/// asked already.
fn rests(book: &Book) -> Option<String> {
    let state = &book.state;
    match state.phase.as_str() {
        "discover" | "plan" | "verify" | "deliver" => {
            Some(format!("the task is in its phase {}", state.phase))
        }
        "execute"
            if state.current().is_none() && state.workable().is_none() && !state.all_closed() =>
        {
            Some("the task waits for a person".into())
        }
        _ => None,
    }
}

fn status(book: &Book) -> Option<Status> {
    book.state.unit(book.state.current()?)?.status()
}

fn counter(book: &Book, unit: &str) -> String {
    format!("iterative {} {} {unit}", book.slug, book.state.created)
}

/// A counter that somebody set back goes on where it was.
fn put_back(book: &mut Book, live: &Live) {
    let Some(id) = book.state.current().map(str::to_owned) else { return };
    let (is, n) = (status(book), book.state.current_iteration);
    let counted = counted(live, &counter(book, &id), n);
    if let (Some(is), true) = (is, counted > n) {
        let mut entry = Entry::of_unit(&id, counted);
        entry.did = Some(format!("The count of iterations had been set back to {n}."));
        entry.step = Some(Step { from: is, to: is, iteration: Some(counted), skipped: false });
        // It stays where it is, which no rule forbids.
        let _ = book.record(entry);
    }
}

/// A file was changed: what was said to be done before that is not confirmed. The task's own
/// documents are not its work.
pub fn at_change(live: &mut Live, file: &str) {
    let Some(slug) = &live.loop_task else { return };
    let own = file.strip_prefix(&format!(".claude/iterative/{slug}/"));
    let is_work =
        own.is_none_or(|rest| rest.starts_with("outputs/") || rest.starts_with("sources/"));
    if is_work {
        live.loop_edits += 1;
    }
}
