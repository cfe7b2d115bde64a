//! The list of errors: of live sessions from the state, of ended ones from their journals.

use crate::commands::errors::Arguments;
use crate::console::project::{Project, one_of, print_json, unknown};
use crate::core::gate::Printed;
use crate::core::outcome::Outcome;
use crate::core::spelling::short_id;
use crate::core::table::{Cell, Table, Tone, cut_between_words};
use crate::core::text::plural;
use crate::core::time;
use crate::errors::document::{ESCALATED, Errors, RECOVERED, Record, Tally};
use crate::errors::standing;
use crate::history::commands::since;
use crate::history::errors::{KeptErrors, kept_errors, last_seen};
use crate::history::sessions::{ended_sessions, known_ids, summarize};
use crate::session::record::lives;
use crate::store::journal;
use crate::store::view::View;

/// Characters of a target before its message.
const TARGET: usize = 30;
/// Columns that a message has at least.
const ROOM: usize = 36;

pub fn run(project: &Project, options: &Arguments) -> anyhow::Result<Outcome> {
    // One that cannot be read is said.
    let errors: Errors = project.document()?.unwrap_or_default();
    let from = since(project, options.since.as_deref())?;
    let Some(view) = project.view()? else {
        return match (&options.session, options.json) {
            (Some(named), _) => anyhow::bail!(unknown("session", named)),
            (None, true) => print_json::<[Record]>(&[]),
            (None, false) => {
                Ok(Outcome::printed(standing::totals(&[], &Tally::default(), "in all")))
            }
        };
    };
    let named = options.session.as_deref();
    let ended = named.map(|_| ended_sessions(&view)).unwrap_or_default();
    let ids = |named| one_of(named, &known_ids(&view, &ended), "session", "");
    let session = named.map(ids).transpose()?;
    let is_history = options.all || session.is_some() || from.is_some();
    let stem = session.as_deref().map(journal::stem);
    let found = match is_history {
        true => kept_errors(&view, stem.as_deref(), from.as_deref()),
        false => KeptErrors { records: errors.records(), ..KeptErrors::default() },
    };
    let known = found.records;
    let mut shown = known.clone();
    shown.retain(|record| is_history || record.status != RECOVERED);
    if options.json {
        // The list has no place for it.
        let unreadable = found.passed_over.only_unreadable().in_words();
        return Ok(Outcome { stderr: unreadable.map(Printed::from), ..print_json(&shown)? });
    }
    let is_all = session.is_none() && from.is_none();
    let counted = match &session {
        Some(id) if from.is_none() => summarize(&view, &ended, id, project.process.now()).errors,
        None if is_all => count_all(&view, &errors),
        _ => Tally::default(),
    };
    let mut out = project.print_table(&error_table(project, &shown, session.is_none()));
    let which = match &from {
        _ if is_all => "in all".to_owned(),
        None => "in this session".to_owned(),
        Some(from) => format!("since {}", project.moment(from)),
    };
    out.push(standing::totals(&known, &counted, &which));
    let is_unreadable = found.passed_over.unreadable > 0;
    out.push(notes(options, &view, &shown, is_all.then_some(&errors), is_unreadable));
    found.passed_over.in_words().into_iter().for_each(|text| out.push(format!("\n{text}")));
    Ok(Outcome::printed(out))
}

/// What the lines above do not show.
fn notes(
    options: &Arguments,
    view: &View,
    shown: &[Record],
    all: Option<&Errors>,
    is_unreadable: bool,
) -> Printed {
    let Some(errors) = all else { return Printed::default() };
    let counted = count_all(view, errors).total as usize;
    let text = match options.all {
        true => match counted.saturating_sub(shown.len()) {
            0 => return Printed::default(),
            gone if is_unreadable => format!(
                "\nOf {gone} only the number is known: the history of their sessions is gone, or cannot be read."
            ),
            gone => format!(
                "\nOf {gone} only the number is left: the history of their sessions is gone."
            ),
        },
        false => match counted.saturating_sub(errors.summary.total as usize) {
            0 => return Printed::default(),
            ended => {
                format!("\n{} of ended sessions: hookkeeper errors --all", plural(ended, "error"))
            }
        },
    };
    text.into()
}

/// What live records and the metrics of ended sessions have counted.
fn count_all(view: &View, errors: &Errors) -> Tally {
    let lives = lives(view);
    let mut live = Tally::default();
    for session in &lives {
        live.total += session.errors_encountered;
        live.recovered += session.errors_recovered;
        live.escalated += session.errors_escalated;
    }
    live.total = live.total.max(errors.summary.total);
    live.recovered = live.recovered.max(errors.summary.recovered);
    live.escalated = live.escalated.max(errors.summary.escalated);
    for entry in ended_sessions(view) {
        if lives.iter().all(|session| session.session_id != entry.session_id) {
            live.join(&entry.errors);
        }
    }
    live
}

/// Errors, one line each, with what they say.
pub fn error_table(project: &Project, records: &[Record], with_session: bool) -> Table {
    let ids: Vec<&str> = records.iter().map(|record| bare(&record.id)).collect();
    let row = |record: &Record| {
        let tone = match record.status.as_str() {
            RECOVERED => Tone::Good,
            ESCALATED => Tone::Bad,
            _ => Tone::Warn,
        };
        let session = if with_session { short_id(&record.session_id, &[]) } else { String::new() };
        let says = format!("{}: {}", cut_between_words(&record.target, TARGET), record.message);
        vec![
            Cell::new(Tone::Id, &short_id(bare(&record.id), &ids)),
            Cell::new(Tone::Dim, &project.short_moment(last_seen(record))),
            Cell::new(Tone::Dim, &session),
            Cell::new(Tone::Plain, &record.classification.replace('_', " ")),
            Cell::new(tone, &standing::word(record)),
            Cell::new(Tone::Dim, &retry_or_times(project, record)),
            Cell::new(Tone::Plain, &says),
        ]
    };
    let columns = [
        ("ERROR", 0),
        ("WHEN", 2),
        ("SESSION", 3),
        ("CLASS", 1),
        ("STATUS", 0),
        ("RETRY", 4),
        ("MESSAGE", 0),
    ];
    Table::with_head(&columns, records.iter().map(row).collect()).with_least(ROOM)
}

/// An id without what all of them begin with.
pub fn bare(id: &str) -> &str {
    id.strip_prefix("error-").unwrap_or(id)
}

/// When it may be tried again; nothing if it is not.
pub fn retry(project: &Project, record: &Record) -> Option<String> {
    let at = record.next_retry.as_deref().filter(|_| standing::is_pending(record))?;
    let when = match time::parse(at).is_some_and(|at| at > project.process.now()) {
        true => format!("at {}", project.moment(at)),
        false => "now".to_owned(),
    };
    Some(format!("retry {} of {} {when}", record.retry_count, record.max_retries))
}

/// When it may be tried again, or else how often it happened, if that was more than once.
fn retry_or_times(project: &Project, record: &Record) -> String {
    retry(project, record).unwrap_or_else(|| match record.occurrences {
        0 | 1 => "-".to_owned(),
        times => format!("failed {}", plural(times as usize, "time")),
    })
}
