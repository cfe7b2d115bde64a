//! Finding the task that is meant, without the lock.

use std::path::PathBuf;

use anyhow::bail;

use crate::commands::loops::iterative::task_command::TaskCommand;
use crate::console::project::read_document;
use crate::core::id::TaskSlug;
use crate::core::text::clip;
use crate::loops::LoopKind;
use crate::loops::iterative::document::Task;
use crate::loops::iterative::folder::{TASKS, all_tasks};
use crate::session::live::Live;
use crate::state::Source;

/// Names in a message.
const NAMES: usize = 20;

impl TaskCommand<'_> {
    pub fn root(&self) -> anyhow::Result<PathBuf> {
        self.command.project.root()
    }

    pub fn slugs(&self) -> anyhow::Result<Vec<TaskSlug>> {
        Ok(self
            .command
            .project
            .view()?
            .map(|view| all_tasks(&view))
            .transpose()?
            .unwrap_or_default())
    }

    /// The state of a task without the lock, if it can be read.
    pub fn state(&self, slug: &TaskSlug) -> anyhow::Result<Option<Task>> {
        let Some(view) = self.command.project.view()? else { return Ok(None) };
        let state = view.state();
        Ok(state.get_by::<Task>(slug).cloned())
    }

    /// The task that is named; else the session's; else the only one that is open.
    pub fn slug(&self, named: Option<&str>) -> anyhow::Result<TaskSlug> {
        self.slug_of(named, Task::is_open)
    }

    /// The task that is named; else the session's; else the only one that is fit for something.
    pub fn slug_of(&self, named: Option<&str>, fit: fn(&Task) -> bool) -> anyhow::Result<TaskSlug> {
        let view = self.command.project.view()?;
        if let (Some(view), Some(slug)) = (&view, named.and_then(TaskSlug::known))
            && view.is_folder(&format!("{TASKS}/{slug}"))
        {
            return Ok(slug);
        }
        let known = self.slugs()?;
        if let Some(name) = named {
            let name = clip(name, 80);
            match known.as_slice() {
                [] => {
                    bail!("there is no task `{name}`; `{}` starts one", LoopKind::Iterative.start())
                }
                known => bail!("there is no task `{name}`; there are {}", names(known)),
            }
        }
        if known.is_empty() {
            bail!("there is no task; `{}` starts one", LoopKind::Iterative.start());
        }
        let mut open = Vec::new();
        for slug in known {
            if let Some(task) = self.state(&slug)?.filter(fit) {
                if self.command.session.is_some() && task.session_id == self.command.session {
                    return Ok(slug);
                }
                open.push(slug);
            }
        }
        match open.as_slice() {
            [slug] => Ok(slug.clone()),
            [] => bail!("no task is open; `hookkeeper iterative list` shows all, name one"),
            several => bail!("several tasks are open, name one: {}", names(several)),
        }
    }

    /// The task that the session's own record names, whatever became of the task.
    pub fn noted_slug(&self) -> anyhow::Result<Option<TaskSlug>> {
        let Some(id) = &self.command.session else { return Ok(None) };
        let Some(view) = self.command.project.view()? else { return Ok(None) };
        let live: Option<Live> = read_document(&view, id.as_str())?;
        Ok(live.and_then(|live| live.loop_task).as_deref().and_then(TaskSlug::known))
    }
}

fn names(slugs: &[TaskSlug]) -> String {
    let names: Vec<&str> = slugs.iter().take(NAMES).map(TaskSlug::as_str).collect();
    match slugs.len() - names.len() {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}
