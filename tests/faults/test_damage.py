"""Documents that were cut off or have a wrong byte, and documents from elsewhere."""

import json

import books
from scenarios import fill_metrics
from support import AGENT, SECOND_AGENT, SESSION, Clock, event, test

# Documents with an event that reads each; `every_document_has_a_reader` holds that none is missing.
READERS = {
    f"session/live/{SESSION}.json": event("SubagentStart", agent_id="a-new"),
    "session/current.json": event("SubagentStart", agent_id="a-new"),
    "agents/active.json": event("SubagentStart", agent_id="a-new"),
    # Not its SubagentStart: an agent that runs is not looked up again.
    f"agents/results/{AGENT}.json": event(
        "PostToolUse", tool_name="Agent", tool_use_id="toolu_call", tool_input={"description": "Map the auth module"},
        tool_response={"status": "completed", "agentId": AGENT},
    ),
    "agents/results/synthesis.json": event("SubagentStop", agent_id=SECOND_AGENT),
    "errors/classified.json": event("PostToolUseFailure", tool_use_id="toolu_more"),
    "loop/work_queue.json": event("PostToolUseFailure", **dict(books.SYNTAX_FAILURE, tool_use_id="toolu_more")),
    "session/metrics.json": event("SessionEnd"),
    "session/cleared.json": event("SessionStart", source="clear", session_id="after-clear"),
    "notices.json": event("UserPromptSubmit"),
    "notifications.json": event("Notification", message="more"),
    "compaction/backup_20260129T100320000Z.json": event("PreCompact", custom_instructions="more"),
}
WITHOUT_READER = {
    "archived-result": "the event that reads it moves it back",
    "parked-synthesis": "the rich state has one synthesis",
    "autonomous-watch": "the rich state has no autonomous loop",
    "executions": "the rich state has no executions",
    "wiring": "no event reads it; tests of the installation do this",
    "spool": "tests of the spool do this",
}
LONGEST_RUN = 5
COPIES = 3


@test
def every_document_has_a_reader(suite, checks):
    suite.ensure_all_are_named(checks, READERS, WITHOUT_READER)


@test
def truncations_and_byte_flips(suite, checks):
    tree = books.rich_tree(suite)
    step = suite.pick(13, 1)
    damages = []
    for name in READERS:
        size = len(tree[f"state/{name}"])
        damages += [(name, "cut at", at) for at in range(0, size, step)]
        damages += [(name, "flipped at", at) for at in range(0, size, step)]

    def one(project, damage):
        name, how, at = damage
        what = f"{name} {how} {at}"
        project.restore(tree)
        path = project.state / name
        whole = path.read_bytes()
        damaged = whole[:at] if how == "cut at" else flip(whole, at)
        path.write_bytes(damaged)
        run = project.run(READERS[name], clock=Clock(300).tick(), timeout=LONGEST_RUN)
        checks.ran(run, what, codes=(0,))
        after_damage(suite, project, checks, what, name, damaged)

    suite.parallel(one, damages)


@test
def damaged_again_and_again(suite, checks):
    """Three copies of each document at most, and the newest ones."""
    tree = books.rich_tree(suite)
    project = suite.project()
    for name, payload in READERS.items():
        project.restore(tree)
        clock = Clock(300)
        for n in range(6):
            path = project.state / name
            path.write_bytes(b'{"n": %d' % n)
            # An agent that has ended is not looked at twice.
            payload = {**payload, "agent_id": f"again-{n}"} if payload["hook_event_name"] == "SubagentStop" else payload
            checks.ran(project.run(payload, clock=clock.tick()), f"{name} damaged {n}", codes=(0,))
            # Some readers close the session; the next one finds it open again.
            project.run(event("UserPromptSubmit"), clock=clock.tick())
            path.parent.mkdir(parents=True, exist_ok=True)
        kept = sorted(path.read_bytes() for path in quarantined(project, name))
        expected = [] if is_shared(suite, name) else [b'{"n": %d' % n for n in range(3, 6)]
        checks.that(kept == expected, f"{name}: quarantine has {kept}, expected {expected}")


@test
def nonsense_that_is_json(suite, checks):
    """Valid JSON of the wrong shape."""
    tree = books.rich_tree(suite)
    texts = ["null", "[]", "{}", "7", '"x"', "[[[]]]", '{"session_id": 7}', '{"agents": {}}', '{"errors": [7]}', '{"version": -1}']
    texts += ['{"agents_spawned": 18446744073709551615}', '{"sessions": [null, 7, {"session_id": null}]}', "[" * 100_000]

    def one(project, case):
        name, text = case
        what = f"{name} is {text[:60]}"
        project.restore(tree)
        (project.state / name).write_text(text)
        checks.ran(project.run(READERS[name], clock=Clock(300).tick(), timeout=LONGEST_RUN), what, codes=(0,))
        after_damage(suite, project, checks, what, name, text.encode())

    suite.parallel(one, [(name, text) for name in READERS for text in texts])


@test
def torn_archive_line(suite, checks):
    """The archive ends in half a line (a full disk, a power cut): the next entry is whole."""
    project = suite.project()
    books.make_rich(project, Clock())
    fill_metrics(project)
    archive = project.state / "session/metrics-archive.jsonl"
    archive.write_text('{"session_id":"older"}\n{"session_id":"old-0","da')
    checks.ran(project.run(event("SessionEnd"), clock=Clock(300).tick()), "SessionEnd", codes=(0,))
    whole = [line for line in archive.read_text().splitlines() if is_json(line)]
    ids = [json.loads(line)["session_id"] for line in whole]
    checks.that(ids == ["older", "old-0"], f"the archive has {ids}, expected older and old-0")


def after_damage(suite, project, checks, what, name, damaged):
    """All documents are whole, the damaged one is in quarantine or was good enough."""
    wrong = []
    docs = books.documents(project, wrong)
    if is_shared(suite, name):
        wrong = [text for text in wrong if not text.startswith(name)]
        unreadable = not is_json(damaged)
        stays = (project.state / name).read_bytes() == damaged
        checks.that(stays or not unreadable, f"{what}: a shared document was changed though it is unreadable")
    checks.that(not wrong, f"{what}: {wrong}")
    checks.that(len(quarantined(project, name)) <= COPIES, f"{what}: too many copies in quarantine")
    if name.startswith("session/live/") and name in docs:
        known = [agent.get("id") for agent in docs[name].get("agents", [])]
        checks.that("a-new" in known, f"{what}: exit 0, but the event is not in {name}")


def is_shared(suite, name):
    return suite.row_of(name)["writers"] == "shared"


def quarantined(project, name):
    prefix = name.replace("/", "-")
    return [path for path in (project.state / "quarantine").glob("*") if path.name.startswith(prefix)]


def flip(whole, at):
    damaged = bytearray(whole)
    damaged[at] ^= 1 << (at % 8)
    return bytes(damaged)


def is_json(text):
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True

