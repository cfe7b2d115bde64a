//! What the model says of a unit: `<signal>T1_DONE</signal>`.

use crate::core::redaction::Redactor;
use crate::core::text::clip;
use crate::loops::promise;

const LONGEST: usize = 300;

#[derive(Clone, Debug, PartialEq)]
pub enum Signal {
    Done,
    Verified,
    Gaps,
    Blocked(String),
}

/// A signal, and the unit that it names; `BLOCKED` may name none.
#[derive(Clone, Debug, PartialEq)]
pub struct UnitSignal {
    pub unit: Option<String>,
    pub signal: Signal,
}

impl UnitSignal {
    /// `T1_DONE`, `T1_VERIFIED`, `T1_GAPS`, `BLOCKED: why`, `T1_BLOCKED: why`
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let (word, why) = text.split_once(':').unwrap_or((text, ""));
        let (unit, name) = match word.trim().rsplit_once('_') {
            Some((unit, name)) => (Some(unit.to_owned()), name),
            None => (None, word.trim()),
        };
        let signal = match name {
            "BLOCKED" => Signal::Blocked(reason(why)),
            "DONE" if why.is_empty() => Signal::Done,
            "VERIFIED" if why.is_empty() => Signal::Verified,
            "GAPS" => Signal::Gaps,
            _ => return None,
        };
        (unit.is_some() || matches!(signal, Signal::Blocked(_))).then_some(Self { unit, signal })
    }

    /// All signals of a message.
    pub fn parse_all(message: &str) -> Vec<Self> {
        promise::tagged_texts(message, "signal")
            .iter()
            .filter_map(|text| Self::parse(text))
            .collect()
    }
}

/// A message without its signals.
pub fn without_signals(message: &str) -> String {
    let mut parts = message.split("<signal>");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push_str(part.split_once("</signal>").map_or(part, |(_, rest)| rest));
    }
    out
}

impl Signal {
    /// As it is spelled for a unit.
    pub fn text(&self, unit: &str) -> String {
        match self {
            Self::Done => format!("{unit}_DONE"),
            Self::Verified => format!("{unit}_VERIFIED"),
            Self::Gaps => format!("{unit}_GAPS"),
            Self::Blocked(why) => format!("BLOCKED: {why}"),
        }
    }
}

/// Why something is blocked, as the state has it.
fn reason(why: &str) -> String {
    let why = clip(&Redactor::default().text(why), LONGEST);
    match why.as_str() {
        "" => "no reason given".into(),
        why if why.eq_ignore_ascii_case("none") => "no reason given".into(),
        _ => why,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tags_outside_of_code_count() {
        let names = |text: &str| {
            UnitSignal::parse_all(text)
                .iter()
                .map(|said| said.signal.text("T1"))
                .collect::<Vec<_>>()
        };
        assert_eq!(names("done <signal>T1_DONE</signal>"), ["T1_DONE"]);
        assert_eq!(names("<signal> BLOCKED:\n no key </signal>"), ["BLOCKED: no key"]);
        assert_eq!(names("<signal>BLOCKED</signal>"), ["BLOCKED: no reason given"]);
        assert!(names("T1_DONE, `<signal>T1_DONE</signal>`").is_empty());
        assert!(names("```\n<signal>T1_DONE</signal>\n```").is_empty());
        assert!(
            names("<signal>DONE</signal> <signal>T1_FINE</signal> <signal></signal>").is_empty()
        );
        let odd = UnitSignal::parse("A_B_GAPS").unwrap();
        assert_eq!((odd.unit.as_deref(), odd.signal), (Some("A_B"), Signal::Gaps));
    }
}
