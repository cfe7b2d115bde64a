"""Projects with many ended sessions, and the commands that look back on them."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

from books import Project, mark_as_own, metrics_entry
from rig import Contestant, Failed
from transcript import compact

MODEL = "claude-opus-5-5"
# In one session in a hundred.
RARE = "Zanzibar"


class History:
    """So many sessions that have ended, each with its journal, of so many bytes together."""

    def __init__(self, root: Path, binary: Path, transcript: Path, sessions: int, size: int):
        self.project, self.sessions = Project(root, binary, transcript), sessions
        self.project.send("SessionEnd", reason="other")
        state, entries = self.project.state, [entry(n) for n in range(sessions)]
        lines = "".join(map(compact, entries[:-200]))
        (state / "session/metrics-archive.jsonl").write_text(lines)
        (state / "session/metrics.json").write_text(json.dumps({"sessions": entries[-200:]}))
        shutil.rmtree(state / "journal")
        (state / "journal").mkdir()
        for n, ended in enumerate(entries):
            write_journal(state / "journal", n, ended, size // sessions)
        mark_as_own(state)

    def asked(self, right: str, *args: str) -> Contestant:
        """A command; that it says the right thing is seen once."""
        argv = [self.project.argv[0], "-C", str(self.project.root), *args]
        said = subprocess.run(argv, env=self.project.env, check=True, capture_output=True, text=True)
        if right not in said.stdout:
            raise Failed(f"{argv} says {said.stdout[:300]}, and not {right}")
        return Contestant(argv, self.project.env)

    def search(self) -> Contestant:
        """A word that is in few lines: all of the history has to be looked through."""
        count = -(-self.sessions // 100)
        found = self.asked('"hits"', "search", RARE.lower(), "-n", "0", "--json")
        said = subprocess.run(found.argv, env=found.env, check=True, capture_output=True).stdout
        if len(json.loads(said)["hits"]) != count:
            raise Failed(f"search finds {len(json.loads(said)['hits'])}, not {count}")
        return found

    def common(self) -> Contestant:
        """A word that is in every fifth line: only as many hits are kept as are shown."""
        return self.asked("There are older ones", "search", "login")

    def cost(self, by: str) -> Contestant:
        return self.asked(f'"input": {1000 * self.sessions}', "cost", "--by", by, "--json")

    def listed(self) -> Contestant:
        return self.asked(name(0), "sessions", "--all", "--json")

    def grep(self) -> Contestant:
        """The same bytes, the same word."""
        argv = [shutil.which("grep"), "-r", "-i", "-c", RARE, str(self.project.state / "journal")]
        return Contestant(argv, self.project.env | {"LC_ALL": "C"})


def name(n: int) -> str:
    return f"00000000-0000-4000-8000-{n:012}"


def entry(n: int) -> dict:
    usage = {"day": "2026-01-01", "model": MODEL, "input": 1000, "output": 20,
             "cache_creation": 0, "cache_read": 0, "usd": 0.0044}
    return metrics_entry(n) | {"cost_usd": 0.0044, "git_branch": f"b{n % 7}", "usage": [usage]}


def write_journal(folder: Path, n: int, ended: dict, size: int) -> None:
    common = {"v": 1, "time": "2026-01-01T10:00:00.000Z", "session": name(n)}
    word = RARE if n % 100 == 0 else "the till"
    last = compact(common | {"kind": "end", "what": "other", "record": ended})
    left, lines = size - len(last), [compact(common | {"kind": "prompt", "text": f"Look at {word}"})]
    while left > 0:
        call = {"kind": "tool", "event": "PostToolUse", "call": f"toolu_{len(lines):06}", "ms": 12,
                "target": f"Bash cargo test --package part{len(lines)} -- --nocapture",
                "outcome": "nothing to record", "wrote": [], "us": 700}
        stop = {"kind": "stop", "event": "Stop", "text": "All tests pass; the login is done. " * 12}
        lines.append(compact(common | (stop if len(lines) % 5 == 0 else call)))
        left -= len(lines[-1])
    (folder / f"{name(n)}.jsonl").write_text("".join([*lines, last]))
