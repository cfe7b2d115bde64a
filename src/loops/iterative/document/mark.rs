//! How an entry of ours is told from one that others wrote into the log: if it moves something, it
//! ends with a digest of what moves, in a comment that a rendered page does not show. That is no
//! secret, only something that nobody writes by accident: models take our entries for a form to
//! fill in. Lines of others record and move nothing. Before the first mark (a log from before there
//! were any) the rules alone decide (`rebuild::allowed`).

use crate::core::id::sha256_hex;
use crate::loops::iterative::document::progress::{Entry, Step};

pub const MARK: &str = "<!-- hookkeeper ";

impl Entry {
    /// The last line of an entry that moves something; no other entry has this mark.
    pub fn mark(&self) -> Option<String> {
        let step = self.step.as_ref().map(Step::text);
        let moves = [&step, &self.phase, &self.session, &self.verdict, &self.state];
        moves.iter().any(|field| field.is_some()).then(|| {
            let fields = moves.map(|field| field.as_deref().unwrap_or_default());
            let head = [self.subject.as_str(), &self.what, &self.at];
            let output = self.output.as_deref();
            let all = [&head[..], &fields[..], output.as_slice()].concat();
            let digest = sha256_hex(all.join("\n").as_bytes());
            format!("{MARK}{} -->\n", digest.get(..12).unwrap_or(&digest))
        })
    }

    /// Takes out what moves something.
    pub fn only_records(&mut self) {
        self.step = None;
        self.phase = None;
        self.session = None;
        self.verdict = None;
        self.state = None;
        self.output = None;
    }
}
