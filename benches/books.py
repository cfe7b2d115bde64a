"""Projects to send events to, fresh or aged, and the hooks that are measured on them."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from rig import Contestant, Failed, environment, start
from transcript import compact

MAIN = "9f99b61b-a627-4cde-9856-7e07b84da7b2"
AGENT = "general-purpose"
# Finished agents that a branch keeps.
BRANCH_AGENTS = 100
LONG_AGO = b"2026-01-01T00:00:00Z"
REPORT = "## Findings\n\n- **[S1]** No rate limit on login (src/auth/login.ts:1).\n"
READ = {"tool_name": "Read", "tool_input": {"file_path": "/home/dev/shop/login.ts"},
        "tool_response": {"type": "text", "file": {"content": "export const a = 1;\n" * 100}}}


class Project:
    """A directory with books in it. Its main session is open and has had one agent."""

    def __init__(self, root: Path, binary: Path, transcript: Path):
        self.root, self.state, self.transcript = root, root / ".claude/state", transcript
        self.argv, self.env = [str(binary), "hook"], environment(root)
        self.sent: Counter[str] = Counter()
        if not root.exists():
            root.mkdir()
            self.open()
            self.start_agent("first")
            self.stop_agent("first")

    def payload(self, event: str, **fields) -> bytes:
        self.sent[event] += 1
        common = {"session_id": MAIN, "transcript_path": str(self.transcript),
                  "cwd": str(self.root), "prompt_id": "7e64ff6a-8bfb-49ed-bae7-24fc81b616ba",
                  "permission_mode": "default", "hook_event_name": event}
        return compact(common | fields).encode()

    def send(self, event: str, **fields) -> None:
        start(self.argv, self.env, self.payload(event, **fields))

    def open(self, session: str = MAIN) -> None:
        self.send("SessionStart", session_id=session, source="startup")
        self.send("UserPromptSubmit", session_id=session, prompt="implement login for users")

    def start_agent(self, agent: str) -> None:
        self.send("SubagentStart", agent_id=agent, agent_type=AGENT)

    def stop_agent(self, agent: str) -> None:
        self.send("SubagentStop", **stopped(agent, self.transcript))

    def log_line(self) -> dict:
        """What the last hook says about itself."""
        newest = max((self.state / "journal").iterdir(), key=lambda path: path.stat().st_mtime_ns)
        with open(newest, "rb") as file:
            end = os.pread(file.fileno(), 65536, max(0, newest.stat().st_size - 65536))
        return next(run for line in reversed(end.splitlines()) if "us" in (run := json.loads(line)))

    def document(self, name: str) -> dict:
        return json.loads((self.state / name).read_bytes())

    def make_silent(self) -> None:
        """Puts `last_seen` back, so that the next event has something to write. Between turns
        that happens by itself; here there are a thousand events a second."""
        for name in (f"session/live/{MAIN}.json", "session/current.json"):
            with open(self.state / name, "r+b") as file:
                for found in re.finditer(rb'"last_seen": "(.{20})"', file.read()):
                    os.pwrite(file.fileno(), LONG_AGO, found.start(1))

    def hook(self, event: str, fields: Callable[[int], dict], outcome: str,
             wrote: int | None = None, before: Callable[[int], object] = lambda n: None,
             after: Callable[[int], object] = lambda n: None) -> Contestant:
        """A hook to measure. Each start has to log this outcome and this many documents."""

        def prepare(n: int) -> bytes:
            before(n)
            return self.payload(event, **fields(n))

        def check(n: int) -> None:
            line = self.log_line()
            as_wanted = line["event"] == event and line["outcome"].startswith(outcome)
            if not as_wanted or wrote not in (None, len(line["wrote"])):
                raise Failed(f"{event}: wanted {outcome!r}, {wrote} documents, got {line}")
            after(n)

        return Contestant(self.argv, self.env, prepare, check)

    def verify(self) -> None:
        """The books are right after all this."""
        live = self.document(f"session/live/{MAIN}.json")
        counts = {"agents_spawned": "SubagentStart", "agents_completed": "SubagentStop",
                  "errors_encountered": "PostToolUseFailure"}
        for key, event in counts.items():
            if live[key] != self.sent[event]:
                raise Failed(f"{key} is {live[key]}, but {self.sent[event]} {event} were sent")


def stopped(agent: str, transcript: Path) -> dict:
    return {"agent_id": agent, "agent_type": AGENT, "agent_transcript_path": str(transcript),
            "last_assistant_message": REPORT, "background_tasks": [], "stop_hook_active": False}


class Kept:
    """Documents of a project as they are now, to be put back."""

    def __init__(self, project: Project, *names: str):
        paths = [project.state / name for name in names]
        self.documents = {path: path.read_bytes() for path in paths}

    def put_back(self) -> None:
        for path, content in self.documents.items():
            if not path.exists() or path.read_bytes() != content:
                new = path.with_suffix(".back")
                new.write_bytes(content)
                new.rename(path)


def mark_as_own(state: Path) -> None:
    """A copy is not believed: the mark that `hookkeeper trust` would make, in the form that needs no birth times."""
    lock = state / ".lock"
    lock.write_bytes(b"")
    seconds, nanos = divmod(lock.stat().st_ctime_ns, 10**9)
    (state / ".gitignore").write_text(f"*\n# c {lock.stat().st_ino} {seconds}.{nanos:09} since 0.0\n")


def age(project: Project, agents: int, errors: int, sessions: int) -> None:
    """Sends agents and errors through the program, and writes past sessions into the metrics."""
    session = project.state / "session"
    entries = [metrics_entry(n) for n in range(sessions)]
    (session / "metrics-archive.jsonl").write_text("".join(map(compact, entries[:-200])))
    # As the program writes them: an entry on a line.
    newest = ",\n    ".join(compact(entry).rstrip("\n") for entry in entries[-200:])
    (session / "metrics.json").write_text(f'{{\n  "sessions": [\n    {newest}\n  ]\n}}\n')
    for n in range(agents):
        project.start_agent(f"old-{n:05}")
        project.stop_agent(f"old-{n:05}")
    for n in range(errors):
        project.send("PostToolUseFailure", tool_name="Read", tool_use_id=f"toolu_{n:05}",
                     tool_input={"file_path": f"{project.root}/missing-{n}.txt"},
                     error="File does not exist.", is_interrupt=False)
    results = len(list((project.state / "agents/results").iterdir()))
    records = len(project.document("errors/classified.json")["errors"])
    if results <= agents or records != min(errors, 200):
        raise Failed(f"aged to {results} results and {records} errors")


def metrics_entry(n: int) -> dict:
    return {"session_id": f"00000000-0000-4000-8000-{n:012}", "date": "2026-01-01",
            "duration_minutes": n % 90, "commands": {"review": 2},
            "agents": {"spawned": 3, "completed": 3, "failed": 0},
            "quality": {"issues_found": 1, "issues_fixed": 1, "coverage_delta": None},
            "errors": {"total": 2, "recovered": 1, "escalated": 0}, "ended": "other",
            "compactions": 1, "loop": None, "cost_usd": None, "files_modified": 4,
            "tokens": {"input": 1000, "output": 20, "cache_creation": 0, "cache_read": 0}}


def no_change(project: Project) -> Contestant:
    return project.hook("PostToolUse", lambda n: READ, "nothing to record", 0)


def between_agents(project: Project, inner: Contestant, letter: str) -> Contestant:
    """A program that is started while an agent of the project's session runs."""
    name, kept = f"{letter}{{:016}}".format, Kept(project, "agents/results/synthesis.json")

    def before(n: int) -> bytes:
        project.start_agent(name(n))
        return inner.before(n)

    def after(n: int) -> None:
        inner.after(n)
        project.stop_agent(name(n))
        (project.state / f"agents/results/{name(n)}.json").unlink()
        kept.put_back()

    return Contestant(inner.argv, inner.env, before, after)


def agent_start(project: Project) -> Contestant:
    name = "a{:016}".format

    def stop(n: int) -> None:
        project.stop_agent(name(n))
        (project.state / f"agents/results/{name(n)}.json").unlink()

    return project.hook("SubagentStart", lambda n: {"agent_id": name(n), "agent_type": AGENT},
                        "agent a", 4, after=stop)


def agent_stop(project: Project, transcript: Path, letter: str) -> Contestant:
    """The synthesis is put back each time, or it would grow until it is full."""
    name, kept = f"{letter}{{:016}}".format, Kept(project, "agents/results/synthesis.json")

    def begin(n: int) -> None:
        kept.put_back()
        project.start_agent(name(n))
        project.make_silent()

    def check(n: int) -> None:
        result = f"agents/results/{name(n)}.json"
        if project.document(result)["metrics"]["files_read"] == 0:
            raise Failed("the agent's transcript was not read")
        (project.state / result).unlink()

    return project.hook("SubagentStop", lambda n: stopped(name(n), transcript),
                        f"agent {letter}", 6, begin, check)


def turn_end(project: Project, transcript: Path) -> Contestant:
    fields = {"transcript_path": str(transcript), "last_assistant_message": "Done.",
              "background_tasks": []}
    return project.hook("Stop", lambda n: fields, "the turn is over", 2,
                        before=lambda n: project.make_silent())


def loop_turn(project: Project, transcript: Path) -> Contestant:
    """A turn of a loop that goes on: the branch's state, which is synced, and the session's record."""
    command = [project.argv[0], "-C", str(project.root), "branch", "loop", "start", "Make all tests pass",
               "--max", "1000000000", "--session", MAIN]
    subprocess.run(command, env=project.env, check=True, capture_output=True)
    fields = {"transcript_path": str(transcript), "last_assistant_message": "Not yet.",
              "background_tasks": [], "stop_hook_active": True}
    tool = {"tool_name": "Read", "tool_input": {"file_path": "x"}, "tool_response": {}, "tool_use_id": "t"}
    return project.hook("Stop", lambda n: fields, "blocked", 2,
                        before=lambda n: project.send("PostToolUse", **tool))


def compaction(project: Project, transcript: Path) -> Contestant:
    fields = {"transcript_path": str(transcript), "trigger": "auto", "custom_instructions": None}
    task = f"task {{}} of {transcript.name}".format

    def check(n: int) -> None:
        newest = max((project.state / "compaction").iterdir())
        backup = json.loads(newest.read_bytes())
        read = backup["files_in_context"] and backup["context_tokens_before"]
        if backup["preserved"]["session"]["last_prompt"] != task(n) or not read:
            raise Failed(f"{newest} is not what was asked for")

    return project.hook("PreCompact", lambda n: fields, "backup in", None,
                        lambda n: project.send("UserPromptSubmit", prompt=task(n)), check)


def session_end(project: Project, kept: Kept | None = None) -> Contestant:
    """A session of its own each time. `kept` are metrics that are not to grow."""
    session = "e1d00000-0000-4000-8000-{:012}".format

    def prepare(n: int) -> None:
        if kept:
            kept.put_back()
        project.open(session(n))

    def check(n: int) -> None:
        if project.document("session/metrics.json")["sessions"][-1]["session_id"] != session(n):
            raise Failed("the session is not in the metrics")

    return project.hook("SessionEnd", lambda n: {"session_id": session(n), "reason": "other"},
                        "closed", None, prepare, check)


def own_end(project: Project) -> Contestant:
    """The end of the aged session itself. Then all is put back for the next time."""
    live, state = f"session/live/{MAIN}.json", project.state
    kept = Kept(project, live, "session/current.json", "session/metrics.json",
                "agents/active.json", "errors/classified.json")
    archive = state / "session/metrics-archive.jsonl"
    length = archive.stat().st_size

    def put_back(n: int) -> None:
        if (state / live).exists() or archive.stat().st_size == length:
            raise Failed("the session was not closed, or no metrics went to the archive")
        (state / "agents/results-archive" / MAIN).rename(state / "agents/results")
        kept.put_back()
        with open(archive, "r+b") as file:
            file.truncate(length)

    return project.hook("SessionEnd", lambda n: {"reason": "other"}, "closed", after=put_back)
