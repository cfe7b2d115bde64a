"""What must hold after every scenario: the client is content with our hooks, and so is our own log."""
from collections import Counter

from bench import json_lines

# Attachments that the client writes for hooks that went well. Any other kind is a complaint.
GOOD = {"hook_success", "hook_additional_context", "hook_system_message"}
# These rooms are made only when something went wrong.
TROUBLE = ("rejected", "quarantine", "spool")


def audit(bench, check):
    for number, client in enumerate(bench.clients, 1):
        _stream(f"run {number}", client, check)
    for transcript in bench.transcripts():
        _transcript(transcript, bench, check)
    if bench.books_kept:
        _log(bench, check)
        for room in TROUBLE:
            check.equal(f"nothing in {room}/", bench.books.names(room), [])


def hook_runs(client):
    """The hook runs that the client reports. It reports none for SessionEnd and compactions."""
    return [event for event in client.events if event.get("subtype") == "hook_response"]


def _stream(run, client, check):
    runs = hook_runs(client)
    check.that(f"{run}: the client ran hooks", runs)
    for hook in runs:
        said = {key: hook.get(key) for key in ("outcome", "exit_code", "stderr")}
        check.equal(f"{run}: {hook['hook_name']}", said, {"outcome": "success", "exit_code": 0, "stderr": ""})
    if not client.killed:
        started = [event for event in client.events if event.get("subtype") == "hook_started"]
        check.equal(f"{run}: every hook that started ended", len(runs), len(started))
        failed = client.results[-1]["is_error"]
        check.equal(f"{run}: the client's exit status", client.process.returncode, int(failed))
    check.equal(f"{run}: the client's stderr", client.stderr, "")


def _transcript(path, bench, check):
    """A stop that we block is an error in the client's words, one that goes on quietly is none. Our log must have it, too."""
    blocks, summarised, quiet = [], [], 0
    for line in json_lines(path):
        attachment = line.get("attachment") or {}
        kind = attachment.get("type", "")
        at_stop = attachment.get("hookEvent") == "Stop"
        if kind == "hook_blocking_error" and at_stop:
            blocks.append(attachment["blockingError"]["blockingError"])
        elif kind == "hook_additional_context" and at_stop:
            quiet += 1
        elif kind.startswith("hook_"):
            check.that(f"{path.name}: {kind} is no complaint", kind in GOOD, attachment)
        if kind == "hook_success":
            check.holds(f"{path.name}: {attachment['hookName']}", attachment,
                        {"command": bench.hook_command(attachment["hookEvent"]), "exitCode": 0, "stderr": ""})
        if line.get("subtype") == "stop_hook_summary":
            summarised.extend(line["hookErrors"])
    log = bench.books.log() if bench.books_kept else []
    ours = [line for line in log if line["session"] == path.stem and line["outcome"].startswith("blocked: ")]
    check.equal(f"{path.name}: stops that were blocked", len(blocks) + quiet, len(ours))
    check.equal(f"{path.name}: errors of Stop hooks", summarised, blocks)


def _log(bench, check):
    log = bench.books.log()
    for line in log:
        bad = line["outcome"].startswith(("error", "rejected"))
        check.that(f"log: {line['event']} went well", not bad, line)
    reported = Counter(hook["hook_event"] for client in bench.clients for hook in hook_runs(client))
    logged = Counter(line["event"] for line in log)
    # A batch in which every call was carried out leaves nothing, not even a line.
    reported.pop("PostToolBatch", None)
    check.holds("log: one line for every hook run that the client reports", dict(logged), dict(reported))
