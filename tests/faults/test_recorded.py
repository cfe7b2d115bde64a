"""The setting `record`: whatever is wrong with `recorded/`, the hook works and nothing leaks."""

import contextlib
import json
import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

import books
import calls
from scenarios import NEW_AGENT, has_agent
from secret_shapes import shapes
from support import SECOND_AGENT, Skip, delete, event, needs_strace, test
from test_lock import held
from test_planted import Canary, dangling, file_instead, full_directory, hard_link, symlink, symlink_directory
from test_room import fill, tiny_disk
from test_secrets import AT_ONCE, CHANNELS, SECRET_KEYS, Leaks, broken, started
from test_walk import ALL_ERRORS, ERRORS

KEPT = 200
STARTED = event("SubagentStart", agent_id=NEW_AGENT)
# Events between them write most documents.
PAYLOADS = [STARTED, event("SubagentStop", agent_id=SECOND_AGENT), event("PreCompact", custom_instructions="more"), event("SessionEnd")]
IN_BOOKS = {
    "SubagentStart": has_agent(NEW_AGENT),
    "SubagentStop": lambda project: project.read(f"agents/results/{SECOND_AGENT}.json")["status"] == "success",
    "PreCompact": lambda project: any("more" in path.read_text() for path in project.state.glob("compaction/backup_*.json")),
    "SessionEnd": lambda project: project.live() is None,
}


def recording(project):
    (project.claude / "hookkeeper.json").write_text('{"record": true}\n')


def room(project):
    return project.state / "recorded"


def names(project):
    return sorted(os.listdir(room(project))) if room(project).is_dir() else []


def works(checks, project, payload, what):
    """The hook says nothing of it and keeps its books."""
    run = project.run(payload)
    checks.ran(run, what, codes=(0,))
    checks.that(IN_BOOKS[payload["hook_event_name"]](project), f"{what}: the event is not in the books")


def consistent(checks, project, what):
    for problem in books.problems(project):
        checks.that(False, f"{what}: {problem}")


def rich(suite):
    project = suite.project()
    books.make_rich(project)
    recording(project)
    return project.save()


@test
def recorded_is_planted(suite, checks):
    tree = rich(suite)

    def pipe(path, _):
        delete(path)
        os.mkfifo(path)

    def with_links(path, canary):
        """More than are kept, so that old ones are removed: links, not where they lead."""
        path.mkdir()
        for number in range(KEPT + 20):
            (path / f"2000-{number:04}.json").symlink_to(canary.file if number % 2 else canary.room)

    def with_folders(path, canary):
        path.mkdir()
        for number in range(KEPT + 5):
            full_directory(path / f"2000-{number:04}.json")

    def with_hard_links(path, canary):
        path.mkdir()
        for number in range(KEPT + 5):
            os.link(canary.file, path / f"2000-{number:04}.json")

    def one(project, plant):
        how, payload = plant
        project.restore(tree)
        canary = Canary(project)
        how(room(project), canary)
        what = f"{how.__name__} at recorded, {payload['hook_event_name']}"
        works(checks, project, payload, what)
        checks.that(not canary.changes(), f"{what}: outside {canary.changes()}")
        listed = project.run(b"", args=("record", "list"))
        checks.ran(listed, f"{what}: record list")
        checks.that("canary" not in listed.out, f"{what}: record list shows what is outside")
        delete(room(project))
        consistent(checks, project, what)

    plants = [symlink, symlink_directory, dangling, hard_link, file_instead, pipe, with_links, with_folders, with_hard_links]
    suite.parallel(one, [(how, payload) for how in plants for payload in PAYLOADS])


@test
def recorded_on_a_full_or_read_only_disk(suite, checks):
    """Only `recorded/` is: everything else has room."""
    tree = rich(suite)
    project = suite.project()
    for payload in PAYLOADS:
        for what, disk in (("a full disk", full), ("a read-only disk", read_only_disk)):
            project.restore(tree)
            room(project).mkdir(mode=0o700)
            with disk(room(project)):
                before = names(project)
                works(checks, project, payload, f"recorded on {what}, {payload['hook_event_name']}")
                consistent(checks, project, f"recorded on {what}, {payload['hook_event_name']}")
                checks.that(names(project) == before, f"recorded on {what}: {names(project)[:3]} is there")
    project.restore(tree)
    works(checks, project, STARTED, "room again")
    checks.that(len(names(project)) == 1, f"room again: {names(project)}")


@contextlib.contextmanager
def full(path):
    with tiny_disk(path):
        fill(path / "0-filler")
        yield


@contextlib.contextmanager
def read_only_disk(path):
    with tiny_disk(path):
        done = subprocess.run(["mount", "-o", "remount,ro", path], capture_output=True)
        if done.returncode != 0:
            raise Skip(f"cannot make a file system read-only: {done.stderr.decode().strip()}")
        yield


@test
def recorded_somebody_elses(suite, checks):
    """Not root, and `recorded/` is somebody else's."""
    if os.geteuid() != 0:
        raise Skip("only root can run the program as somebody else")
    nobody = 65534
    project = suite.project()
    project.play([event("SessionStart")])
    recording(project)
    room(project).mkdir(mode=0o755)
    project.binary = shutil.copy(project.binary, project.base / "program")
    for path in (project.base.parent, project.base, project.home, project.root):
        path.chmod(0o755)
    for path in [project.claude, *project.claude.rglob("*")]:
        os.chown(path, *(2 * (0 if path == room(project) else nobody,)))
    run = project.run(STARTED, user=nobody, group=nobody, extra_groups=[])
    checks.ran(run, "recorded is somebody else's", codes=(0,))
    checks.that(has_agent(NEW_AGENT)(project), "recorded is somebody else's: the event is not in the books")
    checks.that(not names(project), f"recorded is somebody else's: {names(project)}")


@test
def recording_with_faults(suite, checks):
    """Errors and kills at each call that has to do with the recording."""
    needs_strace()
    tree = rich(suite)
    project = suite.project()
    project.restore(tree)
    traced = hook_calls(project)
    faults = [(call, f"error={error}") for call in traced if call[0] in calls.FILE_CALLS for error in suite.pick(ERRORS, ALL_ERRORS)]
    faults += [(call, "signal=KILL") for call in traced]
    checks.that(len(traced) > 6, f"only {len(traced)} calls of the recording were found")

    def one(project, item):
        (name, k, line), fault = item
        what = f"{fault} at {name} {k} ({line[:60]})"
        project.restore(tree)
        run = calls.inject(project, ("hook",), name, f"{fault}:when={k}", payload=STARTED)
        if fault == "signal=KILL":
            checks.that(run.code == -9, f"{what}: exit {run.code}, not killed")
            works(checks, project, STARTED, f"{what}: then again")
            # A recording that was cut off is no document.
            torn = [name for name in names(project) if not (room(project) / name).stat().st_size]
            checks.that(len(torn) <= 1, f"{what}: {torn} are empty")
        else:
            checks.ran(run, what, codes=(0,))
            checks.that(has_agent(NEW_AGENT)(project), f"{what}: the event is not in the books")
            consistent(checks, project, what)
        validate = project.run(b"", args=("validate",))
        checks.ran(validate, f"{what}: validate", codes=(0,))
        # What was recorded can be played, also when one of them was cut off.
        if names(project):
            replay = project.run(b"", args=("replay", str(room(project))), env={"TMPDIR": str(project.outside)})
            checks.ran(replay, f"{what}: replay of recorded/", codes=(0,))

    suite.parallel(one, faults)


def hook_calls(project):
    """The calls from opening `recorded` to the last one on it."""
    trace = project.base / "trace"
    project.run(STARTED, prefix=(shutil.which("strace"), "-o", str(trace)))
    lines = trace.read_text().splitlines()
    first = next(n for n, line in enumerate(lines) if '"recorded"' in line)
    # The books' own first call after it.
    last = next(n for n, line in enumerate(lines) if n > first and ('"spool"' in line or '"session"' in line))
    found, counted = [], {}
    for n, line in enumerate(lines[:last]):
        name = line.split("(")[0]
        counted[name] = counted.get(name, 0) + 1
        if n >= first and name != "brk":
            found.append((name, counted[name], line))
    return found


@test
def recorded_at_once(suite, checks):
    """Many events at once: each is kept whole, old ones go, none is torn."""
    project = suite.project()
    project.play([event("SessionStart")])
    recording(project)
    count = suite.pick(300, 2000)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        runs = list(pool.map(lambda n: project.run(event("SubagentStart", agent_id=f"a{n}")), range(count)))
    for run in runs:
        checks.ran(run, "many at once", codes=(0,))
    project.play([event("UserPromptSubmit")])
    checks.that(project.live()["agents_spawned"] == count, f"{project.live()['agents_spawned']} spawned, expected {count}")
    kept = names(project)
    checks.that(len(kept) == KEPT, f"{len(kept)} recordings, expected {KEPT}")
    for name in kept:
        path = room(project) / name
        checks.that(path.stat().st_mode & 0o777 == 0o600, f"{name} has mode {path.stat().st_mode & 0o777:o}")
        checks.that("hook_event_name" in json.loads(path.read_bytes()), f"{name} is no payload")


@test
def secrets_in_recorded(suite, checks):
    """Payloads are kept as they came, but for secrets; in the reduced run each shape in a few places."""
    leaks = Leaks(checks)
    channels = list(CHANNELS.items())
    cases = [
        (shape, channels[(5 * n + m) % len(channels)])
        for n, shape in enumerate(shapes(3))
        for m in range(suite.pick(5, len(channels)))
    ]

    def one(project, case):
        (name, text, secrets), (channel, events) = case
        started(project)
        recording(project)
        for payload in events(text):
            checks.ran(project.run(payload), f"{name} in {channel}", (0,))
        checks.that(len(names(project)) == len(events(text)), f"{name} in {channel}: {len(names(project))} were recorded")
        leaks.look(project, channel, name, secrets)

    suite.parallel(one, cases)

    def keys(project, key):
        """Values that are secret by their key."""
        started(project)
        recording(project)
        secret = f"Zq81mmxw04TT{key}"
        for where, place in {"object": {"headers": {key: secret}}, "list": {"list": [{key: secret}]}, "JSON text": {"text": json.dumps({key: secret})}}.items():
            project.run(event("PostToolUse", tool_input=place, tool_response=place))
            leaks.look(project, f"value of a key in {where}", key, [secret])
            shutil.rmtree(room(project))

    suite.parallel(keys, [*SECRET_KEYS, "Cookie"])

    def refused(project, shape):
        """Payloads that cannot be used, and payloads that wait."""
        name, text, secrets = shape
        started(project)
        recording(project)
        for what, payload in broken(project, text).items():
            project.run(payload)
            leaks.look(project, f"rejected payload, {what}", name, secrets)

    suite.parallel(refused, shapes(4)[:: suite.pick(4, 1)])

    project = suite.project()
    started(project)
    recording(project)
    waiting = shapes(5)[:: suite.pick(2, 1)]
    with held(project), ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(lambda shape: project.run(event("UserPromptSubmit", prompt=shape[1])), waiting))
    checks.that(len(names(project)) == len(waiting), f"{len(names(project))} of {len(waiting)} that waited were recorded")
    for name, _, secrets in waiting:
        leaks.look(project, "event that waits", name, secrets)
    leaks.report()


# Texts around a secret that have to be escaped in a payload.
QUOTINGS = {
    "in double quotes": lambda text: f'run "{text}" now',
    "a JSON text": lambda text: json.dumps({"note": text}),
    "a JSON text in a JSON text": lambda text: json.dumps({"inner": json.dumps([text])}),
    "before a backslash": lambda text: f"{text}\\",
    "before a tab and a line break": lambda text: f"{text}\t{text}\r\n",
}


@test
def quoted_secrets_in_recorded_and_spool(suite, checks):
    """A redacted payload is still a payload: it is recorded, it can wait, and it loses nothing else."""
    leaks = Leaks(checks)

    def one(project, case):
        (name, text, secrets), (quoting, quoted) = case
        what = f"{name} {quoting}"
        started(project)
        recording(project)
        payload = event("PostToolUseFailure", tool_use_id="toolu_q", tool_input={"command": quoted(text), "after": "kept"})
        checks.ran(project.run(payload), what, (0,))
        if checks.that(len(names(project)) == 1, f"{what}: {len(names(project))} were recorded"):
            kept = json.loads((room(project) / names(project)[0]).read_bytes())
            checks.that(kept["tool_input"].get("after") == "kept" and kept.keys() == payload.keys(), f"{what}: the structure is another: {kept}")
        leaks.look(project, quoting, name, secrets)

    suite.parallel(one, [(shape, quoting) for shape in shapes(6) for quoting in QUOTINGS.items()])
    leaks.report()
    project = suite.project()
    project.play([event("SessionStart")])
    waiting = [(f"{name} {quoting}", quoted(text)) for name, text, _ in shapes(6) for quoting, quoted in QUOTINGS.items()]
    waiting = waiting[:: suite.pick(4, 1)]
    with held(project), ThreadPoolExecutor(AT_ONCE * 2) as pool:
        runs = list(pool.map(lambda pair: project.run(event("UserPromptSubmit", prompt=pair[1])), waiting))
    for (what, _), run in zip(waiting, runs):
        checks.ran(run, f"{what}, while the lock is held", (0,))


@test
def patterns_of_a_project_in_recorded(suite, checks):
    project = suite.project()
    leaks = Leaks(checks)
    project.play([event("SessionStart")])
    (project.claude / "hookkeeper.json").write_text(json.dumps({"record": True, "redact": ["CORP-[0-9]+"]}))
    project.play([event("UserPromptSubmit", prompt="use CORP-481516"), event("PostToolUse", tool_response={"a": ["CORP-481516"]})])
    checks.that(len(names(project)) == 2, f"{names(project)}")
    leaks.look(project, "prompt", "a project's pattern", ["CORP-481516"])
    leaks.report()
