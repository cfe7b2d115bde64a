//! `hookkeeper doctor`: what is wrong with this installation, and what to do about it.

use crate::commands::client::client_check;
use crate::commands::client::install::{self, Extras};
use crate::console::project::Project;
use crate::core::outcome::Outcome;
use crate::doctor::finding::{Fix, Level};
use crate::doctor::gather::gather_facts;
use crate::doctor::repair::repair;
use crate::doctor::{examine, print, survey, timings};

#[derive(clap::Args)]
pub struct Arguments {
    /// Mend what can be mended safely: our own entries, and our own files
    #[arg(long, conflicts_with = "timings")]
    fix: bool,
    /// How long hooks take, from the client's transcripts
    #[arg(long)]
    timings: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub fn run(project: &Project, options: &Arguments) -> anyhow::Result<Outcome> {
    let root = project.root()?;
    let _progress = project.progress(match options.timings {
        true => "reading the client's transcripts",
        false => "looking at this installation",
    });
    if options.timings {
        return Ok(Outcome::printed(timings::print::render(
            project.process,
            &root,
            options.json,
            &|time| project.date_and_time(time),
        )));
    }
    let examine = || examine(&gather_facts(project.process, &root));
    let mut checked = examine();
    if options.fix {
        let apply = |fix| apply(fix, project).map_err(|error| format!("{error:#}"));
        checked = repair(checked, apply, examine);
    }
    let failed = checked.iter().any(|checked| checked.finding.level == Level::Error);
    let text = match options.json {
        true => print::render_json(&checked),
        false => {
            let local = |time: &str| project.moment(time);
            let style = project.style();
            print::render_text(&checked, style.colour, style.width, options.fix, &local)
        }
    };
    Ok(Outcome { stdout: Some(text), stderr: None, code: u8::from(failed) })
}

/// What was done, or why it was not. Only what is ours, and only what can be done again without
/// harm.
fn apply(fix: Fix, project: &Project) -> anyhow::Result<String> {
    match fix {
        Fix::Wiring(scope) => {
            client_check::check_client(project, false)?;
            install::wire(project, scope, Extras::default())
        }
        Fix::Spool => project.change(|_, _| Ok("they are applied now".into())),
        Fix::Ignore => {
            survey::hide_from_git(&project.root()?, project.process.home().as_deref())?;
            Ok("wrote .claude/state/.gitignore".into())
        }
    }
}
