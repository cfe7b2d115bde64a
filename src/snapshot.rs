//! What a hook sees: the documents and facts that it asked for, as they were under the lock.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde_json::{Map, Value};

use crate::books::active::Active;
use crate::books::agent_book::AgentBook;
use crate::books::autonomous::Autonomous;
use crate::books::backup::Kept;
use crate::books::branch::BranchState;
use crate::books::cleared::Cleared;
use crate::books::clip;
use crate::books::errors::Errors;
use crate::books::executions::Executions;
use crate::books::iterative::book::Book;
use crate::books::live::{Client, Live};
use crate::books::metrics::{Cost, Metrics};
use crate::books::queue::Queue;
use crate::books::result::AgentResult;
use crate::books::saved::{Plan as PlanFile, Todo};
use crate::books::settings::Settings;
use crate::books::synthesis::Synthesis;
use crate::books::watched::Watched;
use crate::event::Event;
use crate::facts::execution::Unfinished;
use crate::facts::git::Git;
use crate::facts::secrets::Redactor;
use crate::facts::side_file::SideFile;
use crate::facts::transcript::{AgentWork, InContext};
use crate::id::BranchKey;
use crate::store::layout::Doc;
use crate::time::{self, Time};

/// A document or a fact that a hook wants to see. A hook may ask again when it has seen some.
#[derive(Clone, Debug, PartialEq)]
pub enum Ask {
    /// The live record of the event's own session.
    Live,
    AllLive,
    Active,
    Current,
    Result(String),
    AllResults,
    Synthesis,
    /// The session's own synthesis, if another's is in its place.
    Parked,
    Errors,
    Queue,
    LoopState,
    /// The state of the branch whose loop the session drives, else of the one that is checked out.
    Branch,
    /// The branch that is checked out, and its state; nothing if no branch has one.
    Here,
    /// The agents of the branch that is checked out.
    AgentsHere,
    /// The agents of a branch, by its folder.
    AgentsOf(String),
    /// The plan of the branch that is checked out.
    PlanHere,
    /// What a transcript says that a session has set out to do.
    Todos(PathBuf),
    /// When an agent's transcript was last written to.
    Written {
        agent_id: String,
        path: PathBuf,
    },
    /// The iterative task that the session drives, else the one that concerns it most.
    Iterative,
    Autonomous,
    /// Which documents of the autonomous loop's receipts are there.
    Artifacts,
    Metrics,
    Cleared,
    /// Where the executions of this project are.
    Executions,
    /// How far an execution is, if it is not complete.
    Unfinished(PathBuf),
    /// All backups with their owners.
    Backups,
    Git,
    Client,
    /// Which live sessions' clients are gone.
    Gone,
    /// What the client's side file says about an agent.
    SideFile {
        agent_id: String,
        path: PathBuf,
    },
    /// What an agent's transcript says about its work.
    AgentWork {
        agent_id: String,
        path: PathBuf,
    },
    InContext {
        transcript: PathBuf,
        todos: bool,
    },
    Cost {
        session_id: String,
        transcript: PathBuf,
    },
    ForkParent(PathBuf),
}

/// The copies that are derived from the live records.
pub const COPIES: [Ask; 3] = [Ask::AllLive, Ask::Active, Ask::Current];

#[derive(Default)]
pub struct Snapshot {
    pub asked: Vec<Ask>,
    /// By session id: the event's own, or all.
    pub lives: BTreeMap<String, Live>,
    pub active: Option<Active>,
    pub current: Option<Map<String, Value>>,
    /// Its folder, and what is in it.
    pub branch: Option<(BranchKey, BranchState)>,
    /// The branch that is checked out; unknown where nobody has asked for it.
    pub here: Option<Here>,
    pub here_state: Option<BranchState>,
    /// By folder; one that has none yet is empty.
    pub agent_books: BTreeMap<String, AgentBook>,
    pub plan_here: Option<PlanFile>,
    pub todos: Vec<Todo>,
    /// By agent id: when it last wrote something.
    pub written: BTreeMap<String, Time>,
    pub iterative: Option<Book>,
    /// By agent id.
    pub results: BTreeMap<String, AgentResult>,
    pub synthesis: Option<Synthesis>,
    pub parked: Option<Synthesis>,
    pub errors: Option<Errors>,
    pub queue: Option<Queue>,
    pub loop_state: Option<String>,
    pub autonomous: Option<Autonomous>,
    /// The same, as we saw it last.
    pub watched: Option<Watched>,
    /// Documents that its receipts name and that exist and are not empty.
    pub artifacts: BTreeSet<String>,
    pub metrics: Option<Metrics>,
    pub cleared: Option<Cleared>,
    pub executions: Option<Executions>,
    pub unfinished: Vec<Unfinished>,
    pub backups: Vec<Kept>,
    pub git: Git,
    pub client: Client,
    pub gone: BTreeSet<String>,
    /// This machine's name, known together with `gone`.
    pub host: String,
    /// By agent id.
    pub side_files: BTreeMap<String, SideFile>,
    /// By agent id.
    pub works: BTreeMap<String, AgentWork>,
    pub in_context: InContext,
    pub costs: BTreeMap<String, Cost>,
    pub fork_parent: Option<String>,
    /// Documents that will not be written, whatever is planned: newer than we know, or unreadable
    /// and not ours to move.
    pub frozen: Vec<Doc>,
}

/// A branch and its folder.
#[derive(Clone, Debug, PartialEq)]
pub struct Here {
    pub name: String,
    pub key: BranchKey,
}

impl Snapshot {
    pub fn has(&self, ask: &Ask) -> bool {
        self.asked.contains(ask)
    }

    /// The record of the event's own session, if it is open.
    pub fn own(&self, event: &Event) -> Option<&Live> {
        self.lives.get(&event.session_id)
    }
}

const LONGEST_TASK: usize = 200;

/// What a decision may depend on beside event and documents.
pub struct Context {
    pub now: Time,
    /// For one new thing per event; empty for events that make none.
    pub fresh_id: String,
    pub root: String,
    pub settings: Settings,
    pub redact: Redactor,
    /// How often the client lets itself be blocked in a row; 0: without end.
    pub block_cap: u64,
    /// Whether the reply reaches somebody.
    pub is_heard: bool,
}

impl Context {
    pub fn spelled(&self) -> String {
        time::spell(self.now)
    }

    /// A task's text as the books have it: redacted, short, on one line.
    pub fn task(&self, text: &str) -> String {
        clip(&self.redact.text(text), LONGEST_TASK)
    }

    /// A path as the project sees it.
    pub fn relative(&self, path: &str) -> String {
        crate::facts::target::relative(path, &self.root).to_owned()
    }
}
