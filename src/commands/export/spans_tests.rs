use super::*;

fn line(kind: EntryKind, second: u32) -> Entry {
    let time = time::parse(&format!("2026-01-29T10:30:{second:02}Z")).unwrap();
    Entry { prompt_id: Some("p1".into()), ..Entry::new(kind).at(time, "s1") }
}

fn quiet() -> WhatToSend {
    WhatToSend::default()
}

fn nano(second: u32) -> String {
    spelled_nanos(&format!("2026-01-29T10:30:{second:02}Z"))
}

fn has(span: &Span, key: &str) -> bool {
    span.attributes.0.iter().any(|attribute| attribute.key == key)
}

#[test]
fn a_session_is_a_trace_with_turns_agents_and_tools_in_it() {
    let mut track = Track::default();
    let begins = track.spans(&line(EntryKind::Start, 0).what("startup"), quiet());
    assert!(has(&begins[0], names::PENDING));
    assert_eq!(begins[0].parent_span_id, ids::session_span("s1"));
    track.spans(&line(EntryKind::Prompt, 1).text("do it"), quiet());
    let start = Entry { prompt_id: None, ..line(EntryKind::AgentStart, 2).what("Explore") };
    let mark = track.spans(&start.of_agent("a1".to_owned()), quiet());
    assert!(has(&mark[0], names::PENDING));
    let tool = line(EntryKind::Tool, 4).target("Bash make").of_agent("a1".to_owned());
    let tool = Entry { call: Some("t1".into()), ms: Some(2000), failed: true, ..tool };
    let tool = track.spans(&tool, quiet()).remove(0);
    assert_eq!(tool.name, "execute_tool Bash");
    assert_eq!((tool.start_time_unix_nano, tool.end_time_unix_nano), (nano(2), nano(4)));
    assert_eq!(tool.parent_span_id, ids::agent_span("s1", "a1", 0));
    assert_eq!(tool.status.code, FAILED);
    let result = AgentResult {
        kind: "Explore".into(),
        started: "2026-01-29T10:30:02Z".into(),
        ..AgentResult::default()
    };
    let end = line(EntryKind::AgentEnd, 6).what("success").record(&result);
    let agent = track.spans(&end.of_agent("a1".to_owned()), quiet()).remove(0);
    assert_eq!(agent.name, "invoke_agent Explore");
    assert_eq!(agent.span_id, mark[0].parent_span_id);
    assert_eq!(agent.parent_span_id, ids::turn_span("s1", "p1"));
    assert_eq!((agent.start_time_unix_nano, agent.end_time_unix_nano), (nano(2), nano(6)));
    assert!(
        track.spans(&line(EntryKind::Stop, 7).what("blocked"), quiet()).is_empty(),
        "it goes on"
    );
    let turn = track.spans(&line(EntryKind::Stop, 8), quiet()).remove(0);
    assert_eq!(turn.span_id, ids::turn_span("s1", "p1"));
    assert_eq!((turn.start_time_unix_nano, turn.end_time_unix_nano), (nano(1), nano(8)));
    let session = track.spans(&line(EntryKind::End, 9).what("other"), quiet()).remove(0);
    assert_eq!((session.name.as_str(), session.parent_span_id.as_str()), ("session", ""));
    assert_eq!((session.start_time_unix_nano, session.end_time_unix_nano), (nano(0), nano(9)));
    assert_eq!(track, Track { ends: 1, ..Track::default() });
}

#[test]
fn a_session_that_goes_on_keeps_one_root() {
    let mut track = Track::default();
    let first = track.spans(&line(EntryKind::End, 1), quiet()).remove(0);
    track.spans(&line(EntryKind::Start, 5).what("resume"), quiet());
    let second = track.spans(&line(EntryKind::End, 9), quiet()).remove(0);
    assert_eq!(second.parent_span_id, first.span_id);
    assert_ne!(second.span_id, first.span_id);
    assert_eq!(second.start_time_unix_nano, nano(5));
}

#[test]
fn what_was_not_seen_to_begin_has_a_span_all_the_same() {
    let mut track = Track::default();
    let turn = track.spans(&line(EntryKind::Stop, 3), quiet()).remove(0);
    assert_eq!(turn.start_time_unix_nano, turn.end_time_unix_nano);
    let tool = Entry { prompt_id: None, ..line(EntryKind::Tool, 4).target("Read a.rs") };
    let tool = track.spans(&tool, quiet()).remove(0);
    assert_eq!(tool.parent_span_id, ids::session_span("s1"));
    assert_eq!(tool.span_id.len(), 16);
    let huge = Entry { ms: Some(u64::MAX), ..line(EntryKind::Tool, 4).target("Read a.rs") };
    assert_eq!(track.spans(&huge, quiet()).remove(0).start_time_unix_nano, nano(4));
    let odd = Entry { time: "yesterday".into(), ..line(EntryKind::Tool, 4) };
    assert_eq!(track.spans(&odd, quiet()).remove(0).end_time_unix_nano, "0");
}

#[test]
fn who_waits_is_a_moment_in_its_turn() {
    let mut track = Track::default();
    track.spans(&line(EntryKind::Prompt, 1), quiet());
    let waits = Entry {
        prompt_id: None,
        ..line(EntryKind::Notification, 2).what("permission_prompt").text("May I?")
    };
    let waits = track.spans(&waits, quiet()).remove(0);
    assert_eq!(waits.name, "notification permission_prompt");
    assert_eq!(waits.parent_span_id, ids::turn_span("s1", "p1"));
    assert_eq!(waits.start_time_unix_nano, waits.end_time_unix_nano);
}

#[test]
fn a_loop_is_named_by_its_kind_unless_prompts_may_go_out() {
    let line = line(EntryKind::Loop, 1).what("started").target("loop \"secret plan\"");
    let line = line.loop_kind("queue");
    let mut track = Track::default();
    let sent = track.spans(&line, quiet()).remove(0);
    assert!(has(&sent, names::LOOP) && !has(&sent, names::TARGET));
    let open = WhatToSend { prompts: true, ..quiet() };
    assert!(has(&track.spans(&line, open).remove(0), names::TARGET));
}
