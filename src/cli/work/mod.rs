//! The loop of the work queue, as people and models drive it: `loop`, `queue`, `gate`.

pub mod gate;
pub mod items;
pub mod looping;

use anyhow::bail;

use super::Project;
use super::acting::ended_as;
use crate::books::queue::Queue;
use crate::gather;
use crate::hooks::{desk, drive};
use crate::loops::queue::title;
use crate::plan::Plan;
use crate::snapshot::Snapshot;
use crate::store::layout::Doc;

/// Changes the queue under the lock, with what people read of it and what its session knows of it.
fn change<T>(
    project: &Project,
    work: impl FnOnce(&mut Queue, &Snapshot) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    project.change(|store| {
        let mut snapshot = Snapshot::default();
        gather::copies(&mut snapshot, store)?;
        gather::loops(&mut snapshot, store)?;
        snapshot.loop_state = store.load(&Doc::LoopState, gather::text)?;
        if store.frozen.contains(&Doc::Queue) {
            let why = store.remarks.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>();
            bail!("{}", why.join(" ").trim_start_matches("HookKeeper: "));
        }
        let before = snapshot.queue.clone();
        let mut queue = before.clone().unwrap_or_default();
        let done = work(&mut queue, &snapshot)?;
        if before.as_ref() == Some(&queue) {
            return Ok(done);
        }
        let mut plan = Plan::default();
        match queue.status.as_str() {
            "none" => plan.put(Doc::Queue, &queue),
            _ => drive::queue::put(&mut plan, &queue, snapshot.loop_state.as_deref()),
        }
        let was = before.and_then(|before| before.verdict);
        let ended = queue.verdict.is_some() && was.is_none();
        let owner = queue.session_id.clone().unwrap_or_default();
        if let (true, Some(verdict)) = (ended, &queue.verdict) {
            // Its session hears of it with the next event that can say so.
            let text = ended_as(&title(&queue), verdict, queue.verdict_reason.as_deref());
            let at = queue.verdict_at.as_deref().unwrap_or_default();
            store.remarks.push((format!("loop {at}"), text));
        }
        if let (true, Some(live)) = (queue.verdict != was, snapshot.lives.get_mut(&owner)) {
            live.loop_verdict.clone_from(&queue.verdict);
            plan.put(Doc::live(&owner), live);
            desk::put_copies(&mut plan, &snapshot, snapshot.lives.values());
        }
        store.commit(&plan.changes)?;
        Ok(done)
    })
}

/// The queue, for reading.
fn read(project: &Project) -> anyhow::Result<Queue> {
    Ok(project.document("loop/work_queue.json")?.unwrap_or_default())
}
