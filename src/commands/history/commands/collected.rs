//! The ledger of a project, or of all projects as one.

use crate::console::project::{Project, read_document};
use crate::console::projects::known_projects;
use crate::history::ledger::{Asked, Ledger, Session};
use crate::session::metrics::Metrics;
use crate::store::view::View;
use crate::turn::root;

#[derive(Default)]
pub struct Collected {
    /// Of all of them; a session's `source` is a place in `sources`.
    pub ledger: Ledger,
    pub sources: Vec<Source>,
    /// The projects whose metrics cannot be read.
    pub unread: Vec<String>,
}

impl Collected {
    /// Where a session is from.
    pub fn place(&self, session: &Session) -> Option<&str> {
        self.sources.get(session.source).map(|source| source.place.as_str())
    }
}

/// Where sessions are from.
pub struct Source {
    /// The repository's path as people write it: a linked worktree counts with its checkout.
    pub place: String,
    pub view: View,
}

/// The ledger of this project; nothing if it has no state.
pub fn of_project(project: &Project, asked: Asked) -> anyhow::Result<Collected> {
    let Some(view) = project.view()? else { return Ok(Collected::default()) };
    let metrics: Metrics = project.document()?.unwrap_or_default();
    let ledger = Ledger::read(&view, &metrics, asked, project.process.now());
    let place = root::from_home(&project.root()?, project.process.home().as_deref());
    Ok(Collected { ledger, sources: vec![Source { place, view }], unread: Vec::new() })
}

/// The ledgers of all known projects as one: sessions that live first, then by their days.
pub fn of_all_projects(project: &Project, asked: Asked) -> Collected {
    let home = project.process.home();
    let mut all = Collected::default();
    for known in known_projects(project) {
        let place = root::from_home(&known.repository, home.as_deref());
        let Ok(metrics) = read_document::<Metrics>(&known.view, &()) else {
            all.unread.push(root::from_home(&known.root, home.as_deref()));
            continue;
        };
        let metrics = metrics.unwrap_or_default();
        let mut ledger = Ledger::read(&known.view, &metrics, asked, project.process.now());
        ledger.sessions.iter_mut().for_each(|session| session.source = all.sources.len());
        all.ledger.sessions.append(&mut ledger.sessions);
        all.ledger.damaged += ledger.damaged;
        all.sources.push(Source { place, view: known.view });
    }
    all.ledger.sessions.sort_by(|one, other| {
        (other.is_live, &other.entry.date).cmp(&(one.is_live, &one.entry.date))
    });
    all
}
