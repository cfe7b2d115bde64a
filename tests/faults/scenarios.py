"""For every event: a state before it, its payload, and what it means that it is in the books."""

import copy
import dataclasses
import json
from typing import Callable

import books
from support import AGENT, EVENTS, OTHER_SESSION, SECOND_AGENT, SESSION, event

NEW_SESSION = "00b70659-b468-45d0-91be-c499e26a7cf7"
NEW_AGENT = "d849e6a7ce0708706"
GONE_PID = 4_000_000


@dataclasses.dataclass
class Scenario:
    name: str
    payload: dict
    # Whether the event is in the books; gets a project and the saved tree before.
    recorded: Callable
    # Changes the rich state before the event.
    prepare: Callable = lambda project, clock: None
    empty: bool = False
    # What comes after the event: the next turn of the same session.
    following: tuple = (event("UserPromptSubmit", prompt="go on"), event("Stop", background_tasks=[]))
    # Several events in one run: documents have versions in between.
    several: bool = False
    # Another live session, which the event leaves alone.
    elsewhere: str = OTHER_SESSION

    def before(self, project, clock):
        """Makes the state before the event and gives it as a tree."""
        if not self.empty:
            books.make_rich(project, clock)
        self.prepare(project, clock)
        return project.save()


def live_has(**fields):
    """The session's record has these values; a callable checks its field."""

    def recorded(project):
        live = project.live() or {}
        return all(want(live.get(key)) if callable(want) else live.get(key) == want for key, want in fields.items())

    return recorded


def has_agent(agent):
    return lambda project: any(entry["id"] == agent for entry in (project.live() or {}).get("agents", []))


def has_result(agent, status):
    def recorded(project):
        result = project.read(f"agents/results/{agent}.json") or {}
        return result.get("status") == status and not has_agent(agent)(project)

    return recorded


def has_error(call):
    def recorded(project):
        errors = (project.read("errors/classified.json") or {}).get("errors", [])
        return any(call in record["tool_use_ids"] for record in errors)

    return recorded


def has_item(project):
    items = (project.read("loop/work_queue.json") or {}).get("items", [])
    return has_error("toolu_new")(project) and any(item.get("file") == "src/new.js" for item in items)


def has_backup(project):
    backup = ((project.live() or {}).get("last_backup") or {}).get("file")
    return bool(backup) and "new words" in (project.read(f"compaction/{backup}") or {}).get("reason", "")


def has_notice(project):
    notices = project.read("notices.json") or {}
    said = len(notices.get("waiting", [])) + len(notices.get("said", []))
    return has_error("p-billing")(project) and said >= 2


def wired_before(project, _clock=None):
    """`install` has wired the local settings file, which is not there any more."""
    wired = {"file": "settings.local.json", "scope": "local", "command": "hookkeeper", "version": "0.1.0",
             "wired_at": "2026-01-29T09:00:00Z", "steps": []}
    path = project.state / "settings/wiring.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"files": [wired]}, indent=2) + "\n")


def has_lost_wiring(project):
    notices = project.read("notices.json") or {}
    waiting = [notice["key"] for notice in notices.get("waiting", [])]
    return any(key.startswith("wiring/local/") for key in waiting + notices.get("said", []))


def has_notification(text, times):
    def recorded(project):
        book = project.read("notifications.json") or {}
        noted = [entry["text"] for entry in book.get("notifications", [])]
        return noted.count(text) == 1 and sum(book["type_counts"].values()) == times

    return recorded


def is_closed(session):
    def recorded(project):
        entries = (project.read("session/metrics.json") or {}).get("sessions", [])
        return project.live(session) is None and any(entry["session_id"] == session for entry in entries)

    return recorded


def is_open(project):
    return (project.live(NEW_SESSION) or {}).get("source") == "startup"


def running_loop(project, _clock=None):
    """A loop that the session drives, in its third iteration."""
    item = {"id": "work-001", "priority": "S1", "title": "Refuse empty passwords", "description": "", "status": "pending",
            "added_iteration": 1, "completed_iteration": None}
    queue = {"version": 1, "task": "login", "iteration": 3, "consecutive_passes": 0, "items": [item], "gate_results": {},
             "status": "BUILDING", "session_id": SESSION, "started_at": "2026-01-29T10:00:00Z", "max_iterations": 50,
             "phase": "BUILD", "gates": ["test"]}
    path = project.state / "loop/work_queue.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(queue, indent=2) + "\n")


def loop_went_on(project):
    return (project.read("loop/work_queue.json") or {}).get("iteration", 0) > 3


def fill_metrics(project, _clock=None):
    """Two hundred sessions: the next one moves the oldest to the archive."""
    path = project.state / "session/metrics.json"
    metrics = json.loads(path.read_bytes())
    entry = metrics["sessions"][0]
    metrics["sessions"] = [dict(copy.deepcopy(entry), session_id=f"old-{n}") for n in range(200)]
    path.write_text(json.dumps(metrics, indent=2) + "\n")


def forget_client(project, _):
    """The other session's client is gone."""
    path = project.state / f"session/live/{OTHER_SESSION}.json"
    live = json.loads(path.read_bytes())
    live["client"]["pid"] = GONE_PID
    path.write_text(json.dumps(live, indent=2) + "\n")


def fill_spool(project, clock):
    """Three events that wait."""
    spool = project.state / "spool"
    spool.mkdir(mode=0o700)
    waiting = [
        event("SubagentStart", agent_id="waits-1"),
        event("SubagentStop", agent_id="waits-1"),
        event("PostToolUseFailure", tool_use_id="toolu_waits", tool_input={"command": "make"}, error="ENOMEM"),
    ]
    for number, payload in enumerate(waiting):
        entry = {
            "time": clock.tick() if clock else "2026-01-29T10:30:00Z",
            "client": {"pid": 1, "started": None, "host": "elsewhere"},
            "git": {"branch": None, "commit": None},
            "payload": json.loads(project.payload(payload)),
        }
        (spool / f"{number:020}-1.json").write_text(json.dumps(entry))


def played_spool(project):
    waited = has_result("waits-1", "success")(project) and has_error("toolu_waits")(project)
    return waited and has_agent(NEW_AGENT)(project) and not project.spooled()


def archived(project):
    path = project.state / "session/metrics-archive.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    return is_closed(SESSION)(project) and [json.loads(line)["session_id"] for line in lines] == ["old-0"]


SYNTAX = {
    "tool_use_id": "toolu_new",
    "tool_input": {"command": "node new.js"},
    "error": "Exit code 1\nsrc/new.js:7\nSyntaxError: Unexpected token",
}
REFUSED = {
    "tool_name": "Edit",
    "tool_use_id": "toolu_refused",
    "tool_input": {"file_path": "/home/dev/shop/src/login.ts"},
    "tool_response": "<tool_use_error>String to replace not found in file.</tool_use_error>",
}
BILLING = {"error": "billing_error", "last_assistant_message": "API Error: 403", "prompt_id": "p-billing"}
STARTED = event("SubagentStart", agent_id=NEW_AGENT)

SCENARIOS = [
    Scenario("SessionStart", event("SessionStart", session_id=NEW_SESSION), is_open),
    Scenario("SessionEnd", event("SessionEnd"), is_closed(SESSION)),
    Scenario("SubagentStart", STARTED, has_agent(NEW_AGENT)),
    Scenario("SubagentStop", event("SubagentStop", agent_id=SECOND_AGENT), has_result(SECOND_AGENT, "success")),
    Scenario("UserPromptSubmit", event("UserPromptSubmit", prompt="now the logout"), live_has(last_prompt="now the logout")),
    Scenario("UserPromptExpansion", event("UserPromptExpansion"), live_has(commands_executed=["plan", "loop"])),
    Scenario(
        "PreToolUse",
        event("PreToolUse", tool_use_id="toolu_new"),
        live_has(calls=lambda calls: any(call["tool_use_id"] == "toolu_new" for call in calls)),
    ),
    Scenario(
        "PostToolUse",
        event("PostToolUse", tool_input={"file_path": "/home/dev/shop/src/logout.ts", "content": ""}),
        live_has(files_modified=lambda files: "src/logout.ts" in files),
    ),
    Scenario("PostToolUseFailure", event("PostToolUseFailure", **SYNTAX), has_item),
    Scenario("PostToolBatch", event("PostToolBatch", tool_calls=[REFUSED]), has_error("toolu_refused")),
    Scenario("PermissionDenied", event("PermissionDenied", tool_use_id="toolu_denied"), has_error("toolu_denied")),
    Scenario("PreCompact", event("PreCompact", custom_instructions="new words"), has_backup),
    Scenario("PostCompact", event("PostCompact", compact_summary="another"), live_has(compactions=2)),
    Scenario("Stop", event("Stop"), has_result(SECOND_AGENT, "lost")),
    Scenario("loop-goes-on", event("Stop", stop_hook_active=True), loop_went_on, running_loop),
    Scenario("StopFailure", event("StopFailure", **BILLING), has_notice),
    Scenario("Notification", event("Notification", title=None, message="new words"), has_notification("new words", 2)),
    Scenario("PostModelSwitch", event("PostModelSwitch", to_model="claude-haiku-4-5"),
             live_has(model_use=lambda model: bool(model) and model["name"] == "claude-haiku-4-5")),
    Scenario("ConfigChange", event("ConfigChange"), has_lost_wiring, wired_before),
    Scenario("stop-without-start", event("SubagentStop", agent_id=NEW_AGENT), has_result(NEW_AGENT, "success")),
    Scenario("start-again", event("SubagentStart", agent_id=AGENT), has_agent(AGENT)),
    Scenario("first-event", STARTED, has_agent(NEW_AGENT), empty=True),
    Scenario("agent-call-answers", event(
        "PostToolUse", tool_name="Agent", tool_use_id="toolu_call",
        tool_input={"description": "Map the auth module", "subagent_type": "Explore"},
        tool_response={"status": "completed", "agentId": AGENT, "totalTokens": 1020},
    ), lambda project: (project.read(f"agents/results/{AGENT}.json") or {}).get("task") == "Map the auth module"),
    Scenario("abandoned", event("SessionStart", session_id=NEW_SESSION),
             lambda project: is_open(project) and is_closed(OTHER_SESSION)(project), forget_client,
             following=(event("SessionStart", session_id=NEW_SESSION), event("Stop")), elsewhere=SESSION),
    Scenario("metrics-archive", event("SessionEnd"), archived, fill_metrics),
    Scenario("spool-played", STARTED, played_spool, fill_spool, several=True),
]

UNTRIED = set(EVENTS) - {scenario.name for scenario in SCENARIOS}
if UNTRIED:
    raise SystemExit(f"tests/faults/scenarios.py has no scenario for {', '.join(sorted(UNTRIED))}")
