"""Compactions: the backup, what the summariser is told, and what the model gets back."""
from script import agent, bash, call, text, turns, wait_for_event

from .reading import check_closed, events_of, heard, only_entry

SO_FAR = "what was planned so far"
SUMMARY = {"match": "create a detailed summary", "reply": [text(f"<summary>{SO_FAR}</summary>")]}
KEPT = "HookKeeper kept this session's state through the compaction"
FOR_SUMMARY = "The summary has to keep"
MANUAL = {"reason": "manual: keep the plan", "context_tokens_before": 1020}
NO_AGENTS = {"spawned": 0, "completed": 0, "failed": 0}


def compaction(bench, check):
    """A compaction between two turns of one process."""
    client = bench.run("make a plan", "/compact keep the plan", "go on",
                       rules=[SUMMARY, *turns(_plan(bench), "planned", "gone on")])
    backup = _check_backup(check, bench.books, client.session_id, MANUAL)
    check.holds("its session", backup["preserved"]["session"], {
        "git_branch": "main", "hooks_version": "3.0", "task": "make a plan", "files_modified": ["plan.md"]})
    summarising, following = client.requests[-2:]
    check.contains("what the summariser heard", heard(summarising), FOR_SUMMARY, times=1)
    check.contains("what the summariser heard", heard(summarising), "- the task: make a plan")
    check.contains("what the model heard after it", heard(following), KEPT, times=1)
    check.contains("what the model heard after it", heard(following), "- task: make a plan\n- 1 file modified: plan.md")
    # The client reports these two hooks nowhere else.
    for event in ("PreCompact", "PostCompact"):
        well = f"{event} [{bench.hook_command(event)}] completed successfully"
        check.contains(f"the client on {event}", heard(following), well)
    _check_entry(check, bench, client, NO_AGENTS)


def compaction_after_resume(bench, check):
    """The compaction has a process of its own, and so has the turn that follows."""
    first = bench.run("make a plan", rules=turns(_plan(bench), "planned"))
    compacting = bench.run("/compact keep the plan", rules=[SUMMARY], args=["--continue"])
    following = bench.run("go on", rules=turns("gone on"), args=["--continue"])
    check.equal("ids", [client.session_id for client in bench.clients], [first.session_id] * 3)
    _check_backup(check, bench.books, first.session_id, MANUAL)
    check.equal("requests of the compaction", len(compacting.requests), 1)
    check.contains("what the summariser heard", heard(compacting.requests[0]), FOR_SUMMARY, times=1)
    check.contains("what the model heard after it", heard(following.requests[-1]), KEPT, times=1)
    _check_entry(check, bench, first, NO_AGENTS)


def automatic_compaction(bench, check):
    """The context fills up in the middle of a turn, while an agent works in the background."""
    # The client writes its transcript a moment late; the call lasts until it has.
    full = {"reply": [bash("sleep 1")], "input_tokens": 995_000}
    client = bench.run("make a plan", rules=[SUMMARY, *turns(
        [_plan(bench), agent("slow audit", "SLOW-AUDIT", background=True)], full, "planned", "noted",
        agents={"SLOW-AUDIT": (wait_for_event("Stop"), "- **[S1]** No rate limit")})])
    backup = _check_backup(check, bench.books, client.session_id,
                           {"reason": "context_limit_approaching", "context_tokens_before": 995_020})
    running = backup["preserved"]["active_agents"]["agents"]
    check.equal("agents in the backup", [entry["task"] for entry in running], ["slow audit"])
    said = [heard(request) for request in client.requests]
    check.contains("what the summariser heard", next(words for words in said if FOR_SUMMARY in words), "slow audit")
    following = next(words for words in said if SO_FAR in words)
    check.contains("what the model heard after it", following, KEPT, times=1)
    check.contains("what the model heard after it", following, "- 1 agent still running:", times=1)
    check.contains("what the model heard in the end", said[-1], "HookKeeper: 1 marked finding (", times=1)
    _check_entry(check, bench, client, {"spawned": 1, "completed": 1, "failed": 0})


def _plan(bench):
    return call("Write", file_path=str(bench.project / "plan.md"), content="1. go\n")


def _check_backup(check, books, session_id, expected):
    """There is one backup, in the seed's schema. Returns it."""
    names = books.names("compaction")
    check.equal("number of backups", len(names), 1)
    backup = books.document(f"compaction/{names[0]}")
    check.equal("the seed's fields", list(backup)[:5],
                ["timestamp", "reason", "preserved", "context_tokens_before", "files_in_context"])
    check.equal("what is preserved", sorted(backup["preserved"]),
                ["active_agents", "loop_state", "session", "work_queue"])
    check.holds("backup", backup, {**expected, "files_in_context": ["plan.md"], "session_id": session_id})
    check.equal("whose it is", backup["preserved"]["session"]["session_id"], session_id)
    return backup


def _check_entry(check, bench, client, agents):
    entry = only_entry(check, bench.books, client.session_id)
    check.equal("compactions in metrics", entry.get("compactions"), 1)
    check.equal("agents in metrics", entry.get("agents"), agents)
    check.equal("files in metrics", entry.get("files_modified"), 1)
    events = events_of(bench.books.log(), client.session_id)
    for event in ("PreCompact", "PostCompact"):
        check.equal(f"number of {event}", events.count(event), 1)
    check_closed(check, bench.books)


SCENARIOS = (compaction, compaction_after_resume, automatic_compaction)
