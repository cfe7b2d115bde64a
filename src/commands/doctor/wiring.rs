//! HK001 to HK003: whether Claude Code calls us, for every event, and with a program that is there.

use crate::client::settings::matcher;
use crate::client::settings::scope::Scope;
use crate::core::event::Kind;
use crate::core::text::{clip, plural};
use crate::doctor::facts::{Facts, Program};
use crate::doctor::finding::{Finding, Fix, or_ok};
use crate::doctor::settings::{ExaminedSettings, HookEntry, SettingsContent};
use crate::process::version::VersionAnswer;

pub fn binary(facts: &Facts) -> Vec<Finding> {
    let problems = facts.programs.iter().filter_map(|program| check_program(facts, program));
    or_ok(problems.collect(), || {
        let named = facts.programs.first().and_then(|program| program.path.as_deref());
        let path = named.or(facts.running.as_deref());
        let at = path.map_or("(place unknown)".into(), |path| format!("at {}", facts.show(path)));
        format!("hookkeeper {} {at}", facts.version)
    })
}

fn check_program(facts: &Facts, program: &Program) -> Option<Finding> {
    let word = clip(&program.word, 200);
    let (file, hook) = facts.ours().find(|(_, hook)| hook.words.first() == Some(&program.word))?;
    let at = file.with_line(hook.line);
    let Some(path) = &program.path else {
        let place =
            if word.contains('/') { "there is no such program" } else { "it is not on the PATH" };
        return Some(Finding::error(
            format!("{at}: the hooks run `{word}`, but {place}"),
            "Put hookkeeper where the PATH of Claude Code has it, or let `hookkeeper install` wire a \
             program that is there.",
        ));
    };
    let path = facts.show(path);
    match &program.answer {
        VersionAnswer::Line(line) => match line.strip_prefix("hookkeeper ") {
            Some(version) if version == facts.version => None,
            Some(_) => Some(Finding::warning(
                format!(
                    "{at}: the hooks run {path}, which is {}; this is {}",
                    clip(line, 60),
                    facts.version
                ),
                "Install the same version in both places, or remove the older one.",
            )),
            None => Some(Finding::error(
                format!("{at}: {path} is not HookKeeper: `--version` says {:?}", clip(line, 60)),
                "Another program has the same name. Wire the full path of HookKeeper.",
            )),
        },
        VersionAnswer::Failed(why) => Some(Finding::error(
            format!("{at}: {path} does not run: {}", clip(why, 200)),
            "Install HookKeeper again.",
        )),
        VersionAnswer::NotAsked => Some(Finding::note(
            format!(
                "{at}: {path} is part of the project, so it was not started to ask its version"
            ),
            "",
        )),
    }
}

pub fn events(facts: &Facts) -> Vec<Finding> {
    let plugin = facts.plugins().next();
    let first = facts.files.iter().find(|file| file.wires_us());
    let Some(first) = first else {
        return vec![match plugin {
            Some((file, line, name)) => Finding::ok(format!(
                "the plugin {name} is enabled ({}); it leaves out {}",
                file.with_line(line),
                left_out_by_plugin().join(", ")
            )),
            None => not_wired(facts),
        }];
    };
    let mut problems = Vec::new();
    let is_missing = |event: &&str| !facts.ours().any(|(_, hook)| hook.event == *event);
    let missing: Vec<&str> = Kind::ALL.map(Kind::wire).into_iter().filter(is_missing).collect();
    if !missing.is_empty() && plugin.is_none() {
        problems.push(
            Finding::error(
                format!("{}: HookKeeper is not called for {}", first.shown, missing.join(", ")),
                install_hint(first),
            )
            .fixed_by(Fix::Wiring(first.scope)),
        );
    }
    let is_dropped = |event: &&str| {
        let mut own = facts.ours().filter(|(_, hook)| hook.event == *event);
        !is_missing(event) && own.all(|(_, hook)| hook.dropped)
    };
    let dropped: Vec<&str> = Kind::ALL.map(Kind::wire).into_iter().filter(is_dropped).collect();
    if !dropped.is_empty() && plugin.is_none() {
        let events = match dropped.len() {
            Kind::COUNT => "any event".to_owned(),
            _ => dropped.join(", "),
        };
        problems.push(Finding::error(
            format!(
                "HookKeeper is not called for {events}: Claude Code passes over the entries that are there"
            ),
            "Mend what HK005 names.",
        ));
    }
    problems.extend(facts.ours().filter_map(|(file, hook)| check_entry(file, hook)));
    or_ok(problems, || {
        let files = facts.files.iter().filter(|file| file.wires_us());
        let files: Vec<&str> = files.map(|file| file.shown.as_str()).collect();
        format!("all {} in {}", plural(Kind::COUNT, "event"), files.join(" and "))
    })
}

/// The events that only settings can have.
fn left_out_by_plugin() -> Vec<&'static str> {
    let left_out = Kind::ALL.into_iter().filter(|kind| !kind.row().in_plugin);
    left_out.map(Kind::wire).collect()
}

fn not_wired(facts: &Facts) -> Finding {
    if !dropped_files(facts).is_empty() {
        return Finding::note("no settings file calls HookKeeper any more: see HK003", "");
    }
    let unread = |file: &&ExaminedSettings| {
        matches!(file.content, SettingsContent::Unreadable(_) | SettingsContent::Malformed(_))
    };
    if let Some(file) = facts.files.iter().find(unread) {
        return Finding::note(
            format!(
                "{} cannot be read, and no other settings file calls HookKeeper: see HK005",
                file.shown
            ),
            "",
        );
    }
    let files: Vec<&str> = facts.files.iter().map(|file| file.shown.as_str()).collect();
    Finding::error(
        format!("no settings file calls HookKeeper (looked at {})", files.join(", ")),
        "Run `hookkeeper install` in the project, or `hookkeeper install --scope user` for all \
         your projects.",
    )
}

/// What keeps an entry of ours from doing its work.
fn check_entry(file: &ExaminedSettings, hook: &HookEntry) -> Option<Finding> {
    let at = format!("{}: {}", file.with_line(hook.line), clip(&hook.event, 60));
    let fixed = |finding: Finding| Some(finding.fixed_by(Fix::Wiring(file.scope)));
    let Some(kind) = Kind::from_wire(&hook.event) else {
        // The client then leaves it to us to make the worktree, and we do not.
        let breaks = hook.event == "WorktreeCreate";
        let text = "is no event of HookKeeper; nothing is done for it";
        return match breaks {
            true => fixed(Finding::error(
                format!("{at} {text}, so worktrees cannot be made"),
                install_hint(file),
            )),
            false => fixed(Finding::note(format!("{at} {text}"), install_hint(file))),
        };
    };
    if hook.is_async {
        let text = "is `async`: events overtake each other, and what we say is lost";
        return fixed(Finding::error(format!("{at} {text}"), install_hint(file)));
    }
    if let Some(told) = hook.words.get(2).filter(|told| Kind::from_name(told) != Some(kind)) {
        let text = format!("is told to be `{}`, so every run fails", clip(told, 60));
        return fixed(Finding::error(format!("{at} {text}"), install_hint(file)));
    }
    let (wanted, matcher) = (kind.row().matcher, hook.matcher.as_deref());
    match coverage(wanted, matcher) {
        Coverage::Exact => {}
        Coverage::Wider => {
            let text = "has no matcher, so HookKeeper also runs before every other tool call";
            return fixed(Finding::warning(format!("{at} {text}"), install_hint(file)));
        }
        Coverage::Incomplete => {
            let matcher = clip(matcher.unwrap_or_default(), 80);
            let wanted = wanted.map_or("none".into(), |wanted| format!("`{wanted}`"));
            let text =
                format!("has the matcher `{matcher}`, but needs {wanted}: events are missed");
            return fixed(Finding::error(format!("{at} {text}"), install_hint(file)));
        }
    }
    if hook.guarded {
        return None;
    }
    // One that the project brings along is there for everybody.
    let brought = hook.words.first().is_some_and(|word| word.contains("CLAUDE_PROJECT_DIR"));
    if file.scope == Scope::Project && !brought {
        let text = "starts `hookkeeper` unguarded: whoever reads this file without having the \
                    program gets an error at every event";
        return fixed(Finding::warning(format!("{at} {text}"), install_hint(file)));
    }
    if !hook.exec {
        let text = "is in shell form (without `args`): it works, but a shell is started each time";
        return fixed(Finding::warning(format!("{at} {text}"), install_hint(file)));
    }
    None
}

/// Which of the events that are wanted a matcher lets through.
enum Coverage {
    Exact,
    Wider,
    Incomplete,
}

fn coverage(wanted: Option<&str>, matcher: Option<&str>) -> Coverage {
    if matcher::is_equivalent(wanted, matcher) {
        Coverage::Exact
    } else if wanted.is_some() && matcher::matches_all(matcher) {
        Coverage::Wider
    } else {
        Coverage::Incomplete
    }
}

pub fn dropped(facts: &Facts) -> Vec<Finding> {
    let lost = dropped_files(facts);
    let problems = lost.into_iter().map(|(file, since)| {
        let since = since.map_or(String::new(), |since| format!(" on {}", clip(&since, 40)));
        let problem = Finding::error(
            format!("{}: `install` wired it{since}, but our entries are gone", file.shown),
            format!(
                "{} If they were taken out on purpose: `hookkeeper uninstall --scope {}`.",
                install_hint(file),
                file.scope.name()
            ),
        );
        (file, problem)
    });
    // A plugin does the same: then the entries would run twice.
    let problems = problems.map(|(file, problem)| match facts.plugins().next() {
        Some(_) => problem,
        None => problem.fixed_by(Fix::Wiring(file.scope)),
    });
    or_ok(problems.collect(), || match facts.recorded.len() {
        0 => "`install` has no record of wiring a file here".into(),
        files => format!("what `install` wired is still there ({})", plural(files, "file")),
    })
}

/// Files that were wired and are not any more. One that cannot be read is HK005's.
fn dropped_files(facts: &Facts) -> Vec<(&ExaminedSettings, Option<String>)> {
    let lost = facts.recorded.iter().filter_map(|(scope, recorded)| {
        let file = facts.files.iter().find(|file| file.scope == *scope)?;
        let readable = matches!(file.content, SettingsContent::None | SettingsContent::Parsed(_));
        (readable && !file.wires_us())
            .then(|| (file, Some(recorded.wired_at.clone()).filter(|at| !at.is_empty())))
    });
    lost.collect()
}

pub fn install_hint(file: &ExaminedSettings) -> String {
    format!("Run `hookkeeper install --scope {}`.", file.scope.name())
}
