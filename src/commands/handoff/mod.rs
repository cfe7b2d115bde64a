//! `hookkeeper branch handoff`: what the state says about the work on a branch, for whoever goes on.

pub mod open;

use anyhow::bail;
use serde_json::json;

use crate::branch::document::BranchState;
use crate::branch::folder::find_key;
use crate::branch::folder::put_handoff;
use crate::commands::branch::standing;
use crate::console::project::{Project, print_json};
use crate::console::usage::usage;
use crate::core::journal::{Entry, EntryKind};
use crate::core::outcome::Outcome;
use crate::core::text::{clip, clip_bytes};
use crate::git::refs;
use crate::handoff::{Kind, Words, markdown, status};
use crate::state::plan::Plan;

const LONGEST_TITLE: usize = 200;
const LONGEST_NOTE: usize = 10_000;
/// Bytes of a hand-off that the journal has too.
const LONGEST_IN_JOURNAL: usize = 64 << 10;

#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Arguments {
    #[command(subcommand)]
    step: Option<open::Step>,
    /// What it is about
    #[arg(long = "type", value_name = "TYPE", value_enum, required = true)]
    kind: Option<Type>,
    /// Its heading (default: the session's task)
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    title: Option<String>,
    /// The next step, if the state does not know it
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    next: Option<String>,
    /// Something that is not in the state: a decision, what blocks; may be given again
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    note: Vec<String>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Type {
    /// A piece of work
    Task,
    /// Findings and failures to be sorted
    Triage,
    /// Everything of a session
    Session,
    /// Work that cannot go on, and why
    Blocked,
}

pub fn run(
    project: &Project,
    options: &Arguments,
    named: Option<&str>,
    session: Option<&str>,
) -> anyhow::Result<Outcome> {
    if let Some(step) = &options.step {
        return open::run(project, step, named);
    }
    let kind = match options.kind {
        Some(Type::Task) => Kind::Task,
        Some(Type::Triage) => Kind::Triage,
        Some(Type::Session) => Kind::Session,
        Some(Type::Blocked) => Kind::Blocked,
        None => bail!(usage("--type is missing")),
    };
    let words = words(project, options)?;
    let name = standing::name(project, named)?;
    let root = project.root()?;
    // Everything is read before the lock is taken: git may take its time.
    let mut branch = standing::read(project, &name, session)?;
    branch.standing.commits = standing::commits(project, branch.standing.live.as_ref());
    let now = project.process.now();
    let text = project.redactor()?.text(&markdown(kind, &branch.standing, &words, now));
    let stem = format!("{}-{}", kind.name(), now.format("%Y-%m-%d"));
    let (file, count) = project.change(|store, around| {
        let key = find_key(store, &name, |owner| refs::has_branch(&root, owner))?;
        let read = around.read::<BranchState>(&key);
        around.check()?;
        if read.is_frozen() {
            let path = read.doc().path();
            bail!("{path} cannot be changed: it cannot be read, or is of a newer version");
        }
        let (file, files) = put_handoff(store, &key, &stem, &text)?;
        let mut state = read.value.cloned().unwrap_or_default();
        state.branch.clone_from(&name);
        let handoff = state.handoff.get_or_insert_default();
        // One whose count was lost with its process is counted now.
        handoff.count = (handoff.count + 1).max(files as u64);
        handoff.last = Some(file.clone());
        let count = handoff.count;
        let mut plan = Plan::default();
        plan.put(&read, &state);
        store.commit(&plan.changes, around)?;
        let line = Entry::new(EntryKind::Handoff).what(kind.name()).target(&file);
        let text = clip_bytes(&text, LONGEST_IN_JOURNAL);
        store.tell(branch.standing.session.as_deref(), line.text(text));
        Ok((file, count))
    })?;
    let status = status(kind, &branch.standing, &words);
    if options.json {
        let value = json!({"file": file, "type": kind.name(), "branch": name, "status": status, "count": count});
        return print_json(&value);
    }
    Ok(Outcome::printed(format!("{file}\nHand-off {count} of branch {name}, {status}.")))
}

fn words(project: &Project, options: &Arguments) -> anyhow::Result<Words> {
    let redact = project.redactor()?;
    let given = |text: &String, what: &str, most: usize| match text.trim() {
        "" => bail!(usage(format!("the {what} is empty"))),
        text if text.chars().count() > most => {
            let count = text.chars().count();
            bail!(usage(format!("the {what} has {count} characters; {most} at most")))
        }
        text => Ok(redact.text(text).lines().map(|line| clip(line, most)).collect::<Vec<_>>()),
    };
    let line = |text: &String, what: &str, most: usize| -> anyhow::Result<String> {
        Ok(given(text, what, most)?.join(" "))
    };
    Ok(Words {
        title: options.title.as_ref().map(|t| line(t, "title", LONGEST_TITLE)).transpose()?,
        next: options.next.as_ref().map(|t| line(t, "next step", LONGEST_NOTE)).transpose()?,
        notes: options
            .note
            .iter()
            .map(|note| Ok(given(note, "note", LONGEST_NOTE)?.join("\n")))
            .collect::<anyhow::Result<_>>()?,
    })
}
