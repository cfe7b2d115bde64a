"""A built program that can be run here: what it prints for the archives, and whether it does its work."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent

SHELLS = {"bash": "hookkeeper.bash", "zsh": "_hookkeeper", "fish": "hookkeeper.fish", "powershell": "_hookkeeper.ps1",
          "elvish": "hookkeeper.elv"}
SESSION = "00000000-0000-4000-8000-000000000001"


class Failed(Exception):
    """It did not do what it should."""


class Program:
    def __init__(self, path: Path, runner: list[str]):
        self.argv = [*runner, str(path)]

    def run(self, *arguments: str, stdin: str = "", cwd: Path | None = None) -> str:
        # Of the caller's environment nothing may lead to a real project or a real client.
        env = {name: value for name, value in os.environ.items() if not name.startswith(("CLAUDE", "HOOKKEEPER"))}
        env |= {"WINEDEBUG": "-all", "WINEDLLOVERRIDES": "bcryptprimitives=b,n"}
        if cwd:
            env |= {"HOME": str(cwd), "CLAUDE_CONFIG_DIR": str(cwd / "client"), "CLAUDE_PROJECT_DIR": str(cwd)}
            if "wine" in self.argv[0]:
                # wine keeps its own world in HOME; what the program sees is a Windows path.
                env |= {"HOME": os.environ["HOME"], "CLAUDE_PROJECT_DIR": f"Z:{cwd}"}
                env |= {"CLAUDE_CONFIG_DIR": f"Z:{cwd}/client"}
        try:
            ran = subprocess.run([*self.argv, *arguments], env=env, cwd=cwd, input=stdin.encode(), capture_output=True,
                                 timeout=300)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Failed(f"`hookkeeper {' '.join(arguments)}` cannot be run: {error}") from error
        if ran.returncode != 0:
            said = (ran.stderr or ran.stdout).decode(errors="replace").strip()[-400:]
            raise Failed(f"`hookkeeper {' '.join(arguments)}` ended with {ran.returncode}: {said}")
        return ran.stdout.decode()

    def smoke_test(self, version: str) -> None:
        """It starts, takes an event, keeps it, and shows it again."""
        first = self.run("--version").split("\n")[0].strip()
        if first != f"hookkeeper {version}":
            raise Failed(f"`--version` says {first!r}, not `hookkeeper {version}`")
        with tempfile.TemporaryDirectory(prefix="hk-smoke-") as room:
            folder = Path(room).resolve()
            (folder / "client").mkdir()
            for event, fields in (("SessionStart", {"source": "startup"}), ("UserPromptSubmit", {"prompt": "add a test"}),
                                  ("SubagentStart", {"agent_id": "a1", "agent_type": "general-purpose"})):
                payload = {"session_id": SESSION, "hook_event_name": event, "transcript_path": "", "cwd": str(folder)}
                self.run("hook", stdin=json.dumps(payload | fields), cwd=folder)
            sessions = self.run("status", "--json", cwd=folder)
            if SESSION not in sessions or '"a1"' not in sessions:
                raise Failed(f"three events were sent, and `status --json` says: {sessions[:400]}")

    def completions(self) -> dict[str, bytes]:
        return {f"completions/{name}": self.printed("completions", shell) for shell, name in SHELLS.items()}

    def manual(self) -> dict[str, bytes]:
        """The pages of all commands: each names those below it."""
        pages: dict[str, bytes] = {}
        waiting: list[list[str]] = [[]]
        while waiting:
            words = waiting.pop()
            name = "-".join(["hookkeeper", *words])
            page = self.printed("man", *words)
            pages[f"man/{name}.1"] = page
            below = re.findall(r"^([\w-]+)\(1\)$", page.decode().replace("\\-", "-"), re.M)
            waiting += [[*words, child.removeprefix(f"{name}-")] for child in below]
        return pages

    def printed(self, *arguments: str) -> bytes:
        return self.run(*arguments).replace("\r\n", "\n").encode()


def under_wine(path: Path, runner: list[str], room: Path, env: dict[str, str]) -> Program:
    """The program beside the library that older versions of wine do not have."""
    copy = Path(shutil.copy2(path, room))
    library = room / "bcryptprimitives.dll"
    command = [shutil.which("python3", path=env["PATH"]) or sys.executable, "-m", "ziglang", "cc", "-target",
               "x86_64-windows-gnu", "-shared", "-O2", "-o", library, HERE / "wine/bcryptprimitives.c", "-ladvapi32"]
    ran = subprocess.run(command, env=env, cwd=room, capture_output=True, text=True)
    if ran.returncode != 0:
        raise Failed(f"the library for wine cannot be built: {ran.stderr.strip()[-400:]}")
    return Program(copy, runner)
