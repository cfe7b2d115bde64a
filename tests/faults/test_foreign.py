"""Fields that this version does not know, and documents that a newer version wrote."""

import json
import subprocess

import books
from support import AGENT, OTHER_SESSION, SECOND_AGENT, SESSION, Clock, event, test

KEY = "x_unknown"
VALUE = {"deep": [1, {"text": "kept"}], "none": None}

# Documents with an event that rewrites each; `every_document_has_a_writer` holds that none is missing.
WRITERS = {
    f"session/live/{SESSION}.json": event("UserPromptSubmit", prompt="go on"),
    "session/current.json": event("UserPromptSubmit", prompt="go on"),
    "agents/active.json": event("SubagentStart", agent_id="a-new"),
    f"agents/results/{AGENT}.json": event(
        "PostToolUse", tool_name="Agent", tool_use_id="toolu_call", tool_input={"description": "Map the auth module"},
        tool_response={"status": "completed", "agentId": AGENT, "totalTokens": 1020},
    ),
    "agents/results/synthesis.json": event("SubagentStop", agent_id=SECOND_AGENT),
    "errors/classified.json": event("PostToolUseFailure", tool_use_id="toolu_more"),
    "loop/work_queue.json": event(
        "PostToolUseFailure", tool_use_id="toolu_more", tool_input={"command": "node other.js"},
        error="Exit code 1\nsrc/other.js:9\nSyntaxError: Unexpected token",
    ),
    "session/metrics.json": event("SessionEnd"),
    "session/cleared.json": event("SessionEnd", session_id=OTHER_SESSION, reason="clear"),
    "notices.json": event("StopFailure", error="billing_error", last_assistant_message="x", prompt_id="p-more"),
    "notifications.json": event("Notification", message="more"),
}
WITHOUT_WRITER = {
    "archived-result": "it is moved, not rewritten",
    "parked-synthesis": "it is a copy of the synthesis",
    "backup": "it is written once",
    "autonomous-watch": "the rich state has no autonomous loop",
    "executions": "the rich state has no executions",
    "wiring": "no event writes it",
    "spool": "it is written once",
}
# Their keys are data, not fields. Maps of values of one type are told by their schema.
FREE_FORM = {"context", "gate_results"}


@test
def every_document_has_a_writer(suite, checks):
    suite.ensure_all_are_named(checks, WRITERS, WITHOUT_WRITER)


@test
def unknown_fields_survive(suite, checks):
    project = suite.project()
    books.make_rich(project, Clock())
    clock = Clock(300)
    # So that metrics.json has an entry of the session that ends again.
    project.play([event("SessionEnd"), event("UserPromptSubmit", prompt="once more")], clock)
    project.play([event("SubagentStart", agent_id=SECOND_AGENT), *failures()], clock)
    project.play([event("PreCompact"), event("PostToolUseFailure", **books.NETWORK_FAILURE)], clock)
    project.play([event("SubagentStart"), event("SubagentStop")], clock)
    # Another client's clear: this one's next clear must leave it alone.
    cleared = project.read("session/cleared.json")
    cleared["cleared"][0]["client"]["pid"] = 1
    (project.state / "session/cleared.json").write_text(json.dumps(cleared))
    tree = project.save()
    for name, payload in WRITERS.items():
        project.restore(tree)
        path = project.state / name
        document = json.loads(path.read_bytes())
        maps = maps_of(suite, suite.row_of(name)["schema"])
        places = [place for place in objects(document) if not place or place[-1] not in maps]
        for place in places:
            at(document, place)[KEY] = VALUE
        path.write_text(json.dumps(document, indent=2) + "\n")
        before = path.read_bytes()
        checks.ran(project.run(payload, clock=clock.tick()), f"{name}: {payload['hook_event_name']}", codes=(0,))
        checks.that(path.read_bytes() != before, f"{name} was not rewritten by {payload['hook_event_name']}")
        survivors = survived(json.loads(path.read_bytes()))
        for place in places:
            kept = signature(document, place) in survivors
            checks.that(kept, f"{name}: the unknown field in /{'/'.join(map(str, place))} is gone")


@test
def newer_versions_stay_as_they_are(suite, checks):
    project = suite.project()
    books.make_rich(project, Clock())
    tree = project.save()
    newer = suite.row_of("loop/work_queue.json")["version"] + 1
    cases = [
        ("loop/work_queue.json", {"version": newer}, WRITERS["loop/work_queue.json"]),
        (f"session/live/{SESSION}.json", {"hooks_version": "4.0"}, event("SubagentStart", agent_id="a-new")),
        ("loop/work_queue.json", {"version": newer, "items": {"by": "id"}}, WRITERS["loop/work_queue.json"]),
        (f"session/live/{SESSION}.json", {"hooks_version": "4.0", "agents": {}}, event("SubagentStart", agent_id="a-new")),
    ]
    for name, changed, payload in cases:
        what = f"{name} with {changed}"
        project.restore(tree)
        clock = Clock(300)
        project.run(event("UserPromptSubmit", session_id=OTHER_SESSION), clock=clock.tick())
        path = project.state / name
        path.write_text(json.dumps({**json.loads(path.read_bytes()), **changed}))
        before = path.read_bytes()
        said = 0
        again = {**payload, "agent_id": "a-newer"} if "agent_id" in payload else {**payload, "tool_use_id": "toolu_again"}
        for sent in [payload, again, event("UserPromptSubmit"), event("SessionStart", source="resume"), event("Stop")]:
            run = project.run(sent, clock=clock.tick())
            checks.ran(run, f"{what}: {sent['hook_event_name']}", codes=(0,))
            said += "newer version" in run.reply().get("systemMessage", "")
        checks.that(path.read_bytes() == before, f"{what}: the file changed")
        checks.that(said == 1, f"{what}: said {said} times, expected once")
        project.run(event("SessionEnd"), clock=clock.tick())
        checks.that(path.exists() and path.read_bytes() == before, f"{what}: SessionEnd changed or removed the file")


def failures():
    """Enough errors that old ones are only counted."""
    commands = (f"make target-{n}" for n in range(203))
    return [
        event("PostToolUseFailure", tool_use_id=f"toolu_{n}", tool_input={"command": command}, error="ENOMEM")
        for n, command in enumerate(commands)
    ]


def maps_of(suite, schema):
    """The fields of a document that are maps from names to values."""
    printed = subprocess.run([suite.binary, "schema", schema], capture_output=True, check=True).stdout
    found = set(FREE_FORM)
    fields = [json.loads(printed)]
    while fields:
        here = fields.pop()
        if isinstance(here, list):
            fields += here
        elif isinstance(here, dict):
            properties = here.get("properties", {})
            for name, value in properties.items():
                if isinstance(value, dict) and isinstance(value.get("additionalProperties"), dict):
                    found.add(name)
            fields += here.values()
    return found


def objects(value, place=()):
    """The places of all objects in a document."""
    if isinstance(value, dict):
        yield place
        for key, inner in value.items():
            yield from objects(inner, (*place, key))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from objects(inner, (*place, number))


def at(document, place):
    for key in place:
        document = document[key]
    return document


def signature(document, place):
    """A place, with list entries by their id: entries may move."""
    names = []
    for n, key in enumerate(place):
        if isinstance(key, int):
            entry = at(document, place[: n + 1])
            key = next((str(entry[k]) for k in ("id", "agent_id", "session_id", "key", "title") if entry.get(k)), key)
        names.append(str(key))
    return tuple(names)


def survived(document):
    return {signature(document, place) for place in objects(document) if at(document, place).get(KEY) == VALUE}
