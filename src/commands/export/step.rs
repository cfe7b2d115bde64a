//! What follows from the answers to a batch. Pure.

use crate::export::otlp::Signal;

/// What became of the records of one signal.
pub enum Sending {
    Taken {
        records: u64,
        refused: u64,
        why: Option<String>,
    },
    /// Smaller ones may be taken.
    Refused(String),
    /// It is noted why.
    Later,
}

impl Sending {
    /// The endpoint has records of it, so it is one that takes any.
    pub fn has_arrived(&self) -> bool {
        matches!(self, Self::Taken { records, refused, .. } if records > refused)
    }
}

/// What a batch comes to.
#[derive(Debug, PartialEq)]
pub enum Step {
    Take,
    /// One signal was taken, and is not sent again; this one was not.
    TakeBut(Signal),
    /// This one has to be tried by itself.
    Part(Signal),
    /// Smaller batches may be taken.
    Split,
    /// A single line of a single signal is refused.
    Hold(Signal, String),
    Stop,
}

/// What follows from the answers to a batch; `are_both` if logs and traces go this way.
pub fn decide(logs: &Sending, spans: &Sending, are_both: bool, lines: usize) -> Step {
    use Sending::{Later, Refused, Taken};
    match (logs, spans) {
        (Taken { .. }, Taken { .. }) => Step::Take,
        (logs, _) if are_both && logs.has_arrived() => Step::TakeBut(Signal::Traces),
        (_, spans) if are_both && spans.has_arrived() => Step::TakeBut(Signal::Logs),
        (Refused(_), Later) if are_both => Step::Part(Signal::Traces),
        (Later, Refused(_)) if are_both => Step::Part(Signal::Logs),
        (Refused(_), _) | (_, Refused(_)) if lines > 1 => Step::Split,
        (Refused(_), _) if are_both => Step::Part(Signal::Logs),
        (_, Refused(_)) if are_both => Step::Part(Signal::Traces),
        (Refused(why), _) => Step::Hold(Signal::Logs, why.clone()),
        (_, Refused(why)) => Step::Hold(Signal::Traces, why.clone()),
        (Later, _) | (_, Later) => Step::Stop,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_taken_is_not_sent_again_and_a_line_is_refused_by_itself() {
        let taken = |records| Sending::Taken { records, refused: 0, why: None };
        let refused = || Sending::Refused("no".into());
        let hold = |signal| Step::Hold(signal, "no".into());
        let (logs, traces) = (Signal::Logs, Signal::Traces);
        for (first, second, are_both, lines, step) in [
            (taken(2), taken(0), true, 9, Step::Take),
            (taken(2), Sending::Later, true, 9, Step::TakeBut(traces)),
            (refused(), taken(2), true, 9, Step::TakeBut(logs)),
            (taken(0), Sending::Later, true, 9, Step::Stop),
            (Sending::Later, Sending::Later, true, 9, Step::Stop),
            (refused(), Sending::Later, true, 9, Step::Part(traces)),
            (refused(), refused(), true, 9, Step::Split),
            (refused(), refused(), true, 1, Step::Part(logs)),
            (taken(0), refused(), true, 1, Step::Part(traces)),
            (taken(0), refused(), false, 9, Step::Split),
            (taken(0), refused(), false, 1, hold(traces)),
            (refused(), taken(0), false, 1, hold(logs)),
            (Sending::Later, taken(0), false, 1, Step::Stop),
        ] {
            assert_eq!(decide(&first, &second, are_both, lines), step, "{step:?}");
        }
    }
}
