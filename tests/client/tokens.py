"""What our hooks gave the model, event by event, over all scenarios that ran: characters by four."""
import json
from collections import defaultdict

from audit import hook_runs
from scripted_api import text_of

FOR_SUMMARY = "The summary has to keep:"


class Tokens:
    def __init__(self):
        self._given = defaultdict(list)

    def add(self, bench):
        for client in bench.clients:
            for hook in hook_runs(client):
                self._given[_name(hook)].append(len(_given(hook)))
            # The client does not report this hook; what it says goes to the summariser.
            for request in client.requests:
                said = text_of(request["messages"][-1]["content"]) if request["messages"] else ""
                if FOR_SUMMARY in said:
                    self._given["PreCompact"].append(len(_block(said)))

    def table(self):
        lines = ["| event | runs | spoke | tokens, all | each, least to most |", "|---|---:|---:|---:|---:|"]
        for event, sizes in sorted(self._given.items()):
            spoke = sorted(size for size in sizes if size)
            each = f"{_tokens(spoke[0])} to {_tokens(spoke[-1])}" if spoke else ""
            lines.append(f"| {event} | {len(sizes)} | {len(spoke)} | {_tokens(sum(spoke))} | {each} |")
        every = [size for sizes in self._given.values() for size in sizes]
        lines.append(f"| all | {len(every)} | {sum(1 for size in every if size)} | {_tokens(sum(every))} | |")
        return "\n".join(lines)


def _name(hook):
    """SessionStart by its source: it says different things."""
    return hook["hook_name"].replace(":", " ") if hook["hook_event"] == "SessionStart" else hook["hook_event"]


def _given(hook):
    """The part of a reply that reaches the model."""
    try:
        reply = json.loads(hook.get("stdout") or "{}")
    except ValueError:
        return hook["stdout"]
    blocked = reply.get("reason", "") if reply.get("decision") == "block" else ""
    return blocked + (reply.get("hookSpecificOutput") or {}).get("additionalContext", "")


def _block(said):
    """From our first line to the last one that belongs to it."""
    lines = said[said.index(FOR_SUMMARY):].split("\n")
    mine = next((n for n, line in enumerate(lines[1:], 1) if not line.startswith(("- ", "  "))), len(lines))
    return "\n".join(lines[:mine])


def _tokens(characters):
    return round(characters / 4)
