//! What the state says about a branch, read for people: without the lock, and up to date where the
//! session's own transcript is newer than what was saved.

use std::path::Path;

use anyhow::bail;

use crate::branch::agents_document::BranchAgents;
use crate::branch::document::BranchState;
use crate::branch::folder::branch_key;
use crate::branch::folder::handoff_folder;
use crate::branch::folder::has_branch_folder;
use crate::branch::tracked::Stats;
use crate::branch::witness::{ENDED, is_stuck};
use crate::client::plan_file;
use crate::client::todos::{self, Todo};
use crate::console::project::{Project, read_document};
use crate::console::usage::usage;
use crate::core::id::BranchKey;
use crate::core::time;
use crate::errors::document::{ESCALATED, Errors, PENDING};
use crate::git::command::Git;
use crate::git::refs;
use crate::handoff::Standing;
use crate::handoff::file::HandoffFile;
use crate::handoff::folder::read_all;
use crate::loops::queue::document::Queue;
use crate::process::files;
use crate::session::live::Live;
use crate::session::record::lives;
use crate::state::Source as _;
use crate::store::view::View;

const COMMITS: &str = "--max-count=30";
const LONGEST_COMMIT: usize = 200;

/// A branch as the command line sees it.
pub struct Branch {
    pub key: BranchKey,
    pub standing: Standing,
    pub stats: Stats,
    /// Seconds of silence, by the ids of the agents that run.
    pub silent: Vec<(String, u64)>,
    /// The oldest first.
    pub handoffs: Vec<HandoffFile>,
}

impl Branch {
    /// Where a hand-off is, from the project.
    pub fn handoff_path(&self, file: &HandoffFile) -> String {
        format!("{}/{}", handoff_folder(&self.key), file.name)
    }
}

/// The branch that is named, or checked out.
pub fn name(project: &Project, named: Option<&str>) -> anyhow::Result<String> {
    match named {
        Some(name) if name.trim().is_empty() => bail!(usage("the branch's name is empty")),
        Some(name) => Ok(name.to_owned()),
        None => Ok(refs::branch_name(&refs::read(&project.root()?))),
    }
}

pub fn read(project: &Project, name: &str, session: Option<&str>) -> anyhow::Result<Branch> {
    let root = project.root()?;
    let Some(view) = project.view()? else {
        let key = BranchKey::from_branch(name);
        let standing = Standing { branch: name.to_owned(), ..Standing::default() };
        let (stats, silent, handoffs) = Default::default();
        return Ok(Branch { key, standing, stats, silent, handoffs });
    };
    let key = branch_key(&view, name, &root)?;
    let state: Option<BranchState> = read_document(&view, &key)?;
    let state =
        state.unwrap_or_else(|| BranchState { branch: name.to_owned(), ..BranchState::default() });
    let document: BranchAgents = read_document(&view, &key)?.unwrap_or_default();
    let is_here = name == crate::commands::branch::standing::name(project, None)?;
    if !is_here && !has_branch_folder(&view, &key) && !is_in_git(&root, name) {
        bail!("git has no branch {name}, and there is no state of one");
    }
    // A session that works on another branch says nothing about this one.
    let live = session_of(&view, &state, session)
        .filter(|live| is_here || state.session.as_ref() == Some(&live.session_id));
    let (document, silent) = witness(project, document, &view)?;
    let todos = current_todos(live.as_ref(), &state, session.filter(|_| is_here));
    let id = live.as_ref().map(|live| live.session_id.clone());
    let id = id.or_else(|| session.filter(|_| is_here).map(str::to_owned));
    let handoffs = read_all(&view, &key);
    let standing = Standing {
        branch: name.to_owned(),
        plan: plan_file::find(&root, key.as_str(), &project.redactor()?, &|name: &str| {
            view.believes(&format!("plans/{name}"))
        }),
        todos,
        agents: document.all(),
        queue: project.document::<Queue>()?.unwrap_or_default(),
        errors: match is_here || id.is_some() {
            true => unresolved(project, id.as_deref())?,
            false => Vec::new(),
        },
        synthesis: project.document()?,
        session: id,
        live,
        state,
        commits: Vec::new(),
    };
    Ok(Branch { key, stats: document.stats(), standing, silent, handoffs })
}

/// Git is asked itself: it knows all the ways in which it keeps branches.
fn is_in_git(root: &Path, branch: &str) -> bool {
    let name = format!("refs/heads/{branch}");
    Git::in_dir(root)
        .ask(&["show-ref", "--verify", "--quiet", &name])
        .is_ok_and(|said| said.is_good())
}

/// What the session has committed. Asks git, so it is only done where it is wanted.
pub fn commits(project: &Project, live: Option<&Live>) -> Vec<String> {
    let Some(start) = live.and_then(|live| live.git_commit_start.as_deref()) else {
        return Vec::new();
    };
    let (Ok(root), Ok(redact)) = (project.root(), project.redactor()) else { return Vec::new() };
    let range = format!("{start}..HEAD");
    let args =
        ["log", "--no-color", "--no-show-signature", "--format=%h %s", COMMITS, &range, "--"];
    let text = Git::in_dir(&root).answer(&args).ok().flatten().unwrap_or_default();
    text.lines().map(|line| redact.line(line, LONGEST_COMMIT)).collect()
}

/// The session that is meant; else the one whose state was saved, or the only one that lives.
fn session_of(view: &View, state: &BranchState, named: Option<&str>) -> Option<Live> {
    let mut lives = lives(view);
    let find = |id: &str, lives: &mut Vec<Live>| {
        let at = lives.iter().position(|live| live.session_id == id)?;
        Some(lives.remove(at))
    };
    match named {
        Some(id) => find(id, &mut lives),
        None => state
            .session
            .as_deref()
            .and_then(|id| find(id, &mut lives))
            .or_else(|| (lives.len() == 1).then(|| lives.remove(0))),
    }
}

/// What the transcript says now; else what was saved, if it was this session's.
fn current_todos(live: Option<&Live>, state: &BranchState, session: Option<&str>) -> Vec<Todo> {
    let transcript = live.and_then(|live| live.transcript_path.as_deref());
    let now = transcript.map(|path| todos::read(Path::new(path))).unwrap_or_default();
    let own = session.is_none() || state.session.as_deref() == session;
    match (now.is_empty(), &state.execution) {
        (true, Some(saved)) if own => saved.todos.clone(),
        _ => now,
    }
}

/// The document with those marked that are stuck now, and how long each running one has been silent.
fn witness(
    project: &Project,
    mut document: BranchAgents,
    view: &View,
) -> anyhow::Result<(BranchAgents, Vec<(String, u64)>)> {
    let now = project.process.now();
    let threshold = project.settings()?.stuck_after();
    let lives = lives(view);
    let mut silent = Vec::new();
    for entry in document.open().cloned().collect::<Vec<_>>() {
        let found = lives.iter().find_map(|live| live.agent(&entry.id).map(|agent| (live, agent)));
        let (quiet, is_stuck) = match found {
            Some((live, agent)) => {
                let (is_stuck, quiet) = is_stuck(agent, live, threshold, now, files::modified);
                (quiet, is_stuck)
            }
            // The next start on its branch strikes it off.
            None if entry.session_id.is_some() => {
                document.mark_lost(&entry.id, &time::spell(now), ENDED);
                continue;
            }
            None => (entry.age(now), entry.age(now) > threshold),
        };
        document.mark_stuck(&entry.id, is_stuck);
        silent.push((entry.id, quiet));
    }
    Ok((document, silent))
}

fn unresolved(
    project: &Project,
    session: Option<&str>,
) -> anyhow::Result<Vec<crate::errors::document::Record>> {
    let errors: Option<Errors> = project.document()?;
    let mut open = errors.map(|errors| errors.records()).unwrap_or_default();
    open.retain(|record| {
        matches!(record.status.as_str(), PENDING | ESCALATED)
            && session.is_none_or(|id| record.session_id == id)
    });
    Ok(open)
}
