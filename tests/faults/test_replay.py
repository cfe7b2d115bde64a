"""`replay` works on a copy: whatever happens to it, the books are as they were."""

import json
import os
import random
import subprocess
import time

import books
import calls
from support import PAYLOADS, Clock, event, kill, test

# A hook that was started goes on when its starter is killed.
SETTLES = 0.15


def prepared(suite):
    """Rich books, an event that waits, recording on, and payloads to play."""
    project = suite.project()
    (project.root / ".git").mkdir()
    (project.base / "tmp").mkdir()
    project.env["TMPDIR"] = str(project.base / "tmp")
    books.make_rich(project)
    (project.claude / "hookkeeper.json").write_text('{"record": true}')
    spool = project.state / "spool"
    spool.mkdir()
    entry = {
        "time": Clock(300).tick(),
        "client": {"pid": 1, "started": None, "host": "elsewhere"},
        "git": {"branch": None, "commit": None},
        "payload": json.loads(project.payload(event("SubagentStart", agent_id="waits-1"))),
    }
    (spool / f"{1:020}-1.json").write_text(json.dumps(entry))
    played = project.base / "played"
    played.mkdir()
    for path in sorted((PAYLOADS / "implement-login").glob("*.json")):
        (played / path.name).write_bytes(project.payload(json.loads(path.read_bytes())))
    return project, played


def times(project):
    """When everything was last changed; what is written with the same bytes shows here."""
    return {str(path): path.lstat().st_mtime_ns for root in (project.root, project.home) for path in [root, *root.rglob("*")]}


@test
def replay_leaves_the_books_alone(suite, checks):
    project, played = prepared(suite)
    picture, before = calls.Picture(project.root, project.home, project.outside, played), times(project)
    for options in ((), ("--json",), ("--fresh",), ("--no-diff",)):
        what = f"replay {' '.join(options)}"
        run = project.run(b"", args=("replay", *options, str(played)), env={"CLAUDE_PROJECT_DIR": ""})
        checks.ran(run, what, codes=(0,))
        unchanged(checks, what, project, picture, before)
        left = os.listdir(project.base / "tmp")
        checks.that(not left, f"{what}: {left} is left")
    run = project.run((played / "13-SubagentStart.json").read_bytes(), args=("replay", "-"))
    checks.ran(run, "replay -", codes=(0,))
    unchanged(checks, "replay -", project, picture, before)
    for what, payload in {"a broken payload": b"{", "no payload": b"[1]", "an unknown event": b'{"hook_event_name": "Nope", "session_id": "s"}'}.items():
        run = project.run(payload, args=("replay", "-"))
        checks.that("panicked" not in run.err, f"replay of {what}: {run.err}")
        unchanged(checks, f"replay of {what}", project, picture, before)
    left = os.listdir(project.base / "tmp")
    checks.that(not left, f"{left} is left")


@test
def replay_killed_at_random(suite, checks):
    project, played = prepared(suite)
    picture, before = calls.Picture(project.root, project.home, project.outside, played), times(project)
    chance = random.Random(7)
    command = [project.binary, "replay", str(played)]
    begun = time.monotonic()
    subprocess.run(command, cwd=project.root, env=project.env, capture_output=True, check=True)
    spent = time.monotonic() - begun
    kills = 0
    for number in range(suite.pick(40, 300)):
        process = subprocess.Popen(command, cwd=project.root, env=project.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(chance.uniform(0, spent))
        kill(process.pid)
        kills += process.wait() == -9
        # The hook that was running may still write.
        time.sleep(0.01)
        unchanged(checks, f"kill {number}", project, picture, before)
    time.sleep(SETTLES)
    unchanged(checks, "after all kills", project, picture, before)
    strange = [name for name in os.listdir(project.base / "tmp") if not name.startswith("hookkeeper-replay-")]
    checks.that(not strange, f"in TMPDIR: {strange}")
    others = sorted(os.listdir(project.base))
    checks.that(others == ["home", "outside", "played", "shop", "tmp"], f"made elsewhere: {others}")
    checks.that(kills > 0, "no run was killed")
    # The next one is not disturbed by what is left.
    checks.ran(project.run(b"", args=("replay", str(played))), "replay afterwards", codes=(0,))
    checks.note(f"{kills} kills, {len(os.listdir(project.base / 'tmp'))} copies left in TMPDIR")


@test
def replay_where_there_is_no_room(suite, checks):
    """No place for the copy: refused, and never played on the real books instead."""
    project, played = prepared(suite)
    picture, before = calls.Picture(project.root, project.home, project.outside, played), times(project)
    for what, place in {"no directory": project.base / "none", "a file": played / "01-SessionStart.json"}.items():
        run = project.run(b"", args=("replay", str(played)), env={"TMPDIR": str(place)})
        checks.ran(run, f"TMPDIR is {what}", codes=(1,))
        unchanged(checks, f"TMPDIR is {what}", project, picture, before)
    run = project.run(b"", args=("replay", str(played)), env={"TMPDIR": str(project.outside)})
    checks.ran(run, "TMPDIR is elsewhere", codes=(0,))
    unchanged(checks, "TMPDIR is elsewhere", project, picture, before)


def unchanged(checks, what, project, picture, before):
    different = picture.differences()
    checks.that(not different, f"{what}: {different[:3]}")
    now = times(project)
    touched = [path for path in now.keys() | before.keys() if now.get(path) != before.get(path)]
    checks.that(not touched, f"{what}: touched {touched[:3]}")
