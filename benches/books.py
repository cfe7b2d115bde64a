"""Projects to send events to: fresh ones, aged ones, and transcripts of any size."""

from __future__ import annotations

import json
import os
import random
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from rig import Contestant, Failed, environment, start

MAIN = "9f99b61b-a627-4cde-9856-7e07b84da7b2"
LONG_AGO = b"2026-01-01T00:00:00Z"
REPORT = "## Findings\n\n- **[S1]** No rate limit on the login endpoint (src/auth/login.ts:1). Recommendation: add one.\n"


class Project:
    """A directory with books in it, and the one way to change them: events."""

    def __init__(self, root: Path, binary: Path, transcript: Path):
        self.root, self.state = root, root / ".claude/state"
        self.argv, self.env = [str(binary), "hook"], environment(root)
        self.transcript = transcript
        self.sent: Counter[tuple[str, str]] = Counter()
        root.mkdir(parents=True, exist_ok=True)

    def payload(self, event: str, session: str = MAIN, **fields) -> bytes:
        self.sent[session, event] += 1
        common = {"session_id": session, "transcript_path": str(self.transcript), "cwd": str(self.root),
                  "prompt_id": "7e64ff6a-8bfb-49ed-bae7-24fc81b616ba", "permission_mode": "default"}
        return json.dumps(common | {"hook_event_name": event} | fields, separators=(",", ":")).encode() + b"\n"

    def send(self, event: str, session: str = MAIN, **fields) -> None:
        start(self.argv, self.env, self.payload(event, session, **fields))

    def open(self, session: str = MAIN) -> None:
        self.send("SessionStart", session, source="startup")
        self.send("UserPromptSubmit", session, prompt="implement login for users")

    def start_agent(self, agent: str) -> None:
        self.send("SubagentStart", agent_id=agent, agent_type="general-purpose")

    def stop_agent(self, agent: str) -> None:
        self.send("SubagentStop", **stopped(agent, self.transcript))

    def log_line(self) -> dict:
        """What the last hook says about itself. The log may just have been turned over."""
        for name in ("hooks.jsonl", "hooks.1.jsonl"):
            path = self.state / "log" / name
            if path.exists():
                return json.loads(path.read_bytes()[-4096:].splitlines()[-1])
        raise Failed("there is no log")

    def document(self, name: str) -> dict:
        return json.loads((self.state / name).read_bytes())

    def wrote(self) -> list[Path]:
        """The files that the last hook replaced; the log marks removed ones with a dash."""
        return [self.state / name for name in self.log_line()["wrote"] if not name.startswith("-")]

    def make_silent(self, session: str = MAIN) -> None:
        """Puts `last_seen` far back, so that the next event has something to write. Between turns
        that happens by itself; here there are a thousand events a second."""
        for name in (f"session/live/{session}.json", "session/current.json"):
            with open(self.state / name, "r+b") as file:
                for found in re.finditer(rb'"last_seen": "(.{20})"', file.read()):
                    os.pwrite(file.fileno(), LONG_AGO, found.start(1))

    def hook(self, event: str, fields: Callable[[int], dict], outcome: str, wrote: int | None = None,
             before: Callable[[int], None] = lambda n: None,
             after: Callable[[int], None] = lambda n: None) -> Contestant:
        """A hook to measure. Each start has to log this outcome and this many changed documents."""

        def prepare(n: int) -> bytes:
            before(n)
            return self.payload(event, **fields(n))

        def check(n: int) -> None:
            line = self.log_line()
            as_wanted = line["event"] == event and line["outcome"].startswith(outcome)
            if not as_wanted or wrote not in (None, len(line["wrote"])):
                raise Failed(f"{event}: wanted {outcome!r} and {wrote} documents, got {line}")
            after(n)

        return Contestant(self.argv, self.env, prepare, check)

    def verify(self) -> None:
        """The books are right after all this."""
        live = self.document(f"session/live/{MAIN}.json")
        counts = {"agents_spawned": "SubagentStart", "agents_completed": "SubagentStop",
                  "errors_encountered": "PostToolUseFailure"}
        for key, event in counts.items():
            if live[key] != self.sent[MAIN, event]:
                raise Failed(f"{key} is {live[key]}, but {self.sent[MAIN, event]} {event} were sent")


def stopped(agent: str, transcript: Path) -> dict:
    return {"agent_id": agent, "agent_type": "general-purpose", "agent_transcript_path": str(transcript),
            "last_assistant_message": REPORT, "background_tasks": [], "stop_hook_active": False}


class Kept:
    """Documents of a project as they are now, to be put back."""

    def __init__(self, project: Project, *names: str):
        self.documents = {project.state / name: (project.state / name).read_bytes() for name in names}

    def put_back(self) -> None:
        for path, content in self.documents.items():
            if not path.exists() or path.read_bytes() != content:
                new = path.with_suffix(".back")
                new.write_bytes(content)
                new.rename(path)


def age(project: Project, agents: int, errors: int, sessions: int) -> None:
    """Sends `agents` and `errors` through the program, and writes `sessions` into the metrics."""
    session = project.state / "session"
    entries = [metrics_entry(n) for n in range(sessions)]
    with open(session / "metrics-archive.jsonl", "w") as archive:
        archive.writelines(json.dumps(entry, separators=(",", ":")) + "\n" for entry in entries[:-200])
    (session / "metrics.json").write_text(json.dumps({"sessions": entries[-200:]}, indent=2) + "\n")
    for n in range(agents):
        project.start_agent(f"old-{n:05}")
        project.stop_agent(f"old-{n:05}")
    for n in range(errors):
        project.send("PostToolUseFailure", tool_name="Read", tool_use_id=f"toolu_{n:05}", is_interrupt=False,
                     tool_input={"file_path": f"{project.root}/missing-{n}.txt"}, error="File does not exist.")
    results = len(list((project.state / "agents/results").iterdir())) - 1
    records = len(project.document("errors/classified.json")["errors"])
    if results < agents or records != min(errors, 200):
        raise Failed(f"aged to {results} results and {records} errors")


def metrics_entry(n: int) -> dict:
    return {
        "session_id": f"00000000-0000-4000-8000-{n:012}", "date": "2026-01-01", "duration_minutes": n % 90,
        "commands": {"review": 2}, "agents": {"spawned": 3, "completed": 3, "failed": 0},
        "quality": {"issues_found": 1, "issues_fixed": 1, "coverage_delta": None},
        "errors": {"total": 2, "recovered": 1, "escalated": 0}, "ended": "other", "compactions": 1, "loop": None,
        "tokens": {"input": 1000, "output": 20, "cache_creation": 0, "cache_read": 0}, "cost_usd": None,
        "files_modified": 4,
    }


def write_transcript(path: Path, size: int) -> Path:
    """A conversation of file reads and edits, in the client's shape, with no compaction in it."""
    dice = random.Random(1)
    sources = [source(dice) for _ in range(60)]
    with open(path, "w") as file:
        n = 0
        while file.tell() < size:
            name, text = f"/home/dev/shop/src/part{n % 400}.ts", dice.choice(sources)
            file.write(assistant(n, name, edit=n % 4 == 3) + result(n, name, text[: size // 2]))
            n += 1
    return path


def source(dice: random.Random) -> str:
    words = ["const", "login", "=", "(user)", "=>", "{", "return", '"name"', "await", "\t", "};", "// why"]
    lines = (" ".join(dice.choices(words, k=dice.randint(2, 12))) for _ in range(dice.randint(40, 160)))
    return "\n".join(f"{n:6}→{line}" for n, line in enumerate(lines, 1))


def line(n: int, fields: dict) -> str:
    place = {"uuid": f"5cc17b4a-1283-4ecd-ac23-{n:012}", "timestamp": "2026-11-16T00:25:50.687Z", "userType": "external",
             "entrypoint": "cli", "cwd": "/home/dev/shop", "sessionId": MAIN, "version": "2.1.325", "gitBranch": "main"}
    head = {"parentUuid": f"55decf7c-7ea9-4805-95e7-{n:012}", "isSidechain": False}
    return json.dumps(head | fields | place, separators=(",", ":"), ensure_ascii=False) + "\n"


def assistant(n: int, name: str, edit: bool) -> str:
    tool = {"file_path": name} | ({"old_string": "const a = 1;", "new_string": "const a = 2;"} if edit else {})
    usage = {"input_tokens": 4, "cache_creation_input_tokens": 900, "cache_read_input_tokens": 10 * n, "output_tokens": 96,
             "service_tier": "standard", "cache_creation": {"ephemeral_1h_input_tokens": 0, "ephemeral_5m_input_tokens": 900}}
    message = {"id": f"msg_{n:06}", "type": "message", "role": "assistant", "model": "claude-opus-5-5",
               "content": [{"type": "tool_use", "id": f"toolu_{n:06}", "name": "Edit" if edit else "Read", "input": tool}],
               "stop_reason": "tool_use", "stop_sequence": None, "usage": usage}
    return line(n, {"message": message, "requestedModel": "claude-opus-5-5", "type": "assistant"})


def result(n: int, name: str, text: str) -> str:
    block = {"tool_use_id": f"toolu_{n:06}", "type": "tool_result", "content": text}
    whole = {"type": "text", "file": {"filePath": name, "content": text, "numLines": text.count("\n"), "startLine": 1}}
    return line(n, {"type": "user", "message": {"role": "user", "content": [block]}, "toolUseResult": whole})
