"""What must be true of the books, whatever happened before: every rule that can be checked from
the files alone, and a rich state to start from."""

import fcntl
import json
import os
import re

from support import AGENT, BASE_MARK, OTHER_SESSION, SECOND_AGENT, Clock, event

COPIED = (
    "session_id started git_branch git_commit_start working_directory hooks_version commands_executed "
    "agents_spawned files_modified errors_encountered errors_recovered source client transcript_path task "
    "lineage last_seen"
).split()

# A synthesis names this many agents at most.
FOLDED = 200

CLEARED_SESSION = "f6f9cd6f-1ae2-4f1d-8d9f-a8b988b20894"
CLEARED_AGENT = "ac22dcd4a33dbee73"
OTHER_AGENT = "b0f70f058ee74f941"
IDLE_AGENT = "c0f70f058ee74f941"

NETWORK_FAILURE = {"tool_use_id": "toolu_net"}
SYNTAX_FAILURE = {
    "tool_use_id": "toolu_syntax",
    "tool_input": {"command": "node build.js", "description": "build"},
    "error": "Exit code 1\nsrc/build.js:3\nSyntaxError: Unexpected token",
}
WRONG_LOGIN = {"error": "authentication_failed", "last_assistant_message": "API Error: 401", "prompt_id": "p-login"}


def rich_events():
    """Two live sessions, one that was cleared, agents that run and ended, errors, a queue item, a
    backup, a notice that waits, a notification."""
    cleared = {"session_id": CLEARED_SESSION}
    other = {"session_id": OTHER_SESSION}
    return [
        event("SessionStart", **cleared),
        event("UserPromptSubmit", **cleared),
        event("SubagentStart", agent_id=CLEARED_AGENT, **cleared),
        event("SubagentStop", agent_id=CLEARED_AGENT, **cleared),
        event("SessionEnd", reason="clear", **cleared),
        event("SessionStart", **other),
        event("UserPromptSubmit", prompt="look around", **other),
        event("SubagentStart", agent_id=OTHER_AGENT, **other),
        event("SessionStart", source="clear"),
        event("UserPromptSubmit"),
        event("UserPromptExpansion", command_name="plan", prompt_id="p-plan"),
        event("PostToolUse"),
        event("PostToolUseFailure", **NETWORK_FAILURE),
        event("PostToolUseFailure", **SYNTAX_FAILURE),
        event("PreToolUse", tool_use_id="toolu_call"),
        event("SubagentStart", agent_id=AGENT),
        event("SubagentStart", agent_id=SECOND_AGENT),
        event("SubagentStart", agent_id=IDLE_AGENT),
        event("SubagentStop", agent_id=AGENT),
        event("PreCompact"),
        event("PostCompact"),
        event("StopFailure", **WRONG_LOGIN),
        event("Notification"),
    ]


def make_rich(project, clock=None):
    project.with_transcripts()
    project.play(rich_events(), clock)
    loop = project.state / "loop"
    (loop / "LOOP_STATE.md").write_text("# Loop\n\nStatus: BUILDING\n")


def rich_tree(suite):
    """The same state as a tree, to be put into other projects."""
    project = suite.project()
    make_rich(project, Clock())
    tree = project.save()
    project.remove()
    return tree


def problems(project):
    """Everything that is wrong with the files; empty if nothing is."""
    wrong = []
    docs = documents(project, wrong)
    wrong += litter(project)
    wrong += lock_held(project)
    if wrong:
        return wrong
    lives = [doc for name, doc in docs.items() if name.startswith("session/live/")]
    wrong += copies(docs, lives)
    for live in lives:
        wrong += counts(docs, live)
    ids = [entry.get("session_id") for entry in docs.get("session/metrics.json", {}).get("sessions", [])]
    if len(ids) != len(set(ids)):
        wrong.append(f"metrics.json has a session twice: {ids}")
    return wrong


def documents(project, wrong):
    """All JSON documents by name, parsed. What cannot be parsed is reported."""
    docs = {}
    for path in sorted(project.state.rglob("*.json")):
        name = str(path.relative_to(project.state))
        if name.startswith(("quarantine/", "rejected/", "spool/")):
            continue
        try:
            docs[name] = json.loads(path.read_bytes())
        except (ValueError, RecursionError) as error:
            wrong.append(f"{name} is torn: {error}: {path.read_bytes()[:80]!r}")
    return docs


def litter(project):
    names = [str(path.relative_to(project.state)) for path in project.state.rglob("*")]
    stray = [name for name in names if os.path.basename(name).startswith(".") and name not in (".lock", ".gitignore")]
    stray += [name for name in names if name.startswith("spool")]
    return [f"litter: {name}" for name in stray]


def lock_held(project):
    path = project.state / ".lock"
    if not path.exists():
        return []
    with open(path, "r+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return ["the lock is still held"]
    return []


def copies(docs, lives):
    """active.json and current.json say what the live records say."""
    wrong = []
    active = docs.get("agents/active.json")
    if active is not None:
        sums = [sum(live[key] for live in lives) for key in ("agents_spawned", "agents_completed")]
        totals = [active["total_spawned"], active["total_completed"]]
        if totals != sums:
            wrong.append(f"active.json totals {totals}, live records {sums}")
        running = sorted(agent["id"] for live in lives for agent in live["agents"])
        if sorted(agent["id"] for agent in active["agents"]) != running:
            wrong.append(f"active.json has not the running agents {running}")
    current = docs.get("session/current.json")
    if bool(lives) != bool(current):
        wrong.append("current.json is there without a live session, or not there with one")
    elif lives:
        latest = max(lives, key=lambda live: (live["started"], live["session_id"]))
        differs = [key for key in COPIED if current.get(key) != latest.get(key)]
        if differs:
            wrong.append(f"current.json differs from the live record in {differs}")
    return wrong


def counts(docs, live):
    """One session's counts against the documents that they count."""
    wrong = []
    session = live["session_id"]
    results = {
        doc["agent_id"]: doc
        for name, doc in docs.items()
        if name.startswith("agents/results") and not name.endswith("synthesis.json") and doc["session_id"] == session
    }
    ended = live["agents_completed"] + live["agents_failed"]
    if live["agents_spawned"] != len(live["agents"]) + ended:
        wrong.append(f"{session}: {live['agents_spawned']} spawned, {len(live['agents'])} run, {ended} ended")
    if ended != len(results):
        wrong.append(f"{session}: {ended} agents ended, {len(results)} results")
    synthesis = docs.get("agents/results/synthesis.json")
    if synthesis and synthesis["session_id"] == session and len(results) <= FOLDED:
        folded = {source["id"] for source in synthesis["agents"]}
        here = {agent for agent in results if f"agents/results/{agent}.json" in docs}
        if not here <= folded <= results.keys():
            wrong.append(f"{session}: the synthesis has {sorted(folded)}, results are {sorted(here)}")
    records = [r for r in docs.get("errors/classified.json", {}).get("errors", []) if r["session_id"] == session]
    if live["errors_encountered"] < len(records):
        wrong.append(f"{session}: {live['errors_encountered']} errors counted, {len(records)} recorded")
    closed = [r["target"] for r in records if r["status"] == "pending_retry" and r["target"] not in live["open_targets"]]
    if closed:
        wrong.append(f"{session}: pending errors that no success can recover: {closed}")
    found = sum(len(doc["findings"]) for doc in results.values())
    if live["findings"] != found:
        wrong.append(f"{session}: {live['findings']} findings counted, {found} in results")
    return wrong


# What differs from run to run: digests over paths, new ids.
CHANGEABLE = re.compile(r'"[0-9a-f]{64}"|(?<=error-)[0-9a-f-]{36}|(?<=escalated/)[0-9a-f-]{36}')
COUNTED = (
    "agents_spawned agents_completed agents_failed errors_encountered errors_recovered errors_escalated compactions "
    "findings commands_executed command_counts files_modified"
).split()


def comparable(project):
    """The documents as text, without what differs from run to run."""
    base = str(project.base)
    docs = {name: without_intent(doc) for name, doc in documents(project, []).items()}
    return {name: CHANGEABLE.sub("~", json.dumps(doc).replace(base, BASE_MARK.decode())) for name, doc in docs.items()}


def without_intent(doc):
    """An agent that is `ending` was written down before its result, to be settled by what follows."""
    ending = [agent for agent in doc.get("agents", []) if isinstance(agent, dict) and agent.get("status") == "ending"]
    if not ending or "agents_spawned" not in doc:
        return doc
    agents = [agent for agent in doc["agents"] if agent not in ending]
    return {**doc, "agents": agents, "agents_spawned": doc["agents_spawned"] - len(ending)}


def counters(project):
    """Everything that is counted, by document and name."""
    docs = documents(project, [])
    found = {}
    for name, doc in docs.items():
        if name.startswith("session/live/"):
            found.update({(name, key): doc[key] for key in COUNTED})
    for entry in docs.get("session/metrics.json", {}).get("sessions", []):
        found.update({("metrics", entry["session_id"], key): entry[key] for key in ("agents", "errors", "compactions", "quality")})
    errors = docs.get("errors/classified.json", {})
    found["errors"] = errors.get("summary")
    found["occurrences"] = [(record["target"], record["occurrences"]) for record in errors.get("errors", [])]
    found["items"] = [item["id"] for item in docs.get("loop/work_queue.json", {}).get("items", [])]
    found["backups"] = sum(name.startswith("compaction/") for name in docs)
    return found
