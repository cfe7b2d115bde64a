//! Executions that several clones work on: the remote of the repository says who does what. There is
//! no server of ours; a git server compares and swaps refs, and that is all that is needed.
//!
//! **Refs on the remote.** `E` is the name of the execution, `T` the id of a task.
//!
//! | ref | what it is |
//! |---|---|
//! | `refs/hookkeeper/executions/E` | the plan that all clones agree on: tasks, base branch, where it began, lease |
//! | `refs/hookkeeper/claims/E/T` | the last claim of the task; the ones before it are its ancestors |
//! | `refs/hookkeeper/claims/E/merge` | the claim to merge |
//! | `refs/hookkeeper/work/E/T` | the branch of the task, as it was pushed last |
//! | `refs/hookkeeper/earlier/E/T/COMMIT` | the same, as it was when an attempt began |
//!
//! **A claim** is a commit on the empty tree with one line of JSON in its message: state (`held`,
//! `free`, `failed`, `verified`, `merged`), host, user, clone, epoch, attempts, lease. Its parent is the
//! claim before it. No two are the same (the epoch is of this push alone), so a ref that is at a commit
//! was never anywhere else since, and one that is at *our* commit proves that our push arrived, whatever
//! the answer was.
//!
//! **Every step is one push** with the value that the ref must have (`--force-with-lease=REF:OLD`), and
//! of several refs all or none (`--atomic`):
//!
//! 1. *take* (`start`): `T` from nothing, `free` or `failed` to `held`; work that is there gets its
//!    second name.
//! 2. *renew* (every command of the task, `run-verify` while it runs, `heartbeat`): `held` to `held`.
//! 3. *release* (`run-verify`, `fail`): `held` to `verified` or `failed`, together with the branch.
//! 4. *merge*: `merge` is taken; the base branch is fetched; the merge commit is made on it, as objects
//!    only; then base branch, `T` to `merged` and `merge` to `free`, in one push. If the base branch has
//!    moved, the push is refused, and the merge is made anew on what is there now. The first parent of a
//!    merge is therefore always the base branch before it.
//!
//! A push that failed, or of which nobody knows, is followed by a look at the remote: what the refs say
//! is what happened. So a lost answer, a kill between push and state, and a push that arrives after its
//! process has died come to the same.
//!
//! **Leases.** A clone notes since when it sees a claim at one commit, by its own clock. Only if that is
//! a whole lease, and the commit is still the same, the claim is stale: it was not renewed in between.
//! Clocks of other machines are never compared, so a lease from the future is nothing special; if our
//! own clock jumps ahead, a take-over comes too early and costs work, nothing else. A take-over is a push
//! like every other: one wins. Who was taken for dead and wakes up has its next push refused, is told
//! who has the task now, and keeps its branch and worktree. Safety never depends on time.
//!
//! **What decides.** A task is merged if the base branch on the remote has it (`base_log.rs`), whatever
//! claims say. Each clone has its own state file, brought in line with the remote by every command
//! (`apply.rs`): tasks of others are left alone. What a clone owes (it was verified or failed while the
//! remote was away) is seen by comparing its own claims with its state, and pushed with the next contact.
//!
//! No lock of ours is held while git talks to the remote, and nothing is written to the refs of the
//! clone: `ls-remote` says what there is, and objects that are missing are fetched.

pub mod apply;
pub mod begin;
pub mod claim;
pub mod contact;
pub mod fleet;
pub mod history;
pub mod join;
pub mod merging;
pub mod push;
pub mod releases;
pub mod remote_name;
pub mod texts;
pub mod wire;

pub use contact::Coordination;
