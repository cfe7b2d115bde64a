#!/usr/bin/env python3
"""Several builds of the program beside each other, in one run: size, start-up, page faults; or, with --rebuilds, what a
change of one line costs whoever works on it. See README.md."""

from __future__ import annotations

import argparse
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
import books  # noqa: E402
import transcript  # noqa: E402
from books import Project  # noqa: E402
from rig import HERE, Contestant, Failed, Row, compile_c, compile_musl_floor, environment, race  # noqa: E402

# A hook in the middle of everything: crates below it stay as they are.
CHANGED = HERE.parent / "src/hooks/stop.rs"
REBUILDS = {
    "check of its crate": ["check", "-p", "hookkeeper-hooks"],
    "check of everything": ["check"],
    "dev binary": ["build", "--bin", "hookkeeper"],
    "its crate's tests": ["test", "-p", "hookkeeper-hooks", "--lib", "stop"],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("builds", nargs="*", metavar="NAME=PATH", help="a build and what it is called")
    parser.add_argument("--starts", type=int, default=300, help="of each (300)")
    parser.add_argument("--rebuilds", action="store_true", help="CPU seconds after a change of one line in a hook")
    options = parser.parse_args()
    if options.rebuilds:
        return show_rebuilds()
    if not options.builds:
        parser.error("which builds? NAME=PATH, or --rebuilds")
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


def show_rebuilds(rounds: int = 5) -> None:
    """CPU seconds of cargo and all that it starts: they hardly depend on what else the machine does."""
    before = CHANGED.read_text()
    seconds: dict[str, list[float]] = {name: [] for name in REBUILDS}
    try:
        for number in range(rounds + 1):
            for name, command in REBUILDS.items():
                # The first round builds what is not there yet.
                spent = rebuild(before, f"{number}{len(seconds[name])}{list(REBUILDS).index(name)}", command)
                if number:
                    seconds[name].append(spent)
    finally:
        CHANGED.write_text(before)
    print(f"CPU seconds after a change of one line in {CHANGED.relative_to(HERE.parent)}, median of {rounds}\n")
    print("| what | CPU s |\n|---|---:|")
    for name, all_of_it in seconds.items():
        print(f"| {name}: `cargo {' '.join(REBUILDS[name])}` | {sorted(all_of_it)[rounds // 2]:.1f} |")


def rebuild(before: str, mark: str, command: list[str]) -> float:
    CHANGED.write_text(f"{before}\npub const CHANGE: &str = \"{mark}\";\n")
    begun = resource.getrusage(resource.RUSAGE_CHILDREN)
    ran = subprocess.run(["cargo", *command, "--quiet"], cwd=HERE.parent, capture_output=True, text=True)
    if ran.returncode != 0:
        raise Failed(f"cargo {' '.join(command)}: {ran.stderr.strip()}")
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime - begun.ru_utime - begun.ru_stime


if __name__ == "__main__":
    try:
        main()
    except Failed as failed:
        sys.exit(f"builds.py: {failed}")
