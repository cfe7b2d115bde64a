//! The bytes of a document that is to be written, in pieces: what is new of it, and ranges of what
//! was read. A large document is mostly what was read, and copying that costs more than looking
//! through it.

use crate::core::entries::Shared;
use crate::core::json::scan::Span;

/// What is shorter is copied: a piece has its price too.
const WORTH_SHARING: usize = 4 << 10;

#[derive(Clone, Debug, Default)]
pub struct Pieces(Vec<Piece>);

#[derive(Clone, Debug)]
enum Piece {
    New(Vec<u8>),
    /// A range of what was read.
    Kept(Shared, Span),
}

impl Piece {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::New(bytes) => bytes,
            Self::Kept(source, span) => source.get(span.start..span.end).unwrap_or_default(),
        }
    }
}

impl Pieces {
    /// Adds something new.
    pub fn push(&mut self, text: &str) {
        self.push_bytes(text.as_bytes());
    }

    /// Adds a range of what was read.
    pub fn keep(&mut self, source: &Shared, span: Span) {
        let piece = Piece::Kept(source.clone(), span);
        if piece.bytes().len() < WORTH_SHARING {
            self.push_bytes(piece.bytes());
        } else {
            self.0.push(piece);
        }
    }

    fn push_bytes(&mut self, more: &[u8]) {
        match self.0.last_mut() {
            Some(Piece::New(bytes)) => bytes.extend_from_slice(more),
            _ => self.0.push(Piece::New(more.to_vec())),
        }
    }

    /// The pieces in their order.
    pub fn slices(&self) -> impl Iterator<Item = &[u8]> {
        self.0.iter().map(Piece::bytes)
    }

    pub fn is_blank(&self) -> bool {
        self.slices().all(|piece| piece.trim_ascii().is_empty())
    }

    /// All of them in one.
    pub fn to_vec(&self) -> Vec<u8> {
        self.slices().collect::<Vec<_>>().concat()
    }
}

impl From<Vec<u8>> for Pieces {
    fn from(bytes: Vec<u8>) -> Self {
        Self(vec![Piece::New(bytes)])
    }
}

/// Equal bytes, however they are cut.
impl PartialEq for Pieces {
    fn eq(&self, other: &Self) -> bool {
        self.to_vec() == other.to_vec()
    }
}

impl PartialEq<[u8]> for Pieces {
    fn eq(&self, whole: &[u8]) -> bool {
        let mut rest = Some(whole);
        for piece in self.slices() {
            rest = rest.and_then(|rest| rest.strip_prefix(piece));
        }
        rest.is_some_and(<[u8]>::is_empty)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_their_bytes_however_they_are_cut() {
        let source = Shared::new("0123456789".repeat(1000).into_bytes());
        let mut pieces = Pieces::default();
        pieces.push("[");
        pieces.keep(&source, Span { start: 3, end: 5 });
        pieces.push(", ");
        assert_eq!(pieces.slices().count(), 1, "what is short is copied");
        pieces.keep(&source, Span { start: 0, end: 5000 });
        pieces.push("]");
        assert_eq!(pieces.slices().count(), 3);
        let whole = format!("[34, {}]", "0123456789".repeat(500)).into_bytes();
        assert_eq!(pieces.to_vec(), whole);
        assert!(pieces == *whole && pieces == Pieces::from(whole.clone()));
        assert!(pieces != *[whole.as_slice(), b" "].concat());
        assert!(pieces != whole[..whole.len() - 1]);
        assert!(pieces != *[&whole[..9], b"x", &whole[10..]].concat());
    }

    #[test]
    fn blank_is_what_has_nothing_in_any_piece() {
        let mut pieces = Pieces::default();
        assert!(pieces.is_blank());
        pieces.push(" \n");
        assert!(pieces.is_blank());
        pieces.keep(&Shared::new(vec![b'x'; WORTH_SHARING]), Span { start: 0, end: WORTH_SHARING });
        assert!(!pieces.is_blank());
    }
}
