//! The page: head, figures, timelines, sections.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::client::hook_runs::HookRun;
use crate::core::journal::EntryKind;
use crate::core::spelling::{grouped, short_count};
use crate::core::text::plural;
use crate::core::time;
use crate::history::ledger::Sum;
use crate::report::policy::{SCRIPT, STYLE, content_security_policy};
use crate::report::session::Session;
use crate::report::text::{Clock, duration, line};
use crate::report::{costs, errors, events, findings, hook_times, loops, timeline};

/// In the head of every report: a file that has it may be replaced by another report.
pub const MARKER: &str = "<meta name=\"generator\" content=\"HookKeeper report\">";
/// Marks on all timelines, and rows in all tables of events.
const MARKS: usize = 3000;
const ROWS: usize = 1500;
/// Sessions with a timeline, the newest ones; all others are in the table.
const TIMELINES: usize = 25;
const SESSIONS: usize = 500;

pub struct Report<'a> {
    /// The name of the project's folder.
    pub project: String,
    /// The newest first.
    pub sessions: Vec<Session>,
    /// Since when, if it was asked for so.
    pub since: Option<i64>,
    /// Hook runs that the client noted.
    pub hook_runs: Vec<HookRun>,
    pub made: i64,
    pub clock: Clock<'a>,
}

impl Report<'_> {
    pub fn html(&self) -> String {
        let clock = self.clock;
        let title = format!("{} · HookKeeper report", line(&self.project, 60));
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    (PreEscaped(MARKER))
                    meta http-equiv="Content-Security-Policy" content=(content_security_policy());
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    meta name="referrer" content="no-referrer";
                    title { (title) }
                    style { (PreEscaped(STYLE)) }
                }
                body {
                    (timeline::shapes())
                    (self.header())
                    main {
                        (self.figures())
                        (self.timelines())
                        section aria-labelledby="h-findings" { h2 id="h-findings" { "Findings" } (findings::section(&self.sessions)) }
                        section aria-labelledby="h-errors" { h2 id="h-errors" { "Errors" } (errors::section(&self.sessions, clock)) }
                        section aria-labelledby="h-costs" { h2 id="h-costs" { "Tokens and cost" } (costs::section(&self.sessions, self.since_day().as_deref())) }
                        section aria-labelledby="h-loops" { h2 id="h-loops" { "Loops" } (loops::section(&self.sessions, clock)) }
                        section aria-labelledby="h-hooks" { h2 id="h-hooks" { "Hook times" } (hook_times::section(&self.sessions, &self.hook_runs)) }
                    }
                    (self.footer())
                    script { (PreEscaped(SCRIPT)) }
                }
            }
        };
        page.into_string()
    }

    fn header(&self) -> Markup {
        let clock = self.clock;
        html! {
            header {
                p.project { (line(&self.project, 60)) }
                @match (self.since, self.sessions.as_slice()) {
                    (None, [session]) => {
                        h1 { (line(session.title(), 160)) }
                        p.lead {
                            "Session " code { (line(&session.id, 80)) }
                            @if let Some((from, to)) = session.span() {
                                " · " (clock.element(from, "%A, %-d %B %Y, %H:%M")) " – " (clock.element(to, "%H:%M"))
                            }
                            " · " @if session.is_live() { "live" } @else { "ended: " (session.ending()) }
                        }
                    }
                    (since, sessions) => {
                        h1 { (plural(sessions.len(), "session")) }
                        @if let Some(since) = since { p.lead { "Since " (clock.element(since, "%A, %-d %B %Y, %H:%M")) } }
                        @let untold = sessions.iter().filter(|session| session.is_untold()).count();
                        @if untold > 0 { p.lead data-untold=(untold) { "Of " (plural(untold, "session")) " only the figures are known: no journal of theirs can be read any more. Only their tokens and cost are counted here." } }
                    }
                }
            }
        }
    }

    /// From which day on tokens and dollars are counted, in UTC.
    fn since_day(&self) -> Option<String> {
        let since = time::Time::from_timestamp_millis(self.since?)?;
        time::spell(since).get(..10).map(str::to_owned)
    }

    /// The figures that people look for first.
    fn figures(&self) -> Markup {
        let count =
            |kind: EntryKind| self.sessions.iter().map(|one| one.count(kind)).sum::<usize>();
        let took: i64 =
            self.sessions.iter().filter_map(Session::span).map(|(from, to)| to - from).sum();
        let agents: usize = self.sessions.iter().map(Session::agents).sum();
        let compactions: usize = self.sessions.iter().map(Session::compactions).sum();
        let used = costs::total(&self.sessions);
        let (failed, recovered) = (count(EntryKind::Error), count(EntryKind::Recovered));
        let mut figures = vec![
            ("duration", duration(took), String::new()),
            ("prompts", grouped(count(EntryKind::Prompt) as u64), String::new()),
            ("tool calls", grouped(count(EntryKind::Tool) as u64), String::new()),
            ("agents", grouped(agents as u64), String::new()),
            ("findings", grouped(findings::count(&self.sessions) as u64), String::new()),
            (
                "errors",
                grouped(failed as u64),
                if failed > 0 { format!("{recovered} recovered") } else { String::new() },
            ),
            ("compactions", grouped(compactions as u64), String::new()),
        ];
        if let Some(tokens) = used.tokens() {
            figures.push(("tokens", short_count(tokens), String::new()));
            let without = line(&used.unpriced_models(), 60);
            let note = if without.is_empty() { without } else { format!("without {without}") };
            figures.push(("cost", used.spelled(), note));
        }
        html! {
            dl.figures {
                @for (name, value, note) in figures {
                    div data-figure=(name) { dt { (name) } dd { (value) @if !note.is_empty() { small { (note) } } } }
                }
            }
        }
    }

    fn timelines(&self) -> Markup {
        let shown = self.sessions.len().clamp(1, TIMELINES);
        let is_single = self.sessions.len() == 1;
        html! {
            section aria-labelledby="h-timeline" {
                h2 id="h-timeline" { "Timeline" }
                @if !is_single { (self.session_table()) }
                (timeline::legend(&self.sessions))
                @for (at, session) in self.sessions.iter().take(TIMELINES).enumerate().filter(|(_, session)| is_single || !session.is_untold()) {
                    @let body = html! {
                        @if session.is_untold() { p.none { (untold(session)) } }
                        (timeline::timeline(session, at + 1, MARKS / shown, self.clock))
                        (events::lanes(session))
                        (events::events(session, ROWS / shown, self.clock))
                    };
                    @if is_single { (body) } @else {
                        details.session id={ "s" (at + 1) } open[at == 0] {
                            summary {
                                code { (line(&session.short_id, 40)) } " "
                                @if let Some(project) = &session.project { (line(project, 60)) ": " }
                                (line(session.title(), 100))
                            }
                            (body)
                        }
                    }
                }
            }
        }
    }

    fn session_table(&self) -> Markup {
        let clock = self.clock;
        let optional = |value: Option<String>| value.unwrap_or_else(|| "–".into());
        let has_projects = self.sessions.iter().any(|session| session.project.is_some());
        html! {
            div.wide tabindex="0" role="region" aria-label="Sessions" {
                table.sessions {
                    caption { "Sessions" }
                    thead { tr {
                        th scope="col" { "Session" } @if has_projects { th scope="col" { "Project" } } th scope="col" { "Began" } th.number scope="col" { "Took" } th scope="col" { "Task" }
                        th.number scope="col" { "Calls" } th.number scope="col" { "Agents" } th.number scope="col" { "Errors" }
                        th.number scope="col" { "Tokens" } th.number scope="col" { "Cost" } th scope="col" { "Ended" }
                    } }
                    tbody {
                        @for (at, session) in self.sessions.iter().take(SESSIONS).enumerate() {
                            @let (from, to) = session.span().unwrap_or((0, 0));
                            @let used = session.sum();
                            tr data-session=(line(&session.id, 80)) {
                                th scope="row" { @if at < TIMELINES && !session.is_untold() { a href={ "#s" (at + 1) } { code { (line(&session.short_id, 40)) } } } @else { code { (line(&session.short_id, 40)) } } }
                                @if has_projects { td { (line(session.project.as_deref().unwrap_or_default(), 60)) } }
                                @if session.is_untold() { td { (line(session.day(), 20)) } td.number { "–" } } @else {
                                    td { (clock.element(from, "%Y-%m-%d %H:%M")) }
                                    td.number { (duration(to - from)) }
                                }
                                td.task { (line(session.title(), 90)) }
                                td.number { (told(session, session.count(EntryKind::Tool))) }
                                td.number { (told(session, session.agents())) }
                                td.number { (told(session, session.count(EntryKind::Error))) }
                                td.number { (optional(used.as_ref().and_then(Sum::tokens).map(short_count))) }
                                td.number { (optional(used.as_ref().map(Sum::spelled))) }
                                td { (session.ending()) }
                            }
                        }
                    }
                }
            }
        }
    }

    fn footer(&self) -> Markup {
        let damaged: u64 = self.sessions.iter().map(|one| one.passed_over.damaged).sum();
        let newer: u64 = self.sessions.iter().map(|one| one.passed_over.newer).sum();
        let unreadable: u64 = self.sessions.iter().map(|one| one.passed_over.unreadable).sum();
        html! {
            footer {
                p {
                    "Made by HookKeeper " (env!("CARGO_PKG_VERSION")) ", " (self.clock.element(self.made, "%Y-%m-%d %H:%M")) ". "
                    "This file loads nothing and sends nothing."
                }
                @if damaged > 0 { p { "Left out: " (plural(damaged as usize, "line")) " of the journal, cut off or damaged." } }
                @if newer > 0 { p { "Left out: " (plural(newer as usize, "line")) " of the journal, of a newer version." } }
                @if unreadable > 0 { p { "Left out: " (plural(unreadable as usize, "journal")) " that cannot be read." } }
            }
        }
    }
}

/// Why a session has no timeline.
fn untold(session: &Session) -> &'static str {
    match session.passed_over.unreadable {
        0 => "Its journal is gone: what it came to is all that is known of it.",
        _ => "Its journal cannot be read: what it came to is all that is known of it.",
    }
}

/// A count of what the journal tells, where there is one.
fn told(session: &Session, count: usize) -> String {
    if session.is_untold() { "–".to_owned() } else { count.to_string() }
}
