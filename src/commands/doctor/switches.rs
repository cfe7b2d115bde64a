//! HK005, HK008 and HK009: settings files as such, what switches hooks off, and our own options.

use crate::client::settings::faults::Fault;
use crate::core::settings::layers;
use crate::core::text::clip;
use crate::doctor::facts::Facts;
use crate::doctor::finding::{Finding, or_ok};
use crate::doctor::settings::SettingsContent;

pub fn files(facts: &Facts) -> Vec<Finding> {
    let mut problems = Vec::new();
    for file in &facts.files {
        match &file.content {
            SettingsContent::None => {}
            SettingsContent::Unreadable(why) => problems.push(Finding::error(
                format!("{}: {why}", file.shown),
                "Claude Code cannot read it either. Check its owner, its permissions and its encoding.",
            )),
            SettingsContent::Malformed(wrong) => problems.push(Finding::error(
                format!("{}:{}:{}: {}", file.shown, wrong.line, wrong.column, clip(&wrong.what, 200)),
                "Claude Code ignores the whole file until this is mended. Nothing of it was changed.",
            )),
            SettingsContent::Parsed(parsed) => {
                let at = |fault: &Fault| {
                    let event = clip(&fault.event, 60);
                    format!("{}: {event}: {}", file.with_line(fault.line), fault.what)
                };
                problems.extend(parsed.bad_entries.iter().map(|fault| match fault.voids_file {
                    true => Finding::error(
                        at(fault),
                        "Claude Code applies nothing of this file until it is mended: no hook, no permission \
                         rule.",
                    ),
                    false => Finding::warning(
                        at(fault),
                        "Claude Code drops this entry. Mend it, or take it out.",
                    ),
                }));
            }
        }
    }
    if facts.client_dir.is_none() {
        let text =
            "there is no home directory (HOME is not set): the user's settings were not looked at";
        problems.push(Finding::note(text, ""));
    }
    or_ok(problems, || {
        let there = facts.files.iter().filter(|file| file.parsed().is_some());
        let there: Vec<&str> = there.map(|file| file.shown.as_str()).collect();
        if there.is_empty() { "there are none".into() } else { there.join(", ") }
    })
}

pub fn off(facts: &Facts) -> Vec<Finding> {
    let mut problems = Vec::new();
    if facts.off {
        problems.push(Finding::warning(
            "HOOKKEEPER_OFF=1 is set here: hooks that inherit it do nothing",
            "Unset HOOKKEEPER_OFF before you start Claude Code.",
        ));
    }
    for file in &facts.files {
        let Some(parsed) = file.parsed() else { continue };
        if let Some(line) = parsed.hooks_off {
            problems.push(Finding::error(
                format!(
                    "{}: `disableAllHooks` is true: Claude Code runs no hook at all",
                    file.with_line(line)
                ),
                "Remove that line, if hooks shall run.",
            ));
        }
        if let Some(line) = parsed.keeper_off {
            problems.push(Finding::warning(
                format!(
                    "{}: HOOKKEEPER_OFF is \"1\" under `env`: our hooks do nothing",
                    file.with_line(line)
                ),
                "Remove that line, if HookKeeper shall work here.",
            ));
        }
    }
    or_ok(problems, || "nothing switches hooks off".into())
}

pub fn options(facts: &Facts) -> Vec<Finding> {
    let options = &facts.state.options;
    let problem = options.wrong.as_ref().map(|wrong| {
        Finding::warning(
            format!(".claude/hookkeeper.json: {}", clip(wrong, 300)),
            "Defaults hold for that until it is mended.",
        )
    });
    let mut problems: Vec<Finding> = problem.into_iter().collect();
    problems.extend(options.remarks.iter().map(|remark| match remark.what {
        layers::Fault::Unknown { .. } => Finding::note(
            remark.text(),
            "It stays as it is: it may be a newer HookKeeper's. `hookkeeper config list` has every key.",
        ),
        _ => Finding::note(remark.text(), "Its default holds."),
    }));
    or_ok(problems, || match options.exists {
        true => ".claude/hookkeeper.json is fine".into(),
        false => "there is no .claude/hookkeeper.json; defaults hold".into(),
    })
}
