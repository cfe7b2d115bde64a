#!/usr/bin/env python3
"""The ways in by npm, with the real npm and a registry on loopback: python3 tests/npm/run.py [--binary PATH] [--only NAME]...

Exit status: 0 all passed, 1 something failed or could not be tried.
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

import launching  # noqa: E402
import packages  # noqa: E402
import plugin  # noqa: E402
from bench import Bench, Failure  # noqa: E402
from registry import Registry  # noqa: E402

ALL = {test.__name__: test for module in (packages, launching, plugin) for test in module.TESTS}


def main():
    options = arguments()
    for program in ("npm", "node", "git"):
        if not shutil.which(program):
            print(f"FAILED: {program} is not installed, so nothing was tested")
            return 1
    root = Path(tempfile.mkdtemp(prefix="hookkeeper-npm-"))
    root.chmod(0o755)  # Another user looks in here too.
    try:
        packed = pack(root, options.binary.resolve() if options.binary else build())
        names = [name for name in ALL if not options.only or name in options.only]
        passed = sum([passes(name, root, packed) for name in names])
    finally:
        shutil.rmtree(root, ignore_errors=True)
    print(f"{passed} passed, {len(names) - passed} failed")
    return 0 if passed == len(names) else 1


def arguments():
    parser = argparse.ArgumentParser(description="HookKeeper's npm packages")
    parser.add_argument("--binary", type=Path, help="the program to pack (default: a debug build)")
    parser.add_argument("--only", choices=list(ALL), metavar="NAME", action="append", default=[],
                        help=f"one of {', '.join(ALL)}; may be given again")
    return parser.parse_args()


def build():
    done = subprocess.run(["cargo", "build", "--locked", "--message-format=json"], cwd=REPOSITORY,
                          stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit("the program does not build")
    messages = (json.loads(line) for line in done.stdout.splitlines())
    return Path(next(message["executable"] for message in messages if message.get("executable")))


def pack(root, binary):
    """The packages of this machine's program, and of one that claims to be for another processor."""
    program = root / "hookkeeper"
    shutil.copyfile(binary, program)
    program.chmod(0o755)
    if shutil.which("strip"):
        subprocess.run(["strip", str(program)], check=True)
    head = bytearray(program.read_bytes())
    if head[:4] != b"\x7fELF" or head[18] != 62:
        sys.exit("these tests are made for Linux on x86_64")
    head[18] = 183
    other = root / "hookkeeper-arm64"
    other.write_bytes(head)
    subprocess.run([str(REPOSITORY / "release/npm"), "pack", "--out", str(root / "packed"),
                    "--program", f"linux-x64={program}", "--program", f"linux-arm64={other}"],
                   check=True, stdout=subprocess.DEVNULL)
    return root / "packed"


def passes(name, root, packed):
    began = time.monotonic()
    registry = Registry(packed)
    failure = None
    try:
        ALL[name](Bench(root / name, registry))
    except Failure as wrong:
        failure = str(wrong)
    except Exception:
        failure = traceback.format_exc().rstrip()
    finally:
        registry.close()
    print(f"{'FAILED' if failure else 'ok':6} {name} ({time.monotonic() - began:.1f} s)", flush=True)
    if failure:
        print("  - " + failure.replace("\n", "\n    "), flush=True)
    return failure is None


if __name__ == "__main__":
    for variable in ("HOOKKEEPER_OFF", "CLAUDE_PID", "CLAUDECODE", "NODE_OPTIONS", "NODE_PATH"):
        os.environ.pop(variable, None)
    sys.exit(main())
