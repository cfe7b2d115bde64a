//! What of the journal goes out: which signals, and whether words of people and reports of agents do.

use crate::core::journal::EntryKind;
use crate::export::otlp::Signal;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WhatToSend {
    pub logs: bool,
    pub traces: bool,
    pub metrics: bool,
    /// What people type, and what agents are asked.
    pub prompts: bool,
    /// What the model and its agents answer.
    pub reports: bool,
}

impl Default for WhatToSend {
    fn default() -> Self {
        Self { logs: true, traces: true, metrics: true, prompts: false, reports: false }
    }
}

impl WhatToSend {
    pub fn has(self, signal: Signal) -> bool {
        match signal {
            Signal::Logs => self.logs,
            Signal::Traces => self.traces,
            Signal::Metrics => self.metrics,
        }
    }

    pub fn signals(self) -> impl Iterator<Item = Signal> {
        Signal::ALL.into_iter().filter(move |signal| self.has(*signal))
    }

    /// Whether what a line was about may go out: of a session's end and of a loop that is what somebody
    /// typed.
    pub fn has_target(self, kind: EntryKind) -> bool {
        !matches!(kind, EntryKind::End | EntryKind::Loop) || self.prompts
    }

    /// Whether the text of a line may go out.
    pub fn has_text(self, kind: EntryKind) -> bool {
        match kind {
            EntryKind::Prompt | EntryKind::Command | EntryKind::Call => self.prompts,
            EntryKind::Stop
            | EntryKind::Compacted
            | EntryKind::Handoff
            | EntryKind::AgentEnd
            | EntryKind::Other => self.reports,
            EntryKind::Start
            | EntryKind::End
            | EntryKind::Tool
            | EntryKind::AgentStart
            | EntryKind::Error
            | EntryKind::Recovered
            | EntryKind::Compact
            | EntryKind::Loop
            | EntryKind::Gate
            | EntryKind::Model
            | EntryKind::Notification
            | EntryKind::Rejected
            | EntryKind::Spooled
            | EntryKind::Run => true,
        }
    }
}
