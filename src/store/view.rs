//! Reading the books without the lock, for people: every document is whole because it is replaced,
//! never changed in place. What cannot be read is left out here and reported by the next hook.

use std::path::Path;

use serde::de::DeserializeOwned;

use crate::books::backup::Kept;
use crate::books::live::Live;
use crate::books::metrics::Metrics;
use crate::error::Result;
use crate::json::Object;
use crate::store::dir::Dir;

pub struct View {
    state: Dir,
}

impl View {
    /// `None` if there are no books. Nothing is made.
    pub fn open(root: &Path, home: Option<&Path>) -> Result<Option<Self>> {
        let Some(claude) = super::home::existing_claude_dir(root, home)? else { return Ok(None) };
        Ok(claude.sub("state")?.map(|state| Self { state }))
    }

    /// A document by its path below `.claude/state`.
    pub fn document<T: DeserializeOwned>(&self, path: &str) -> Option<T> {
        serde_json::from_slice(&self.bytes(path)?).ok()
    }

    pub fn metrics(&self) -> Option<Metrics> {
        Metrics::parse(&self.bytes("session/metrics.json")?).ok()
    }

    /// Live sessions, the one that started first first.
    pub fn lives(&self) -> Vec<Live> {
        let names = self.names("session/live");
        let mut lives: Vec<Live> = names
            .iter()
            .filter_map(|name| self.document(&format!("session/live/{name}")))
            .collect();
        lives.sort_by(|a, b| a.started.cmp(&b.started));
        lives
    }

    pub fn backups(&self) -> Vec<Kept> {
        let names = self.names("compaction");
        let backups = names.into_iter().filter_map(|file| {
            let bytes = self.bytes(&format!("compaction/{file}"))?;
            let session_id = Object::parse(&bytes).ok()?.text("session_id")?;
            Some(Kept { file, session_id })
        });
        backups.collect()
    }

    pub fn count(&self, room: &str) -> usize {
        self.names(room).len()
    }

    fn names(&self, room: &str) -> Vec<String> {
        self.dir(room).and_then(|dir| dir.names().ok()).unwrap_or_default()
    }

    fn bytes(&self, path: &str) -> Option<Vec<u8>> {
        let (room, file) = path.rsplit_once('/')?;
        self.dir(room)?.read(file).ok()?
    }

    fn dir(&self, room: &str) -> Option<Dir> {
        let mut segments = room.split('/');
        let first = self.state.sub(segments.next()?).ok()??;
        segments.try_fold(first, |dir, segment| dir.sub(segment).ok()?)
    }
}
