#!/usr/bin/env python3
"""How long the hooks take, as ratios to an empty program in the same run. See README.md."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from functools import partial
from pathlib import Path

sys.dont_write_bytecode = True
from books import MAIN, Kept, Project, age, stopped, write_transcript  # noqa: E402
from rig import (HERE, Contestant, Failed, Figure, Row, build_release, compile_c, environment,  # noqa: E402
                 race, table)

AGENT = "general-purpose"
READ = {"tool_name": "Read", "tool_input": {"file_path": "/home/dev/shop/src/auth/login.ts"}, "tool_use_id": "toolu_1",
        "tool_response": {"type": "text", "file": {"content": "export const login = () => {};\n" * 60}}}


class Bench:
    def __init__(self, room: Path, binary: Path, starts: int, megabytes: int):
        self.room, self.starts, self.megabytes = room, starts, megabytes
        # A copy: the original may be built again while this runs.
        self.binary = Path(shutil.copy2(binary, room / "hookkeeper"))
        self.floor_program, self.limit_program = compile_c("floor", room), compile_c("limit", room)
        self.small = write_transcript(room / "small.jsonl", 10_000)
        self.large = write_transcript(room / "large.jsonl", megabytes * 1_000_000)
        self.rows: list[Row] = []
        self.counted: dict[str, Contestant] = {}

    def project(self, name: str) -> Project:
        project = Project(self.room / name, self.binary, self.small)
        project.open()
        project.start_agent("first")
        project.stop_agent("first")
        return project

    def aged(self, name: str) -> Project:
        project = self.project(name)
        age(project, agents=1000, errors=500, sessions=10_000)
        return project

    def copy(self, project: Project, name: str) -> Project:
        shutil.copytree(project.root, self.room / name)
        return Project(self.room / name, self.binary, self.small)

    def floor(self) -> Contestant:
        return Contestant([self.floor_program], environment(self.room), lambda n: b"{}\n")

    def limit(self, files: int, size: int, synced: int, *how: str) -> Contestant:
        room = self.room / f"limit-{files}-{synced}-{''.join(how)}"
        room.mkdir()
        argv = [self.limit_program, str(room), str(files), str(size), str(synced), *how]

        def check(n: int) -> None:
            sizes = [path.stat().st_size for path in room.iterdir() if path.name != ".lock"]
            if sizes != [size] * files:
                raise Failed(f"{argv} left {sizes}")

        return Contestant(argv, environment(room), lambda n: b'{"session_id":"s"}\n' * 20, check)

    def limits(self, project: Project, synced: int) -> list[Contestant]:
        """As many files as the last hook replaced, both ways of replacing them."""
        wrote = [path for path in project.wrote() if path.is_file()]
        size = sum(path.stat().st_size for path in wrote) // len(wrote)
        return [self.limit(len(wrote), size, synced), self.limit(len(wrote), size, synced, "exchange")]

    def add(self, path: str, contestant: Contestant, floor: Contestant, *figures: Figure, note: str = "") -> None:
        self.rows.append(Row(path, contestant.us, contestant.us / floor.us, list(figures), note))

    def add_limits(self, limits: list[Contestant], what: str, floor: Contestant) -> float:
        for way, limit in zip(("rename", "exchange"), limits):
            self.add(f"limit of {what}, by {way}", limit, floor)
        return min(limit.us for limit in limits)


def no_change(project: Project) -> Contestant:
    return project.hook("PostToolUse", lambda n: READ, "nothing to record", 0)


def agent_start(project: Project) -> Contestant:
    return project.hook("SubagentStart", lambda n: {"agent_id": f"a{n:016}", "agent_type": AGENT}, "agent ", 3,
                        after=lambda n: project.stop_agent(f"a{n:016}"))


def agent_stop(project: Project, transcript: Path, letter: str) -> Contestant:
    """The synthesis is put back each time: it would grow to its cap, and this is about fresh state."""
    kept = Kept(project, "agents/results/synthesis.json")
    name = f"{letter}{{:016}}".format

    def check(n: int) -> None:
        if project.document(f"agents/results/{name(n)}.json")["metrics"]["files_read"] == 0:
            raise Failed("the agent's transcript was not read")

    return project.hook("SubagentStop", lambda n: stopped(name(n), transcript), f"agent {letter}", 4,
                        before=lambda n: (kept.put_back(), project.start_agent(name(n))), after=check)


def turn_end(project: Project, transcript: Path) -> Contestant:
    fields = {"transcript_path": str(transcript), "last_assistant_message": "Done.", "background_tasks": []}
    return project.hook("Stop", lambda n: fields, "the turn is over", 2, before=lambda n: project.make_silent())


def compaction(project: Project, transcript: Path) -> Contestant:
    fields = {"transcript_path": str(transcript), "trigger": "auto", "custom_instructions": None}

    def check(n: int) -> None:
        newest = max((project.state / "compaction").iterdir())
        backup = json.loads(newest.read_bytes())
        if f"task {n} of" not in backup["preserved"]["session"]["task"] or not backup["files_in_context"]:
            raise Failed(f"{newest} is not what was asked for")

    return project.hook("PreCompact", lambda n: fields, "backup in", after=check,
                        before=lambda n: project.send("UserPromptSubmit", prompt=f"task {n} of {transcript.name}"))


def session_end(project: Project, kept: Kept | None = None, transcript: Path | None = None) -> Contestant:
    """A session of its own each time. `kept` are metrics that shall not grow."""
    session = "e1d00000-0000-4000-8000-{:012}".format

    def prepare(n: int) -> None:
        if kept:
            kept.put_back()
        project.transcript = transcript or project.transcript
        project.open(session(n))

    def check(n: int) -> None:
        if project.document("session/metrics.json")["sessions"][-1]["session_id"] != session(n):
            raise Failed("the session is not in the metrics")

    return project.hook("SessionEnd", lambda n: {"session_id": session(n), "reason": "other"}, "closed", None, prepare, check)


def own_end(project: Project) -> Contestant:
    """The end of the aged session itself; then everything is put back for the next time."""
    live, archive = f"session/live/{MAIN}.json", project.state / "session/metrics-archive.jsonl"
    kept = Kept(project, live, "session/current.json", "session/metrics.json", "agents/active.json", "errors/classified.json")
    length = archive.stat().st_size
    moved, results = project.state / f"agents/results-archive/{MAIN}", project.state / "agents/results"

    def check(n: int) -> None:
        if (project.state / live).exists() or archive.stat().st_size == length:
            raise Failed("the session was not closed, or no metrics moved to the archive")
        moved.rename(results)
        kept.put_back()
        with open(archive, "r+b") as file:
            file.truncate(length)

    return project.hook("SessionEnd", lambda n: {"reason": "other"}, "closed", None, after=check)


def ephemeral(bench: Bench, fresh: Project, aged: Project) -> None:
    """What is not synced: rows 1 to 3, 5, 7 and 9."""
    fresh.start_agent("trial")
    limits = bench.limits(fresh, 0)
    fresh.stop_agent("trial")
    floor, nothing, begin = bench.floor(), no_change(fresh), agent_start(fresh)
    end, turn = agent_stop(fresh, bench.small, "b"), turn_end(fresh, bench.small)
    end_large, turn_large = agent_stop(fresh, bench.large, "c"), turn_end(fresh, bench.large)
    old_nothing, old_begin, old_turn = no_change(aged), agent_start(aged), turn_end(aged, bench.small)
    race([floor, *limits, nothing, begin, end, turn, end_large, turn_large, old_nothing, old_begin, old_turn], bench.starts)
    bench.counted |= {"PostToolUse that changes nothing": nothing, "SubagentStart": begin}

    add = partial(bench.add, floor=floor)
    bench.add("floor: an empty program", floor, floor)
    bench.add("PostToolUse that changes nothing", nothing, floor, Figure(1.4, "floor", nothing.us / floor.us))
    least = bench.add_limits(limits, "SubagentStart", floor)
    bench.add("SubagentStart", begin, floor, Figure(2.6, "floor", begin.us / floor.us),
              Figure(1.25, "faster limit", begin.us / least))
    add("SubagentStop", end)
    add("Stop of a plain turn", turn)
    for name, old, new in (("PostToolUse that changes nothing", old_nothing, nothing), ("SubagentStart", old_begin, begin),
                           ("Stop of a plain turn", old_turn, turn)):
        bench.add(f"aged: {name}", old, floor, Figure(1.25, "fresh", old.us / new.us))
    for name, large, small in (("SubagentStop", end_large, end), ("Stop", turn_large, turn)):
        bench.add(f"{name}, {bench.megabytes} MB transcript", large, floor, Figure(1.25, "10 KB", large.us / small.us))


def durable(bench: Bench, fresh: Project, aged: Project, quiet: Project, own: Project) -> None:
    """What is synced: rows 4, 6 and 7. Apart from the others, because a sync disturbs them."""
    fresh.send("PreCompact", trigger="auto")
    backup_limits = bench.limits(fresh, 1)
    fresh.open("one-before")
    fresh.send("SessionEnd", "one-before", reason="other")
    end_limits = [bench.limit(1, 700, 1), bench.limit(1, 700, 1, "exchange")]
    quiet.send("SessionEnd", reason="other")
    floor, backup = bench.floor(), compaction(fresh, bench.small)
    end = session_end(fresh, Kept(fresh, "session/metrics.json"))
    old_quiet, old_beside, old_own = session_end(quiet), session_end(aged), own_end(own)
    race([floor, *backup_limits, *end_limits, backup, end, old_quiet, old_beside, old_own], bench.starts)
    bench.counted |= {"SessionEnd": end}

    least = bench.add_limits(backup_limits, "PreCompact, one file synced", floor)
    bench.add("one durable document (PreCompact backup)", backup, floor, Figure(2.5, "floor", backup.us / floor.us),
              note=f"{backup.us / least:.2f} × its limit")
    bench.rows[-1].path += f", {backup.us / least:.2f} × faster limit"
    least = bench.add_limits(end_limits, "SessionEnd, one file synced", floor)
    bench.add(f"SessionEnd, {end.us / least:.2f} × faster limit", end, floor, Figure(4, "floor", end.us / floor.us))
    for name, old in (("nobody else", old_quiet), ("the session of 1,000 agents still open", old_beside),
                      ("of the session of 1,000 agents itself", old_own)):
        bench.add(f"aged: SessionEnd, {name}", old, floor, Figure(1.25, "fresh", old.us / end.us))


def transcripts(bench: Bench, fresh: Project) -> None:
    """Row 8, and what a SessionEnd costs that sums such a transcript up."""
    floor, backup = bench.floor(), compaction(fresh, bench.large)
    count = Contestant([shutil.which("wc"), "-l", str(bench.large)], environment(bench.room))
    ended = bench.project("long-session")
    end = session_end(ended, transcript=bench.large)
    race([floor, count, backup, end], max(10, bench.starts // 10))
    size = f"{bench.megabytes} MB transcript"
    bench.add(f"wc -l, {size}", count, floor)
    bench.add(f"PreCompact, {size}", backup, floor, Figure(2, "wc -l", backup.us / count.us))
    bench.add(f"SessionEnd, {size}", end, floor)


def others(bench: Bench, fresh: Project) -> None:
    """Row 10: the same single update as scripts."""
    room = bench.room / "others"
    room.mkdir()
    ledger = room / "active.json"
    empty = json.dumps({"agents": [], "total_spawned": 0, "total_completed": 0, "session_id": MAIN})

    def before(n: int) -> bytes:
        ledger.write_text(empty)
        return fresh.payload("SubagentStart", "a-script", agent_id=f"s{n}", agent_type=AGENT)

    def after(n: int) -> None:
        if [agent["id"] for agent in json.loads(ledger.read_text())["agents"]] != [f"s{n}"]:
            raise Failed("a script did not add its agent")

    # Not `python3` from the PATH: that may be a shim, which is slower than Python itself.
    have = {"sh": shutil.which("jq") and shutil.which("sh"), "py": sys.executable, "js": shutil.which("node")}
    scripts = {kind: Contestant([program, str(HERE / f"others/ledger.{kind}"), str(room)], environment(room), before, after)
               for kind, program in have.items() if program}
    floor, ours = bench.floor(), agent_start(bench.project("side-by-side"))
    race([floor, ours, *scripts.values()], 30)
    fastest = min(scripts.values(), key=lambda script: script.us)
    bench.add("SubagentStart, beside the scripts", ours, floor)
    for kind, name in (("sh", "shell script with jq"), ("py", "Python script"), ("js", "Node script")):
        if script := scripts.get(kind):
            figures = [Figure(20, "SubagentStart", script.us / ours.us, at_least=True)] if script is fastest else []
            bench.add(name, script, floor, *figures, note=f"{script.us / ours.us:.1f} × SubagentStart")
        else:
            bench.rows.append(Row(name, None, None))


def measure(bench: Bench) -> None:
    fresh, aged = bench.project("fresh"), bench.aged("aged")
    ephemeral(bench, fresh, aged)
    durable(bench, fresh, aged, bench.copy(aged, "aged-quiet"), bench.copy(aged, "aged-own"))
    transcripts(bench, fresh)
    others(bench, fresh)
    fresh.verify()
    aged.verify()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--starts", type=int, help="of each contestant (500)")
    parser.add_argument("--binary", type=Path, help="instead of a release build")
    parser.add_argument("--quick", action="store_true", help="40 starts, 20 MB transcripts: for a first look")
    parser.add_argument("--json", type=Path, help="write the rows to this file too")
    options = parser.parse_args()
    starts = options.starts or (40 if options.quick else 500)
    binary = options.binary or build_release()
    with tempfile.TemporaryDirectory(prefix="hookkeeper-bench-", dir="/tmp") as room:
        bench = Bench(Path(room), binary, starts, 20 if options.quick else 100)
        measure(bench)
        counts = {}
        if shutil.which("valgrind"):
            counts = {name: contestant.instructions(10**6) for name, contestant in bench.counted.items()}
    print(f"{starts} starts of each, medians.\n\n{table(bench.rows)}\n\nInstructions (callgrind):\n")
    print("\n".join(f"- {name}: {count:,}" for name, count in counts.items()) or "valgrind is not installed")
    if options.json:
        rows = [row.as_json() for row in bench.rows]
        options.json.write_text(json.dumps({"starts": starts, "rows": rows, "instructions": counts}, indent=2) + "\n")


if __name__ == "__main__":
    main()
