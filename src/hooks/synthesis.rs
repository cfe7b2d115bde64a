//! A session's synthesis. `results/synthesis.json` is the one that changed last; with several live
//! sessions the others' are parked beside it, and change places when their turn comes.

use crate::agents::result::AgentResult;
use crate::agents::synthesis::{ParkedSynthesis, Synthesis};
use crate::session::live::Live;
use crate::session::record::is_live;
use crate::state::plan::Plan;
use crate::state::{Doc, Document as _, State};
use crate::turn::context::Context;

/// The session's synthesis as it stands. If it was lost, it is made again from the results.
pub fn synthesis_of(live: &Live, state: &State) -> Synthesis {
    if let Some((synthesis, _)) = kept_synthesis(live, state) {
        return synthesis.clone();
    }
    let mut synthesis = Synthesis::new(&live.session_id);
    if live.agents_completed + live.agents_failed > 0 {
        let results = state.all::<AgentResult>();
        let own = results.filter(|result| result.session_id == live.session_id);
        own.for_each(|result| synthesis.fold(result));
    }
    synthesis
}

/// The session's synthesis as it was written, and where it is.
pub fn kept_synthesis<'s>(live: &Live, state: &'s State) -> Option<(&'s Synthesis, Doc)> {
    let is_own = |(synthesis, _): &(&Synthesis, Doc)| synthesis.session_id == live.session_id;
    let newest = || Some((state.get::<Synthesis>()?, Synthesis::doc(&())));
    let parked = || {
        let id = &live.session_id;
        Some((&state.get_by::<ParkedSynthesis>(id)?.0, ParkedSynthesis::doc(id)))
    };
    // That of a session that ended, and goes on with this event, is in the archive.
    let archived = || {
        let doc =
            Synthesis::archived(&live.session_id).filter(|_| !is_live(&live.session_id, state))?;
        Some((state.read_doc::<Synthesis>(doc.clone()).value?, doc))
    };
    let found = newest().filter(is_own).or_else(|| parked().filter(is_own));
    found.or_else(|| archived().filter(is_own))
}

/// Folds results in and writes it.
pub fn fold(
    plan: &mut Plan,
    live: &Live,
    results: &[AgentResult],
    state: &State,
    context: &Context,
) {
    let mut synthesis = synthesis_of(live, state);
    results.iter().for_each(|result| synthesis.fold(result));
    put(plan, synthesis, live, state, context);
}

/// Writes it, as of now. Another live session's is parked first.
pub fn put(
    plan: &mut Plan,
    mut synthesis: Synthesis,
    live: &Live,
    state: &State,
    context: &Context,
) {
    synthesis.complete = live.agents.is_empty();
    synthesis.updated = context.spelled();
    let read = state.read::<Synthesis>(&());
    let other = read.value.filter(|other| {
        other.session_id != synthesis.session_id && is_live(&other.session_id, state)
    });
    if let Some(other) = other {
        let parked = state.read::<ParkedSynthesis>(&other.session_id);
        plan.put(&parked, &ParkedSynthesis(other.clone()));
    }
    plan.put(&read, &synthesis);
}
