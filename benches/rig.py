"""Starting programs, taking their time, and the rows that come of it."""

from __future__ import annotations

import gc
import json
import os
import random
import shutil
import statistics
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
WARM_UP = 5
DEVNULL = os.open(os.devnull, os.O_RDWR)


class Failed(Exception):
    """A start that went wrong, or that did not do what it should: its time means nothing."""


def environment(project: Path) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": os.environ["HOME"],
        "CLAUDE_PROJECT_DIR": str(project),
        "CLAUDE_PID": str(os.getpid()),
    }


def start(argv: list[str], env: dict[str, str], stdin: bytes) -> int:
    """Nanoseconds from the start of a program to its end."""
    # In memory: a payload that is written to the disk would disturb what is measured next.
    payload = os.memfd_create("payload")
    try:
        os.write(payload, stdin)
        os.lseek(payload, 0, os.SEEK_SET)
        streams = [(os.POSIX_SPAWN_DUP2, fd, to) for to, fd in enumerate((payload, DEVNULL, DEVNULL))]
        began = time.perf_counter_ns()
        pid = os.posix_spawn(argv[0], argv, env, file_actions=streams)
        _, status = os.waitpid(pid, 0)
        took = time.perf_counter_ns() - began
    finally:
        os.close(payload)
    if status != 0:
        raise Failed(f"{argv} ended with {os.waitstatus_to_exitcode(status)} on {stdin[:300]!r}")
    return took


@dataclass
class Contestant:
    """A program that is started again and again. `before` prepares the start with number n and
    gives its stdin, `after` checks what it did; neither is measured."""

    argv: list[str]
    env: dict[str, str]
    before: Callable[[int], bytes] = lambda n: b""
    after: Callable[[int], None] = lambda n: None
    times: list[int] = field(default_factory=list)

    def run(self, n: int) -> int:
        stdin = self.before(n)
        took = start(self.argv, self.env, stdin)
        self.after(n)
        return took

    def instructions(self, n: int) -> int:
        """The same start under callgrind."""
        tool = [shutil.which("valgrind"), "--tool=callgrind", "--callgrind-out-file=/dev/null"]
        stdin = self.before(n)
        done = subprocess.run([*tool, *self.argv], env=self.env, input=stdin, capture_output=True, check=True)
        self.after(n)
        return next(int(line.split()[-1]) for line in done.stderr.splitlines() if b"Collected" in line)

    @property
    def us(self) -> float:
        return statistics.median(self.times) / 1000


def race(contestants: list[Contestant], starts: int) -> None:
    """One start of each per round, every round in another order."""
    gc.disable()
    for n in range(WARM_UP + starts):
        for contestant in random.Random(n).sample(contestants, len(contestants)):
            took = contestant.run(n)
            if n >= WARM_UP:
                contestant.times.append(took)
    gc.enable()


@dataclass
class Figure:
    """What a row is held to: a ratio to something else in the same run."""

    bound: float
    of: str
    value: float
    at_least: bool = False

    @property
    def ok(self) -> bool:
        return self.value >= self.bound if self.at_least else self.value <= self.bound

    def __str__(self) -> str:
        word = "at least " if self.at_least else ""
        return f"{word}{self.bound:g} × {self.of} (is {self.value:.2f})"


@dataclass
class Row:
    path: str
    us: float | None
    floors: float | None
    figures: list[Figure] = field(default_factory=list)
    note: str = ""

    @property
    def ok(self) -> bool | None:
        return all(figure.ok for figure in self.figures) if self.figures else None

    def markdown(self) -> str:
        us = self.note or "not installed" if self.us is None else f"{self.us:,.0f}"
        floors = "" if self.floors is None else f"{self.floors:.2f}"
        held = ", ".join(map(str, self.figures)) or self.note
        verdict = {True: "yes", False: "**no**", None: ""}[self.ok]
        return f"| {self.path} | {us} | {floors} | {held} | {verdict} |"

    def as_json(self) -> dict:
        figures = [{**vars(figure), "ok": figure.ok} for figure in self.figures]
        return {**vars(self), "figures": figures, "ok": self.ok}


def table(rows: list[Row]) -> str:
    head = ["| path | median µs | × floor | at most | ok? |", "|---|---:|---:|---|---|"]
    return "\n".join(head + [row.markdown() for row in rows])


def compile_c(name: str, to: Path) -> str:
    out = to / name
    subprocess.run(["cc", "-O2", "-static", "-o", out, HERE / f"{name}.c"], check=True)
    return str(out)


def build_release() -> Path:
    """Builds the program; where it is, only cargo knows."""
    build = ["cargo", "build", "--release", "--message-format=json"]
    done = subprocess.run(build, cwd=HERE.parent, stdout=subprocess.PIPE, check=True)
    messages = map(json.loads, done.stdout.splitlines())
    return next(Path(m["executable"]) for m in messages if m.get("executable"))
