//! What the tests of hooks share: an event from JSON, a fixed context, state of another session, and
//! what a plan comes to.

use std::path::Path;

use serde_json::{Value, json};

use crate::agents::agent::{Agent, RUNNING};
use crate::agents::result::AgentResult;
use crate::agents::synthesis::{ParkedSynthesis, Synthesis};
use crate::client::context_window::ContextUse;
use crate::client::settings::scope::Scope;
use crate::client::side_file::SideFile;
use crate::core::event::{self, Kind, Parsed};
use crate::core::redaction::Redactor;
use crate::core::settings::Settings;
use crate::core::time;
use crate::errors::document::{Errors, PENDING, Record};
use crate::loops::queue::document::{Item, Queue};
use crate::process::client::Client;
use crate::session::active::Active;
use crate::session::cleared::Cleared;
use crate::session::live::{HOOKS_VERSION, Live};
use crate::session::metrics::{Entry, Metrics};
use crate::state::map::Files;
use crate::state::plan::{Change, Plan};
use crate::state::{Bytes, Document};
use crate::turn::context::{Context, Facts, LostWiring};

pub const NOW: &str = "2026-01-29T10:00:00Z";
pub const EARLIER: &str = "2026-01-29T09:00:00Z";
pub const ROOT: &str = "/home/dev/shop";

/// The session that events are of, unless they say otherwise, and its client.
pub const OWN: &str = "own";
pub const OWN_PID: u32 = 1;
/// A live session beside it, with an agent that runs and one that has ended.
pub const OTHER: &str = "other";
pub const OTHER_PID: u32 = 2;
pub const OTHER_AGENT: &str = "other-agent";
const OTHER_RESULT: &str = "other-result";
/// A session that has ended.
const ENDED: &str = "ended";

/// What a hook makes of an event, where nothing is found outside of the state.
pub fn plan_event(kind: Kind, fields: Value, files: &Files) -> Plan {
    plan_event_with(&Found::default(), kind, fields, files)
}

/// What a hook makes of an event.
pub fn plan_event_with(facts: &Found, kind: Kind, fields: Value, files: &Files) -> Plan {
    let mut payload = json!({"session_id": OWN, "cwd": ROOT, "transcript_path": "/own.jsonl"});
    payload.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    let payload = payload.to_string();
    let parsed = event::parse(payload.as_bytes(), Some(kind));
    let Ok(Parsed::Event(event)) = parsed else { panic!("no event: {payload}") };
    let context = Context {
        now: time::parse(NOW).unwrap(),
        fresh_id: "fresh".into(),
        root: ROOT.into(),
        settings: Settings::default(),
        redact: Redactor::default(),
        block_cap: 8,
        is_heard: true,
        facts,
    };
    let state = files.state();
    let plan = crate::hooks::plan(&event, &state, &context);
    state.check().unwrap();
    plan
}

/// What is found outside of the state.
#[derive(Default)]
pub struct Found {
    pub client: Client,
    /// The client that runs no more.
    pub gone: Option<Client>,
    pub fork_parent: Option<String>,
    pub side_file: Option<SideFile>,
    pub context_use: Option<ContextUse>,
    pub lost_wiring: Option<Result<LostWiring, String>>,
}

impl Facts for Found {
    fn client(&self) -> Client {
        self.client.clone()
    }

    fn is_gone(&self, client: &Client) -> bool {
        self.gone.as_ref().is_some_and(|gone| gone.is(client))
    }

    fn fork_parent(&self, _: &Path, _: &str) -> Option<String> {
        self.fork_parent.clone()
    }

    fn side_file(&self, _: &str, _: &str) -> Option<SideFile> {
        self.side_file.clone()
    }

    fn context_use(&self, _: &Path) -> Option<ContextUse> {
        self.context_use.clone()
    }

    fn lost_wiring(&self, _: Scope) -> Result<Option<LostWiring>, String> {
        self.lost_wiring.clone().transpose()
    }
}

/// What a plan puts for a document; of several, the last.
pub fn put_of<T: Document>(plan: &Plan, key: &T::Key) -> Option<T> {
    let doc = T::doc(key);
    plan.changes.iter().rev().find_map(|change| match change {
        Change::Put(write) if *write.doc() == doc => {
            Some(T::parse(&doc, &Bytes::new(write.pieces().to_vec())).unwrap())
        }
        _ => None,
    })
}

/// The session's own record, as a plan puts it.
pub fn own_record(plan: &Plan) -> Live {
    put_of::<Live>(plan, OWN).expect("the session's record is put")
}

/// The documents that a plan removes.
pub fn removed(plan: &Plan) -> Vec<String> {
    let name = |change: &Change| match change {
        Change::Remove(doc) => Some(doc.name()),
        _ => None,
    };
    plan.changes.iter().filter_map(name).collect()
}

/// The state after a plan.
pub fn after(files: &Files, plan: &Plan) -> Files {
    plan.changes.iter().fold(files.clone(), |files, change| match change {
        Change::Put(write) => {
            let text = String::from_utf8(write.pieces().to_vec()).unwrap();
            files.with_bytes(&write.doc().below_claude(), &text)
        }
        Change::Remove(doc) => files.without(&doc.below_claude()),
        Change::Append(..) | Change::AddLines(..) => files,
        Change::RestoreResults { session_id } | Change::ArchiveResults { session_id, .. } => {
            assert_ne!(session_id, OTHER, "the results of another session are moved");
            files
        }
    })
}

/// A record of a session that began an hour ago.
pub fn live(session_id: &str, pid: u32) -> Live {
    Live {
        session_id: session_id.into(),
        started: EARLIER.into(),
        last_seen: NOW.into(),
        hooks_version: HOOKS_VERSION.into(),
        client: client(pid),
        worked: true,
        ..Live::default()
    }
}

/// The event's own session, with these agents running.
pub fn own_session(agents: &[&str]) -> Live {
    let agents: Vec<Agent> = agents.iter().map(|id| agent(OWN, id)).collect();
    Live { agents_spawned: agents.len() as u64, agents, ..live(OWN, OWN_PID) }
}

pub fn client(pid: u32) -> Client {
    Client { pid, ..Client::default() }
}

pub fn agent(session_id: &str, id: &str) -> Agent {
    Agent {
        id: id.into(),
        kind: "Explore".into(),
        started: EARLIER.into(),
        status: RUNNING.into(),
        session_id: session_id.into(),
        last_seen: NOW.into(),
        ..Agent::default()
    }
}

/// An error that a retry may recover.
pub fn error(session_id: &str, target: &str) -> Record {
    Record {
        id: format!("error-{session_id}"),
        session_id: session_id.into(),
        fingerprint: format!("network {target}"),
        classification: "network".into(),
        target: target.into(),
        status: PENDING.into(),
        occurrences: 1,
        ..Record::default()
    }
}

/// A loop in its third iteration.
pub fn queue_of(session_id: &str) -> Queue {
    Queue {
        iteration: 3,
        status: "BUILDING".into(),
        phase: Some("BUILD".into()),
        session_id: Some(session_id.into()),
        started_at: Some(EARLIER.into()),
        max_iterations: Some(50),
        items: vec![Item { id: "work-001".into(), status: "pending".into(), ..Item::default() }],
        ..Queue::default()
    }
}

/// The state of another session that has something in every document.
pub fn other() -> Files {
    let record = Live {
        agents: vec![agent(OTHER, OTHER_AGENT)],
        agents_spawned: 2,
        agents_completed: 1,
        open_targets: vec!["API rate_limit".into()],
        errors_encountered: 1,
        ..live(OTHER, OTHER_PID)
    };
    let result = AgentResult {
        agent_id: OTHER_RESULT.into(),
        session_id: OTHER.into(),
        status: "success".into(),
        ..AgentResult::default()
    };
    let mut synthesis = Synthesis::new(OTHER);
    synthesis.fold(&result);
    let mut cleared = Cleared::default();
    cleared.add(&live(ENDED, OTHER_PID), EARLIER.into());
    let mut metrics = Metrics::default();
    metrics.put(Entry { session_id: ENDED.into(), ..Entry::default() });
    let errors = Errors::with_records(vec![error(OTHER, "API rate_limit")]);
    Files::default()
        .with::<Active>(&(), &Active::from_records(std::iter::once(&record), None))
        .with::<Live>(OTHER, &record)
        .with::<AgentResult>(OTHER_RESULT, &result)
        .with::<Synthesis>(&(), &synthesis)
        .with::<Cleared>(&(), &cleared)
        .with::<Metrics>(&(), &metrics)
        .with::<Errors>(&(), &errors)
        .with::<Queue>(&(), &queue_of(OTHER))
}

/// Plans an event on [`other`] with the record of the event's own session, and sees to it that
/// nothing of the other one is lost or changed.
pub fn plan_beside_other(kind: Kind, fields: Value, own: Option<&Live>) -> Plan {
    let files = own.into_iter().fold(other(), |files, live| files.with::<Live>(OWN, live));
    let plan = plan_event(kind, fields, &files);
    ensure_other_is_kept(&files, &plan);
    plan
}

/// Nothing of another session is lost or changed by a plan.
pub fn ensure_other_is_kept(files: &Files, plan: &Plan) {
    let after = after(files, plan);
    let (before, after) = (files.state(), after.state());
    assert_eq!(before.get_by::<Live>(OTHER), after.get_by::<Live>(OTHER));
    assert_eq!(
        before.get_by::<AgentResult>(OTHER_RESULT),
        after.get_by::<AgentResult>(OTHER_RESULT)
    );
    let record = before.get_by::<Live>(OTHER).unwrap();
    let active = after.get::<Active>().expect("active.json is kept");
    assert!(active.agents.contains(&record.agents[0]), "{active:?}");
    assert!(active.total_spawned >= record.agents_spawned, "{active:?}");
    let errors = after.get::<Errors>().expect("the errors are kept");
    let known = before.get::<Errors>().unwrap();
    let of_other = known.records().into_iter().filter(|error| error.session_id == OTHER);
    assert!(errors.records().into_iter().filter(|error| error.session_id == OTHER).eq(of_other));
    let entry = before.get::<Cleared>().unwrap().find_client(&client(OTHER_PID));
    assert_eq!(entry, after.get::<Cleared>().unwrap().find_client(&client(OTHER_PID)));
    let synthesis = after.get::<Synthesis>().filter(|synthesis| synthesis.session_id == OTHER);
    let parked = || after.get_by::<ParkedSynthesis>(OTHER).map(|parked| &parked.0);
    assert_eq!(before.get::<Synthesis>(), synthesis.or_else(parked));
    let (was, queue) = (before.get::<Queue>().unwrap(), after.get::<Queue>().unwrap());
    assert_eq!((&was.session_id, was.iteration), (&queue.session_id, queue.iteration));
    assert!(queue.items.starts_with(&was.items), "{queue:?}");
    let metrics = after.get::<Metrics>().unwrap();
    assert_eq!(before.get::<Metrics>().unwrap().find(ENDED), metrics.find(ENDED));
    assert_eq!(plan.reply.block, None);
}
