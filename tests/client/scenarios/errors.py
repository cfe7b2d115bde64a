"""Failures: their class, what the model is told, and what becomes of them."""
from script import api_error, bash, call, turns

from .reading import all_heard, check_closed, heard, only_entry, user_was_told

NETWORK = "curl -sS http://127.0.0.1:9/items"
SYNTAX = "echo 'let x = ;' > broken.js && node broken.js"
ONE_LINER = 'node -e "let x = ;"'
PERMISSION = "./README.md"  # Not executable, which stops even root.
TIMEOUT = "sleep 5"
QUESTION = "cmp README.md .claude/settings.local.json"  # Its exit status 1 is an answer.
SILENT_QUESTION = "grep no-such-word README.md"  # The client itself takes this one for a success.


def failures(bench, check):
    missing = str(bench.project / "missing.txt")
    client = bench.run("fail", rules=turns(
        bash(NETWORK), bash(NETWORK), bash(SYNTAX), bash(ONE_LINER), bash(PERMISSION), bash(PERMISSION),
        bash(TIMEOUT, timeout=1000), bash(QUESTION), bash(SILENT_QUESTION), call("Read", file_path=missing), bench.copy_books("during"), "done"))
    during = bench.copied("during").document("errors/classified.json")
    found = [(error["tool"], error["classification"], error["status"], error["retry_count"])
             for error in during["errors"]]
    check.equal("errors while the session ran", found, [
        ("Bash", "network", "pending_retry", 2), ("Bash", "syntax", "queued", 0), ("Bash", "syntax", "logged", 0),
        ("Bash", "permission", "escalated", 0), ("Bash", "timeout", "pending_retry", 1),
        ("Bash", "deterministic", "logged", 0), ("Read", "deterministic", "logged", 0)])
    check.holds("summary", during["summary"], {"total": 7, "recovered": 0, "pending": 2, "escalated": 1})
    entry = only_entry(check, bench.books, client.session_id)
    check.equal("errors in metrics", entry.get("errors"), {"total": 7, "recovered": 0, "escalated": 1})
    items = (bench.books.document("loop/work_queue.json") or {"items": []})["items"]
    check.equal("work items", [(item["priority"], item["status"]) for item in items], [("S1", "pending")])
    check.contains("the work item", items[0]["description"] if items else "", "SyntaxError")
    last = heard(client.requests[-1])
    for advice in ("HookKeeper: network error, attempt 1 of 3", "HookKeeper: network error, attempt 2 of 3",
                   "HookKeeper: permission error. A retry does not help", "HookKeeper: permission error again",
                   "HookKeeper: timeout error, attempt 1 of 2"):
        check.contains("what the model heard", last, advice, times=1)
    check.contains("what the model heard", last, "HookKeeper:", times=5)
    check.contains("what the user was told", user_was_told(bench), "permission error and needs you", times=1)
    check_closed(check, bench.books)


def recovery(bench, check):
    note = str(bench.project / "note.txt")
    client = bench.run("read the note", rules=turns(
        bash("cat note.txt"), call("Write", file_path=note, content="found\n"), bash("cat note.txt"),
        bench.copy_books("during"), "done"))
    errors = bench.copied("during").document("errors/classified.json")["errors"]
    check.equal("errors while the session ran", [error["status"] for error in errors], ["recovered"])
    check.equal("errors in metrics", only_entry(check, bench.books, client.session_id).get("errors"),
                {"total": 1, "recovered": 1, "escalated": 0})


def api_failure(bench, check):
    client = bench.run("hello", rules=[{"match": "hello", **api_error(429, "rate_limit_error", "slow down")}])
    log = bench.books.log()
    check.contains("events", str([line["event"] for line in log]), "StopFailure", times=1)
    check.equal("its class", [line["outcome"] for line in log if line["event"] == "StopFailure"],
                ["rate_limit: pending_retry"])
    check.equal("errors in metrics", only_entry(check, bench.books, client.session_id).get("errors"),
                {"total": 1, "recovered": 0, "escalated": 0})
    check.lacks("what the model heard", all_heard(client), "HookKeeper")
    check_closed(check, bench.books)


def api_failure_recovered(bench, check):
    """The next turn of the same process ends well."""
    client = bench.run("hello", "again", rules=turns(api_error(429, "rate_limit_error", "slow down"), "hi"))
    check.equal("errors in metrics", only_entry(check, bench.books, client.session_id).get("errors"),
                {"total": 1, "recovered": 1, "escalated": 0})


SCENARIOS = (failures, recovery, api_failure, api_failure_recovered)
