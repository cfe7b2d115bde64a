//! `execute init`: the plan is read and checked, and a state is written for it. Whatever is wrong is
//! said before anything is changed.

use std::path::{Path, PathBuf};

use anyhow::bail;

use crate::commands::execute::{Target, absolute, project_of_plan, registry};
use crate::console::project::{Project, print_json};
use crate::core::outcome::Outcome;
use crate::core::text::{clip, plural};
use crate::core::time;
use crate::execute::document::{Execution, FILE};
use crate::execute::remote::Coordination;
use crate::execute::remote::claim::LONGEST_LEASE;
use crate::execute::remote::join::{self, Sharing};
use crate::execute::{Repository, TasksFolder, locate, plan_files, schedule, setup};

#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    pub target: Target,
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
    /// Share it with other clones over this remote: claims and verified branches are pushed there
    #[arg(long, value_name = "NAME")]
    remote: Option<String>,
    /// With --remote: after so long without a sign, others may take a task over (90s, 30m, 2h, 1d)
    #[arg(long, value_name = "TIME", requires = "remote", value_parser = parse_lease)]
    lease: Option<u64>,
    /// Only show the plan
    #[arg(long)]
    dry_run: bool,
}

pub fn run(
    project: &Project,
    folder: &TasksFolder,
    options: &Arguments,
) -> anyhow::Result<Outcome> {
    if folder.state_file.read()?.is_some() {
        bail!(
            "{} is there already; {} goes on with it, {} begins anew",
            folder.path().join(FILE).display(),
            folder.command("resume"),
            folder.command("reset --force")
        );
    }
    let plan = plan_files::load_plan(folder.path())?;
    let project_path = match &options.project_path {
        Some(path) => absolute(project, path)?,
        None => project_of_plan(project, &plan)?,
    };
    let (repository, mut state) =
        setup::new_execution(folder, &plan, project_path, options.base.as_deref())?;
    state.max_parallel = Some(options.max_parallel);
    if let Some(dir) = &options.worktree_dir {
        state.worktree_dir = resolve_links(&absolute(project, dir)?).display().to_string();
    }
    let shared = match &options.remote {
        // The plugin's command allows `execute init` beforehand, and this is what makes merges public.
        Some(_) if project.process.env("CLAUDECODE").is_some() => bail!(
            "sharing an execution is for a person or a script to say: run {} with --remote outside of Claude Code",
            folder.command("init")
        ),
        Some(remote) => {
            let sharing =
                Sharing { remote, lease: options.lease, dry_run: options.dry_run, recovers: false };
            Some(join::share(folder, &repository, &mut state, &sharing)?)
        }
        None => None,
    };
    // Two that begin at once see each other.
    let lock = repository.lock()?;
    locate::refuse_shared_ids(folder, &state)?;
    setup::refuse_leftovers(folder, &repository, &state)?;
    let aside = match options.dry_run {
        true => Vec::new(),
        false => setup::set_branches_aside(&lock, &state)?,
    };
    state.recompute(&folder.now());
    schedule::update_batch(&mut state);
    if !options.dry_run {
        setup::exclude_from_status(folder, &repository, &state)?;
        let locked = folder.state_file.lock()?;
        if locked.read()?.is_some() {
            bail!("another process began {} at the same time", folder.path().display());
        }
        state = folder.write(&locked, None, state)?;
        drop(locked);
        registry::add(project, folder, &state)?;
    }
    drop(lock);
    if let Some(shared) = Coordination::of(folder, &repository, &state).filter(|_| !options.dry_run)
    {
        shared.sync()?;
        state = folder.load()?;
    }
    if options.target.json {
        return print_json(&state);
    }
    let mut text = describe(folder, &repository, &state, options.dry_run)?;
    if let (Some(shared), Some(remote)) = (&shared, &state.remote) {
        let how = if shared.joined { "Joined" } else { "Shared as" };
        text.push_str(&format!(
            "\n{how} {} on {}: {} of {} merged there, lease {}.",
            remote.execution,
            remote.name,
            state.metrics.completed_tasks,
            plural(state.tasks.len(), "task"),
            time::human(remote.lease_seconds)
        ));
        for edited in &shared.edited {
            text.push_str(&format!("\n{}: {}", edited.id, edited.text));
        }
    }
    if let (Some(lease), Some(remote)) = (options.lease, &state.remote)
        && lease != remote.lease_seconds
    {
        text.push_str(&format!(
            "\n--lease {} is passed over: the lease is the execution's, which another clone began.",
            time::human(lease)
        ));
    }
    if !aside.is_empty() {
        let kept = aside.join(", ");
        text.push_str(&format!("\nThe work of an earlier execution is kept on: {kept}"));
    }
    Ok(Outcome::printed(text))
}

/// A number and its unit, in seconds.
pub fn parse_lease(text: &str) -> Result<u64, String> {
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match text.strip_prefix(number) {
        Some("s" | "") => 1,
        Some("m") => 60,
        Some("h") => 60 * 60,
        Some("d") => 24 * 60 * 60,
        _ => 0,
    };
    let seconds = number.parse::<u64>().ok().and_then(|number| number.checked_mul(unit));
    seconds
        .filter(|seconds| (1..=LONGEST_LEASE).contains(seconds))
        .ok_or_else(|| "a number with s, m, h or d, at most 30d".into())
}

/// A path that may not be there yet, without links and ways back.
fn resolve_links(path: &Path) -> PathBuf {
    match (path.canonicalize(), path.parent(), path.file_name()) {
        (Ok(real), ..) => real,
        (_, Some(parent), Some(name)) => resolve_links(parent).join(name),
        _ => path.to_owned(),
    }
}

fn describe(
    folder: &TasksFolder,
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
        schedule::parallel_limit(state),
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
    let modified = repository.modified_files(&repository.top)?;
    if let Some(first) = modified.first() {
        text.push_str(&format!(
            "Note: the checkout has changes that are not committed ({first}); they have to be before the first merge.\n"
        ));
    }
    text.push_str(&match state.batch.is_empty() {
        true => format!("Nothing is free now: {} says who works where.", folder.command("status")),
        false => format!(
            "First: {}. {} has what they need.",
            state.batch.join(", "),
            folder.command("next --json")
        ),
    });
    Ok(text)
}
