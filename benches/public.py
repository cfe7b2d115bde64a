#!/usr/bin/env python3
"""Public hook scripts beside the hooks that do the same work here: times in one run, and what is left of 20 events at once.

    python3 benches/public.py --binary PATH --tools DIR [--starts 100] [--json FILE]

DIR has checkouts of public repositories (none of their code is here): `claude-code` (anthropics/claude-code: the plugin
ralph-wiggum) and `claude-code-hooks-mastery` (disler/claude-code-hooks-mastery). One that is missing is left out.
Its Python scripts are started with python3 itself; their own settings start them through `uv run`, which comes on top.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
import books  # noqa: E402
import transcript  # noqa: E402
from books import AGENT, MAIN, READ, Project  # noqa: E402
from rig import Contestant, Failed, Ratio, Row, compile_c, environment, race, table  # noqa: E402

RALPH = "claude-code/plugins/ralph-wiggum/hooks/stop-hook.sh"
MASTERY = "claude-code-hooks-mastery/.claude/hooks"
AT_ONCE = 20
ROUNDS = 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=Path, required=True)
    parser.add_argument("--tools", type=Path, required=True, metavar="DIR")
    parser.add_argument("--starts", type=int, default=100, help="of each (100)")
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hk-public-") as room:
        rows, kept = measure(Path(room), options.binary.resolve(), options.tools.resolve(), options.starts)
    print(f"{options.starts} starts of each, medians; load {os.getloadavg()[0]:.1f}.\n\n{table(rows)}\n")
    for name, counts in kept.items():
        print(f"{AT_ONCE} agents that start at once, kept by {name}: {', '.join(map(str, counts))}")
    if options.json:
        report = {"starts": options.starts, "at_once": kept, "rows": [row.as_json() for row in rows]}
        options.json.write_text(json.dumps(report, indent=2) + "\n")


def measure(room: Path, binary: Path, tools: Path, starts: int) -> tuple[list[Row], dict[str, list[int]]]:
    binary = Path(shutil.copy2(binary, room / "hookkeeper"))
    small = transcript.write(room / "small.jsonl", 10_000)
    ours = Project(room / "ours", binary, small)
    looping = Project(room / "looping", binary, small)
    theirs = room / "theirs"
    (theirs / ".claude").mkdir(parents=True)
    # What they keep is in the working directory; ours is where the environment says.
    os.chdir(theirs)
    rows = [Row("floor: an empty program", Contestant([compile_c("floor", room)], environment(room)))]
    crowd = Project(room / "crowd", binary, small)
    kept = {"HookKeeper": [at_once(crowd.argv, crowd, n, lambda: started(crowd)) for n in range(ROUNDS)]}
    start, quiet, turn = books.agent_start(ours), books.no_change(ours), books.loop_turn(looping, small)
    pairs = [("SubagentStart", start), ("PostToolUse of a Read", quiet), ("Stop of a loop that goes on", turn)]
    rows += [Row(f"{what}: HookKeeper", contestant) for what, contestant in pairs]
    mastery = tools / MASTERY
    if mastery.is_dir():
        log = theirs / "logs/subagent_start.json"
        script = [sys.executable, str(mastery / "subagent_start.py")]
        rows.append(Row("SubagentStart: hooks-mastery, Python",
                        logged(script, log, lambda n: ours.payload("SubagentStart", agent_id=f"m{n}", agent_type=AGENT)),
                        [Ratio("HookKeeper", [start])]))
        kept["hooks-mastery"] = [at_once(script, ours, n, lambda: entries(log)) for n in range(ROUNDS)]
        script = [sys.executable, str(mastery / "post_tool_use.py")]
        for many in (0, 1000):
            rows.append(Row(f"PostToolUse of a Read: hooks-mastery, Python, {many:,} events before",
                            logged(script, theirs / "logs/post_tool_use.json",
                                   lambda n: ours.payload("PostToolUse", **READ), many),
                            [Ratio("HookKeeper", [quiet])]))
    ralph = tools / RALPH
    if ralph.is_file():
        rows.append(Row("Stop of a loop that goes on: ralph-wiggum, shell with jq", blocked(ralph, theirs, looping, small),
                        [Ratio("HookKeeper", [turn])]))
    return race(rows, starts), kept


def logged(argv: list[str], log: Path, payload, many: int = 0) -> Contestant:
    """A script that appends its payload to a list in a file, with as many entries there before."""

    def before(n: int) -> bytes:
        sent = payload(n)
        log.parent.mkdir(exist_ok=True)
        log.write_text(json.dumps([json.loads(sent)] * many, indent=2))
        return sent

    def after(n: int) -> None:
        if entries(log) != many + 1:
            raise Failed(f"{argv} has not logged")

    return Contestant(argv, environment(log.parent.parent), before, after)


def blocked(script: Path, project: Path, sender: Project, small: Path) -> Contestant:
    """The Stop hook that gives the same prompt again, with the loop's file as its own set-up writes it.
    It reads the last answer from the transcript, and gives up without a text there."""
    file, said = project / ".claude/ralph-loop.local.md", project / "said.jsonl"
    answer = {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": "Not yet."}]}}
    said.write_text(small.read_text() + transcript.compact(answer))

    def before(n: int) -> bytes:
        file.write_text("---\nactive: true\niteration: 1\nmax_iterations: 0\ncompletion_promise: \"DONE\"\n"
                        "started_at: \"2026-01-01T00:00:00Z\"\n---\n\nMake all tests pass\n")
        return sender.payload("Stop", transcript_path=str(said), last_assistant_message="Not yet.")

    def after(n: int) -> None:
        if "iteration: 2" not in file.read_text():
            raise Failed("the loop's file was not written")

    return Contestant([shutil.which("bash"), str(script)], environment(project), before, after)


def at_once(argv: list[str], sender: Project, turn: int, count) -> int:
    """How many of the agents that start at the same time are in the file afterwards."""
    before = count()
    payloads = [sender.payload("SubagentStart", agent_id=f"c{turn}-{n}", agent_type=AGENT) for n in range(AT_ONCE)]
    running = [subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                env=sender.env) for _ in payloads]
    for process, payload in zip(running, payloads):
        process.stdin.write(payload)
        process.stdin.close()
    for process in running:
        process.wait()
    return max(count() - before, 0)


def started(project: Project) -> int:
    # Who did not get the lock within a second has left its event in the spool: the next hook plays it.
    project.send("PostToolUse", **READ)
    return project.document(f"session/live/{MAIN}.json")["agents_spawned"]


def entries(log: Path) -> int:
    """A file that two have written at once may be no JSON at all."""
    try:
        return len(json.loads(log.read_text()))
    except (FileNotFoundError, ValueError):
        return 0


if __name__ == "__main__":
    try:
        main()
    except Failed as failed:
        sys.exit(f"public.py: {failed}")
