#!/usr/bin/env python3
"""Plays recorded sessions with a program for any system, and compares what it makes of them with
what the Linux program makes of the same payloads.

    python3 tests/systems/run.py --binary hookkeeper.exe --runner wine --reference hookkeeper

Clock and ids are fixed; paths are brought to one form. Everything else has to be the same: exit
codes, replies, names and contents of all documents, and what `status --json` and `validate` say.
The marks in `.lock` and `.gitignore` are each file system's own, and the checksum of a backup is one
of its paths too. A last scenario starts eight agents at once. It prints `N passed, N failed` and skips
nothing: a runner that is missing is an error.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
PAYLOADS = HERE.parent / "payloads"
RECORDED_PROJECT = "/home/dev/shop"
RECORDED_HOME = "/home/dev"
OWN_MARKS = {"state/.lock", "state/.gitignore"}
LONGEST = 120
AT_ONCE = "eight-agents-at-once"


class System:
    """A program, and how it is started and how it names files."""

    def __init__(self, binary, runner, wine_prefix=None):
        self.binary = str(pathlib.Path(binary).resolve())
        self.runner = [runner] if runner else []
        self.is_windows = runner is not None and pathlib.Path(runner).name.startswith("wine")
        self.environment = {}
        if runner and not shutil.which(runner):
            sys.exit(f"{runner}: there is no such program")
        if self.is_windows:
            self.environment = {"WINEPREFIX": wine_prefix, "WINEDEBUG": "-all"}
            prepare_wine(wine_prefix)

    def path(self, path):
        return "Z:" + str(path).replace("/", "\\") if self.is_windows else str(path)

    def run(self, args, project, text="", moment=0):
        home = project.parent / "home"
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "CLAUDE_CONFIG_DIR": self.path(home / ".claude"),
            "CLAUDE_PID": "1",
            "HOOKKEEPER_FIXED_TIME": f"2026-01-29T10:{moment // 60:02}:{moment % 60:02}Z",
            **self.environment,
        }
        # Files, not pipes: Wine leaves programs of its own behind, which would keep a pipe open.
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as error:
            run = subprocess.run(
                [*self.runner, self.binary, *args], input=text.encode(), stdout=out, stderr=error,
                cwd=project, env=environment, timeout=LONGEST, check=False)
            out.seek(0), error.seek(0)
            run.stdout, run.stderr = out.read(), error.read()
        return run


def prepare_wine(prefix):
    """A prefix with the one library that Wine 8 lacks."""
    environment = {**os.environ, "WINEPREFIX": prefix, "WINEDEBUG": "-all"}
    pathlib.Path(prefix).mkdir(parents=True, exist_ok=True)
    # It ends by itself, a minute after the last program.
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.run(["wineserver", "-p60"], env=environment, check=False, **quiet)
    library = pathlib.Path(prefix) / "drive_c/windows/system32/bcryptprimitives.dll"
    if library.exists():
        return
    subprocess.run(["wine", "cmd", "/c", "ver"], env=environment, check=False, **quiet)
    subprocess.run(
        ["x86_64-w64-mingw32-gcc", "-shared", "-O1", "-o", str(library),
         str(HERE / "bcryptprimitives.c"), "-ladvapi32"], check=True)


def make_project(folder):
    """A project with one commit, which is the same wherever it is made."""
    project = folder / "shop"
    project.mkdir(parents=True)
    (folder / "home/.claude").mkdir(parents=True)
    person = {"GIT_AUTHOR_NAME": "dev", "GIT_AUTHOR_EMAIL": "dev@example.org",
              "GIT_COMMITTER_NAME": "dev", "GIT_COMMITTER_EMAIL": "dev@example.org",
              "GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z",
              "HOME": str(folder / "home"), "PATH": os.environ["PATH"]}
    for args in (["init", "-q", "-b", "main"], ["commit", "-q", "--allow-empty", "-m", "begin"]):
        subprocess.run(["git", *args], cwd=project, env=person, check=True)
    return project


def here(value, system, project):
    """A payload as the client would have sent it from this project."""
    if isinstance(value, dict):
        return {key: here(inner, system, project) for key, inner in value.items()}
    if isinstance(value, list):
        return [here(inner, system, project) for inner in value]
    if not isinstance(value, str) or RECORDED_HOME not in value:
        return value
    is_path = value.startswith(RECORDED_HOME) and "\n" not in value and " " not in value
    moved = value.replace(RECORDED_PROJECT, str(project))
    moved = moved.replace(RECORDED_HOME, str(project.parent / "home"))
    return system.path(moved) if is_path else moved


def plain(value, system, project):
    """What was written, with paths in one form."""
    if isinstance(value, dict):
        return {plain(key, system, project): plain(inner, system, project)
                for key, inner in value.items()}
    if isinstance(value, list):
        return [plain(inner, system, project) for inner in value]
    if not isinstance(value, str):
        return value
    folder = project.parent
    if system.path(folder) in value or str(folder) in value:
        if system.is_windows:
            value = value.replace(system.path(folder), str(folder)).replace("\\", "/")
        return value.replace(str(folder), "<here>")
    return value


def parsed(text, system, project):
    try:
        return plain(json.loads(text), system, project)
    except ValueError:
        return plain(text, system, project)


def documents(system, project):
    base = project / ".claude"
    found = {}
    for path in sorted(base.rglob("*")):
        name = path.relative_to(base).as_posix()
        if not path.is_file() or name in OWN_MARKS:
            continue
        text = path.read_bytes().decode()
        lines = text.splitlines() if name.endswith((".jsonl", ".md")) else [text]
        found[name] = [parsed(line, system, project) for line in lines]
        if name.startswith("state/compaction/"):
            found[name] = [{**backup, "checksum": len(backup["checksum"])} for backup in found[name]]
    return found


def play(system, scenario, folder):
    """All that there is to compare, by name."""
    project = make_project(folder)
    seen = {}
    for moment, file in enumerate(sorted((PAYLOADS / scenario).glob("*.json"))):
        payload = here(json.loads(file.read_text()), system, project)
        run = system.run(["hook"], project, json.dumps(payload) + "\n", moment)
        seen[f"{file.name}: exit code"] = run.returncode
        seen[f"{file.name}: reply"] = parsed(run.stdout.decode().strip(), system, project)
        seen[f"{file.name}: stderr"] = plain(run.stderr.decode().strip(), system, project)
    for name, content in documents(system, project).items():
        seen[name] = content
    for args in (["status", "--json"], ["validate"]):
        run = system.run(args, project, moment=600)
        seen[f"{' '.join(args)}: exit code"] = run.returncode
        seen[" ".join(args)] = parsed(run.stdout.decode().replace("\r\n", "\n").strip(), system, project)
    return seen


def play_at_once(system, folder):
    """Eight agents that start in the same moment: whoever has the lock, none is lost."""
    project = make_project(folder)
    names = ("01-SessionStart.json", "02-UserPromptSubmit.json", "04-SubagentStart.json")
    session, prompt, agent = (
        json.loads((PAYLOADS / "nested-agents" / name).read_text()) for name in names)
    system.run(["hook"], project, json.dumps(here(session, system, project)) + "\n")
    payloads = [here({**agent, "agent_id": f"agent{number}"}, system, project) for number in range(8)]
    with concurrent.futures.ThreadPoolExecutor(len(payloads)) as pool:
        runs = list(pool.map(
            lambda payload: system.run(["hook"], project, json.dumps(payload) + "\n", 1), payloads))
    # What had to wait for the lock is played by the next events, each for as long as it may take.
    spool = project / ".claude/state/spool"
    for moment in range(2, 30):
        if not spool.exists() or not any(spool.iterdir()):
            break
        system.run(["hook"], project, json.dumps(here(prompt, system, project)) + "\n", moment)
    active = json.loads((project / ".claude/state/agents/active.json").read_text())
    return {"exit codes": [run.returncode for run in runs],
            "stderr": [run.stderr.decode() for run in runs],
            "agents": sorted(running["id"] if "id" in running else running["agent_id"]
                             for running in active["agents"]),
            "spawned": active["total_spawned"]}


def differences(one, other):
    """Where two results differ, as deep inside as that can be said."""
    for name in sorted(one.keys() | other.keys()):
        for where, ours, theirs in differ(name, one.get(name), other.get(name)):
            yield f"  {where}\n    reference: {shown(ours)}\n    program:   {shown(theirs)}"


def differ(where, one, other):
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted(one.keys() | other.keys()):
            yield from differ(f"{where}: {key}", one.get(key), other.get(key))
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for number, (ours, theirs) in enumerate(zip(one, other)):
            yield from differ(f"{where}[{number}]", ours, theirs)
    elif one != other:
        yield where, one, other


def shown(value):
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) < 1500 else text[:1500] + " ..."


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--binary", required=True, help="the program that is tried")
    parser.add_argument("--runner", help="what starts it here: wine, qemu-aarch64")
    parser.add_argument("--reference", required=True, help="the Linux program")
    parser.add_argument("--only", action="append", help="a scenario of tests/payloads; all otherwise")
    parser.add_argument("--wine-prefix", default=os.path.join(tempfile.gettempdir(), "hookkeeper-wine"))
    options = parser.parse_args()
    tried = System(options.binary, options.runner, options.wine_prefix)
    reference = System(options.reference, None)
    recorded = sorted(path.name for path in PAYLOADS.iterdir() if path.is_dir())
    scenarios = options.only or [*recorded, AT_ONCE]
    passed = failed = 0
    for scenario in scenarios:
        with tempfile.TemporaryDirectory(prefix="hookkeeper-systems-") as folder:
            folder = pathlib.Path(folder)
            seen = [play_at_once(system, place) if scenario == AT_ONCE else play(system, scenario, place)
                    for system, place in ((reference, folder / "reference"), (tried, folder / "program"))]
            found = list(differences(*seen))
        print(f"{'FAILED' if found else 'ok'}  {scenario}", flush=True)
        print("".join(line + "\n" for line in found), end="", flush=True)
        passed, failed = passed + (not found), failed + bool(found)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
