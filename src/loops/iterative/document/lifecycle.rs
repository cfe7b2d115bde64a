//! What may become of a unit. `done` is reached on one way only: work, a confirmation that changes
//! nothing, a verification that passes.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Pending,
    InProgress,
    Confirming,
    Verifying,
    Done,
    Blocked,
    Timeout,
}

use Status::{Blocked, Confirming, Done, InProgress, Pending, Timeout, Verifying};

impl Status {
    pub const ALL: [Self; 7] = [Pending, InProgress, Confirming, Verifying, Done, Blocked, Timeout];

    pub fn name(self) -> &'static str {
        match self {
            Pending => "pending",
            InProgress => "in_progress",
            Confirming => "confirming",
            Verifying => "verifying",
            Done => "done",
            Blocked => "blocked",
            Timeout => "timeout",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.name() == name)
    }

    pub fn is_at_work(self) -> bool {
        matches!(self, InProgress | Confirming | Verifying)
    }
}

/// Whether a unit may go from one status to another; if not, the rule that it would break.
pub fn allowed(from: Status, to: Status) -> Result<(), String> {
    let fine = match (from, to) {
        (Pending, InProgress) => true,
        // Somebody does without what is blocked.
        (Blocked, Blocked) => true,
        // It goes on as it is: another iteration.
        (from, to) if from == to => from.is_at_work(),
        (InProgress, Confirming) | (Confirming, Verifying) | (Verifying, Done) => true,
        (Confirming | Verifying, InProgress) => true,
        // One that has none left is not begun again.
        (from, Timeout) => from.is_at_work() || from == Pending,
        // Blocked by its work, or given up by somebody.
        (from, Blocked) => from != Done,
        (Blocked | Timeout, Pending) => true,
        _ => false,
    };
    if fine { Ok(()) } else { Err(rule(from, to).to_owned()) }
}

/// The rule that forbids it.
fn rule(from: Status, to: Status) -> &'static str {
    match (from, to) {
        (Done, _) => "a unit that is done stays done",
        (Pending, Done | Verifying | Confirming) => {
            "a unit has to be worked on first: pending → in_progress → confirming → verifying → done"
        }
        (InProgress, Done | Verifying) => {
            "a unit is verified only after it was confirmed: in_progress → confirming → verifying → done"
        }
        (Confirming, Done) => {
            "a unit is done only when its verification has passed: confirming → verifying → done"
        }
        (Verifying, Confirming) => "what is being verified passes, or goes back to in_progress",
        (Blocked | Timeout, _) => "a unit that has stopped has to be unblocked first",
        (_, Pending) => "a unit that was begun is not pending any more",
        _ => "the lifecycle is pending → in_progress → confirming → verifying → done",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_one_way_to_done() {
        for from in Status::ALL {
            assert_eq!(allowed(from, Done).is_ok(), from == Verifying, "{from:?}");
            assert_eq!(allowed(from, Verifying).is_ok(), matches!(from, Confirming | Verifying));
            assert_eq!(allowed(from, Confirming).is_ok(), matches!(from, InProgress | Confirming));
            assert!(allowed(Done, from).is_err());
        }
        let rule = allowed(InProgress, Done).unwrap_err();
        assert!(rule.contains("in_progress → confirming → verifying → done"), "{rule}");
    }
}
