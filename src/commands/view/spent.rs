//! What the live sessions have used, as their transcripts say: tokens and dollars.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::client::transcript::usage::{self, Cost};
use crate::core::spelling::{self, short_count};
use crate::core::text::plural;
use crate::core::time::Time;
use crate::process::files;
use crate::session::live::Live;
use crate::store::view::View;

/// A transcript is read from its beginning: not more often than this, in seconds.
const OFTEN: i64 = 10;

/// What was read, when, and how new it was then.
struct Known {
    read: Time,
    modified: Option<Time>,
    cost: Cost,
}

#[derive(Default)]
pub struct Spent {
    known: BTreeMap<PathBuf, Known>,
}

impl Spent {
    /// `2 live sessions: 45.2k tokens, $1.23`; nothing if no transcript says anything.
    pub fn line(&mut self, view: &View, now: Time) -> Option<String> {
        let state = view.state();
        let paths = state.all::<Live>().filter_map(|live| live.transcript_path.clone());
        let paths: Vec<PathBuf> = paths.map(PathBuf::from).collect();
        self.known.retain(|path, _| paths.contains(path));
        let costs: Vec<Cost> = paths.iter().map(|path| self.cost(path, now)).collect();
        let tokens: u64 = costs.iter().filter_map(|cost| Some(cost.tokens.as_ref()?.sum())).sum();
        let dollars: Vec<f64> = costs.iter().filter_map(|cost| cost.usd).collect();
        if tokens == 0 && dollars.is_empty() {
            return None;
        }
        let usd = match dollars.is_empty() {
            true => String::new(),
            false => format!(", {}", spelling::dollars(dollars.iter().sum())),
        };
        let sessions = plural(costs.len(), "live session");
        Some(format!("{sessions}: {} tokens{usd}", short_count(tokens)))
    }

    fn cost(&mut self, path: &Path, now: Time) -> Cost {
        let modified = files::modified(path);
        let is_good =
            |known: &&Known| known.modified == modified || (now - known.read).num_seconds() < OFTEN;
        if let Some(known) = self.known.get(path).filter(is_good) {
            return known.cost.clone();
        }
        let cost = usage::cost(path, u64::MAX);
        let known = Known { read: now, modified, cost: cost.clone() };
        self.known.insert(path.to_owned(), known);
        cost
    }
}
