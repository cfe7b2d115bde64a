"""`install` and `uninstall`: kills, errors and others who write, while a settings file is changed."""

import dataclasses
import json
import os
import stat
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import calls
from support import needs_strace, test
from test_walk import ALL_ERRORS, CHANGES, ERRORS

# Odd on purpose: whoever parses and prints it changes it.
SETTINGS = b"""{
    "model":  "opus",
  "env": {"TOKEN": "t", "N": 1.50},
  "hooks": { "Stop": [{"hooks": [{"type": "command", "command": "other-tool stop"}]}],
    "PreToolUse": [ {"matcher": "Bash", "hooks": [{"type": "command", "command": "guard.sh"}]} ] },
  "counter": 0
}
"""
OTHERS = ("other-tool stop", "guard.sh")
AT_ONCE = 16


@dataclasses.dataclass
class Case:
    """A settings file before the first install."""

    name: str
    scope: str = "project"
    content: bytes | None = SETTINGS
    mode: int = 0o640
    linked: bool = False
    # Wired before, with the program in another place.
    rewired: bool = False

    def prepare(self, project):
        for name in ("bin", "old-bin", "tmp"):
            (project.base / name).mkdir()
        for name in ("bin", "old-bin"):
            (project.base / name / "hookkeeper").symlink_to(project.binary)
        (project.root / ".git").mkdir()
        project.env.update(PATH=str(project.base / "bin"), TMPDIR=str(project.base / "tmp"))
        file = self.file(project)
        if self.content is not None:
            file.parent.mkdir()
            real = project.home / "dotfiles.json" if self.linked else file
            real.write_bytes(self.content)
            real.chmod(self.mode)
            if self.linked:
                file.symlink_to(real)
        if self.rewired:
            run = project.run(b"", args=self.args("install"), env={"PATH": str(project.base / "old-bin")})
            assert run.code == 0, run

    def file(self, project):
        claude = project.home / ".claude" if self.scope == "user" else project.claude
        return claude / ("settings.local.json" if self.scope == "local" else "settings.json")

    def args(self, command):
        return (command, "--scope", self.scope)


CASES = [
    Case("others' hooks"),
    Case("no file", content=None, mode=0o644),
    Case("wired elsewhere before", scope="local", mode=0o600, rewired=True),
    Case("user's file", scope="user", mode=0o600),
    Case("a link", linked=True),
]


class Stage:
    """A project in the state before a command, with what the file is before and after."""

    def __init__(self, project, case, command):
        self.project, self.case, self.command = project, case, command
        case.prepare(project)
        self.file = case.file(project)
        self.first = self.now()[1] if not case.rewired else case.content
        if command == "uninstall":
            self.must("install")
        self.picture = calls.Picture(project.root, project.home)
        self.old = self.now()
        self.reset()
        self.calls = calls.of(project, case.args(command), until=until_replaced if command == "install" else None)
        self.new = self.now()
        self.wired = self.new if command == "install" else self.old
        # What is beside the file when all is well.
        self.beside = {path.name for path in self.file.parent.iterdir()} | {self.file.name}
        self.reset()

    def reset(self):
        self.picture.put_back()

    def now(self):
        """Mode and bytes of the file, or nothing."""
        if not os.path.lexists(self.file):
            return None, None
        return stat.S_IMODE(self.file.stat().st_mode), self.file.read_bytes()

    def run(self, command):
        return self.project.run(b"", args=self.case.args(command))

    def must(self, command):
        run = self.run(command)
        if run.code != 0:
            raise AssertionError(f"{self.case.name}: {command} gives {run}")

    def inject(self, name, fault):
        return calls.inject(self.project, self.case.args(self.command), name, fault)

    def afterwards(self, checks, what, commands):
        """The next commands work, give the right bytes, and leave nothing beside the file."""
        for command in commands:
            run = self.run(command)
            what = f"{what}: then {command}"
            checks.ran(run, what, codes=(0,))
            want = self.wired[1] if command == "install" else self.first
            have = self.now()
            checks.that(have[1] == want, f"{what}: the file is {have[1] and have[1][:200]!r}, not as it should be")
            mode = self.wired[0] if have[1] is not None else None
            checks.that(have[0] == mode, f"{what}: mode {have[0]}, expected {mode}")
            checks.that(self.file.is_symlink() == (self.case.linked and have[1] is not None), f"{what}: the link is gone")
            self.no_litter(checks, what)

    def no_litter(self, checks, what):
        for room in {self.file.parent, self.file.resolve().parent}:
            if room.exists():
                litter = sorted(path.name for path in room.iterdir() if path.name.endswith(".hookkeeper"))
                checks.that(not litter, f"{what}: {litter} is left beside the file")
        more = {path.name for path in self.file.parent.iterdir()} - self.beside if self.file.parent.exists() else set()
        more = {name for name in more if not name.endswith(".hookkeeper")}
        checks.that(not more, f"{what}: {sorted(more)} is left beside the file")

    def recorded(self):
        """Whether the record still says that the file is wired."""
        room = self.file.parent / "hookkeeper" if self.case.scope == "user" else self.project.state
        path = room / "settings/wiring.json"
        files = json.loads(path.read_bytes())["files"] if path.exists() else []
        return any(file["file"] == self.file.name for file in files)


def until_replaced(lines):
    """All before the self-test, which works in a directory of its own."""
    return next(n for n, line in enumerate(lines) if "hookkeeper-self-test-" in line)


def on_stages(suite, command, cases, choose, one):
    """Calls `one(stage, item)` for all items that `choose(stage)` gives; a project per thread."""
    count = os.cpu_count() or 2

    def share(case, number):
        stage = Stage(suite.project(), case, command)
        for item in choose(stage)[number::count]:
            stage.reset()
            one(stage, item)
        stage.project.remove()

    with ThreadPoolExecutor(count) as pool:
        list(pool.map(lambda pair: share(*pair), [(case, number) for case in cases for number in range(count)]))


def killed(suite, checks, command, then):
    needs_strace()

    def choose(stage):
        chosen = calls.thinned(suite, stage.calls, 4)
        if not suite.full and stage.case is not CASES[0]:
            chosen = [call for call in chosen if call[0] in calls.SETTLING]
        return [(call, chain) for n, call in enumerate(chosen) for chain in suite.pick([then[n % 2]], then)]

    def one(stage, item):
        (name, k, line), chain = item
        what = f"{stage.case.name}: {command} killed at {name} {k} ({line[:60]})"
        run = stage.inject(name, f"signal=KILL:when={k}")
        checks.that(run.code == -9, f"{what}: exit {run.code}, not killed")
        have = stage.now()
        checks.that(have in (stage.old, stage.new), f"{what}: the file is neither old nor new: {have}")
        stage.afterwards(checks, what, chain)
        if chain[-1] == "uninstall":
            checks.that(not stage.recorded(), f"{what}: then {chain[-1]}: the record still says that the file is wired")

    on_stages(suite, command, CASES, choose, one)


@test
def install_killed_at_every_system_call(suite, checks):
    killed(suite, checks, "install", [("install", "uninstall"), ("uninstall", "install", "uninstall")])


@test
def uninstall_killed_at_every_system_call(suite, checks):
    killed(suite, checks, "uninstall", [("uninstall",), ("install", "uninstall")])


def with_errors(suite, checks, command):
    needs_strace()

    def choose(stage):
        faults = [call for call in stage.calls if call[0] in calls.FILE_CALLS]
        if stage.case.scope != "project":
            # Where a program is found decides about what is written: only what comes later.
            first = next(n for n, call in enumerate(faults) if call[0] == "flock")
            faults = faults[first:]
        return [
            (call, error)
            for n, call in enumerate(faults if stage.case is CASES[0] or suite.full else calls.thinned(suite, faults, 6))
            for error in suite.pick(ERRORS if call[0] in CHANGES and stage.case is CASES[0] else [ERRORS[n % 3]], ALL_ERRORS)
        ]

    def one(stage, item):
        (name, k, line), error = item
        what = f"{stage.case.name}: {command}, {error} at {name} {k} ({line[:60]})"
        run = stage.inject(name, f"error={error}:when={k}")
        checks.ran(run, what)
        have = stage.now()
        if run.code == 0:
            checks.that(have[1] == stage.new[1], f"{what}: exit 0, but the file is {'the old one' if have == stage.old else 'torn'}")
            checks.that(have[0] == stage.new[0], f"{what}: exit 0, but the mode is {have[0] or 0:o}, not {stage.new[0] or 0:o}")
            return
        checks.that(have in (stage.old, stage.new), f"{what}: exit {run.code}, and the file is neither old nor new")
        told = command == "install" and "are wired" in run.err or "cannot write to stdout" in run.err
        checks.that(have == stage.old or told, f"{what}: exit {run.code}, but the file was changed: {run.err.strip()!r}")
        if name in calls.SETTLING or suite.full:
            stage.afterwards(checks, what, ["install", "uninstall"] if command == "install" else ["uninstall"])

    cases = CASES[:2] if not suite.full else CASES
    on_stages(suite, command, [*cases, *suite.pick([CASES[3]], [])], choose, one)


@test
def install_with_errors(suite, checks):
    with_errors(suite, checks, "install")


@test
def uninstall_with_errors(suite, checks):
    with_errors(suite, checks, "uninstall")


class Client:
    """Somebody who rewrites the settings file, atomically, and does not know our lock."""

    def __init__(self, file):
        self.file = file
        self.counter = 0
        self.wrong = []

    def write(self):
        settings = json.loads(self.file.read_bytes())
        self.counter += 1
        settings["counter"] = self.counter
        new = self.file.with_name("settings.json.client")
        new.write_text(json.dumps(settings, indent=2) + "\n")
        new.replace(self.file)

    def now_and_then(self, over):
        while not over.is_set():
            try:
                self.write()
            except (ValueError, OSError) as error:
                self.wrong.append(f"the client cannot read the file: {error}")
            time.sleep(0.03)


@test
def installs_at_once_with_a_client(suite, checks):
    """Sixteen installs and uninstalls, while the client writes: what it wrote last is there."""
    project = suite.project()
    case = CASES[0]
    case.prepare(project)
    file = case.file(project)
    client = Client(file)
    said = {"exit 0": 0, "changed": 0, "lock": 0}

    def worker(n):
        return n, project.run(b"", args=case.args("uninstall" if n % 2 else "install"))

    for number in range(suite.pick(8, 100)):
        over = threading.Event()
        thread = threading.Thread(target=client.now_and_then, args=(over,))
        thread.start()
        with ThreadPoolExecutor(AT_ONCE) as pool:
            runs = list(pool.map(worker, range(AT_ONCE)))
        over.set()
        thread.join()
        for n, run in runs:
            what = f"round {number}: {'uninstall' if n % 2 else 'install'}"
            checks.ran(run, what)
            known = [key for key, text in (("changed", "somebody else has just changed it"), ("lock", "holds the lock")) if text in run.err]
            checks.that(run.code == 0 or known, f"{what}: {run.err.strip()!r}")
            said["exit 0" if run.code == 0 else (known or ["changed"])[0]] += 1
        settled(checks, f"round {number}", file, client)
        # Quiet again: both work, and take nothing along.
        for command in ("install", "uninstall")[:: 1 if number % 2 else -1]:
            checks.ran(project.run(b"", args=case.args(command)), f"round {number}: {command} afterwards", codes=(0,))
            settled(checks, f"round {number}: {command} afterwards", file, client)
            wired = is_wired(file)
            checks.that(wired == (command == "install"), f"round {number}: {command} afterwards: wired is {wired}")
    for wrong in client.wrong:
        checks.that(False, wrong)
    checks.note(f"{client.counter} writes of the client; {said}")


@test
def client_writes_in_the_middle(suite, checks):
    """The client's write is held exactly between two steps of ours: never lost, always noticed."""
    needs_strace()
    for command in ("install", "uninstall"):
        for held in ("fdatasync", "fchmodat", "renameat2"):
            stage = Stage(suite.project(), CASES[0], command)
            at = [(name, k) for name, k, line in stage.calls if name == held]
            if held == "fdatasync":
                # The temporary file's: the backup's and the record's come before it or after it.
                order = [name for name, k, line in stage.calls if name in ("fdatasync", "fchmodat")]
                k = order.index("fchmodat")
            elif held == "renameat2":
                k = next(k for name, k, line in stage.calls if name == held and ".settings.json.hookkeeper" in line)
            else:
                k = at[0][1]
            what = f"{command}, the client writes at {held} {k}"
            client = Client(stage.file)
            temporary = stage.file.with_name(".settings.json.hookkeeper")
            with ThreadPoolExecutor(1) as pool:
                running = pool.submit(stage.inject, held, f"delay_enter=400000:when={k}")
                limit = time.monotonic() + 5
                while not (temporary.exists() and temporary.stat().st_size) and time.monotonic() < limit and not running.done():
                    time.sleep(0.002)
                time.sleep(0.1)
                client.write()
                run = running.result()
            checks.ran(run, what)
            settled(checks, what, stage.file, client)
            checks.that(run.code == 1 and "somebody else" in run.err or run.code == 0 and is_wired(stage.file) == (command == "install"),
                        f"{what}: exit {run.code}: {run.err.strip()!r}")
            checks.that(not temporary.exists(), f"{what}: {temporary.name} is left")
            stage.project.remove()


def is_wired(file):
    return b"exec hookkeeper hook;" in file.read_bytes()


def settled(checks, what, file, client):
    content = file.read_bytes()
    try:
        settings = json.loads(content)
    except ValueError as error:
        checks.that(False, f"{what}: the file is torn: {error}")
        return
    checks.that(settings.get("counter") == client.counter, f"{what}: the counter is {settings.get('counter')}, the client wrote {client.counter} last")
    for command in OTHERS:
        checks.that(content.count(command.encode()) == 1, f"{what}: {command} is there {content.count(command.encode())} times")
    checks.that(settings.get("env") == {"TOKEN": "t", "N": 1.5}, f"{what}: env is {settings.get('env')}")
