//! What stands on the timeline, and how it looks.

use crate::core::journal::{Entry, EntryKind};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mark {
    Tool,
    FailedTool,
    Error,
    Recovered,
    Prompt,
    Compaction,
    Block,
    Loop,
    Gate,
    FailedGate,
    Note,
}

impl Mark {
    /// In the order of the legend; what matters more is drawn later.
    pub const ALL: [Self; 11] = [
        Self::Tool,
        Self::Note,
        Self::Prompt,
        Self::Recovered,
        Self::Gate,
        Self::FailedGate,
        Self::Loop,
        Self::Compaction,
        Self::Block,
        Self::FailedTool,
        Self::Error,
    ];

    /// `None`: a hook run that tells nothing.
    pub fn new(entry: &Entry) -> Option<Self> {
        Some(match entry.kind {
            EntryKind::Tool if entry.failed => Self::FailedTool,
            EntryKind::Tool => Self::Tool,
            EntryKind::Error => Self::Error,
            EntryKind::Recovered => Self::Recovered,
            EntryKind::Prompt | EntryKind::Command => Self::Prompt,
            EntryKind::Compacted => Self::Compaction,
            EntryKind::Stop if entry.failed => Self::Error,
            EntryKind::Stop if entry.what.as_deref() == Some("blocked") => Self::Block,
            EntryKind::Rejected => Self::Error,
            EntryKind::Loop => Self::Loop,
            EntryKind::Gate if entry.failed => Self::FailedGate,
            EntryKind::Gate => Self::Gate,
            // A compaction that is announced is counted when it is over.
            EntryKind::Compact
            | EntryKind::Start
            | EntryKind::End
            | EntryKind::Call
            | EntryKind::AgentStart
            | EntryKind::AgentEnd
            | EntryKind::Stop
            | EntryKind::Handoff
            | EntryKind::Model
            | EntryKind::Notification => Self::Note,
            EntryKind::Spooled | EntryKind::Run | EntryKind::Other => return None,
        })
    }

    /// Its class in the page.
    pub fn class(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::FailedTool => "failed",
            Self::Error => "error",
            Self::Recovered => "recovered",
            Self::Prompt => "prompt",
            Self::Compaction => "compaction",
            Self::Block => "block",
            Self::Loop => "loop",
            Self::Gate => "gate",
            Self::FailedGate => "refusal",
            Self::Note => "note",
        }
    }

    pub fn label(self) -> &'static str {
        match self {
            Self::Tool => "Tool call",
            Self::FailedTool => "Failed call",
            Self::Error => "Error",
            Self::Recovered => "Recovered",
            Self::Prompt => "Prompt",
            Self::Compaction => "Compaction",
            Self::Block => "Block",
            Self::Loop => "Loop",
            Self::Gate => "Gate",
            Self::FailedGate => "Failed gate",
            Self::Note => "Other",
        }
    }

    /// How far above the middle of its lane it stands: what often comes together does not overlap.
    pub fn lift(self) -> usize {
        match self {
            Self::Prompt | Self::Recovered | Self::Loop | Self::Gate | Self::FailedGate => 10,
            _ => 0,
        }
    }

    /// Its outline around the origin; a tool call is as wide as it is long.
    pub fn path(self) -> &'static str {
        match self {
            Self::Tool => "M-2-7h4v14h-4z",
            Self::FailedTool => "M-2-10h4v20h-4z",
            Self::Error => {
                "M-4.6-6.7 0-2.1l4.6-4.6 2.1 2.1L2.1 0l4.6 4.6-2.1 2.1L0 2.1l-4.6 4.6-2.1-2.1L-2.1 0l-4.6-4.6z"
            }
            Self::Recovered => "M-6.5.5l2-2 2.8 2.8 6-6 2 2-8 8z",
            Self::Prompt => "M-6-6h12L0 6z",
            Self::Compaction => "M0-8 8 0 0 8-8 0z",
            Self::Block => "M-3-7h6l4 4v6l-4 4h-6l-4-4v-6zM-4-1.4v2.8h8v-2.8z",
            Self::Loop => "M0-7a7 7 0 1 0 .01 0zM0-3.5a3.5 3.5 0 1 1-.01 0z",
            Self::Gate => "M0-7 7 6H-7z",
            Self::FailedGate => "M0-7 7 6H-7zM-1-2v4h2v-4zM-1 3v2h2v-2z",
            Self::Note => "M0-3.2a3.2 3.2 0 1 0 .01 0z",
        }
    }
}
