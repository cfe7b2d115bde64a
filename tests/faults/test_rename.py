"""Kernels, file systems and sandboxes that refuse `renameat2`, and folders that are mounts of their own."""

import contextlib
import os
import subprocess

import books
import calls
from support import Skip, event, test

REFUSALS = ("EPERM", "EOPNOTSUPP", "EINVAL", "ENOSYS", "EXDEV")
AGENT = {"agent_id": "a1", "agent_type": "Explore"}

# What moves, replaces or exchanges something, in this order.
STEPS = [
    ("an event", ("hook",), event("SubagentStart", **AGENT)),
    ("another event", ("hook",), event("SubagentStop", **AGENT)),
    ("a backup", ("hook",), event("PreCompact")),
    ("install", ("install", "--scope", "project"), b""),
    ("install once more", ("install", "--scope", "local"), b""),
    ("a hand-off", ("branch", "handoff", "--type", "task", "--title", "Look at it"), b""),
    ("a second one", ("branch", "handoff", "--type", "task", "--title", "Look at it"), b""),
    ("reset loop", ("reset", "loop"), b""),
    ("reset agents", ("reset", "agents"), b""),
    ("an end", ("hook",), event("SessionEnd")),
    ("a start", ("hook",), event("SessionStart")),
    ("reset all", ("reset", "all"), b""),
    ("uninstall local", ("uninstall", "--scope", "local"), b""),
    ("uninstall", ("uninstall", "--scope", "project"), b""),
    ("purge", ("uninstall", "--scope", "project", "--purge"), b""),
]


@test
def renameat2_is_refused(suite, checks):
    for error in REFUSALS:
        project = suite.project()
        with_branch(project)
        project.play([event("SessionStart"), event("UserPromptSubmit")])
        settings = project.root / ".claude/settings.json"
        settings.write_text('{"model": "opus"}\n')
        for what, args, payload in STEPS:
            run = calls.inject(project, args, "renameat2", f"error={error}", payload=payload)
            checks.ran(run, f"{error}: {what}", codes=(0,))
            checks.that(run.err == "", f"{error}: {what}: {run.err}")
            if what == "reset all":
                for problem in books.problems(project):
                    checks.that(False, f"{error}: {problem}")
        checks.that(settings.read_text() == '{"model": "opus"}\n', f"{error}: the settings are {settings.read_text()}")
        project.remove()


@test
def folders_that_are_mounts(suite, checks):
    for folder in ("branches", "state/session/live", "state/agents", "state/quarantine", "state/set-aside", "state/rejected"):
        project = suite.project()
        with_branch(project)
        project.play([event("SessionStart"), event("UserPromptSubmit")])
        with mounted(project.root / ".claude" / folder):
            # The mount has hidden what was there.
            project.run(event("SessionStart", source="resume"))
            for what, args, payload in STEPS[:3] + STEPS[5:8]:
                run = project.run(payload, args=args)
                checks.ran(run, f"{folder} is a mount: {what}", codes=(0,))
                checks.that(run.err == "", f"{folder} is a mount: {what}: {run.err}")
            (project.state / "notices.json").write_text("{")
            checks.ran(project.run(event("UserPromptSubmit")), f"{folder} is a mount: a broken document", codes=(0,))
            checks.that(any((project.state / "quarantine").iterdir()), f"{folder} is a mount: nothing in quarantine")
            for problem in books.problems(project):
                checks.that(False, f"{folder} is a mount: {problem}")
        project.remove()


def with_branch(project):
    for args in (["init", "-q", "-b", "topic"], ["-c", "user.name=x", "-c", "user.email=x@x", "commit", "-q", "--allow-empty", "-m", "x"]):
        subprocess.run(["git", *args], cwd=project.root, check=True)


@contextlib.contextmanager
def mounted(path):
    if os.geteuid() != 0:
        raise Skip("mounting a file system needs root")
    path.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "none", path], capture_output=True)
    if done.returncode != 0:
        raise Skip(f"cannot mount a file system: {done.stderr.decode().strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", path], check=True)
