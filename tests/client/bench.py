"""A fresh project with our hooks, the client to run in it, and the books that it leaves."""
import json
import os
import subprocess
from pathlib import Path

import wiring
from drive import Client
from script import bash


class Bench:
    def __init__(self, root, exe, binary, wire=wiring.by_default):
        """`wire` is one of the functions in wiring.py."""
        self.root = root
        self.exe = exe
        self.command = str(binary)
        self.home = root / "home"
        self.project = root / "project"
        self.books = Books(self.project / ".claude/state")
        self.books_kept = True
        self.clients = []
        self._make_project(wire)

    def run(self, *prompts, rules=(), args=(), env=None, asks=False):
        return self.start(*prompts, rules=rules, args=args, env=env, asks=asks).finish()

    def start(self, *prompts, rules=(), args=(), env=None, asks=False):
        out = self.root / f"run-{len(self.clients) + 1}"
        out.mkdir()
        environment = {"PATH": self.path(), **(env or {})}
        client = Client(self.exe, self.project, self.home, out, prompts, rules, args, environment, asks)
        self.clients.append(client)
        return client

    def path(self):
        """A PATH on which the program is found by its name, and no other program by that name."""
        bin = self.root / "bin"
        if not bin.exists():
            bin.mkdir()
            (bin / "hookkeeper").symlink_to(self.command)
        return os.pathsep.join([str(bin), wiring.path_without("hookkeeper")])

    def hook_command(self, event):
        """How the client spells our hook's command in its accounts."""
        hook = self.hooks[event][0]["hooks"][0]
        return " ".join([hook["command"], *hook.get("args", [])])

    def copy_books(self, name):
        """A tool call that copies the books as they are at that moment; see `copied`."""
        return bash(self.copying(name))

    def copying(self, name):
        """The same as a shell command. Under the lock, so that no hook is half way; the copy appears all at once."""
        return f"flock .claude/state/.lock cp -r .claude/state ../{name}.part && mv ../{name}.part ../{name}"

    def copied(self, name):
        return Books(self.root / name)

    def write(self, path, content):
        target = self.project / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content)

    def git(self, *arguments):
        author = ["-c", "user.name=Test", "-c", "user.email=test@example.com"]
        done = subprocess.run(["git", *author, *arguments], cwd=self.project, check=True,
                              capture_output=True, text=True)
        return done.stdout

    def transcripts(self):
        return sorted((self.home / ".claude/projects").rglob("*.jsonl"))

    def close(self):
        for client in self.clients:
            client.kill()

    def _make_project(self, wire):
        self.project.mkdir(parents=True)
        self.write("README.md", "A small project.\n")
        self.git("init", "--quiet", "--initial-branch=main")
        self.hooks = wire(self)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message=Start")


class Books:
    """What is under .claude/state, parsed. A document that is not there is None."""

    def __init__(self, root):
        self.root = root

    def document(self, name):
        path = self.root / name
        return json.loads(path.read_text()) if path.exists() else None

    def names(self, room):
        path = self.root / room
        return sorted(entry.name for entry in path.iterdir()) if path.exists() else []

    def metrics(self):
        return (self.document("session/metrics.json") or {"sessions": []})["sessions"]

    def entry(self, session_id):
        """The one entry of a session; empty if there is none."""
        return next((entry for entry in self.metrics() if entry["session_id"] == session_id), {})

    def live(self, session_id):
        return self.document(f"session/live/{session_id}.json")

    def live_ids(self):
        return [Path(name).stem for name in self.names("session/live") if name.endswith(".json")]

    def results(self, session_id):
        """The archived results of a session's agents, by agent id."""
        room = f"agents/results-archive/{session_id}"
        results = (self.document(f"{room}/{name}") for name in self.names(room) if name != "synthesis.json")
        return {result["agent_id"]: result for result in results}

    def synthesis(self, session_id):
        return self.document(f"agents/results-archive/{session_id}/synthesis.json")

    def log(self):
        """The journal's lines of hook runs, in order of time."""
        lines = [line for path in (self.root / "journal").glob("*.jsonl") for line in json_lines(path)]
        return sorted((line for line in lines if "us" in line), key=lambda line: line["time"])


def json_lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]
