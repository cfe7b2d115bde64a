#!/usr/bin/env python3
"""Writes .cargo/link-order.txt: the functions that hooks run. See README.md, "Page faults"."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

sys.dont_write_bytecode = True
import books  # noqa: E402
import transcript  # noqa: E402
from books import AGENT, READ, Project  # noqa: E402
from rig import HERE, build  # noqa: E402

ORDER = HERE.parent / ".cargo/link-order.txt"
HEAD = """# The functions that hooks run, for the linker to put side by side. Written by benches/order.py.
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


def main() -> None:
    # Without its symbols the program cannot say what it calls.
    binary = build("rustc", "--release", "--bin", "hookkeeper", "--", "-C", "strip=none")
    with tempfile.TemporaryDirectory(prefix="hk-order-") as room:
        small = transcript.write(Path(room) / "small.jsonl", 10_000)
        project = Project(Path(room) / "project", binary, small)
        names: dict[str, None] = {}
        for event, fields in events(project):
            called = functions(project, event, fields, Path(room) / "profile")
            # Sorted, so that the list changes only where the program does.
            names |= dict.fromkeys(sorted(set(called)))
    ORDER.write_text(HEAD + "".join(f"{name}\n" for name in names))
    # Cargo does not know that the program depends on the list.
    (HERE.parent / "src/main.rs").touch()
    print(f"{len(names)} functions in {ORDER}")


if __name__ == "__main__":
    main()
