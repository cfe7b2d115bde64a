//! The table of names: argv\[0\] or argv\[1\] to what to run. The hook path is found here, before
//! clap is built.

use crate::event::Kind;

#[derive(Debug, PartialEq)]
pub enum Applet {
    /// A hook, for the event that the name says, or for the payload's.
    Hook(Option<Kind>),
    /// `hook NAME` with an event that is not ours: nothing to do.
    ForeignHook,
    CommandLine,
}

/// Names of the scripts in the documents that specify the books. A project that has them swaps a
/// link in.
const SCRIPTS: [(&str, Kind); 6] = [
    ("agent-tracker", Kind::SubagentStart),
    ("agent-synthesizer", Kind::SubagentStop),
    ("error-recovery", Kind::PostToolUseFailure),
    ("save-session-state", Kind::PreCompact),
    ("restore-session-state", Kind::SessionStart),
    ("check-loop", Kind::Stop),
];

pub fn find(args: &[String]) -> Applet {
    let called = args.first().map_or("", String::as_str);
    let called = called.rsplit('/').next().unwrap_or(called);
    let stem = [".sh", ".py"].iter().find_map(|end| called.strip_suffix(end)).unwrap_or(called);
    let script = SCRIPTS.iter().find(|(name, _)| *name == stem).map(|&(_, kind)| kind);
    if let Some(kind) = script.or_else(|| Kind::from_name(stem)) {
        return Applet::Hook(Some(kind));
    }
    let rest: Vec<&str> = args.iter().skip(1).map(String::as_str).collect();
    match rest.as_slice() {
        ["hook"] => Applet::Hook(None),
        ["hook", name] if !name.starts_with('-') => match Kind::from_name(name) {
            Some(kind) => Applet::Hook(Some(kind)),
            None => Applet::ForeignHook,
        },
        _ => Applet::CommandLine,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(args: &[&str]) -> Applet {
        find(&args.iter().map(|&arg| arg.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn names_find_their_hook() {
        assert_eq!(of(&["/x/subagent-stop"]), Applet::Hook(Some(Kind::SubagentStop)));
        assert_eq!(of(&["session-end.sh"]), Applet::Hook(Some(Kind::SessionEnd)));
        assert_eq!(of(&["hooks/agent-tracker.py"]), Applet::Hook(Some(Kind::SubagentStart)));
        assert_eq!(of(&["hookkeeper", "hook"]), Applet::Hook(None));
        assert_eq!(of(&["hookkeeper", "hook", "Stop"]), Applet::Hook(Some(Kind::Stop)));
        assert_eq!(of(&["hookkeeper", "hook", "PostToolBatch"]), Applet::ForeignHook);
        assert_eq!(of(&["hookkeeper", "hook", "--help"]), Applet::CommandLine);
        assert_eq!(of(&["hookkeeper", "status"]), Applet::CommandLine);
        assert_eq!(of(&[]), Applet::CommandLine);
    }
}
