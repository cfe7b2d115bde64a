"""Symlinks, hard links and other things where our files and directories should be."""

import os
import shutil

import books
from support import AGENT, OTHER_SESSION, SECOND_AGENT, SESSION, Clock, delete, event, test

CONTENT = b'{"canary": true}\n'
LONG_AGO = 1_000_000_000

DIRECTORIES = (
    "session session/live agents agents/results agents/results-archive loop errors compaction log rejected "
    "quarantine spool"
).split()
FILES = (
    ".lock .new .gitignore notices.json session/current.json session/metrics.json session/metrics-archive.jsonl "
    f"session/cleared.json session/live/{SESSION}.json session/live/{OTHER_SESSION}.json session/live/planted.json "
    f"agents/active.json agents/results/{AGENT}.json agents/results/{SECOND_AGENT}.json agents/results/synthesis.json "
    "errors/classified.json loop/work_queue.json loop/LOOP_STATE.md compaction/backup_20260129T100320000Z.json "
    "compaction/backup_20260129T105010000Z.json log/hooks.jsonl log/hooks.1.jsonl rejected/20260129T105010000Z-1.txt"
).split()
BROKEN = b'{"hook_event_name": "Stop", "session_id": '


@test
def planted_links(suite, checks):
    """Whatever is planted, nothing outside is touched."""
    tree = books.rich_tree(suite)
    plants = [(name, how) for name in FILES for how in (symlink, dangling, hard_link)]
    plants += [(name, how) for name in DIRECTORIES for how in (symlink_directory, dangling, file_instead)]

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

    suite.parallel(one, FILES)


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

