//! What `status` shows of the autonomous loop: the phases that are over, and the one that goes on.

use serde_json::json;

use crate::core::table::{Cell, Table, Tone};
use crate::core::text::clip;
use crate::loops::autonomous::document::Autonomous;
use crate::state::panel::{Panel, PanelContext, Section};

pub fn section(context: &PanelContext) -> Section {
    let state = context.state.get::<Autonomous>().cloned();
    let all = context.all;
    Section::new([("autonomous", json!(state))], move |now| {
        state.as_ref().filter(|state| all || !state.ending.is_old(now)).map(panel)
    })
}

fn panel(state: &Autonomous) -> Panel {
    let row = |tone: Tone, name: &str, text: &str| {
        vec![Cell::new(tone, name), Cell::new(Tone::Plain, text)]
    };
    let mut rows = vec![row(Tone::Strong, "feature", &state.feature)];
    if !state.phases_completed.is_empty() {
        rows.push(row(Tone::Dim, "done", &state.phases_completed.join(", ")));
    }
    rows.extend(state.errors.last().map(|last| row(Tone::Warn, "error", &last.message)));
    Panel {
        title: "Autonomous loop",
        says: progress(state),
        tone: if state.awaiting_approval { Tone::Warn } else { Tone::Plain },
        table: Table::new(&[0, 1], rows),
        spare: 4,
        brief: 3,
        ..Panel::default()
    }
}

/// `work 12/50`, with the verdict if there is one, or that a person is waited for.
pub fn progress(state: &Autonomous) -> String {
    let phase = clip(&state.phase, 24);
    let (now, most) = (state.iteration(), state.max_iterations);
    match &state.ending.verdict {
        Some(verdict) => format!("{phase} {now}/{most} ended: {}", clip(verdict, 24)),
        None if state.awaiting_approval => format!("{phase} {now}/{most} awaits your approval"),
        None => format!("{phase} {now}/{most}"),
    }
}
