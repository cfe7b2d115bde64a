"""No room on the disk, no right to write, no working directory."""

import contextlib
import os
import shutil
import subprocess

import books
from support import Skip, event, test

NOBODY = 65534


@test
def disk_full(suite, checks):
    project = suite.project()
    with tiny_disk(project.root):
        project.play([event("SessionStart"), event("UserPromptSubmit"), event("SubagentStart")])
        filler = project.root / "filler"
        fill(filler)
        before = project.save()
        for payload in [
            event("SubagentStart", agent_id="a-full"),
            event("SubagentStop"),
            event("UserPromptSubmit", prompt="is there room?"),
            event("PreCompact"),
            event("SessionEnd"),
            event("SessionStart", session_id="new-session"),
        ]:
            run = project.run(payload)
            checks.ran(run, f"{payload['hook_event_name']} on a full disk", codes=(1,))
            different = changed(before, project.save())
            checks.that(not different, f"{payload['hook_event_name']} on a full disk: {different} changed")
        filler.unlink()
        for payload in [event("SubagentStart", agent_id="a-room"), event("Stop")]:
            checks.ran(project.run(payload), f"{payload['hook_event_name']} with room again", codes=(0,))
        checks.that(project.live()["agents_spawned"] == 2, f"{project.live()['agents_spawned']} spawned, expected 2")
        for problem in books.problems(project):
            checks.that(False, problem)


@test
def disk_filling_up(suite, checks):
    """Agents until the disk is full: what was acknowledged is there, what was not is not half there."""
    project = suite.project()
    with tiny_disk(project.root):
        acknowledged = failed = 0
        for n in range(200):
            for name in ("SubagentStart", "SubagentStop"):
                run = project.run(event(name, agent_id=f"a{n}"))
                checks.ran(run, f"{name} {n}")
                acknowledged += name == "SubagentStop" and run.code == 0
                failed += run.code == 1
        checks.that(failed > 0, "the disk never filled up")
        subprocess.run(["mount", "-o", "remount,size=4m,nr_inodes=5000", project.root], check=True)
        for payload in [event("UserPromptSubmit"), event("Stop", background_tasks=[])]:
            checks.ran(project.run(payload), f"{payload['hook_event_name']} with room again", codes=(0,))
        results = list((project.state / "agents/results").glob("a*.json"))
        checks.that(len(results) >= acknowledged, f"{acknowledged} acknowledged, {len(results)} results")
        for problem in books.problems(project):
            checks.that(False, problem)
        checks.note(f"{acknowledged} agents fitted, {failed} events were refused")


@test
def read_only_directory(suite, checks):
    if os.geteuid() != 0:
        raise Skip("only root can run the program as somebody else")
    project = suite.project()
    project.play([event("SessionStart"), event("SubagentStart")])
    for path in (project.base.parent, project.base, project.home):
        path.chmod(0o755)
    binary = shutil.copy(project.binary, project.base / "program")
    project.binary = str(binary)
    os.chmod(binary, 0o755)
    as_nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    for what, mode in [("state of somebody else", 0o700), ("readable state of somebody else", 0o755)]:
        for path in [project.claude, *project.claude.rglob("*")]:
            path.chmod(mode if path.is_dir() else mode & 0o666)
        before = project.save()
        run = project.run(event("SubagentStart", agent_id="a-new"), **as_nobody)
        checks.ran(run, what, codes=(1,))
        checks.that(project.save() == before, f"{what}: something changed")
    shutil.rmtree(project.claude)
    project.root.chmod(0o555)
    run = project.run(event("SubagentStart", agent_id="a-new"), **as_nobody)
    checks.ran(run, "a project that cannot be written", codes=(1,))
    checks.that(not project.claude.exists(), "something was made in a read-only project")


@test
def deleted_working_directory(suite, checks):
    project = suite.project()
    payload = event("SubagentStart", cwd=str(project.base / "gone"))
    for what, without in [("the project is named", []), ("nothing is named", ["CLAUDE_PROJECT_DIR"])]:
        gone = project.base / "gone"
        gone.mkdir()
        for name in without:
            project.env.pop(name)
        run = project.run(payload, prefix=("sh", "-c", 'rmdir "$PWD" && exec "$0" "$@"'), cwd=gone)
        checks.ran(run, f"deleted cwd, {what}")
        checks.that(not gone.exists(), f"{what}: the deleted directory is back")


@contextlib.contextmanager
def tiny_disk(path):
    """A file system of 64 KiB in memory."""
    if os.geteuid() != 0:
        raise Skip("mounting a small file system needs root")
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k,nr_inodes=500", "none", path], capture_output=True)
    if mounted.returncode != 0:
        raise Skip(f"cannot mount a small file system: {mounted.stderr.decode().strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", path], check=True)


def fill(path):
    with open(path, "wb", buffering=0) as file:
        with contextlib.suppress(OSError):
            while True:
                file.write(bytes(4096))


def changed(before, after):
    """Files that differ. The journal may say what went wrong as long as it fits."""
    names = sorted(before.keys() | after.keys())
    return [name for name in names if before.get(name) != after.get(name) and not name.startswith("state/journal/")]
