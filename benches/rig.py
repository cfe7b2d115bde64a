"""Starting programs, taking their time, and the table that comes of it."""

from __future__ import annotations

import json
import os
import platform
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
MUSL = f"{platform.machine()}-unknown-linux-musl"
DEVNULL = os.open(os.devnull, os.O_RDWR)


class Failed(Exception):
    """A start that went wrong, or that did not do what it should: its time means nothing."""


def environment(project: Path) -> dict[str, str]:
    own = {"CLAUDE_PROJECT_DIR": str(project), "CLAUDE_PID": str(os.getpid())}
    # With an endpoint in the environment the hooks are measured with export on.
    kept = [name for name in os.environ if name in ("PATH", "HOME") or name.startswith("HOOKKEEPER_OTLP_")]
    return {name: os.environ[name] for name in kept} | own


def start(argv: list[str], env: dict[str, str], stdin: bytes) -> int:
    """Nanoseconds from the start of a program to its end."""
    return measure(argv, env, stdin)[0]


def measure(argv: list[str], env: dict[str, str], stdin: bytes) -> tuple[int, int]:
    """Nanoseconds from the start of a program to its end, and its page faults."""
    # A file in memory: one on the disk would still be written while the program is measured.
    payload = os.memfd_create("payload")
    os.write(payload, stdin)
    os.lseek(payload, 0, os.SEEK_SET)
    streams = [(os.POSIX_SPAWN_DUP2, fd, to) for to, fd in enumerate((payload, DEVNULL, DEVNULL))]
    began = time.perf_counter_ns()
    pid = os.posix_spawn(argv[0], argv, env, file_actions=streams)
    _, status, usage = os.wait4(pid, 0)
    took = time.perf_counter_ns() - began
    os.close(payload)
    if status != 0:
        raise Failed(f"{argv} ended with {os.waitstatus_to_exitcode(status)} on {stdin[:300]!r}")
    return took, usage.ru_minflt


@dataclass
class Contestant:
    """A program that is started again and again. `before` prepares start number n and gives its
    stdin, `after` checks what it did; neither is measured."""

    argv: list[str]
    env: dict[str, str]
    before: Callable[[int], bytes] = lambda n: b"{}\n"
    after: Callable[[int], None] = lambda n: None
    times: list[int] = field(default_factory=list)

    @property
    def us(self) -> float:
        return statistics.median(self.times) / 1000

    def run(self, n: int) -> int:
        stdin = self.before(n)
        took = start(self.argv, self.env, stdin)
        self.after(n)
        return took

    def faults(self, n: int) -> int:
        """Pages that one start asks the kernel for."""
        faults = measure(self.argv, self.env, self.before(n))[1]
        self.after(n)
        return faults

    def instructions(self, n: int) -> int:
        """The same start under callgrind."""
        tool = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
        ran = subprocess.run([*tool, *self.argv], env=self.env, input=self.before(n),
                             capture_output=True, check=True)
        self.after(n)
        collected = next(line for line in ran.stderr.splitlines() if b"Collected" in line)
        return int(collected.split()[-1])


@dataclass
class Ratio:
    """A row's time against others' (the fastest of them); a figure to keep if there is one."""

    name: str
    others: list[Contestant]
    at_most: float | None = None
    at_least: float | None = None

    def value(self, us: float) -> float:
        return us / min(other.us for other in self.others)

    def ok(self, us: float) -> bool:
        return (self.at_least or 0) <= self.value(us) <= (self.at_most or float("inf"))

    def text(self, us: float) -> str:
        if self.at_least:
            return f"at least {self.at_least:g} × {self.name} (is {self.value(us):.2f})"
        if self.at_most:
            return f"{self.at_most:g} × {self.name} (is {self.value(us):.2f})"
        return f"{self.value(us):.2f} × {self.name}"


@dataclass
class Row:
    path: str
    contestant: Contestant | None
    ratios: list[Ratio] = field(default_factory=list)
    floor: Contestant | None = None

    def ok(self) -> bool | None:
        held = [ratio for ratio in self.ratios if ratio.at_most or ratio.at_least]
        return all(ratio.ok(self.contestant.us) for ratio in held) if held else None

    def cells(self) -> list[str]:
        if self.contestant is None:
            return [self.path, "not installed", "", "", ""]
        us, verdict = self.contestant.us, {True: "yes", False: "**no**", None: ""}[self.ok()]
        ratios = ", ".join(ratio.text(us) for ratio in self.ratios)
        return [self.path, f"{us:,.0f}", f"{us / self.floor.us:.2f}", ratios, verdict]

    def as_json(self) -> dict:
        if self.contestant is None:
            return {"path": self.path}
        us = self.contestant.us
        ratios = {ratio.name: ratio.value(us) for ratio in self.ratios}
        held = [(ratio.value(us), ratio.at_most) for ratio in self.ratios if ratio.at_most]
        return {"path": self.path, "us": us, "floors": us / self.floor.us, "ratios": ratios,
                "held": held, "ok": self.ok()}


def race(rows: list[Row], starts: int) -> list[Row]:
    """One start of each per round, every round in another order. The first row is the floor."""
    contestants = [row.contestant for row in rows if row.contestant]
    # What the preparations wrote would otherwise go to the disk while others are measured.
    os.sync()
    for n in range(WARM_UP + starts):
        for contestant in random.Random(n).sample(contestants, len(contestants)):
            took = contestant.run(n)
            if n >= WARM_UP:
                contestant.times.append(took)
    for row in rows:
        row.floor = contestants[0]
    return rows


def table(rows: list[Row]) -> str:
    head = ["path", "median µs", "× floor", "at most", "ok?"]
    lines = [head, ["---", "---:", "---:", "---", "---"], *(row.cells() for row in rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def compile_c(name: str, to: Path) -> str:
    out = to / name
    subprocess.run(["cc", "-O2", "-static", "-o", out, HERE / f"{name}.c"], check=True)
    return str(out)


def compile_musl_floor(to: Path) -> tuple[str | None, str]:
    """An empty program on musl, as static as ours; or None and why there is none."""
    out = to / "musl-floor"
    if has_musl():
        flags = [f"-C{flag}" for flag in ("opt-level=3", "panic=abort", "strip=symbols", "relocation-model=static",
                                          "linker=rust-lld")]
        argv = ["rustc", "--edition=2024", f"--target={MUSL}", *flags, "-o", out, HERE / "floor.rs"]
    elif shutil.which("musl-gcc"):
        argv = ["musl-gcc", "-O2", "-static", "-s", "-o", out, HERE / "floor.c"]
    else:
        return None, f"no musl floor: neither musl-gcc nor Rust's library for {MUSL} is installed"
    subprocess.run(argv, check=True)
    return str(out), ""


def has_musl() -> bool:
    """Rust can build for musl here."""
    if not shutil.which("rustc"):
        return False
    asked = subprocess.run(["rustc", "--print", "target-libdir", "--target", MUSL], capture_output=True, text=True)
    return asked.returncode == 0 and any(Path(asked.stdout.strip()).glob("libstd-*"))


def build_shipped() -> Path:
    """What is shipped for this machine, or what comes nearest to it."""
    if not shutil.which("cargo"):
        raise Failed("there is no cargo: name a program with --binary")
    if has_musl():
        return build("build", "--locked", "--profile", "dist", "--target", MUSL)
    print(f"Rust's library for {MUSL} is not installed: this is the program for the C library of this machine.\n")
    return build("build", "--locked", "--profile", "dist")


def build(command: str, *options: str) -> Path:
    """Builds the program. Where it is then, cargo says."""
    argv = ["cargo", command, "--message-format=json", *options]
    ran = subprocess.run(argv, cwd=HERE.parent, stdout=subprocess.PIPE, check=True)
    messages = map(json.loads, ran.stdout.splitlines())
    return next(Path(message["executable"]) for message in messages if message.get("executable"))
