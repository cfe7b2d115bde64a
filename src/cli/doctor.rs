//! `hookkeeper doctor`: what is wrong with this installation, and what to do about it.

mod fix;
mod gather;
mod print;
mod timings;

use crate::Outcome;
use crate::cli::Project;
use crate::doctor::finding::{Finding, Fix, Level};
use crate::doctor::{Checked, examine};

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
    if options.timings {
        return Ok(timings::run(project.process, &root, options.json));
    }
    let mut checked = examine(&gather::facts(project.process, &root));
    if options.fix {
        checked = mend(project, &root, checked);
    }
    let failed = checked.iter().any(|checked| checked.finding.level == Level::Error);
    let text = match options.json {
        true => print::as_json(&checked),
        false => print::as_text(&checked, project.process.terminal().colour, options.fix),
    };
    Ok(Outcome { stdout: Some(text), stderr: None, code: u8::from(failed) })
}

/// Mends, and looks at everything again: what was mended is what the second look says.
fn mend(project: &Project, root: &std::path::Path, before: Vec<Checked>) -> Vec<Checked> {
    let mut fixes: Vec<Fix> = Vec::new();
    for fix in before.iter().filter_map(|checked| checked.finding.fix) {
        if !fixes.contains(&fix) {
            fixes.push(fix);
        }
    }
    if fixes.is_empty() {
        return before;
    }
    let done: Vec<_> = fixes.iter().map(|fix| (*fix, fix::apply(*fix, project))).collect();
    let mut after = examine(&gather::facts(project.process, root));
    for (fix, result) in &done {
        let had =
            |id: &str| before.iter().any(|old| old.check.id == id && old.finding.fix == Some(*fix));
        match result {
            Ok(what) => {
                let mended = after.iter_mut().filter(|now| {
                    now.finding.level == Level::Ok && !now.fixed && had(now.check.id)
                });
                for now in mended {
                    now.fixed = true;
                    now.finding = Finding::ok(what.clone());
                }
            }
            Err(why) => {
                let same = after.iter_mut().filter(|now| now.finding.fix == Some(*fix));
                for now in same {
                    now.finding.hint = format!("Not mended: {why:#}");
                }
            }
        }
    }
    after
}
