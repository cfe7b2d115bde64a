//! `hookkeeper validate`: every document against its schema, and out of the way with what does not fit.

pub mod schema;

use serde_json::{Value, json};

use crate::console::project::Project;
use crate::core::gate::Printed;
use crate::core::outcome::Outcome;
use crate::core::text::{clip, plural};
use crate::store::home;
use crate::store::lock::PATIENCE;
use crate::validate::{self, Note, Problem, Report};

#[derive(clap::Args)]
pub struct Arguments {
    /// Move what cannot be used to .claude/state/quarantine and rebuild what can be derived
    #[arg(long)]
    repair: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub fn run(project: &Project, options: &Arguments) -> anyhow::Result<Outcome> {
    // Looked at first: a repair must not make the documents that it does not find.
    let root = project.root()?;
    let odd = match options.repair {
        true => home::clear_odd(&root, project.process.home().as_deref(), PATIENCE)?,
        false => Vec::new(),
    };
    let odd: Vec<Note> = odd.iter().map(|name| moved_note(name)).collect();
    let Some(view) = project.view()? else {
        return Ok(Outcome::printed(match options.json {
            true => Printed::json_line(&as_json(
                &Report::default(),
                Some(&odd).filter(|odd| !odd.is_empty()).map(Vec::as_slice),
            )),
            false => {
                let mut lines: Vec<String> = odd.iter().map(note_line).collect();
                lines.push(format!("{}: no state yet, nothing to check.", root.display()));
                lines.join("\n").into()
            }
        }));
    };
    if !options.repair {
        let report = validate::problems(&view)?;
        let text = match options.json {
            true => Printed::json_line(&as_json(&report, None)),
            false => as_text(&report).into(),
        };
        return Ok(outcome(text, &report));
    }
    let mut repair = validate::repair(project.process, &root)?;
    repair.done.splice(0..0, odd);
    let text = match options.json {
        true => Printed::json_line(&as_json(&repair.left, Some(&repair.done))),
        false => {
            let found = repair.found.problems.iter().filter(|p| !repair.left.problems.contains(p));
            let found = found.map(problem_line);
            let done = repair.done.iter().map(note_line);
            let lines: String = found.chain(done).map(|line| line + "\n").collect();
            (lines + &as_text(&repair.left)).into()
        }
    };
    Ok(outcome(text, &repair.left))
}

fn outcome(text: Printed, report: &Report) -> Outcome {
    Outcome { stdout: Some(text), stderr: None, code: u8::from(!report.problems.is_empty()) }
}

fn as_text(report: &Report) -> String {
    let problems = report.problems.iter().map(problem_line);
    let notes = report.notes.iter().map(note_line);
    let mut lines: Vec<String> = problems.chain(notes).collect();
    let verdict = match report.broken().len() {
        0 => "all good".into(),
        broken => format!("{broken} with problems"),
    };
    lines.push(format!("{}, {verdict}", plural(report.documents, "document")));
    lines.join("\n")
}

/// `agents/active.json: /agents/0/started: is a number, must be a string`
fn problem_line(problem: &Problem) -> String {
    let Problem { file, line, pointer, message, .. } = problem;
    let line = line.map(|line| format!(":{line}")).unwrap_or_default();
    let pointer = if pointer.is_empty() { String::new() } else { format!("{pointer}: ") };
    clip(&format!("{file}{line}: {pointer}{message}"), 600)
}

/// Of an entry that was no file, by the name that it has now.
fn moved_note(name: &str) -> Note {
    let (file, _) = name.split_once(home::ODD).unwrap_or((name, ""));
    let message = "was no file, and was moved away: `hookkeeper trust` lists it".to_owned();
    Note { file: file.to_owned(), message }
}

fn note_line(note: &Note) -> String {
    clip(&format!("{}: {}", note.file, note.message), 600)
}

/// `repaired` is there after a repair; then the rest is what is left.
fn as_json(report: &Report, repaired: Option<&[Note]>) -> Value {
    let problems = report.problems.iter().map(|problem| {
        let Problem { file, line, pointer, message, .. } = problem;
        let mut value = json!({"file": file, "pointer": pointer, "message": message});
        if let (Some(line), Some(fields)) = (line, value.as_object_mut()) {
            fields.insert("line".into(), json!(line));
        }
        value
    });
    let notes = |notes: &[Note]| -> Value {
        notes.iter().map(|note| json!({"file": note.file, "message": note.message})).collect()
    };
    let mut value = json!({
        "documents": report.documents,
        "problems": problems.collect::<Vec<_>>(),
        "notes": notes(&report.notes),
    });
    if let (Some(done), Some(fields)) = (repaired, value.as_object_mut()) {
        fields.insert("repaired".into(), notes(done));
    }
    value
}
