#!/usr/bin/env python3
"""Runs the real client against the books: python3 tests/client/run.py [--binary PATH] [--only NAME]... [--keep] [--tokens]

Exit status: 0 all passed, 1 something failed, 3 the client cannot be had (nothing was tested).
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parent.parent
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True

from audit import audit  # noqa: E402
from bench import Bench  # noqa: E402
from check import Check  # noqa: E402
from drive import NoClient, find_client, leave_the_network  # noqa: E402
from packaging import check_packaging  # noqa: E402
from scenarios import ALL  # noqa: E402
from tokens import Tokens  # noqa: E402
from wiring import by_default  # noqa: E402


def main():
    options = arguments()
    if not packaged():
        return 1
    try:
        client = find_client()
    except NoClient as why:
        print(f"nothing was tested: the client cannot be had: {why}")
        return 3
    binary = options.binary.resolve() if options.binary else build()
    if not os.access(binary, os.X_OK):
        sys.exit(f"no program at {binary}")
    leave_the_network(again(options, binary))
    names = [name for name in ALL if not options.only or name in options.only]
    tokens = Tokens()
    passed = sum([passes(name, client, binary, options.keep, tokens) for name in names])
    if options.tokens:
        print(tokens.table())
    print(f"{passed} passed, {len(names) - passed} failed")
    return 0 if passed == len(names) else 1


def arguments():
    parser = argparse.ArgumentParser(description="HookKeeper's tests with the real client")
    parser.add_argument("--binary", type=Path, help="the program to test (default: a release build)")
    parser.add_argument("--only", choices=list(ALL), metavar="NAME", action="append", default=[],
                        help=f"one of {', '.join(ALL)}; may be given again")
    parser.add_argument("--keep", action="store_true", help="keep the directories of passed scenarios too")
    parser.add_argument("--tokens", action="store_true", help="print what the model was given, event by event")
    return parser.parse_args()


def packaged():
    check = Check()
    check_packaging(check)
    for failure in check.failures:
        print(failure)
    return not check.failures


def again(options, binary):
    """The arguments that start this program once more, with what was found out so far."""
    only = [word for name in options.only for word in ("--only", name)]
    flags = [flag for flag, wanted in (("--keep", options.keep), ("--tokens", options.tokens)) if wanted]
    return [str(HERE / "run.py"), "--binary", str(binary), *only, *flags]


def build():
    command = ["cargo", "build", "--release", "--message-format=json"]
    done = subprocess.run(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit("the program does not build")
    messages = (json.loads(line) for line in done.stdout.splitlines())
    made = (message["executable"] for message in messages
            if message.get("executable") and "bin" in message["target"]["kind"])
    return Path(next(made))


def passes(name, client, binary, keep, tokens):
    began = time.monotonic()
    root = Path(tempfile.mkdtemp(prefix=f"hookkeeper-{name}-"))
    check = Check()
    bench = Bench(root, client, binary, getattr(ALL[name], "wiring", by_default))
    try:
        ALL[name](bench, check)
        audit(bench, check)
    except Exception:
        check.failures.append(traceback.format_exc().rstrip())
    finally:
        bench.close()
        tokens.add(bench)
    seconds = time.monotonic() - began
    print(f"{'FAILED' if check.failures else 'ok':6} {name} ({seconds:.1f} s)", flush=True)
    for failure in check.failures:
        print("  - " + failure.replace("\n", "\n    "))
    if keep or check.failures:
        print(f"    kept: {root}", flush=True)
    else:
        shutil.rmtree(root, ignore_errors=True)
    return not check.failures


if __name__ == "__main__":
    os.environ.pop("HOOKKEEPER_OFF", None)
    sys.exit(main())
