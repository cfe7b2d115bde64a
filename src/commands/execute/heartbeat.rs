//! `execute heartbeat`: the claims of this clone are renewed, as long as somebody is seen at the tasks.

use serde_json::json;

use crate::commands::execute::OnlyTarget;
use crate::console::project::print_json;
use crate::core::outcome::Outcome;
use crate::core::time;
use crate::execute::TasksFolder;
use crate::execute::document::{ClaimState, TaskRecord};
use crate::execute::remote::Coordination;
use crate::execute::remote::push::Pushed;

#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    pub target: OnlyTarget,
    /// Also of tasks that nobody was seen at for a lease
    #[arg(long)]
    all: bool,
}

pub fn run(folder: &TasksFolder, options: &Arguments) -> anyhow::Result<Outcome> {
    let state = folder.load()?;
    let repository = folder.repository(&state)?;
    let Some(shared) = Coordination::of(folder, &repository, &state) else {
        anyhow::bail!("this execution is not shared: it was begun without --remote");
    };
    let mut lines: Vec<String> = shared
        .sync_or_refuse("nothing was renewed")?
        .into_iter()
        .chain(shared.settle(false)?)
        .map(|note| format!("{}: {}", note.id, note.text))
        .collect();
    let state = folder.load()?;
    let is_held = |task: &TaskRecord| {
        let own = task.remote.as_ref().is_some_and(|seen| seen.is_own(ClaimState::Held));
        own && task.status.is_running()
    };
    let mut renewed = Vec::new();
    for (id, task) in state.tasks.iter().filter(|(_, task)| is_held(task)) {
        let silent = shared.silence(&state, id, task);
        if silent >= shared.remote.lease_seconds && !options.all {
            let silent = time::human(silent);
            lines.push(format!("{id}: nobody was seen at it for {silent}; it is not renewed"));
            continue;
        }
        match shared.renew(id, true)? {
            Pushed::Done => renewed.push(id.clone()),
            Pushed::Changed => match shared.explain_changed(id) {
                Ok(()) => renewed.push(id.clone()),
                Err(error) => lines.push(error.to_string()),
            },
            Pushed::Refused(why) | Pushed::Offline(why) => lines.push(format!("{id}: {why}")),
        }
    }
    if options.target.json {
        return print_json(&json!({"renewed": renewed, "notes": lines}));
    }
    lines.push(match renewed.is_empty() {
        true => "Nothing was renewed.".to_owned(),
        false => format!(
            "Renewed for {}: {}.",
            time::human(shared.remote.lease_seconds),
            renewed.join(", ")
        ),
    });
    Ok(Outcome::printed(lines.join("\n")))
}
