#!/usr/bin/env python3
"""Several builds of the program beside each other, in one run: size, start-up, page faults. See README.md."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
import books  # noqa: E402
import transcript  # noqa: E402
from books import Project  # noqa: E402
from rig import Contestant, Failed, Row, compile_c, compile_musl_floor, environment, race  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("builds", nargs="+", metavar="NAME=PATH", help="a build and what it is called")
    parser.add_argument("--starts", type=int, default=300, help="of each (300)")
    options = parser.parse_args()
    builds = [build.split("=", 1) for build in options.builds]
    with tempfile.TemporaryDirectory(prefix="hk-builds-") as room:
        show(Path(room), {name: Path(path).resolve(strict=True) for name, path in builds}, options.starts)


def show(room: Path, builds: dict[str, Path], starts: int) -> None:
    small = transcript.write(room / "small.jsonl", 10_000)
    floor = Contestant([compile_c("floor", room)], environment(room))
    musl, why_not = compile_musl_floor(room)
    musl_floor = Contestant([musl], environment(room)) if musl else None
    quiet, begin = {}, {}
    for number, (name, path) in enumerate(builds.items()):
        # Copies: a program lies in the page cache as it was written, and linkers write in small pieces.
        copy = Path(shutil.copy2(path, room / f"hookkeeper-{number}"))
        project = Project(room / f"project-{number}", copy, small)
        quiet[name], begin[name] = books.no_change(project), books.agent_start(project)
    floors = [Row("floor", floor), *([Row("musl floor", musl_floor)] if musl_floor else [])]
    race([*floors, *(Row(name, hook) for hooks in (quiet, begin) for name, hook in hooks.items())], starts)
    print(f"{starts} starts of each, medians. floor {floor.us:.0f} µs, {floor.faults(0)} page faults;", end=" ")
    print(f"musl floor {musl_floor.us:.0f} µs, {musl_floor.faults(0)} page faults\n" if musl_floor else f"{why_not}\n")
    print("| build | bytes | no change, × floor | × musl floor | page faults | SubagentStart, × floor |")
    print("|---|---:|---:|---:|---:|---:|")
    for name, path in builds.items():
        beside = f"{quiet[name].us / musl_floor.us:.2f}" if musl_floor else ""
        print(f"| {name} | {path.stat().st_size:,} | {quiet[name].us / floor.us:.2f} | {beside} "
              f"| {quiet[name].faults(10**6)} | {begin[name].us / floor.us:.2f} |")


if __name__ == "__main__":
    try:
        main()
    except Failed as failed:
        sys.exit(f"builds.py: {failed}")
