"""What every fault test uses: scratch projects, payloads, running the program, checks."""

import contextlib
import dataclasses
import functools
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

HERE = pathlib.Path(__file__).resolve().parent
REPOSITORY = HERE.parent.parent
PAYLOADS = HERE.parent / "payloads"
TRANSCRIPTS = HERE.parent / "transcripts"

LONGEST_TEXT = 600

# Saved trees carry this in place of the scratch directory's path.
BASE_MARK = b"@BASE@"

SESSION = "9f99b61b-a627-4cde-9856-7e07b84da7b2"
OTHER_SESSION = "64e8a570-3961-4cd0-a06f-f8e7fbfda3cb"
AGENT = "a849e6a7ce0708706"
SECOND_AGENT = "a0f70f058ee74f941"

# Generated from the program's table of events; a test of the library compares it.
EVENTS = tuple(json.loads((REPOSITORY / "settings.example.json").read_text())["hooks"])

# Where the first payload that was recorded for an event is not the one that the tests need.
CHOSEN = {
    "PostToolBatch": "refused-calls/08-PostToolBatch.json",  # With an edit that was refused.
    "PreToolUse": "implement-login/11-PreToolUse.json",  # Of an agent's call.
    "StopFailure": "stop-failure-rate-limit/03-StopFailure.json",
}


@functools.cache
def recorded(name):
    """The path of one payload of the real client for an event, below `tests/payloads`."""
    found = [path.relative_to(PAYLOADS).as_posix() for path in sorted(PAYLOADS.glob(f"*/*-{name}.json"))]
    found.sort(key=lambda path: not path.startswith("implement-login/"))
    if not found:
        raise SystemExit(f"no payload of {name} in tests/payloads: record one (hookkeeper record on), or make one up and say so in tests/recorded.rs")
    return CHOSEN.get(name) or found[0]


class Skip(Exception):
    """A test cannot be run here; the text says why."""


TESTS = []


def test(function):
    """Registers a test. It gets a `Suite` and a `Checks`."""
    TESTS.append(function)
    return function


@functools.cache
def documents(binary):
    run = subprocess.run([binary, "schema", "--json"], capture_output=True, check=True)
    return json.loads(run.stdout)


def is_at(row, path):
    """Whether a document of this row can be at a path below `.claude`."""
    patterns = (re.sub(r"\\{[^}]*\\}", "[^/]+", re.escape(place)) for place in [row["path"], *row["also_at"]])
    return any(re.fullmatch(pattern, path) for pattern in patterns)


@dataclasses.dataclass
class Suite:
    binary: str
    full: bool
    scratch: str

    def pick(self, reduced, full):
        return full if self.full else reduced

    def project(self):
        return Project(self.binary, self.scratch)

    def rows(self):
        """The program's own list of documents, their paths below `.claude`."""
        return documents(self.binary)

    def row_of(self, name):
        """The row of a document below `.claude/state`."""
        return min((row for row in self.rows() if is_at(row, f"state/{name}")), key=lambda row: row["path"].count("{"))

    def ensure_all_are_named(self, checks, names, without):
        """A list of documents of ours that has something to say about each lacks none of the
        program's; `without` says why for those that it lacks."""
        of_state = [row for row in self.rows() if row["path"].startswith("state/") and row["format"] == "json"]
        named = {self.row_of(name)["name"] for name in names}
        for row in of_state:
            listed = (row["name"] in named) != (row["name"] in without)
            checks.that(listed, f"{row['name']} ({row['path']}) is named neither here nor as left out, or both")
        unknown = without.keys() - {row["name"] for row in of_state}
        checks.that(not unknown, f"there are no documents {unknown}")

    def parallel(self, work, items):
        """Calls `work(project, item)` for all items; every thread has a project of its own."""
        count = os.cpu_count() or 2
        shares = [items[n::count] for n in range(count)]

        def share(own):
            project = self.project()
            for item in own:
                work(project, item)
            project.remove()

        with ThreadPoolExecutor(count) as pool:
            list(pool.map(share, shares))


class Checks:
    """Collects what is wrong instead of stopping at the first."""

    def __init__(self):
        self.made = 0
        self.wrong = []
        self.notes = []

    def that(self, holds, text):
        self.made += 1
        if not holds:
            self.wrong.append(text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}…")
        return bool(holds)

    def note(self, text):
        self.notes.append(text)

    def ran(self, run, what, codes=(0, 1)):
        """What holds for every run of a hook, whatever was done to it."""
        lines = run.err.count("\n")
        expected = 1 if run.code == 1 else 0
        said = f"{run.err[:300]!r}"
        if self.that("panicked" not in run.err, f"{what}: exit {run.code}, a panic: {said}"):
            self.that(run.code in codes, f"{what}: exit {run.code}, expected {codes}: {said}")
            self.that(lines == expected, f"{what}: exit {run.code} with {lines} lines on stderr: {said}")


@dataclasses.dataclass
class Run:
    code: int
    out: str
    err: str
    seconds: float

    def reply(self):
        return json.loads(self.out) if self.out.startswith("{") else {}


def event(name, **fields):
    """A recorded payload of this event, with some fields replaced (`None` takes one out)."""
    payload = json.loads((PAYLOADS / recorded(name)).read_text())
    payload["session_id"] = SESSION
    payload["transcript_path"] = f"/home/dev/.claude/projects/-home-dev-shop/{SESSION}.jsonl"
    payload.update(fields)
    return {key: value for key, value in payload.items() if value is not None}


class Project:
    """A project, a home and a place outside of both, in a scratch directory."""

    def __init__(self, binary, scratch):
        self.binary = binary
        self.base = pathlib.Path(tempfile.mkdtemp(dir=scratch))
        self.root, self.home, self.outside = (self.base / name for name in ("shop", "home", "outside"))
        for path in (self.root, self.home, self.outside):
            path.mkdir()
        self.claude = self.root / ".claude"
        self.state = self.claude / "state"
        self.env = {
            "PATH": os.environ.get("PATH", ""),
            "HOME": str(self.home),
            "CLAUDE_PROJECT_DIR": str(self.root),
            "CLAUDE_PID": str(os.getpid()),
        }

    def with_transcripts(self):
        shutil.copytree(TRANSCRIPTS / "implement-login", self.home / ".claude/projects/-home-dev-shop")
        return self

    def remove(self):
        shutil.rmtree(self.base, ignore_errors=True)

    def payload(self, payload):
        """The bytes for stdin; recorded paths become this project's."""
        if isinstance(payload, bytes):
            return payload
        text = json.dumps(payload, separators=(",", ":")) + "\n"
        return text.replace("/home/dev/.claude", f"{self.home}/.claude").replace("/home/dev/shop", str(self.root)).encode()

    def run(self, payload, args=("hook",), prefix=(), clock=None, env=None, cwd=None, timeout=30, **options):
        command = [*prefix, self.binary, *args]
        begun = time.monotonic()
        try:
            done = subprocess.run(
                command, input=self.payload(payload), capture_output=True, timeout=timeout,
                env=self._env(clock, env), cwd=cwd or self.root, **options,
            )
        except subprocess.TimeoutExpired:
            return Run(-1000, "", f"no end within {timeout} s", time.monotonic() - begun)
        spent = time.monotonic() - begun
        return Run(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"), spent)

    def play(self, payloads, clock=None):
        """Sends events that must succeed, ten seconds apart if the clock is fixed."""
        for payload in payloads:
            run = self.run(payload, clock=clock.tick() if clock else None)
            if run.code != 0:
                raise AssertionError(f"{payload['hook_event_name']}: exit {run.code}: {run.err}")
        return run

    def spawn(self, payload, errors):
        """Starts a run and does not wait. `errors` is a file descriptor for its stderr."""
        bytes_in = self.payload(payload)
        read_end, write_end = os.pipe()
        # Small payloads fit into the pipe, so nobody has to wait for a reader.
        os.write(write_end, bytes_in)
        os.close(write_end)
        null = os.open(os.devnull, os.O_WRONLY)
        actions = [(os.POSIX_SPAWN_DUP2, read_end, 0), (os.POSIX_SPAWN_DUP2, null, 1), (os.POSIX_SPAWN_DUP2, errors, 2)]
        try:
            return os.posix_spawn(self.binary, [self.binary, "hook"], self._env(None, None), file_actions=actions)
        finally:
            os.close(read_end)
            os.close(null)

    def save(self):
        """Everything under `.claude`, with a mark in place of the scratch path."""
        base = str(self.base).encode()
        tree = {}
        for path in sorted(self.claude.rglob("*")):
            name = str(path.relative_to(self.claude))
            tree[name] = None if path.is_dir() else path.read_bytes().replace(base, BASE_MARK)
        return tree

    def restore(self, tree):
        delete(self.claude)
        base = str(self.base).encode()
        if tree:
            self.claude.mkdir()
        for name, content in tree.items():
            path = self.claude / name
            if content is None:
                path.mkdir(mode=0o700, exist_ok=True)
            else:
                path.write_bytes(content.replace(BASE_MARK, base))
        self.mark()

    def mark(self):
        mark(self.state)

    def read(self, name):
        """A document under `.claude/state`, or `None`."""
        path = self.state / name
        return json.loads(path.read_bytes()) if path.exists() else None

    def live(self, session=SESSION):
        return self.read(f"session/live/{session}.json")

    def spooled(self):
        return sorted(path.name for path in (self.state / "spool").glob("[!.]*")) if self.state.exists() else []

    def log(self):
        """The journal's lines of hook runs, in order of time."""
        return [line for line in self.journal() if "us" in line]

    def journal(self, session="*"):
        """The lines of the journals that are whole, in order of time."""
        lines = []
        for path in sorted((self.state / "journal").glob(f"{session}.jsonl")):
            for line in path.read_bytes().splitlines():
                with contextlib.suppress(ValueError):
                    lines.append(json.loads(line))
        return sorted(lines, key=lambda line: line["time"])

    def _env(self, clock, more):
        env = dict(self.env)
        if clock:
            env["HOOKKEEPER_FIXED_TIME"] = clock
        return {**env, **(more or {})}


def mark(state):
    """What was put into a state directory is this machine's: the mark in the form that needs no birth times."""
    if state.is_dir():
        lock = state / ".lock"
        lock.write_bytes(b"")
        seen = lock.stat()
        seconds, nanos = divmod(seen.st_ctime_ns, 10**9)
        (state / ".gitignore").write_text(f"*\n# c {seen.st_ino} {seconds}.{nanos:09} since 0.0\n")


class Clock:
    """A fixed time that goes on by ten seconds a step."""

    def __init__(self, step=0):
        self.step = step

    def tick(self):
        self.step += 1
        hours, seconds = divmod(self.step * 10, 3600)
        return f"2026-01-29T{10 + hours:02}:{seconds // 60:02}:{seconds % 60:02}Z"


def delete(path):
    """Removes whatever is there; a link and not where it leads."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def needs_strace():
    if shutil.which("strace") is None:
        raise Skip("strace is not installed")
    tried = subprocess.run(["strace", "-f", "-o", os.devnull, "true"], capture_output=True)
    if tried.returncode != 0:
        raise Skip(f"strace cannot trace here: {tried.stderr.decode(errors='replace').strip()}")


def kill(pid, number=signal.SIGKILL):
    """Sends a signal to a process that this suite started."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass
