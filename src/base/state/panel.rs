//! Panels of `status`: what a document shows there, the same for the printed text, for the screen and
//! for `--json`. A row names its [`StatusPart`]; nothing else has to know of it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::core::settings::Settings;
use crate::core::table::{Table, Tone};
use crate::core::time::{self, Time};
use crate::state::State;

/// The part of `status` that a row declares.
#[derive(Clone, Copy, Debug)]
pub struct StatusPart {
    /// Parts are shown in the order of these numbers; no two have the same.
    pub place: u8,
    pub read: fn(&PanelContext) -> Section,
}

/// What a part is made from: the state as it is at one moment.
pub struct PanelContext<'s> {
    pub state: &'s State<'s>,
    pub settings: &'s Settings,
    /// When the last hook of each session ran.
    pub last_hooks: BTreeMap<String, String>,
    /// The sessions whose client is known to run no more.
    pub gone: BTreeSet<String>,
    /// Sessions that have ended had errors.
    pub had_errors: bool,
    /// Loops that ended long ago are wanted too.
    pub all: bool,
}

#[cfg(feature = "testing")]
impl<'s> PanelContext<'s> {
    /// Nothing is known but the state.
    pub fn new(state: &'s State<'s>, settings: &'s Settings) -> Self {
        let (last_hooks, gone) = (BTreeMap::new(), BTreeSet::new());
        Self { state, settings, last_hooks, gone, had_errors: false, all: false }
    }
}

/// What was read for a part.
pub struct Section {
    /// In `--json`: all that is known, ids and texts whole.
    pub json: Vec<(&'static str, Value)>,
    /// What is shown at a time; nothing if there is nothing to say.
    pub panel: Box<dyn Fn(Time) -> Option<Panel>>,
}

impl Section {
    pub fn new(
        json: impl IntoIterator<Item = (&'static str, Value)>,
        panel: impl Fn(Time) -> Option<Panel> + 'static,
    ) -> Self {
        Self { json: json.into_iter().collect(), panel: Box::new(panel) }
    }
}

pub struct Panel {
    pub title: &'static str,
    /// Beside the title: counts.
    pub says: String,
    /// The colour of what it says.
    pub tone: Tone,
    pub table: Table,
    /// Which panels go first where there is little room: those with a high number.
    pub spare: u8,
    /// How many rows of it are printed.
    pub brief: usize,
    /// Where a screen has two columns.
    pub column: Column,
    /// How many rows want somebody now. The clock alone may change that.
    pub due: usize,
    /// How many rows wait for a person; they come first.
    pub urgent: usize,
    /// What is over: on a screen one line, until somebody looks at it.
    pub is_past: bool,
    /// What there is to read of each row, as far as there is more.
    pub details: Vec<Detail>,
}

/// More of a row, for who asks for it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Detail {
    pub title: String,
    /// As it is stored: lines, and whatever is in them.
    pub text: String,
    /// A time with its name, as it is stored; a screen has it in local time.
    pub time: Option<(&'static str, String)>,
    /// Whose journal goes with it: a session's, or one agent's of it.
    pub session: Option<String>,
    pub agent: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// Sessions, agents, what hooks do, and what happened before.
    Left,
    Right,
}

impl Default for Panel {
    fn default() -> Self {
        Self {
            title: "",
            says: String::new(),
            tone: Tone::Plain,
            table: Table::default(),
            spare: 5,
            brief: 4,
            column: Column::Right,
            due: 0,
            urgent: 0,
            is_past: false,
            details: Vec::new(),
        }
    }
}

impl Panel {
    /// The panel, unless it has no rows.
    pub fn unless_empty(self) -> Option<Self> {
        (!self.table.is_empty()).then_some(self)
    }
}

/// The colour of a severity.
pub fn severity(name: &str) -> Tone {
    match name {
        "S0" => Tone::Bad,
        "S1" => Tone::Warn,
        "S2" => Tone::Strong,
        _ => Tone::Plain,
    }
}

/// `1m 35s`; `?` for what is not a time.
pub fn since(spelled: &str, now: Time) -> String {
    match time::age(spelled, now) {
        u64::MAX => "?".into(),
        seconds => time::human(seconds),
    }
}
