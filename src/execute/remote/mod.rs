//! Executions that several clones work on: the remote of the repository says who does what. There is
//! no server of ours; a git server compares and swaps refs, and that is all that is needed.
//!
//! **Refs on the remote.** `E` is the name of the execution, `T` the id of a task.
//!
//! | ref | what it is |
//! |---|---|
//! | `refs/hookkeeper/executions/E` | what all clones agree on: tasks, base branch, beginning, lease |
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
//! clone: `ls-remote` says what there is, and objects that are missing are fetched. So several
//! processes of one clone do not wait for each other's ref locks. A snapshot is applied only to tasks
//! whose claim is still the one that was known when it was asked for.
//!
//! **Without `--remote`** no file of this room is reached, and git is not called once more; a test
//! counts.
//!
//! **Why so:**
//!
//! - A death costs no attempt. Who takes a task over repeats the attempt, from the branch that was
//!   pushed last. `failed` claims carry the error and the feedback to the next machine.
//! - The lease is two hours unless told otherwise: agents work for an hour without a command, and
//!   hooks must not start git. Every command of a task renews its claim, `run-verify` while it
//!   runs, and `execute heartbeat` for all tasks at which somebody was seen: by the worktree's
//!   index and log, or by the session's journal, which hooks write anyway.
//! - Work goes below `refs/hookkeeper/work/`, not to `refs/heads/`: two executions may have the
//!   same ids, nobody's `git fetch` and no CI job should see half-done branches, and a protected
//!   namespace of branches does not stop it. It is not removed after the merge: some servers refuse
//!   deletions, and an atomic push would fail with it.
//! - Who takes a task gives the work that is there its second name
//!   (`refs/hookkeeper/earlier/…/COMMIT`) in the same push: after a force-push, a reset or a rebase
//!   the next push of work would be the end of it.
//! - The merge needs no checkout. The branch and checkout of the clone follow the push if nothing
//!   is in the way. The local claim notes the commit only after the push, so recovery after a kill
//!   brings a checkout to its end and never decides about the merge.
//!
//! **Strangers' words.** Ids from the remote pass `validate_task_id`, commits are hexadecimal,
//! objects above 64 KiB (4 MiB for the record) are not read, texts are clipped and pass the gate. A
//! claim that cannot be read holds its task for "somebody", and one that is no commit is replaced
//! by one without a parent. Names of refs that `git check-ref-format` would refuse are passed over.
//! A remote is only a name that git's configuration has (`remote_name`). `ext::` is off; `pre-push`
//! is not asked. The ssh command and the credential helper are those of the repository: the user
//! named the remote. Nobody is prompted.
//!
//! **What is refused**, with the state file as it was:
//!
//! - a base branch that lost what it had (until `rebuild`);
//! - a record that is not the one that was joined;
//! - a plan that differs from the record in its tasks, or (in `init`) in texts that the base branch
//!   never had since the execution began (by digests, without the line endings);
//! - a shallow clone;
//! - a server that moves several refs one by one (a dry push tells).

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
