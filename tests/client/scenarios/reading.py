"""What scenarios read out of a client's run, and what they do beside it."""
import subprocess
import time

from bench import json_lines
from scripted_api import text_of


def heard(request):
    """All that one request told the model: messages of every role."""
    return "\n".join(text_of(message["content"]) for message in request["messages"])


def all_heard(client):
    return "\n".join(heard(request) for request in client.requests)


def main_thread(client, prompt):
    """The requests of the main thread: their conversation begins with this prompt."""
    return [request for request in client.requests if prompt in text_of(request["messages"][0]["content"])]


def launched(client):
    """The agents by the client's own account: {agent id: what it was called for}."""
    return {event["task_id"]: event for event in client.events if event.get("subtype") == "task_started"}


def user_was_told(bench):
    """What the client showed to the user for our hooks."""
    attachments = (line.get("attachment") or {} for path in bench.transcripts() for line in json_lines(path))
    return "\n".join(shown["content"] for shown in attachments if shown.get("type") == "hook_system_message")


def in_another_terminal(bench, *arguments, **env):
    """Runs a command as a person does: it belongs to no session."""
    return subprocess.run(["hookkeeper", "-C", str(bench.project), *arguments], cwd=bench.root, text=True,
                          capture_output=True, env={"PATH": bench.path(), "HOME": str(bench.home), **env})


def wait_until(true, seconds=30):
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            raise TimeoutError(f"it did not happen within {seconds} s")
        time.sleep(0.05)


def events_of(log, session_id):
    return [line["event"] for line in log if line["session"] == session_id]


def only_entry(check, books, session_id):
    """The session's metrics; it must be the only one."""
    ids = [entry["session_id"] for entry in books.metrics()]
    check.equal("sessions in metrics.json", ids, [session_id])
    return books.entry(session_id)


def check_closed(check, books):
    """No session is live any more."""
    check.equal("live records", books.live_ids(), [])
    check.equal("current.json", books.document("session/current.json"), None)
    check.equal("running agents", (books.document("agents/active.json") or {}).get("agents", []), [])
    check.equal("errors of ended sessions", books.document("errors/classified.json"), None)
