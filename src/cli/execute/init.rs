//! `execute init`: the plan is read and checked, and a state is written for it. Whatever is wrong is
//! said before anything is changed.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use super::repository::Repository;
use super::site::{Site, absolute};
use super::{elsewhere, planned};
use crate::Outcome;
use crate::books::execute::{Execution, FILE, VERSION};
use crate::books::executions::Known;
use crate::books::{clip, plural};
use crate::cli::{Project, said_json};
use crate::execute::plan::Plan;
use crate::execute::truth::branch_of;
use crate::execute::{schedule, unite};
use crate::store::{exclude, execution};

#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    of: super::Shown,
    /// The checkout that tasks are merged to (default: what manifest.json says, else this project)
    #[arg(long, value_name = "DIR")]
    project_path: Option<PathBuf>,
    /// Where worktrees are made (default: .worktrees in the project)
    #[arg(long, value_name = "DIR")]
    worktree_dir: Option<PathBuf>,
    /// The branch that tasks start from and are merged to (default: the one that is checked out)
    #[arg(long, value_name = "BRANCH")]
    base: Option<String>,
    /// Tasks at a time
    #[arg(long, value_name = "N", default_value_t = schedule::MAX_PARALLEL, value_parser = clap::value_parser!(u64).range(1..=10))]
    max_parallel: u64,
    /// Only show the plan
    #[arg(long)]
    dry_run: bool,
}

pub fn run(project: &Project, options: &Arguments) -> anyhow::Result<Outcome> {
    let site = Site::open(project, &options.of.tasks)?;
    if site.folder.read()?.is_some() {
        bail!(
            "{} is there already; {} goes on with it, {} begins anew",
            site.folder.path().join(FILE).display(),
            site.command("resume"),
            site.command("reset --force")
        );
    }
    let plan = planned::read(site.folder.path())?;
    let (repository, mut state) =
        fresh(&site, &plan, options.project_path.as_deref(), options.base.as_deref())?;
    state.max_parallel = Some(options.max_parallel);
    if let Some(dir) = &options.worktree_dir {
        state.worktree_dir = real(&absolute(project, dir)?).display().to_string();
    }
    // Two that begin at once see each other.
    let lock = repository.lock()?;
    elsewhere::refuse_shared(&site, &state)?;
    refuse_leftovers(&site, &repository, &state)?;
    state.settle(&site.now());
    schedule::next_batch(&mut state);
    if !options.dry_run {
        hide(&site, &repository, &state)?;
        let held = site.folder.lock()?;
        if held.read()?.is_some() {
            bail!("another process began {} at the same time", site.folder.path().display());
        }
        state = site.write(&held, None, state)?;
        drop(held);
        enter(&site, &state)?;
    }
    drop(lock);
    if options.of.json {
        return said_json(&state);
    }
    Ok(Outcome::said(said(&site, &repository, &state, options.dry_run)?))
}

/// A state for a plan, with nothing done yet, in a repository that can be used.
pub fn fresh(
    site: &Site,
    plan: &Plan,
    project_path: Option<&Path>,
    base: Option<&str>,
) -> anyhow::Result<(Repository, Execution)> {
    let project = match (project_path, &plan.project_path) {
        (Some(path), _) => absolute(site.project, path)?,
        (None, Some(path)) => absolute(site.project, Path::new(path))?,
        (None, None) => site.project.root()?,
    };
    let project = project.canonicalize().unwrap_or(project);
    elsewhere::refuse_copy(site.project, &project)?;
    let repository = site.repository_at(&project)?;
    repository.calm()?;
    let base = match (base, repository.head()?) {
        (Some(base), _) => base.to_owned(),
        (None, Some(head)) => head,
        (None, None) => bail!(
            "HEAD of {} is detached, so there is no branch to merge tasks to; `git checkout BRANCH`, or --base BRANCH",
            repository.top.display()
        ),
    };
    let tip = repository.tip(&base)?.with_context(|| {
        format!(
            "{} has no commit on branch {base}; make one first, or name another: --base BRANCH",
            repository.top.display()
        )
    })?;
    let slug = match plan.slug.is_empty() {
        false => plan.slug.clone(),
        true => site
            .folder
            .path()
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default(),
    };
    let tasks = plan.tasks.iter().map(|planned| (planned.id.clone(), unite::task(planned)));
    let tasks = tasks.collect();
    let state = Execution {
        schema_version: VERSION.into(),
        prd_slug: slug,
        worktree_dir: project.join(".worktrees").display().to_string(),
        project_path: project.display().to_string(),
        tasks_path: site.folder.path().display().to_string(),
        tasks,
        base_branch: Some(base),
        base_commit: Some(tip),
        max_parallel: Some(schedule::MAX_PARALLEL),
        ..Execution::default()
    };
    Ok((repository, state))
}

/// Branches and directories that tasks would need are nobody else's.
fn refuse_leftovers(site: &Site, repository: &Repository, state: &Execution) -> anyhow::Result<()> {
    let facts = repository.facts(state)?;
    let mut there: Vec<String> =
        facts.branches.keys().map(|id| format!("branch {}", branch_of(id))).collect();
    let dir = Path::new(&state.worktree_dir);
    let taken = state.tasks.keys().map(|id| dir.join(id)).filter(|path| path.exists());
    there.extend(taken.map(|path| path.display().to_string()));
    if there.is_empty() {
        return Ok(());
    }
    let rest = there.len().saturating_sub(5);
    let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    there.truncate(5);
    bail!(
        "there are leftovers of an earlier execution: {}{more}; {} takes their work over, or remove them",
        there.join(", "),
        site.command("rebuild")
    )
}

/// The project's books know where its execution is: sessions are told of it.
pub fn enter(site: &Site, state: &Execution) -> anyhow::Result<()> {
    let now = site.now();
    site.register(state, |known| known.begin(&state.tasks_path, &state.worktree_dir, &now))
        .context("it has begun, but sessions will not be told of it")
}

/// The same for one that may be known, perhaps in another place: what is known of it stays.
pub fn enter_again(site: &Site, state: &Execution, old: Option<&str>) -> anyhow::Result<()> {
    let now = site.now();
    site.register(state, |book| {
        let is = |known: &&mut Known| {
            known.tasks_path == state.tasks_path || Some(known.tasks_path.as_str()) == old
        };
        match book.executions.iter_mut().find(is) {
            Some(known) => {
                known.tasks_path.clone_from(&state.tasks_path);
                known.worktree_dir.clone_from(&state.worktree_dir);
            }
            None => book.begin(&state.tasks_path, &state.worktree_dir, &now),
        }
    })
}

/// A path that may not be there yet, without links and ways back.
fn real(path: &Path) -> PathBuf {
    match (path.canonicalize(), path.parent(), path.file_name()) {
        (Ok(real), ..) => real,
        (_, Some(parent), Some(name)) => real(parent).join(name),
        _ => path.to_owned(),
    }
}

/// Worktrees and locks do not show up in `git status`.
pub fn hide(site: &Site, repository: &Repository, state: &Execution) -> anyhow::Result<()> {
    let inside = |path: &Path| Some(path.strip_prefix(&repository.top).ok()?.to_str()?.to_owned());
    let worktrees = inside(Path::new(&state.worktree_dir)).map(|path| format!("/{path}/"));
    let lock = inside(&site.folder.path().join(execution::LOCK)).map(|path| format!("/{path}"));
    for pattern in worktrees.into_iter().chain(lock) {
        exclude::add(&repository.common.join("info/exclude"), &pattern)?;
    }
    Ok(())
}

fn said(
    site: &Site,
    repository: &Repository,
    state: &Execution,
    dry_run: bool,
) -> anyhow::Result<String> {
    let mut text = format!(
        "{} {}: {} in {}, merged to {}, {} at a time.\n",
        if dry_run { "Would begin" } else { "Began" },
        state.prd_slug,
        plural(state.tasks.len(), "task"),
        plural(state.layers.len(), "layer"),
        state.base(),
        schedule::limit(state),
    );
    if dry_run {
        for layer in state.layer_names() {
            let of_layer =
                state.tasks.iter().filter(|(_, task)| task.layer.as_deref() == Some(layer));
            text.push_str(&format!("{layer}\n"));
            for (id, task) in of_layer {
                let needs = match task.depends_on.is_empty() {
                    true => String::new(),
                    false => format!("  needs {}", task.depends_on.join(", ")),
                };
                let name = clip(task.name.as_deref().unwrap_or_default(), 60);
                text.push_str(&format!("  {id}  {name}{needs}\n"));
            }
        }
        return Ok(text);
    }
    let modified = repository.modified(&repository.top)?;
    if let Some(first) = modified.first() {
        text.push_str(&format!(
            "Note: the checkout has changes that are not committed ({first}); they have to be before the first merge.\n"
        ));
    }
    text.push_str(&format!(
        "First: {}. {} has what they need.",
        state.batch.join(", "),
        site.command("next --json")
    ));
    Ok(text)
}
