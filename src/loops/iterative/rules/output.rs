//! A unit that has to make a file has made it: the file is there, is not empty, and was changed in
//! this unit.

use crate::loops::iterative::document::lifecycle::Status;
use crate::loops::iterative::document::progress::NONE;
use crate::loops::iterative::document::task_documents::TaskDocuments;

/// What is wrong with the output of a unit.
pub fn problem(documents: &TaskDocuments, id: &str) -> Option<String> {
    let unit = documents.state.unit(id)?;
    let paths = unit.output_paths();
    if paths.is_empty() {
        return None;
    }
    let named = paths.join(", ");
    match documents.seen.outputs.get(id) {
        None => Some(format!("the output of {id}, {named}, is missing or empty")),
        Some(digest) if documents.log.output_before(id) == Some(digest) => {
            Some(format!("the output of {id}, {named}, is as it was when the unit began"))
        }
        Some(_) => None,
    }
}

/// The first output of a unit that is done that is not there any more.
pub fn first_missing(documents: &TaskDocuments) -> Option<String> {
    let done = documents.state.units().iter().filter(|(_, unit)| unit.is(Status::Done));
    done.filter(|(id, _)| !documents.seen.outputs.contains_key(id))
        .find_map(|(id, _)| problem(documents, id))
}

/// The output of a unit that begins, for its entry in the log.
pub fn at_start(documents: &TaskDocuments, id: &str) -> Option<String> {
    let has_output = !documents.state.unit(id)?.output_paths().is_empty();
    let digest = documents.seen.outputs.get(id).cloned();
    has_output.then(|| digest.unwrap_or_else(|| NONE.to_owned()))
}
