#!/usr/bin/env python3
"""Writes link-order.ld: the functions that hooks run. See README.md, "Page faults"."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

sys.dont_write_bytecode = True
import books  # noqa: E402
import transcript  # noqa: E402
from books import AGENT, READ, Project  # noqa: E402
from rig import HERE, MUSL, build  # noqa: E402

ORDER = HERE.parent / "link-order.ld"
# A linker script that adds to the linker's own. The C library's files are named where their functions have no size,
# so that valgrind does not see them.
HEAD = """/* The functions that hooks run, for the linker to put side by side. Written by benches/order.py. */
SECTIONS
{
  .text.hooks :
  {
    *crt1.o(.text .text.*)
    *__libc_start_main.lo(.text*) *__init_tls.lo(.text*)
    *memcpy.lo(.text) *memset.lo(.text) *memmove.lo(.text)
"""
TAIL = """  }
}
INSERT BEFORE .text;
"""
EDIT = {"tool_name": "Edit", "tool_input": {"file_path": "src/login.ts"}, "tool_response": {}}
CALL = {"tool_name": "Agent", "tool_use_id": "toolu_1", "tool_input": {"description": "look", "prompt": "look"}}


def events(project: Project) -> Iterator[tuple[str, dict]]:
    """The most frequent ones first: what they share with others stands together."""
    failed = {"tool_name": "Read", "tool_use_id": "toolu_2", "tool_input": {"file_path": "none.txt"},
              "error": "File does not exist.", "is_interrupt": False}
    yield "PostToolUse", READ
    yield "PostToolUse", EDIT
    yield "PreToolUse", CALL
    yield "SubagentStart", {"agent_id": "a1", "agent_type": AGENT}
    yield "PostToolUse", READ | {"agent_id": "a1"}
    yield "SubagentStop", books.stopped("a1", project.transcript)
    yield "UserPromptSubmit", {"prompt": "implement login for users"}
    yield "Stop", {"last_assistant_message": "Done.", "background_tasks": []}
    yield "PostToolUseFailure", failed
    yield "SessionStart", {"session_id": "second", "source": "startup"}
    yield "PreCompact", {"trigger": "auto", "custom_instructions": None}
    yield "SessionEnd", {"reason": "other"}


def functions(project: Project, event: str, fields: dict, profile: Path) -> list[str]:
    """The mangled names of what one start calls."""
    tool = ["valgrind", "--tool=callgrind", "--demangle=no", f"--callgrind-out-file={profile}"]
    subprocess.run([*tool, *project.argv], env=project.env, input=project.payload(event, **fields),
                   capture_output=True, check=True)
    # Recursion is marked behind a name.
    return re.findall(r"^c?fn=\(\d+\) ([A-Za-z_][^\s']*)", profile.read_text(), re.MULTILINE)


def pattern(name: str) -> str:
    """A name without what another compiler, profile or machine would change in it: digests, and the places that are
    counted in characters."""
    if name.startswith("_R"):
        return re.sub(r"(?<=B)[0-9A-Za-z]{0,3}_", "*_", re.sub(r"(?<=Cs)[0-9A-Za-z]+_", "*_", name))
    return re.sub(r"17h[0-9a-f]{16}E$", "17h*E", name)


def sizes(binary: Path) -> dict[str, int]:
    ran = subprocess.run(["nm", "--defined-only", "--print-size", binary], capture_output=True, text=True, check=True)
    rows = (line.split() for line in ran.stdout.splitlines())
    return {row[3]: int(row[1], 16) for row in rows if len(row) == 4 and row[2] in "tTwW"}


def in_order(calls: list[list[str]], size: dict[str, int]) -> list[list[str]]:
    """The patterns of each event. Those that fit to more than was called come last in theirs: what is called stays
    dense. Sorted by name otherwise, so that the list changes only where the program does."""
    fitting, called = Counter(), Counter()
    for name, bytes_ in size.items():
        fitting[pattern(name)] += bytes_
    for name in {name for names in calls for name in names}:
        called[pattern(name)] += size.get(name, 0)
    return [sorted({pattern(name) for name in names}, key=lambda found: (fitting[found] > called[found], found))
            for names in calls]


def patterns(binary: Path) -> list[list[str]]:
    with tempfile.TemporaryDirectory(prefix="hk-order-") as room:
        small = transcript.write(Path(room) / "small.jsonl", 10_000)
        project = Project(Path(room) / "project", binary.resolve(), small)
        calls = [functions(project, event, fields, Path(room) / "profile") for event, fields in events(project)]
    return in_order(calls, sizes(binary))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", type=Path, action="append", default=[], metavar="PATH",
                        help="a program with its symbols, instead of building both profiles; can be repeated")
    # Without its symbols a program cannot say what it calls. What `dist` has inlined `release` calls.
    built = [["--profile", "dist", "--target", MUSL], ["--profile", "release"]]
    binaries = parser.parse_args().binary or [
        build("rustc", "--locked", *how, "--bin", "hookkeeper", "--", "-C", "strip=none") for how in built]
    # Event by event, and within one what is shipped first.
    ordered = dict.fromkeys(pattern for event in zip(*map(patterns, binaries)) for found in event for pattern in found)
    # `.text.name`, and `.text.unlikely.name` of what is cold.
    lines = (f"    *(.text*.{pattern})\n" for pattern in ordered)
    ORDER.write_text(HEAD + "".join(lines) + TAIL)
    print(f"{len(ordered)} functions in {ORDER}")


if __name__ == "__main__":
    main()
