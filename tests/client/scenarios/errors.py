"""Failures: their class, what the model is told, and what becomes of them."""
import json

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
    check.equal("work items", [(item["priority"], item["status"]) for item in items], [("S1", "expired")])
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


def refused_calls(bench, check):
    """Calls that the client does not carry out; only PostToolBatch tells of them. Files that quote its words do not count."""
    bench.write("marked.txt", "<tool_use_error>not an error</tool_use_error>\n")
    readme, marked = str(bench.project / "README.md"), str(bench.project / "marked.txt")
    client = bench.run("fail", rules=turns(
        call("Read", file_path=readme),
        [call("Edit", file_path=readme, old_string="nope", new_string="x"), call("Read", file_path=marked)],
        call("Edit", file_path=readme), call("Nonsense", a=1), [bash("cat marked.txt"), bash("exit 3")],
        call("Edit", file_path=readme, old_string="small", new_string="little"), bench.copy_books("during"), "done"))
    errors = bench.copied("during").document("errors/classified.json")["errors"]
    check.equal("errors while the session ran",
                [(error["target"], error["classification"], error["status"], error["occurrences"]) for error in errors],
                [("Edit README.md", "deterministic", "recovered", 2), ("Nonsense", "deterministic", "logged", 1),
                 ("Bash exit 3", "unknown", "logged", 1)])
    check.lacks("what the model heard", all_heard(client), "HookKeeper")
    check.equal("errors in metrics", only_entry(check, bench.books, client.session_id).get("errors"),
                {"total": 3, "recovered": 1, "escalated": 0})
    batches = [line["outcome"] for line in bench.books.log() if line["event"] == "PostToolBatch"]
    check.equal("batches that say something", batches,
                ["deterministic: logged", "deterministic: logged", "deterministic: logged", "every call was carried out"])


def denied_calls(bench, check):
    """By a rule, for want of an approval, and by auto mode."""
    rules = json.dumps({"permissions": {"deny": ["Bash(rm:*)"]}})
    bench.write(".claude/settings.json", rules)
    client = bench.run("fail", asks=True, rules=turns(
        bash("rm x"), call("Write", file_path=str(bench.project / "n.txt"), content="x"), "done"))
    heard_last = heard(client.requests[-1])
    check.contains("what the model heard", heard_last, "HookKeeper: permission error. A retry does not help; ask the user for", times=2)
    auto = bench.run("go on", asks=True, args=["--permission-mode", "auto"], rules=turns(
        bash("git push --force origin main"), bash("git push --force origin main"), "done"))
    for run, errors in ((client, 2), (auto, 1)):
        check.equal("errors in metrics", bench.books.entry(run.session_id).get("errors"),
                    {"total": errors, "recovered": 0, "escalated": errors})
    log = bench.books.log()
    check.equal("auto mode", [line["outcome"] for line in log if line["event"] == "PermissionDenied"], ["permission: escalated"] * 2)
    check.contains("what the user was told", user_was_told(bench), "permission error and needs you", times=1)


def model_switch(bench, check):
    client = bench.run("hello", "/model sonnet", "again", rules=turns("hi", "ho"))
    entry = only_entry(check, bench.books, client.session_id)
    check.equal("the model in metrics", entry.get("model"), client.requests[-1]["model"])
    check.contains("it is another one", str(entry.get("model")), "sonnet")
    check.lacks("what the model heard", all_heard(client), "HookKeeper")


def lost_wiring(bench, check):
    """An entry of ours is taken out of the settings file while the session runs, then all of them."""
    drop = """import json; f='.claude/settings.local.json'; d=json.load(open(f)); d['hooks'].pop('SubagentStop'); json.dump(d, open(f, 'w'))"""
    client = bench.run("go", "on", rules=turns(
        bash(f'sleep 1; python3 -c "{drop}"; sleep 3'), "done", bash("echo '{}' > .claude/settings.local.json; sleep 3"), "done"))
    changes = [line["outcome"] for line in bench.books.log() if line["event"] == "ConfigChange"]
    check.equal("changes", changes, ["wiring lost in .claude/settings.local.json"] * 2)
    check.contains("what the user was told", user_was_told(bench),
                   "does not call HookKeeper any more for SubagentStop. `hookkeeper install --scope local` puts that back.", times=1)
    waiting = bench.books.document("notices.json")["waiting"]
    check.contains("what waits", str(waiting), "so it records nothing", times=1)
    check.that("no hook of ours ran after that", "SessionEnd" not in [line["event"] for line in bench.books.log()])


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


SCENARIOS = (failures, recovery, refused_calls, denied_calls, model_switch, lost_wiring, api_failure, api_failure_recovered)
