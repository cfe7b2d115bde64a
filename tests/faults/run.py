#!/usr/bin/env python3
"""Runs the fault suite: `python3 tests/faults/run.py [--binary PATH] [--only NAME] [--full]`.

Every test is a function in a `test_*.py` beside this file. Reduced counts by default; `--full`
runs the figures that are promised. A test that cannot be run here is skipped with its reason.
Scratch projects are kept in memory where that can be had: order and atomicity are tested, not the
disk. `--scratch DIR` puts them elsewhere.
"""

import argparse
import collections
import importlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import traceback

sys.dont_write_bytecode = True

import support

SHOWN = 25
MEMORY = "/dev/shm"


def main():
    parser = argparse.ArgumentParser(description="Fault tests of the hook path.")
    parser.add_argument("--binary", help="the program to test; built from the repository if not given")
    parser.add_argument("--only", metavar="NAME", help="only tests whose name contains this")
    parser.add_argument("--full", action="store_true", help="full counts instead of reduced ones")
    parser.add_argument("--scratch", metavar="DIR", default=MEMORY if os.access(MEMORY, os.W_OK) else None)
    options = parser.parse_args()
    for path in sorted(pathlib.Path(__file__).parent.glob("test_*.py")):
        importlib.import_module(path.stem)
    chosen = [test for test in support.TESTS if not options.only or options.only in test.__name__]
    if not chosen:
        parser.error(f"no test is named like {options.only}")
    binary = str(pathlib.Path(options.binary).resolve()) if options.binary else build()
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for test in chosen:
        counts[run(test, binary, options)] += 1
    skipped = f", {counts['skipped']} skipped" if counts["skipped"] else ""
    print(f"{counts['passed']} passed, {counts['failed']} failed{skipped}")
    return 1 if counts["failed"] else 0


def run(test, binary, options):
    if options.scratch:
        pathlib.Path(options.scratch).mkdir(parents=True, exist_ok=True)
    scratch = tempfile.mkdtemp(prefix="hookkeeper-faults-", dir=options.scratch)
    checks = support.Checks()
    begun = time.monotonic()
    try:
        test(support.Suite(binary, options.full, scratch), checks)
        result = "failed" if checks.wrong else "passed"
    except support.Skip as reason:
        result = "skipped"
        checks.note(f"skipped: {reason}")
    except Exception:
        result = "failed"
        checks.wrong.append(traceback.format_exc())
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    print(f"{result:7}  {test.__name__}  ({checks.made} checks, {time.monotonic() - begun:.1f} s)", flush=True)
    for line in checks.notes + grouped(checks.wrong):
        print(f"           {line}")
    return result


def grouped(wrong):
    """One line for failures that differ only in numbers."""
    groups = collections.defaultdict(list)
    for text in wrong:
        groups[re.sub(r"\d+", "0", text)].append(text)
    lines = [f"{texts[0]}{f' (and {len(texts) - 1} like it)' if texts[1:] else ''}" for texts in groups.values()]
    return lines[:SHOWN] + ([f"and {len(lines) - SHOWN} kinds more"] if len(lines) > SHOWN else [])


def build():
    command = ["cargo", "build", "--release", "--message-format=json"]
    done = subprocess.run(command, cwd=support.REPOSITORY, stdout=subprocess.PIPE, check=True)
    messages = [json.loads(line) for line in done.stdout.splitlines() if line.startswith(b"{")]
    built = [message["executable"] for message in messages if message.get("executable")]
    if not built:
        sys.exit("cargo built no program")
    return built[-1]


if __name__ == "__main__":
    sys.exit(main())
