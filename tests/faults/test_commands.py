"""A kill at every system call of the commands that change the books: nothing is lost."""

import dataclasses
import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Callable

import books
import calls
from support import BASE_MARK, SECOND_AGENT, SESSION, documents, event, needs_strace, test
from test_walk import ALL_ERRORS, ERRORS

# Not documents: the lock, what is appended to, and where things are put aside.
BESIDE = ("state/.lock", "state/.new", "state/journal/", "state/set-aside/", "state/quarantine/")
# Rewritten from the records of the sessions that can be read.
DERIVED = ("state/agents/active.json", "state/session/current.json")
OPTIONS = b'{\n    "keep_backups":  4,\n  "redact": ["CORP-[0-9]+"]\n}\n'


@dataclasses.dataclass
class Command:
    args: tuple
    prepare: Callable = lambda project: None
    # Whether the books agree with each other after the next events, without the command again. A
    # reset is several steps; whoever sees it killed runs it again.
    healed: bool = True
    # Damage is no business of the checks that look at all documents together.
    broken: bool = False
    full_only: bool = False
    # What it says when it is run once more: a loop that was started is open.
    again: tuple = (0,)

    @property
    def name(self):
        return " ".join(self.args)


def change_loop(project):
    (project.state / "loop/LOOP_STATE.md").write_text("# Loop\n\nStatus: DONE\n")
    queue = project.read("loop/work_queue.json")
    queue["items"][0]["title"] = "something else"
    (project.state / "loop/work_queue.json").write_text(json.dumps(queue))


def damage(project):
    """Of every kind that a repair treats differently."""
    cut(project.state / "agents/active.json")
    cut(project.state / "errors/classified.json")
    (project.state / "session/cleared.json").write_text('{"cleared": 7}')
    (project.state / "session/live/broken.json").write_text('{"session_id": 1}')
    metrics = project.read("session/metrics.json")
    metrics["sessions"].append({"session_id": 5})
    (project.state / "session/metrics.json").write_text(json.dumps(metrics))
    entry = json.dumps(metrics["sessions"][0])
    (project.state / "session/metrics-archive.jsonl").write_text(f"{entry}\nno JSON\n")


def cut(path):
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def recording(project):
    (project.claude / "hookkeeper.json").write_bytes(OPTIONS.replace(b"{", b'{\n    "record": true,', 1))


def error_id(project):
    return project.read("errors/classified.json")["errors"][0]["id"]


def awaiting(project):
    """An autonomous loop whose acceptance tests wait for a person."""
    project.run(b"", args=("autonomous", "start", "Add login", "--session", SESSION))
    path = project.claude / "autonomous-loop.json"
    state = json.loads(path.read_text()) | {"phase": "spec_test", "awaiting_approval": True}
    path.write_text(json.dumps(state))


TASK = (
    *("iterative", "new", "auth", "--task", "Login", "--mode", "development", "--session", SESSION),
    *("--unit", "T1: Model | its tests pass | max 9", "--unit", "T2: Page | it opens | needs T1"),
)


def iterative(project):
    """An iterative task that the session drives; its first unit is at work."""
    run = project.run(b"", args=TASK)
    assert run.code == 0, run.err
    # Times are in seconds, and what the command writes has to differ.
    time.sleep(1.1)


def log_is_kept(stage, checks, what):
    """The log of a task has only grown, and with the state it tells the same."""
    log, inner = stage.project.claude / "iterative/auth/progress.md", "iterative/auth/progress.md"
    if inner in stage.before:
        checks.that(log.read_bytes().startswith(stage.before[inner]), f"{what}: an entry of progress.md is gone")
        run = stage.project.run(b"", args=("iterative", "rebuild", "auth"))
        checks.that(run.out.strip() == "Task auth: nothing differed.", f"{what}: rebuild says {run.out or run.err}")


COMMANDS = [
    Command(("reset", "all"), healed=False),
    Command(("reset", "agents"), healed=False),
    Command(("reset", "errors"), healed=False, full_only=True),
    Command(("reset", "loop"), full_only=True),
    Command(("record", "on")),
    Command(("record", "off"), recording, full_only=True),
    Command(("config", "set", "systems.errors", "off")),
    Command(("config", "unset", "record"), recording, full_only=True),
    Command(("errors", "resolve", "ERROR")),
    Command(("agents", "nudge", SECOND_AGENT, "--message", "please report")),
    Command(("validate", "--repair"), damage, broken=True),
    Command(("backup", "restore", "latest"), change_loop),
    Command(("loop", "start", "Add login", "--gate", "test", "--session", SESSION), again=(0, 1)),
    Command(("queue", "add", "--priority", "S1", "--title", "Refuse empty passwords"), full_only=True),
    Command(("branch", "loop", "start", "Make all tests pass", "--session", SESSION), again=(0, 1), full_only=True),
    Command(("autonomous", "start", "Add login", "--session", SESSION), again=(0, 1)),
    Command(("autonomous", "approve"), awaiting, again=(0, 1)),
    Command(("autonomous", "checkpoint", "Half way"), awaiting, full_only=True),
    Command(("iterative", "signal", "auth", "T1_DONE"), iterative, again=(0, 1)),
    Command(("iterative", "log", "auth", "T1", "--did", "Half of it", "--remaining", "The rest"), iterative),
    Command(("iterative", "unit", "auth", "T3: Form | it is sent"), iterative, again=(0, 1), full_only=True),
    Command(("iterative", "cancel", "auth"), iterative, again=(0, 1), full_only=True),
]


class Stage:
    """A project before a command, its system calls, and what a clean run does to each document."""

    def __init__(self, project, command):
        self.project, self.command = project, command
        (project.root / ".git").mkdir()
        (project.base / "tmp").mkdir()
        project.env["TMPDIR"] = str(project.base / "tmp")
        # Made here and in real time: backups have a checksum over paths, and what a later event
        # finds must not be from the future.
        books.make_rich(project)
        (project.claude / "hookkeeper.json").write_bytes(OPTIONS)
        (project.claude / "hookkeeper.json").chmod(0o640)
        command.prepare(project)
        self.args = tuple(error_id(project) if word == "ERROR" else word for word in command.args)
        self.picture = calls.Picture(project.claude)
        self.before = self.documents()
        self.broken_before = self.broken()
        # As it is before every fault.
        self.picture.put_back()
        self.calls = calls.of(project, self.args)
        self.after = self.documents()
        # Documents that the command changes or removes, and keeps no copy of.
        self.not_kept = {name for name in self.before if not self.kept(name)}
        self.not_there = {name for name in self.before if name not in self.after}
        self.picture.put_back()

    def documents(self):
        tree = self.project.save()
        return {name: content for name, content in tree.items() if content is not None and not name.startswith(BESIDE)}

    def broken(self):
        run = self.project.run(b"", args=("validate", "--json"))
        return {problem["file"] for problem in json.loads(run.out)["problems"]} if run.out else {run.err}

    def kept(self, name):
        """Whether a document is somewhere, byte for byte."""
        path, inner = self.project.claude / name, name.removeprefix("state/")
        places = [path, *self.project.state.glob(f"set-aside/*/{inner}"), *self.project.state.glob(f"quarantine/{inner.replace('/', '-')}.*")]
        base = str(self.project.base).encode()
        return any(place.is_file() and place.read_bytes().replace(base, BASE_MARK) == self.before[name] for place in places)


def check(stage, call, checks):
    name, k, line = call
    project = stage.project
    what = f"{stage.command.name}: killed at {name} {k} ({line[:60]})"
    stage.picture.put_back()
    run = calls.inject(project, stage.args, name, f"signal=KILL:when={k}")
    checks.that(run.code == -9, f"{what}: exit {run.code}, not killed")
    nothing_lost(stage, checks, what)
    for payload in (event("UserPromptSubmit", prompt="go on"), event("Stop", background_tasks=[])):
        checks.ran(project.run(payload), f"{what}: then {payload['hook_event_name']}", codes=(0,))
    sound(stage, checks, f"{what}: after the next events")
    if stage.command.healed:
        consistent(stage, checks, f"{what}: after the next events")
    again = project.run(b"", args=stage.args)
    # What ended in the meantime cannot be nudged any more.
    if stage.args[0] != "agents":
        checks.ran(again, f"{what}: then again", codes=stage.command.again)
    if stage.args == ("validate", "--repair"):
        checks.that(not stage.broken(), f"{what}: then again: {stage.broken()} is broken")
    sound(stage, checks, f"{what}: then again")
    log_is_kept(stage, checks, f"{what}: then again")
    checks.ran(project.run(event("SubagentStart", agent_id="a-later")), f"{what}: then again, then SubagentStart", codes=(0,))
    started = any(agent["id"] == "a-later" for agent in (project.live() or {"agents": []})["agents"])
    checks.that(started, f"{what}: then again: the next event is not in the books")
    consistent(stage, checks, f"{what}: then again")


def nothing_lost(stage, checks, what):
    """Every document is there, old or new, or set aside; our options too, with their mode."""
    project = stage.project
    now = stage.documents()
    notices = project.state / "notices.json"
    left_out = notices.exists() and "It is left out." in notices.read_text()
    for document in stage.before:
        # Copies do not have what could not be read and was left out, until it can be read again.
        if left_out and document in DERIVED:
            continue
        if not stage.kept(document):
            # What could not be read is a notice more.
            checks.that(document in stage.not_kept or document == "state/notices.json", f"{what}: {document} as it was is nowhere")
            checks.that(document in now or document in stage.not_there, f"{what}: {document} is gone")
        else:
            checks.that(True, "")
    options = project.claude / "hookkeeper.json"
    whole = options.read_bytes() in (stage.before["hookkeeper.json"], stage.after["hookkeeper.json"])
    checks.that(whole, f"{what}: hookkeeper.json is neither old nor new")
    checks.that(options.stat().st_mode & 0o777 == 0o640, f"{what}: hookkeeper.json has mode {options.stat().st_mode & 0o777:o}")
    ours = {row["path"].split("/")[0] for row in documents(project.binary)}
    beside = {path.name for path in project.claude.iterdir()} - ours
    checks.that(not beside, f"{what}: beside the books: {beside}")
    sound(stage, checks, what)


def sound(stage, checks, what):
    """Nothing is broken that was not broken before."""
    more = stage.broken() - stage.broken_before
    checks.that(not more, f"{what}: validate finds {sorted(more)}")


def consistent(stage, checks, what):
    if stage.command.broken:
        return
    for problem in books.problems(stage.project):
        # A copy that was being made is whole in its old place.
        if "set-aside/" not in problem:
            checks.that(False, f"{what}: {problem}")


def on_stages(suite, choose, one):
    """Calls `one(stage, item)` for what `choose(stage)` gives, for every command; a project per thread."""
    needs_strace()
    count = os.cpu_count() or 2
    commands = [command for command in COMMANDS if suite.full or not command.full_only]

    def share(pair):
        command, number = pair
        stage = Stage(suite.project(), command)
        for item in choose(stage)[number::count]:
            one(stage, item)
        stage.project.remove()

    with ThreadPoolExecutor(count) as pool:
        list(pool.map(share, [(command, number) for command in commands for number in range(count)]))


@test
def commands_killed_at_every_system_call(suite, checks):
    changed = {}

    def choose(stage):
        changed[stage.command.name] = sorted(stage.not_kept)
        return calls.thinned(suite, stage.calls, 8)

    on_stages(suite, choose, lambda stage, call: check(stage, call, checks))
    for name, documents in changed.items():
        if documents:
            checks.note(f"{name} changes without a copy: {', '.join(documents)}")


@test
def commands_with_errors(suite, checks):
    """Exit 0 and done, or exit 1 with one line; nothing is lost either way, and the next event works."""

    def choose(stage):
        open_ends = calls.closed_pipe_ends(stage.calls)
        faults = [call for call in stage.calls if call[0] in calls.FILE_CALLS and call not in open_ends]
        return [
            (call, error)
            for n, call in enumerate(calls.thinned(suite, faults, 5))
            for error in suite.pick([ERRORS[n % 3]], ALL_ERRORS)
        ]

    def one(stage, item):
        (name, k, line), error = item
        what = f"{stage.command.name}: {error} at {name} {k} ({line[:60]})"
        stage.picture.put_back()
        run = calls.inject(stage.project, stage.args, name, f"error={error}:when={k}")
        # `validate` says on stdout what is left, and its exit code is its verdict.
        if stage.args[0] == "validate":
            checks.that(run.code in (0, 1) and "panicked" not in run.err, f"{what}: exit {run.code}: {run.err}")
        else:
            checks.ran(run, what)
        nothing_lost(stage, checks, what)
        left = stage.documents().keys() - stage.before.keys() - stage.after.keys() if run.code == 0 else ()
        checks.that(not left, f"{what}: exit 0, but {sorted(left)} is there")
        for document in stage.before if run.code == 0 and stage.args[0] != "validate" else ():
            # The fault itself may be news: then there are notices again.
            done = (document in stage.documents()) == (document in stage.after) or document == "state/notices.json"
            checks.that(done, f"{what}: exit 0, but {document} is {'still there' if document not in stage.after else 'gone'}")
        payload = event("SubagentStart", agent_id="a-later")
        checks.ran(stage.project.run(payload), f"{what}: then SubagentStart", codes=(0,))
        sound(stage, checks, f"{what}: then SubagentStart")
        if stage.args[0] == "iterative":
            checks.ran(stage.project.run(event("Stop", background_tasks=[])), f"{what}: then Stop", codes=(0,))
            # A task is cancelled whatever its log looks like; where it cannot tell of it, that is said.
            if "progress.md does not say so" not in run.out:
                log_is_kept(stage, checks, f"{what}: then Stop")

    on_stages(suite, choose, one)
