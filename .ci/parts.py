#!/usr/bin/env python3
"""The parts of .ci/run: what each is called, its command, and what it waits for.

Two parts run at a time, one of them with cargo; what measures time runs alone. Each prints what it said when it is over, with its seconds; a table of
all of them comes last. The first that fails ends the others.
"""

from __future__ import annotations

import argparse
import functools
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[1]
AT_ONCE = 2
PROGRAM = "the program"
MUSL = "x86_64-unknown-linux-musl"
# What stands in a command for the program that is tested.
BINARY = "{binary}"
# The oldest client that our hooks work with: what install wires, and what is asked about.
WIRING = ["local-scope", "project-scope", "teammate-without-program", "install-finds-this-client", "gates-are-asked-about",
          "verification-is-asked-about", "plugin-brings-its-program"]


@dataclass
class Part:
    name: str
    command: list[str]
    # Builds with cargo: one at a time.
    cargo: bool = False
    # Tests that measure time: nothing runs beside it.
    alone: bool = False
    # Only with --all.
    nightly: bool = False
    log: object = None
    process: subprocess.Popen | None = None
    began: float = 0.0
    seconds: float = 0.0
    env: dict[str, str] = field(default_factory=dict)

    def needs_program(self) -> bool:
        return BINARY in self.command

    def by_hand(self, binary: str) -> str:
        """How to run it by hand."""
        words = [f"{name}={value}" for name, value in self.env.items()]
        return shlex.join(words + [binary if word == BINARY else word for word in self.command])


def suite(name: str, script: str, *more: str, **how: object) -> Part:
    return Part(name, ["python3", script, "--binary", BINARY, *more], **how)


def parts() -> list[Part]:
    """Those that take longest first, among those that can run beside each other."""
    only = [word for scenario in WIRING for word in ("--only", scenario)]
    return [
        Part("rustfmt", ["cargo", "fmt", "--check"], cargo=True),
        Part(PROGRAM, program_command(), cargo=True),
        Part("unused code", [".ci/unused.py"]),
        Part("dependencies", [".ci/dependencies.py"]),
        Part("package", [".ci/package.py"]),
        Part("release scripts", ["python3", "release/tests.py"]),
        Part("clippy", ["cargo", "clippy", "--locked", "--workspace", "--all-targets", "--", "-D", "warnings"], cargo=True),
        Part("README's test command", ["cargo", "test", "--locked"], cargo=True, alone=True),
        suite("faults", "tests/faults/run.py"),
        suite("the real client", "tests/client/run.py"),
        Part("README, command by command", ["python3", "tests/readme/run.py", "--shipped", BINARY], cargo=True),
        suite("the report in a browser", "tests/report/run.py"),
        suite("a terminal", "tests/terminal/run.py"),
        suite("the ways in by npm", "tests/npm/run.py"),
        suite("https", "tests/fleet/tls.py"),
        suite("the oldest client", "tests/client/run.py", *only, nightly=True,
              env={"CLAUDE_CLIENT_VERSION": "2.1.139"}),
        suite("clones over one remote", "tests/fleet/claims.py", nightly=True),
        suite("the dashboard's queries", "tests/fleet/dashboards.py", nightly=True),
        Part("schemas beside a full validator", ["python3", "tests/schemas.py"], cargo=True, nightly=True),
        Part("other systems", [".ci/systems"], cargo=True, nightly=True),
    ]


def is_musl_here() -> bool:
    """Whether what is shipped for Linux can be built; else it is the program for this machine's C library."""
    if os.uname().sysname != "Linux" or os.uname().machine != "x86_64":
        return False
    tools = ["sh", "-c", f"command -v musl-gcc && rustup target add {MUSL}"]
    return subprocess.run(tools, capture_output=True).returncode == 0


@functools.cache
def program_command() -> list[str]:
    if is_musl_here():
        return ["release/build", "--profile", "release", "--target", MUSL]
    return ["cargo", "build", "--locked", "--release"]


def program() -> str:
    """Where the program is. README's commands build another one beside it, for this machine's C library."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", "target"))
    folder = MUSL if program_command()[0] == "release/build" else "*-*"
    found = sorted(target.glob(f"{folder}/release/hookkeeper"))
    return str(found[0].resolve()) if found else ""


class Run:
    def __init__(self, chosen: list[Part]):
        self.waiting, self.running, self.done = list(chosen), [], []
        self.builds_program = any(part.name == PROGRAM for part in chosen)

    def may_start(self, part: Part) -> bool:
        if part.alone and self.running or any(other.alone for other in self.running):
            return False
        if part.cargo and any(other.cargo for other in self.running):
            return False
        # What takes long comes behind what has to be alone.
        if part.needs_program() and any(other.alone for other in self.waiting):
            return False
        if not part.needs_program() or not self.builds_program:
            return True
        return any(other.name == PROGRAM for other in self.done)

    def start(self, part: Part) -> None:
        binary = program()
        command = [binary if word == BINARY else word for word in part.command]
        part.log = tempfile.TemporaryFile()
        part.began = time.monotonic()
        try:
            part.process = subprocess.Popen(command, cwd=ROOT, env=os.environ | part.env, stdin=subprocess.DEVNULL,
                                            stdout=part.log, stderr=subprocess.STDOUT, start_new_session=True)
        except OSError as why:
            self.fail(part, str(why))
        self.running.append(part)

    def finish(self, part: Part) -> None:
        part.seconds = time.monotonic() - part.began
        self.running.remove(part)
        self.done.append(part)
        print(f"\n== {part.name} ({part.seconds:.0f} s)", flush=True)
        part.log.seek(0)
        sys.stdout.buffer.write(part.log.read())
        sys.stdout.flush()
        if part.process.returncode != 0:
            self.fail(part)

    def fail(self, part: Part, why: str = "") -> None:
        for other in self.running:
            os.killpg(other.process.pid, signal.SIGTERM)
        print(f"\nFAILED: {part.name}{f' ({why})' if why else ''}: run it alone with: {part.by_hand(program())}",
              file=sys.stderr)
        sys.exit(1)

    def go(self) -> None:
        while self.waiting or self.running:
            for part in list(self.waiting):
                if len(self.running) < AT_ONCE and self.may_start(part):
                    self.waiting.remove(part)
                    self.start(part)
            for part in list(self.running):
                if part.process.poll() is not None:
                    self.finish(part)
            time.sleep(0.05)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="what the workflow runs at night, too")
    parser.add_argument("--only", metavar="NAME", action="append", default=[], help="only this part; can be repeated")
    options = parser.parse_args()
    known = parts()
    if unknown := set(options.only) - {part.name for part in known}:
        parser.error(f"no part is called {', '.join(sorted(unknown))}; there are: {', '.join(part.name for part in known)}")
    chosen = [part for part in known if part.name in options.only or (not options.only and (options.all or not part.nightly))]
    began = time.monotonic()
    run = Run(chosen)
    run.go()
    print("\n== seconds")
    for part in sorted(run.done, key=lambda part: -part.seconds):
        print(f"{part.seconds:6.0f}  {part.name}")
    print(f"{time.monotonic() - began:6.0f}  in all")
    print("\n== all good")


if __name__ == "__main__":
    main()
