#!/usr/bin/env python3
"""Runs every command in README, in its order, as a newcomer would: python3 tests/readme/run.py

Shell blocks run one after the other in one shell's directory, commands in the text (`hookkeeper …`) in the project. The
home directory is a scratch one, with a project ~/shop in it. `cargo test` is not run from here but by .ci/run, which is
looked at. Exit status: 0 all good, 1 a command failed.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "tests/terminal"))
sys.dont_write_bytecode = True
from shop import Shop  # noqa: E402

# A block, or a command in the text.
PIECE = re.compile(r"^```(\w+)\n(.*?)^```$|`((?:hookkeeper|python3|cargo) [^`]+)`", re.M | re.S)
# Shown, not to be run: what a user replaces is in capitals, and stands for one of these.
IDS = {"agents": "agents/active.json", "errors": "errors/classified.json"}


class Newcomer:
    def __init__(self, home):
        self.home, self.cwd = home, REPOSITORY
        self.project = home / "shop"
        self.env = {**os.environ, "HOME": str(home), "CARGO_INSTALL_ROOT": str(home / ".cargo"),
                    "CARGO_HOME": os.environ.get("CARGO_HOME", str(Path.home() / ".cargo")),
                    "RUSTUP_HOME": os.environ.get("RUSTUP_HOME", str(Path.home() / ".rustup")),
                    "PATH": f"{home}/.cargo/bin:{os.environ['PATH']}"}
        for name in [name for name in self.env if name.startswith(("CLAUDE", "HOOKKEEPER"))]:
            del self.env[name]
        self.failed = self.ran = 0
        self.seen = set()
        self.shop = Shop(str(home / ".cargo/bin/hookkeeper"), home)

    def block(self, text):
        for line in text.splitlines():
            if command := line.split("  #")[0].strip():
                self.run(command, f"cd {self.quoted(self.cwd)}; {command}; code=$?; pwd > '{self.home}/pwd'; exit $code")
                self.cwd = Path((self.home / "pwd").read_text().strip())

    def inline(self, command):
        if command in self.seen:
            return
        system = command.split()[1]
        if " ID" in command:
            command = command.replace(" ID", f" {self.an_id(system)}")
        self.run(command, f"cd {self.quoted(self.project)}; {command}")
        if command.startswith("hookkeeper install --scope"):
            scope = command.split()[3]
            self.run(f"(and out again: {scope})", f"cd {self.quoted(self.project)}; hookkeeper uninstall --scope {scope}")

    def an_id(self, system):
        if system == "sessions":
            return json.loads((self.project / ".claude/state/session/current.json").read_text())["session_id"]
        document = json.loads((self.project / ".claude/state" / IDS[system]).read_text())
        return document[system][-1]["id"]

    def run(self, shown, script):
        self.seen.add(shown)
        began = time.monotonic()
        done = subprocess.run(["bash", "-c", script], env=self.env, input="q\n", text=True, capture_output=True)
        self.ran += 1
        self.failed += done.returncode != 0
        print(f"{'ok  ' if done.returncode == 0 else 'FAIL'} {time.monotonic() - began:6.1f} s  {shown}", flush=True)
        if shown.startswith("hookkeeper re"):  # Claude Code works on after a reset, and while payloads are recorded.
            self.shop.event("UserPromptSubmit", prompt="Go on")
        if done.returncode:
            print(done.stdout[-2000:], done.stderr[-2000:], sep="\n")

    @staticmethod
    def quoted(path):
        return f"'{path}'"


def main():
    readme = (REPOSITORY / "README.md").read_text()
    ci = (REPOSITORY / ".ci/run").read_text()
    with tempfile.TemporaryDirectory(prefix="hookkeeper-readme-") as scratch:
        newcomer = Newcomer(Path(scratch).resolve())
        shop = newcomer.shop
        filled = False
        for language, block, command in PIECE.findall(readme):
            if "cargo test" in (block.strip(), command):
                assert re.search(r"^run .* cargo test", ci, re.MULTILINE), "README's test command is not in .ci/run"
            elif command.startswith("python3 benches/speed.py"):
                newcomer.run(command, f"cd {newcomer.quoted(REPOSITORY)}; {command} --quick || test $? = 1")
            elif language == "sh":
                newcomer.block(block)
            elif language == "json":
                for line in re.findall(r'"command": "(hookkeeper [^"]+)"', block):
                    newcomer.inline(line)
            elif command:
                newcomer.inline(command)
            if not filled and "~/shop install" in block:
                shop.fill(time.time())  # Claude Code has been given something to do.
                filled = True
        gone = [path for path in (newcomer.project / ".claude", Path(shop.binary)) if path.exists()]
        newcomer.failed += len(gone)
        for path in gone:
            print(f"FAIL  after Remove there is still {path}")
    print(f"{newcomer.ran} commands, {newcomer.failed} failed")
    return 1 if newcomer.failed or newcomer.ran < 25 else 0


if __name__ == "__main__":
    sys.exit(main())
