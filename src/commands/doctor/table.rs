//! All checks, one row each. An id is never used again for another check: people search for it.

use crate::doctor::facts::Facts;
use crate::doctor::finding::Finding;
use crate::doctor::{effect, export, handlers, machine, state, switches, twice, versions, wiring};

pub struct Check {
    pub id: &'static str,
    pub name: &'static str,
    /// What the document says that it looks at.
    pub looks_at: &'static str,
    pub run: fn(&Facts) -> Vec<Finding>,
}

pub const CHECKS: &[Check] = &[
    check("HK001", "binary", "the program that the settings name, and its version", wiring::binary),
    check("HK002", "wiring", "whether every event reaches us", wiring::events),
    check(
        "HK003",
        "wiring dropped",
        "entries that `install` made and that are gone",
        wiring::dropped,
    ),
    check("HK004", "wired twice", "whether an event calls us more than once", twice::twice),
    check("HK005", "settings", "the client's settings files", switches::files),
    check("HK006", "time-outs", "time-outs of all hooks", handlers::timeouts),
    check("HK007", "other hooks", "the programs of other tools' hooks", handlers::programs),
    check("HK008", "switched on", "switches that turn hooks off", switches::off),
    check("HK009", "options", ".claude/hookkeeper.json", switches::options),
    check("HK010", "state", "the directory .claude/state", state::place),
    check("HK011", "lock", "the lock of the state", state::lock),
    check("HK012", "git", "whether git sees the state", state::git),
    check("HK013", "documents", "every document", state::documents),
    check("HK014", "quarantine", "documents that were moved away", state::quarantine),
    check("HK015", "rejected", "payloads that could not be used", state::rejected),
    check("HK016", "spool", "events that wait for their turn", state::spool),
    check("HK017", "sessions", "live sessions whose client is gone", state::sessions),
    check("HK018", "failures", "hook runs that failed lately", effect::failures),
    check("HK019", "activity", "whether hooks run here at all", effect::activity),
    check("HK020", "disk", "free space where the state is", machine::disk),
    check("HK021", "client", "the version of Claude Code", machine::client),
    check("HK022", "file system", "whether locks can be trusted there", machine::file_system),
    check("HK023", "transcripts", "the client's transcripts of this project", machine::transcripts),
    check("HK024", "versions", "plugin, settings and program: one version", versions::versions),
    check("HK025", "programs", "how many `hookkeeper` the PATH leads to", versions::programs),
    check("HK026", "export", "what is sent to an OpenTelemetry endpoint", export::export),
];

const fn check(
    id: &'static str,
    name: &'static str,
    looks_at: &'static str,
    run: fn(&Facts) -> Vec<Finding>,
) -> Check {
    Check { id, name, looks_at, run }
}
