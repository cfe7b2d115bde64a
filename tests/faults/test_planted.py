"""Symlinks, hard links and other things where our files and directories should be."""

import json
import os
import pathlib
import shutil

import books
import calls
from support import AGENT, OTHER_SESSION, SECOND_AGENT, SESSION, Clock, delete, event, needs_strace, test

CONTENT = b'{"canary": true}\n'
LONG_AGO = 1_000_000_000

# What stands in the braces of paths in the rich state, and in a new backup.
KEYS = {
    "{session-id}": (SESSION, OTHER_SESSION, "planted"),
    "{agent-id}": (AGENT, SECOND_AGENT),
    "{time}": ("20260129T100320000Z", "20260129T105010000Z"),
    "{pid}": ("1",),
}
# Not documents.
BESIDE = ".lock .new .gitignore rejected/20260129T105010000Z-1.txt quarantine/planted".split()
BROKEN = b'{"hook_event_name": "Stop", "session_id": '


@test
def planted_links(suite, checks):
    """Whatever is planted, nothing outside is touched."""
    tree = books.rich_tree(suite)
    plants = [(name, how) for name in files(suite) for how in (symlink, dangling, hard_link)]
    plants += [(name, how) for name in directories(suite) for how in (symlink_directory, dangling, file_instead)]

    def one(project, plant):
        name, how = plant
        for payload in payloads():
            project.restore(tree)
            canary = Canary(project)
            how(project.state / name, canary)
            run = project.run(payload, clock=Clock(300).tick())
            kind = payload["hook_event_name"] if isinstance(payload, dict) else "a broken payload"
            what = f"{how.__name__} at {name}, {kind}"
            checks.ran(run, what)
            checks.that(not canary.changes(), f"{what}: outside {canary.changes()}")

    suite.parallel(one, plants)


@test
def planted_state_and_claude(suite, checks):
    """`.claude` may lead to somewhere in the project or the home directory, and nowhere else."""
    tree = books.rich_tree(suite)
    project = suite.project()
    payload = event("SubagentStart")
    for name in (".claude", ".claude/state"):
        project.restore(tree)
        canary = Canary(project)
        shutil.rmtree(project.root / name)
        symlink_directory(project.root / name, canary)
        run = project.run(payload)
        checks.ran(run, f"{name} leads outside", codes=(1,))
        checks.that(not canary.changes(), f"{name} leads outside: {canary.changes()}")
    for place in ("home", "shop"):
        delete(project.claude)
        target = project.base / place / "dotfiles"
        target.mkdir()
        project.claude.symlink_to(target)
        checks.ran(project.run(payload), f".claude leads to {place}", codes=(0,))
        checks.that((target / "state/agents/active.json").exists(), f".claude leads to {place}: no books there")


@test
def planted_state_that_cannot_be_looked_at(suite, checks):
    """Who cannot look at a planted file does not take it for his own."""
    needs_strace()
    word = "pl4nted"
    goal = {"version": 2, "feature": word, "phase": "work", "session_id": SESSION, "completion_promise": word}
    branch = {"branch": "main", "loop": {"active": True, "prompt": word, "iteration": 1, "session_id": SESSION}}

    def one(project, planned):
        payload, fault = planned
        delete(project.claude)
        for name, document in (("autonomous-loop.json", goal), ("branches/main/state.json", branch)):
            (project.claude / name).parent.mkdir(parents=True, exist_ok=True)
            (project.claude / name).write_text(json.dumps(document))
        (project.claude / "plans").mkdir()
        (project.claude / "plans/main.md").write_text(word)
        clock = Clock(300)
        project.run(event("SessionStart", source="startup"), clock=clock.tick())
        run = calls.inject(project, ("hook",), "statx", fault, payload=json.dumps(payload).encode())
        what = f"{payload['hook_event_name']}, {fault}"
        checks.ran(run, what)
        checks.that(word not in run.out + run.err, f"{what}: {run.out}{run.err}")

    events = [event("Stop", background_tasks=[]), event("UserPromptSubmit", prompt="go on"), event("PreCompact"),
              event("SessionStart", source="compact")]
    faults = [f"error={error}:when={k}" for error in ("EIO", "ENOMEM") for k in range(1, suite.pick(9, 25))]
    suite.parallel(one, [(payload, fault) for payload in events for fault in faults])


@test
def planted_pipes_and_directories(suite, checks):
    """Things that would block an open or a rename must not hang or stop all later events."""
    tree = books.rich_tree(suite)

    def one(project, name):
        for how in (os.mkfifo, full_directory):
            project.restore(tree)
            path = project.state / name
            delete(path)
            path.parent.mkdir(parents=True, exist_ok=True)
            how(path)
            for payload in payloads():
                run = project.run(payload, timeout=5)
                kind = payload["hook_event_name"] if isinstance(payload, dict) else "a broken payload"
                checks.ran(run, f"{how.__name__} at {name}, {kind}")
            delete(path)
            after = project.run(event("UserPromptSubmit"), timeout=5)
            checks.ran(after, f"{how.__name__} at {name}, taken away again", codes=(0,))

    suite.parallel(one, files(suite))


def files(suite):
    """Everything that the program may write below `.claude/state`."""
    places = [place for row in suite.rows() for place in (row["path"], *row["also_at"])]
    return BESIDE + [name for place in places if place.startswith("state/") for name in filled(place[len("state/"):])]


def filled(place):
    """A path of a row with keys in place of its braces."""
    key = next((key for key in KEYS if key in place), None)
    return [place] if key is None else [name for value in KEYS[key] for name in filled(place.replace(key, value))]


def directories(suite):
    """All folders of these files that are not named by a key."""
    folders = {parent.as_posix() for name in files(suite) for parent in pathlib.PurePosixPath(name).parents}
    keys = {value for values in KEYS.values() for value in values}
    return sorted(folder for folder in folders if folder != "." and not keys & set(folder.split("/")))


def payloads():
    """Events that read and write all of the documents between them."""
    return [
        event("SubagentStop", agent_id=SECOND_AGENT),
        event("PreCompact", custom_instructions="more"),
        event("PostToolUseFailure", **dict(books.SYNTAX_FAILURE, tool_use_id="toolu_more")),
        event("SessionEnd", reason="clear"),
        event("SessionStart", source="compact"),
        BROKEN,
    ]


class Canary:
    """A file and a directory outside of the project and the home, and how they were."""

    def __init__(self, project):
        self.room = project.outside
        shutil.rmtree(self.room)
        self.room.mkdir()
        self.file = self.room / "canary"
        self.file.write_bytes(CONTENT)
        self.file.chmod(0o644)
        for path in (self.file, self.room):
            os.utime(path, (LONG_AGO, LONG_AGO))
        self.before = self._now()

    def changes(self):
        return [f"{was} became {now}" for was, now in zip(self.before, self._now()) if was != now]

    def _now(self):
        stats = [(path.stat().st_mode, path.stat().st_mtime, path.stat().st_size) for path in (self.file, self.room)]
        return [self.file.read_bytes(), sorted(os.listdir(self.room)), *stats]


def symlink(path, canary):
    clear(path)
    path.symlink_to(canary.file)


def dangling(path, canary):
    clear(path)
    path.symlink_to(canary.room / "made-through-a-link")


def symlink_directory(path, canary):
    clear(path)
    path.symlink_to(canary.room)


def hard_link(path, canary):
    clear(path)
    os.link(canary.file, path)


def file_instead(path, _):
    clear(path)
    path.write_bytes(CONTENT)


def full_directory(path):
    path.mkdir()
    (path / "inside").write_bytes(CONTENT)


def clear(path):
    delete(path)
    path.parent.mkdir(parents=True, exist_ok=True)

