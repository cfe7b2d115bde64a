//! The table of names: argv\[0\] or argv\[1\] to what to run. The hook path is found here, before
//! clap is built.

use crate::core::command_line;
use crate::core::event::Kind;

#[derive(Debug, PartialEq)]
pub enum Applet {
    /// A hook, for the event that the name says, or for the payload's.
    Hook(Option<Kind>),
    /// `hook NAME` with an event that is not ours: nothing to do.
    ForeignHook,
    CommandLine,
}

pub fn find(args: &[String]) -> Applet {
    let called = command_line::program(args);
    let stem = [".sh", ".py"].iter().find_map(|end| called.strip_suffix(end)).unwrap_or(called);
    if let Some(kind) = Kind::from_script(stem).or_else(|| Kind::from_name(stem)) {
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

    fn find_words(args: &[&str]) -> Applet {
        find(&args.iter().map(|&arg| arg.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn names_find_their_hook() {
        assert_eq!(find_words(&["/x/subagent-stop"]), Applet::Hook(Some(Kind::SubagentStop)));
        assert_eq!(find_words(&["session-end.sh"]), Applet::Hook(Some(Kind::SessionEnd)));
        assert_eq!(
            find_words(&["hooks/agent-tracker.py"]),
            Applet::Hook(Some(Kind::SubagentStart))
        );
        assert_eq!(find_words(&["hookkeeper", "hook"]), Applet::Hook(None));
        assert_eq!(find_words(&["hookkeeper", "hook", "Stop"]), Applet::Hook(Some(Kind::Stop)));
        assert_eq!(find_words(&["hookkeeper", "hook", "PermissionRequest"]), Applet::ForeignHook);
        assert_eq!(find_words(&["hookkeeper", "hook", "--help"]), Applet::CommandLine);
        assert_eq!(find_words(&["hookkeeper", "status"]), Applet::CommandLine);
        assert_eq!(find_words(&[]), Applet::CommandLine);
    }
}
