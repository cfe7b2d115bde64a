//! A session's synthesis. `results/synthesis.json` is the one that changed last; with several live
//! sessions the others' are parked beside it, and change places when their turn comes.

use crate::books::live::Live;
use crate::books::result::AgentResult;
use crate::books::synthesis::Synthesis;
use crate::plan::Plan;
use crate::snapshot::{Ask, Context, Snapshot};
use crate::store::layout::Doc;

/// What has to be seen to know it.
pub fn asks(live: Option<&Live>, snapshot: &Snapshot) -> Vec<Ask> {
    let mut asks = vec![Ask::Synthesis];
    let Some(live) = live.filter(|_| snapshot.has(&Ask::Synthesis)) else { return asks };
    if !is_own(snapshot.synthesis.as_ref(), live) {
        asks.push(Ask::Parked);
        let ended = live.agents_completed + live.agents_failed > 0;
        if snapshot.has(&Ask::Parked) && snapshot.parked.is_none() && ended {
            asks.push(Ask::AllResults);
        }
    }
    asks
}

/// The session's synthesis as it stands. If it was lost, it is made again from the results.
pub fn of(live: &Live, snapshot: &Snapshot) -> Synthesis {
    let documents = [snapshot.synthesis.as_ref(), snapshot.parked.as_ref()];
    if let Some(synthesis) = documents.into_iter().find(|one| is_own(*one, live)).flatten() {
        return synthesis.clone();
    }
    let mut synthesis = Synthesis::new(&live.session_id);
    let own = snapshot.results.values().filter(|result| result.session_id == live.session_id);
    own.for_each(|result| synthesis.fold(result));
    synthesis
}

/// Folds results in and writes it.
pub fn fold(
    plan: &mut Plan,
    live: &Live,
    results: &[AgentResult],
    snapshot: &Snapshot,
    context: &Context,
) {
    let mut synthesis = of(live, snapshot);
    results.iter().for_each(|result| synthesis.fold(result));
    synthesis.complete = live.agents.is_empty();
    synthesis.updated = context.spelled();
    put(plan, &synthesis, snapshot);
}

/// Writes it. Another live session's is parked first.
pub fn put(plan: &mut Plan, synthesis: &Synthesis, snapshot: &Snapshot) {
    let other = snapshot.synthesis.as_ref().filter(|other| {
        other.session_id != synthesis.session_id && snapshot.lives.contains_key(&other.session_id)
    });
    if let Some(other) = other {
        plan.put(Doc::parked(&other.session_id), other);
    }
    plan.put(Doc::Synthesis, synthesis);
}

fn is_own(synthesis: Option<&Synthesis>, live: &Live) -> bool {
    synthesis.is_some_and(|synthesis| synthesis.session_id == live.session_id)
}
