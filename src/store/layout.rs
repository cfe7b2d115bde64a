//! Where every document is: its room below `.claude`, its file name, how it is kept.

use crate::books::autonomous;
use crate::id::{BranchKey, FileStem, TaskSlug};

/// What belongs to branches, below `.claude`.
pub const BRANCHES: &str = "branches";
pub const ITERATIVE: &str = "iterative";
pub const BRANCH_STATE: &str = "state.json";
pub const BRANCH_AGENTS: &str = "agents.json";

/// Directories of ours, as path segments below `.claude`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Room {
    /// `.claude` itself.
    Claude,
    /// What belongs to a branch, beside `.claude/state`.
    Branch(BranchKey),
    Handoffs(BranchKey),
    /// An iterative task, beside `.claude/state` too.
    Iterative(TaskSlug),
    State,
    Session,
    Live,
    Agents,
    Results,
    ResultsArchive,
    Parked,
    Loop,
    Errors,
    Compaction,
    Log,
    Rejected,
    Quarantine,
    Spool,
}

impl Room {
    /// Whether it is below `.claude` itself, not below `.claude/state`.
    pub fn is_beside_state(&self) -> bool {
        matches!(self, Self::Claude | Self::Branch(_) | Self::Handoffs(_) | Self::Iterative(_))
    }

    /// Below `.claude/state`, or `.claude`.
    pub fn segments(&self) -> Vec<&str> {
        let fixed: &[&str] = match self {
            Self::Branch(key) => return vec![BRANCHES, key.as_str()],
            Self::Handoffs(key) => return vec![BRANCHES, key.as_str(), "handoffs"],
            Self::Iterative(slug) => return vec![ITERATIVE, slug.as_str()],
            Self::Claude | Self::State => &[],
            Self::Session => &["session"],
            Self::Live => &["session", "live"],
            Self::Agents => &["agents"],
            Self::Results => &["agents", "results"],
            Self::ResultsArchive => &["agents", "results-archive"],
            Self::Parked => &["agents", "synthesis"],
            Self::Loop => &["loop"],
            Self::Errors => &["errors"],
            Self::Compaction => &["compaction"],
            Self::Log => &["log"],
            Self::Rejected => &["rejected"],
            Self::Quarantine => &["quarantine"],
            Self::Spool => &["spool"],
        };
        fixed.to_vec()
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Doc {
    Live(FileStem),
    Current,
    Metrics,
    MetricsArchive,
    Cleared,
    Executions,
    Active,
    Result(FileStem),
    Synthesis,
    /// The synthesis of a live session while another's is in its place.
    Parked(FileStem),
    Errors,
    Queue,
    LoopState,
    Backup(String),
    Notices,
    Autonomous,
    /// The same, as we saw it last.
    Watched,
    Branch(BranchKey),
    BranchAgents(BranchKey),
    Iterative(TaskSlug, Part),
}

/// The documents of an iterative task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    State,
    Brief,
    Tasks,
    Plan,
    Context,
    Progress,
    Guardrails,
}

impl Part {
    pub fn file(self) -> &'static str {
        match self {
            Self::State => "state.json",
            Self::Brief => "brief.md",
            Self::Tasks => "tasks.md",
            Self::Plan => "plan.md",
            Self::Context => "context.md",
            Self::Progress => "progress.md",
            Self::Guardrails => "guardrails.md",
        }
    }
}

impl Doc {
    pub fn live(session_id: &str) -> Self {
        Self::Live(FileStem::of(session_id))
    }

    pub fn result(agent_id: &str) -> Self {
        Self::Result(FileStem::of(agent_id))
    }

    pub fn parked(session_id: &str) -> Self {
        Self::Parked(FileStem::of(session_id))
    }

    pub fn room(&self) -> Room {
        match self {
            Self::Live(_) => Room::Live,
            Self::Current | Self::Metrics | Self::MetricsArchive | Self::Cleared => Room::Session,
            Self::Active => Room::Agents,
            Self::Result(_) | Self::Synthesis => Room::Results,
            Self::Parked(_) => Room::Parked,
            Self::Errors => Room::Errors,
            Self::Queue | Self::LoopState | Self::Watched => Room::Loop,
            Self::Backup(_) => Room::Compaction,
            Self::Notices | Self::Executions => Room::State,
            Self::Autonomous => Room::Claude,
            Self::Branch(key) | Self::BranchAgents(key) => Room::Branch(key.clone()),
            Self::Iterative(slug, _) => Room::Iterative(slug.clone()),
        }
    }

    pub fn file(&self) -> String {
        match self {
            Self::Live(stem) | Self::Result(stem) | Self::Parked(stem) => stem.json(),
            Self::Current => "current.json".into(),
            Self::Metrics => "metrics.json".into(),
            Self::MetricsArchive => "metrics-archive.jsonl".into(),
            Self::Cleared => "cleared.json".into(),
            Self::Executions => "executions.json".into(),
            Self::Active => "active.json".into(),
            Self::Synthesis => "synthesis.json".into(),
            Self::Errors => "classified.json".into(),
            Self::Queue => "work_queue.json".into(),
            Self::LoopState => "LOOP_STATE.md".into(),
            Self::Backup(file) => file.clone(),
            Self::Notices => "notices.json".into(),
            Self::Autonomous => "autonomous-loop.json".into(),
            Self::Watched => "autonomous.json".into(),
            Self::Branch(_) => BRANCH_STATE.into(),
            Self::BranchAgents(_) => BRANCH_AGENTS.into(),
            Self::Iterative(_, part) => part.file().into(),
        }
    }

    /// As people see it in messages and in the log: `agents/active.json`.
    pub fn name(&self) -> String {
        let mut name = self.room().segments().join("/");
        if !name.is_empty() {
            name.push('/');
        }
        name + &self.file()
    }

    /// From the project: `.claude/state/agents/active.json`.
    pub fn path(&self) -> String {
        let state = if self.room().is_beside_state() { "" } else { "state/" };
        format!(".claude/{state}{}", self.name())
    }

    /// Durable documents are synced before they are renamed; the others die with the client.
    pub fn is_durable(&self) -> bool {
        match self {
            Self::Metrics | Self::MetricsArchive | Self::Backup(_) => true,
            Self::Queue | Self::Autonomous | Self::Branch(_) | Self::Iterative(..) => true,
            // It is rendered from the queue.
            Self::LoopState => false,
            // It outlives sessions, but two syncs for every agent would cost more than all the rest.
            Self::BranchAgents(_) => false,
            Self::Live(_) | Self::Current | Self::Cleared | Self::Active => false,
            Self::Result(_) | Self::Synthesis | Self::Parked(_) => false,
            Self::Errors | Self::Notices | Self::Watched | Self::Executions => false,
        }
    }

    /// The version of its format that this program knows.
    pub fn version(&self) -> u64 {
        if *self == Self::Autonomous { autonomous::VERSION } else { 1 }
    }

    /// Documents that models write too, not atomically: never moved away by a hook.
    pub fn is_shared(&self) -> bool {
        matches!(
            self,
            Self::Queue
                | Self::LoopState
                | Self::Autonomous
                | Self::Branch(_)
                | Self::BranchAgents(_)
                | Self::Iterative(..)
        )
    }
}
