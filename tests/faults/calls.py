"""System calls of one command: a list of them from a clean run, and a fault at any of them.

Only the process itself is traced, not what it starts."""

import collections
import re
import shutil
import stat

from support import delete, mark

from test_walk import CORE, IO, START_UP

# What the commands for people use beyond what hooks do.
FILE_CALLS = IO | {"faccessat", "fchmodat", "fchownat", "getcwd", "statx"}
# A fault at any of these is tried even in the reduced run.
SETTLING = {"write", "renameat", "renameat2", "mkdirat", "flock", "fdatasync", "unlinkat", "fchmodat", "fchownat", "exit_group"}
# How often threads wait for each other and get memory is chance; nothing is changed by it.
CHANCE = {"futex", "restart_syscall", "mmap", "munmap", "madvise"}


def of(project, args, until=None, env=None):
    """(name, k, line) of every call of a clean run; `until(lines)` gives how many of them count."""
    trace = project.base / "trace"
    run = project.run(b"", args=args, prefix=(shutil.which("strace"), "-o", str(trace)), env=env)
    lines = [line for line in trace.read_text().splitlines() if re.match(r"\w+\(", line)]
    trace.unlink()
    if run.code != 0:
        raise AssertionError(f"{args}: a clean run gives {run}")
    counted = collections.Counter()
    calls = []
    for line in lines[: until(lines) if until else None]:
        name = line[: line.index("(")]
        counted[name] += 1
        if name not in START_UP | CHANCE:
            calls.append((name, counted[name], line))
    return calls


def closed_pipe_ends(calls):
    """The closing of our end of a pipe to a program that we start. A kernel closes a descriptor whatever `close`
    answers; strace leaves it open, and who reads the other end then waits for an end that no machine keeps back."""
    writable, found = set(), set()
    for call in calls:
        if pipe := re.match(r"pipe2?\(\[\d+, (\d+)\]", call[2]):
            writable.add(pipe[1])
        elif (close := re.match(r"close\((\d+)\)", call[2])) and close[1] in writable:
            writable.remove(close[1])
            found.add(call)
    return found


def inject(project, args, name, fault, env=None, payload=b""):
    """Runs a command with a fault at one call."""
    prefix = (shutil.which("strace"), "-o", "/dev/null", "-e", f"trace={name}", "-e", f"inject={name}:{fault}")
    return project.run(payload, args=args, prefix=prefix, env=env)


def thinned(suite, calls, step=3):
    """All calls in the full run; else those that settle something, and every so manieth of the rest."""
    if suite.full:
        return calls
    rest = [call for call in calls if call[0] not in SETTLING]
    kept = set(rest[::step])
    return [call for call in calls if call[0] in SETTLING or call in kept]


class Picture:
    """All of some directories: bytes, modes and links, to be compared and to be put back."""

    def __init__(self, *roots):
        self.roots = roots
        self.items = {}
        for root in roots:
            for path in [root, *sorted(root.rglob("*"))] if root.exists() else []:
                self.items[path] = looked_at(path)

    def put_back(self):
        for root in self.roots:
            delete(root)
        for path, (mode, content) in self.items.items():
            if stat.S_ISLNK(mode):
                path.symlink_to(content)
                continue
            if stat.S_ISDIR(mode):
                path.mkdir(parents=True)
            else:
                path.write_bytes(content)
            path.chmod(stat.S_IMODE(mode))
        for path in self.items:
            if path.parts[-2:] == (".claude", "state"):
                mark(path)

    def differences(self):
        """What is not as it was."""
        now = Picture(*self.roots).items
        paths = sorted(self.items.keys() | now.keys())
        return [f"{path}: {said(self.items.get(path))} became {said(now.get(path))}" for path in paths if self.items.get(path) != now.get(path)]


def looked_at(path):
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        return mode, path.readlink()
    return mode, path.read_bytes() if stat.S_ISREG(mode) else None


def said(item):
    return "nothing" if item is None else f"{item[0]:o} {item[1] if item[1] is None else item[1][:40]!r}" if not hasattr(item[1], "parts") else f"link to {item[1]}"


__all__ = ["CORE", "FILE_CALLS", "Picture", "inject", "of", "thinned"]
