"""Compactions: the backup, what the summariser is told, and what the model gets back."""
from script import call, turns

from .reading import check_closed, events_of, heard, only_entry

SUMMARY = {"match": "create a detailed summary", "reply": [{"type": "text", "text": "<summary>so far</summary>"}]}
KEPT = "HookKeeper kept this session's books through the compaction"
FOR_SUMMARY = "The summary has to keep"


def compaction_in_one_process(bench, check):
    plan = str(bench.project / "plan.md")
    client = bench.run("make a plan", "/compact keep the plan", "go on", rules=[
        SUMMARY, *turns(call("Write", file_path=plan, content="1. go\n"), "planned", "gone on")])
    _check_backup(check, bench.books, client.session_id, ["plan.md"])
    summarising, following = client.requests[-2:]
    check.contains("what the summariser heard", heard(summarising), FOR_SUMMARY, times=1)
    check.contains("what the summariser heard", heard(summarising), "- the task: make a plan")
    check.contains("what the model heard after it", heard(following), KEPT, times=1)
    check.contains("what the model heard after it", heard(following), "- 1 file modified: plan.md", times=1)
    _check_entry(check, bench, client)


def compaction_after_resume(bench, check):
    plan = str(bench.project / "plan.md")
    first = bench.run("make a plan", rules=turns(call("Write", file_path=plan, content="1. go\n"), "planned"))
    compacting = bench.run("/compact keep the plan", rules=[SUMMARY], args=["--continue"])
    following = bench.run("go on", rules=turns("gone on"), args=["--continue"])
    check.equal("ids", {client.session_id for client in bench.clients}, {first.session_id})
    _check_backup(check, bench.books, first.session_id, ["plan.md"])
    check.equal("requests of the compaction", len(compacting.requests), 1)
    check.contains("what the summariser heard", heard(compacting.requests[0]), FOR_SUMMARY, times=1)
    check.contains("what the model heard after it", heard(following.requests[-1]), KEPT, times=1)
    _check_entry(check, bench, first)


def _check_backup(check, books, session_id, files):
    names = books.names("compaction")
    check.equal("number of backups", len(names), 1)
    backup = books.document(f"compaction/{names[0]}") if names else {}
    check.equal("the seed's fields", [key for key in backup][:5],
                ["timestamp", "reason", "preserved", "context_tokens_before", "files_in_context"])
    check.equal("what is preserved", sorted(backup.get("preserved", {})),
                ["active_agents", "loop_state", "session", "work_queue"])
    check.holds("backup", backup, {"reason": "manual: keep the plan", "context_tokens_before": 1020,
                                   "files_in_context": files, "session_id": session_id})
    check.holds("its session", backup.get("preserved", {}).get("session"), {
        "session_id": session_id, "git_branch": "main", "hooks_version": "3.0", "task": "make a plan",
        "files_modified": files})


def _check_entry(check, bench, client):
    entry = only_entry(check, bench.books, client.session_id)
    check.holds("metrics", entry, {"compactions": 1, "agents": {"spawned": 0, "completed": 0, "failed": 0}})
    check.equal("files in metrics", entry.get("files_modified"), 1)
    events = events_of(bench.books.log(), client.session_id)
    for event in ("PreCompact", "PostCompact"):
        check.equal(f"number of {event}", events.count(event), 1)
    check_closed(check, bench.books)


SCENARIOS = (compaction_in_one_process, compaction_after_resume)
