//! What the views of `status` are made of: the state as it is at one moment, part by part. Which
//! parts there are is said by the rows of the documents.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::core::journal::Entry;
use crate::core::time::Time;
use crate::process::client::is_gone;
use crate::process::processes::host_name;
use crate::session::live::Live;
use crate::session::metrics::Metrics;
use crate::state::State;
use crate::state::panel::{Panel, PanelContext, Section, StatusPart};
use crate::store::home;
use crate::store::journal::read::Order;
use crate::store::journal::{self, Journal};
use crate::store::view::View;
use crate::validate::documents;
use crate::view::notes;

/// What one look at a project found.
pub enum Observed {
    State(Box<Overview>),
    /// There are none yet, or none any more; or what there is was not made on this machine.
    NoState {
        is_left_out: bool,
    },
    /// They are there, and cannot be opened.
    Unreadable(String),
}

pub struct Overview {
    /// What needs somebody's eye and has no place of its own.
    notes: Section,
    sections: Vec<Section>,
}

impl Observed {
    pub fn look(root: &Path, home_dir: Option<&Path>, all: bool) -> Self {
        View::open(root, home_dir).map_or_else(
            |error| Self::Unreadable(error.to_string()),
            |view| Self::through(view, all, || home::has_unbelieved(root, home_dir)),
        )
    }

    pub fn through(view: Option<View>, all: bool, is_left_out: impl FnOnce() -> bool) -> Self {
        let read = |view: View| {
            let (state, settings) = (&view.state(), &view.settings());
            let last_hooks = last_hooks(state, &view.journal());
            let (gone, had_errors) = (gone(state), had_errors(state));
            Overview::read(&PanelContext { state, settings, last_hooks, gone, had_errors, all })
        };
        match view {
            Some(view) => Self::State(Box::new(read(view))),
            None => Self::NoState { is_left_out: is_left_out() },
        }
    }

    pub fn json(&self, root: &Path) -> Value {
        match self {
            Self::State(overview) => overview.json(root),
            Self::NoState { is_left_out } => {
                json!({"project": root, "books": false, "not_believed": is_left_out})
            }
            Self::Unreadable(why) => json!({"project": root, "books": null, "error": why}),
        }
    }

    /// How many rows want somebody now, panel by panel: what the clock alone changes.
    pub fn due(&self, now: Time) -> Vec<usize> {
        let Self::State(overview) = self else { return Vec::new() };
        overview.panels(now).iter().map(|panel| panel.due).collect()
    }
}

/// When the last hook of each live session ran.
fn last_hooks(state: &State, journal: &Journal) -> BTreeMap<String, String> {
    let last = |live: &Live| {
        let stem = journal::stem(&live.session_id);
        let run = journal.of_stem(&stem, Order::NewestFirst).find(Entry::is_run)?;
        Some((live.session_id.clone(), run.time))
    };
    state.all::<Live>().filter_map(last).collect()
}

/// Live sessions whose client has ended without a word.
fn gone(state: &State) -> BTreeSet<String> {
    let host = host_name();
    let gone = state.all::<Live>().filter(|live| is_gone(&live.client, &host));
    gone.map(|live| live.session_id.clone()).collect()
}

fn had_errors(state: &State) -> bool {
    let ended = state.get::<Metrics>().map(|metrics| metrics.newest(usize::MAX));
    ended.unwrap_or_default().iter().any(|entry| entry.errors.total > 0)
}

impl Overview {
    pub fn read(context: &PanelContext) -> Self {
        let sections = parts().iter().map(|part| (part.read)(context)).collect();
        // After the others: only then is it known what cannot be read.
        Self { sections, notes: notes::section(context) }
    }

    /// All panels, in the order in which they are read.
    pub fn panels(&self, now: Time) -> Vec<Panel> {
        let sections = std::iter::once(&self.notes).chain(&self.sections);
        sections.filter_map(|section| (section.panel)(now)).collect()
    }

    fn json(&self, root: &Path) -> Value {
        let mut all = Map::new();
        all.insert("project".into(), json!(root));
        all.insert("books".into(), true.into());
        for section in self.sections.iter().chain([&self.notes]) {
            all.extend(section.json.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
        }
        all.into()
    }
}

/// The parts that rows declare, by their places.
fn parts() -> Vec<StatusPart> {
    let mut parts: Vec<StatusPart> =
        documents::all().iter().filter_map(|known| known.row.status).collect();
    parts.sort_by_key(|part| part.place);
    parts
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::core::settings::Settings;
    use crate::state::map::Files;

    #[test]
    fn every_part_has_a_place_and_a_key_of_its_own() {
        let mut taken: BTreeMap<u8, Vec<&str>> = BTreeMap::new();
        for row in documents::all().iter().map(|known| known.row) {
            if let Some(part) = row.status {
                taken.entry(part.place).or_default().push(row.name);
            }
        }
        assert!(taken.values().all(|rows| rows.len() == 1), "two rows have one place: {taken:?}");
        let files = Files::default();
        let (state, settings) = (&files.state(), &Settings::default());
        let context = PanelContext::new(state, settings);
        let overview = Overview::read(&context);
        let sections = overview.sections.iter().chain([&overview.notes]);
        let keys: Vec<_> = sections.flat_map(|section| &section.json).map(|(key, _)| key).collect();
        assert_eq!(keys.len(), keys.iter().collect::<BTreeSet<_>>().len(), "{keys:?}");
    }
}
