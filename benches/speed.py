#!/usr/bin/env python3
"""How long the hooks take, as ratios to an empty program in the same run. See README.md."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
import books  # noqa: E402
import executions  # noqa: E402
import history  # noqa: E402
import redaction  # noqa: E402
import transcript  # noqa: E402
from books import AGENT, MAIN, Kept, Project  # noqa: E402
from rig import (HERE, Contestant, Failed, Ratio, Row, build_shipped, compile_c,  # noqa: E402
                 compile_musl_floor, environment, race, table)


class Bench:
    """The programs, the transcripts and the projects of one run, below one directory."""

    def __init__(self, room: Path, binary: Path, starts: int, megabytes: int):
        self.room, self.starts, self.megabytes = room, starts, f"{megabytes} MB transcript"
        # A copy: the original may be built again while this runs.
        self.linked, self.binary = binary, Path(shutil.copy2(binary, room / "hookkeeper"))
        self.programs = {name: compile_c(name, room) for name in ("floor", "limit")}
        self.musl, self.why_no_musl = compile_musl_floor(room)
        self.small = transcript.write(room / "small.jsonl", 10_000)
        self.large = transcript.write(room / "large.jsonl", megabytes * 1_000_000)
        self.fresh, self.aged = self.project("fresh"), self.project("aged")
        books.age(self.aged, agents=1000, errors=500, sessions=10_000)

    def project(self, name: str) -> Project:
        return Project(self.room / name, self.binary, self.small)

    def floor(self) -> Contestant:
        return Contestant([self.programs["floor"]], environment(self.room))

    def musl_floor(self) -> Contestant | None:
        return Contestant([self.musl], environment(self.room)) if self.musl else None

    def limit(self, files: int, size: int, synced: int, way: str) -> Contestant:
        room = Path(tempfile.mkdtemp(prefix="limit-", dir=self.room))
        argv = [self.programs["limit"], room, files, size, synced, way]

        def check(n: int) -> None:
            sizes = [path.stat().st_size for path in room.iterdir() if path.name != ".lock"]
            if sizes != [size] * files:
                raise Failed(f"{argv} left files of {sizes} bytes")

        return Contestant([str(arg) for arg in argv], environment(room), after=check)

    def limits(self, what: str, project: Project, synced: int) -> list[Row]:
        """As many files as the last hook replaced, of their mean size, both ways to replace."""
        # What belongs to a branch is beside the state.
        beside = ("branches/",)
        paths = [(project.state.parent if name.startswith(beside) else project.state) / name
                 for name in project.log_line()["wrote"]]
        sizes = [path.stat().st_size for path in paths if path.is_file()]
        name = f"limit of {what}: {len(sizes)} files, {synced} synced"
        mean = sum(sizes) // len(sizes)
        return [Row(f"{name}, by {way}", self.limit(len(sizes), mean, synced, way))
                for way in ("rename", "exchange")]

    def ephemeral(self) -> list[Row]:
        """What is not synced."""
        fresh, aged, floor, musl = self.fresh, self.aged, self.floor(), self.musl_floor()
        nothing, begin = books.no_change(fresh), books.agent_start(fresh)
        # The branch's agents would grow to their cap in the first rounds: the limit has to write
        # as much as the hook.
        for n in range(books.BRANCH_AGENTS):
            begin.run(-1 - n)
        fresh.start_agent("trial")
        limits = self.limits("SubagentStart", fresh, 0)
        fresh.stop_agent("trial")
        end, end_large = (books.agent_stop(fresh, self.small, "b"),
                          books.agent_stop(fresh, self.large, "c"))
        turn, turn_large = books.turn_end(fresh, self.small), books.turn_end(fresh, self.large)
        old_turn = books.turn_end(aged, self.small)
        return race([
            Row("floor: an empty program", floor),
            Row("musl floor: an empty program on musl", musl),
            Row("no change: PostToolUse of a Read", nothing,
                [Ratio("floor", [floor], 1.4), *([Ratio("musl floor", [musl], 1.25)] if musl else [])]),
            *limits,
            Row("SubagentStart", begin, [Ratio("floor", [floor], 2.6), to(limits, 1.25)]),
            Row("SubagentStop", end),
            Row("Stop of a plain turn", turn),
            Row("aged: no change", books.no_change(aged), [Ratio("fresh", [nothing], 1.25)]),
            Row("aged: SubagentStart", books.agent_start(aged), [Ratio("fresh", [begin], 1.25)]),
            Row("aged: Stop of a plain turn", old_turn, [Ratio("fresh", [turn], 1.25)]),
            Row(f"SubagentStop, {self.megabytes}", end_large, [Ratio("10 KB", [end], 1.25)]),
            Row(f"Stop, {self.megabytes}", turn_large, [Ratio("10 KB", [turn], 1.25)]),
        ], self.starts)

    def mixed(self) -> list[Row]:
        """The quiet hook between others of its session, and the floor in the same place."""
        project = self.project("mixed")
        floor = books.between_agents(project, self.floor(), "f")
        quiet = books.between_agents(project, books.no_change(project), "q")
        linked = books.no_change(Project(project.root, self.linked, self.small))
        linked = books.between_agents(project, linked, "l")
        there = Ratio("floor there", [floor], 1.4)
        return race([
            Row("floor, between SubagentStart and SubagentStop", floor),
            Row("no change, between SubagentStart and SubagentStop", quiet,
                [there]),
            Row("no change there, the program as the linker left it", linked, [there]),
        ], self.starts)

    def durable(self) -> list[Row]:
        """What is synced: apart from the rest, which a sync would disturb."""
        floor, fresh, ending = self.floor(), self.fresh, self.project("ending")
        looping = self.project("looping")
        fresh.send("PreCompact", trigger="auto")
        backup_limits = self.limits("PreCompact", fresh, 2)
        ending.send("SessionEnd", reason="other")
        ending.open("second")
        ending.send("SessionEnd", session_id="second", reason="other")
        end_limits = self.limits("SessionEnd", ending, 1)
        for copy in ("aged-quiet", "aged-own"):
            shutil.copytree(self.aged.root, self.room / copy)
            books.mark_as_own(self.room / copy / ".claude/state")
        quiet, own = self.project("aged-quiet"), self.project("aged-own")
        quiet.send("SessionEnd", reason="other")
        end = books.session_end(ending, Kept(ending, "session/metrics.json"))
        fresh_end = Ratio("fresh", [end], 1.25)
        return race([
            Row("floor, between syncs", floor),
            *backup_limits,
            Row("two durable documents (PreCompact: backup, branch state)", books.compaction(fresh, self.small),
                [Ratio("floor", [floor], 2.5), to(backup_limits)]),
            Row("one durable document (Stop of a running loop)", books.loop_turn(looping, self.small),
                [Ratio("floor", [floor], 2.5), to(backup_limits)]),
            *end_limits,
            Row("SessionEnd", end, [Ratio("floor", [floor], 4), to(end_limits)]),
            Row("aged: SessionEnd", books.session_end(quiet), [fresh_end]),
            Row("aged: SessionEnd, 1,000 agents' session open", books.session_end(self.aged),
                [fresh_end]),
            Row("aged: SessionEnd of 1,000 agents' session", books.own_end(own), [fresh_end]),
        ], self.starts)

    def transcripts(self) -> list[Row]:
        """What reads a transcript as a whole."""
        ending = self.project("ending-large")
        ending.transcript = self.large
        backup, end = books.compaction(self.fresh, self.large), books.session_end(ending)
        count = Contestant([shutil.which("wc"), "-l", str(self.large)], environment(self.room))
        return race([
            Row("floor, between long runs", self.floor()),
            Row(f"wc -l, {self.megabytes}", count),
            Row(f"PreCompact, {self.megabytes}", backup, [Ratio("wc -l", [count], 2)]),
            Row(f"SessionEnd, {self.megabytes}", end),
        ], max(10, self.starts // 10))

    def executions(self) -> list[Row]:
        """Commands on executions of many tasks: ten times the tasks, at most twelve times the time."""
        few, many = (executions.Execution(self.room / f"tasks-{count}", self.binary, count)
                     for count in (1000, 10_000))
        rows = [Row("floor, between executions", self.floor())]
        for what in ("next", "status"):
            small, large = few.asked(what), many.asked(what)
            rows += [Row(f"execute {what}, 1,000 tasks", small),
                     Row(f"execute {what}, 10,000 tasks", large, [Ratio("1,000", [small], 12)])]
        return race(rows, max(20, self.starts // 5))

    def histories(self) -> list[Row]:
        """Looking back: ten times the sessions, at most twelve times the time; and 200 MB of history
        against grep on the same files."""
        few, many, large = (history.History(self.room / f"history-{name}", self.binary, self.small, count, size)
                            for name, count, size in (("few", 1000, 2_000_000), ("many", 10_000, 20_000_000),
                                                      ("large", 1000, 200_000_000)))
        rows = [Row("floor, between looks back", self.floor())]
        for what, ask in (("search", history.History.search), ("sessions --all", history.History.listed),
                          *((f"cost --by {by}", lambda of, by=by: of.cost(by)) for by in ("session", "agent"))):
            small, big = ask(few), ask(many)
            rows += [Row(f"{what}, 1,000 sessions", small),
                     Row(f"{what}, 10,000 sessions", big, [Ratio("1,000", [small], 12)])]
        grep = large.grep()
        rows += [Row("grep -r -i, 200 MB of history", grep),
                 Row("search, 200 MB of history", large.search(), [Ratio("grep", [grep], 4)]),
                 Row("search of a word in every fifth line, 200 MB", large.common())]
        return race(rows, max(10, self.starts // 20))

    def redaction(self) -> list[Row]:
        """What repeats itself is redacted at no more than three times the cost of other text."""
        project = redaction.recording(self.project("recording"))
        usual = redaction.recorded(project, redaction.ordinary())
        return race([
            Row("floor, between recordings", self.floor()),
            Row("recorded: 1 MB of code, logs and prose", usual),
            *(Row(f"recorded: 1 MB of `{part.strip()}`",
                  redaction.recorded(project, redaction.repeated(part)), [Ratio("ordinary", [usual], 3)])
              for part in redaction.REPEATED),
        ], max(10, self.starts // 20))

    def scripts(self) -> list[Row]:
        """The same single update by others, in fewer starts: they are slow."""
        room, ours = self.room / "scripts", books.agent_start(self.project("beside-scripts"))
        room.mkdir()
        ledger = room / "active.json"

        def before(n: int) -> bytes:
            ledger.write_text(json.dumps({"agents": [], "total_spawned": 0, "session_id": MAIN}))
            return self.fresh.payload("SubagentStart", agent_id=f"s{n}", agent_type=AGENT)

        def after(n: int) -> None:
            if [agent["id"] for agent in json.loads(ledger.read_text())["agents"]] != [f"s{n}"]:
                raise Failed("a script did not add its agent")

        def row(name: str, program: str | None, file: str) -> Row:
            argv = [program, str(HERE / "others" / file), str(room)]
            script = Contestant(argv, environment(room), before, after) if program else None
            return Row(name, script, [Ratio("SubagentStart", [ours], at_least=20)])

        return race([
            Row("floor, between scripts", self.floor()),
            Row("SubagentStart, between scripts", ours),
            row("shell script with jq", shutil.which("jq") and shutil.which("sh"), "ledger.sh"),
            # Not `python3` from the PATH: a shim there is slower than Python itself.
            row("Python script", sys.executable, "ledger.py"),
            row("Node script", shutil.which("node"), "ledger.js"),
        ], min(30, self.starts))

    def counts(self) -> dict[str, dict[str, int]]:
        """What hardly depends on the machine: page faults, and instructions if there is valgrind."""
        ending = self.project("ending")
        hooks = {"no change": books.no_change(self.fresh),
                 "SubagentStart": books.agent_start(self.fresh),
                 "SessionEnd": books.session_end(ending, Kept(ending, "session/metrics.json"))}
        floors = {"floor": self.floor(), "musl floor": self.musl_floor()}
        counts = {"Page faults": {name: floor.faults(0) for name, floor in floors.items() if floor}}
        counts["Page faults"] |= {name: hook.faults(10**6) for name, hook in hooks.items()}
        if shutil.which("valgrind"):
            counts["Instructions"] = {name: hook.instructions(10**6 + 1) for name, hook in hooks.items()}
        return counts


def to(limits: list[Row], at_most: float | None = None) -> Ratio:
    return Ratio("faster limit", [row.contestant for row in limits], at_most)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--starts", type=int, help="of each contestant (500)")
    parser.add_argument("--binary", type=Path, help="instead of building what is shipped")
    parser.add_argument("--quick", action="store_true", help="40 starts, 20 MB: for a first look")
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    parser.add_argument("--room", default="/tmp", help="where the projects are made (/tmp)")
    options = parser.parse_args()
    starts = options.starts or (40 if options.quick else 500)
    binary = options.binary or build_shipped()
    with tempfile.TemporaryDirectory(prefix="hk-speed-", dir=options.room) as room:
        bench = Bench(Path(room), binary, starts, 20 if options.quick else 100)
        rows = [*bench.ephemeral(), *bench.mixed(), *bench.durable(), *bench.transcripts()]
        bench.fresh.verify()
        bench.aged.verify()
        # Within a minute of the last event: then a session is marked as seen, which is a write.
        counts = bench.counts()
        rows += bench.executions()
        rows += bench.histories()
        rows += bench.redaction()
        rows += bench.scripts()
    load = os.getloadavg()[0]
    print(f"{starts} starts of each, medians; load {load:.1f}.\n\n{table(rows)}\n")
    if bench.why_no_musl:
        print(bench.why_no_musl)
    for what, counted in counts.items():
        print(f"{what}:", ", ".join(f"{name} {count:,}" for name, count in counted.items()))
    if options.json:
        report = {"starts": starts, "load": load, "counts": counts,
                  "rows": [row.as_json() for row in rows]}
        options.json.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    try:
        main()
    except Failed as failed:
        sys.exit(f"speed.py: {failed}")
