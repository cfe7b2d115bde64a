"""A kill and an error at every system call of every hook."""

import collections
import os
import re

import books
from scenarios import SCENARIOS
from support import Clock, event, needs_strace, test

# The calls that change something, and with them the calls whose order is the protocol: these are
# tried one and all even in the reduced run.
CHANGES = {"write", "renameat", "renameat2", "mkdirat", "flock", "fdatasync"}
CORE = CHANGES | {"open", "openat", "unlinkat", "exit_group"}
# Before these there is nothing of ours to interrupt.
START_UP = {"execve", "arch_prctl", "set_tid_address", "set_robust_list", "rseq", "prlimit64", "brk", "mprotect"}
IO = CORE - {"exit_group"} | {
    "read", "pread64", "close", "fstat", "stat", "lstat", "statx", "newfstatat", "getdents64", "fcntl", "lseek",
    "fsync", "poll", "ppoll", "readlink", "readlinkat", "rename", "mkdir", "unlink", "ioctl",
}
ERRORS = "ENOSPC EIO EINTR".split()
ALL_ERRORS = "EIO ENOSPC EDQUOT EACCES EROFS EINTR EMFILE ENOLCK".split()


@test
def kill_at_every_system_call(suite, checks):
    needs_strace()
    for scenario in SCENARIOS:
        walk = Walk(suite, scenario, fixed=True)
        old, counted_old = walk.reference(with_event=False)
        new, counted_new = walk.reference(with_event=True)
        # By file name: results are on their way from one folder to another.
        versions = collections.defaultdict(set)
        for doc, text in [*old.items(), *new.items()]:
            versions[os.path.basename(doc)].add(text)

        def one(project, pair):
            name, k = pair
            what = f"{scenario.name}: killed at {name} {k}"
            walk.restore(project)
            clock = walk.clock()
            run = walk.inject(project, name, f"signal=KILL:when={k}", clock.tick())
            checks.that(run.code == -9, f"{what}: exit {run.code}, not killed")
            for doc, text in books.comparable(project).items():
                whole = text in versions[os.path.basename(doc)]
                checks.that(whole or scenario.several, f"{what}: {doc} is neither old nor new")
            for payload in scenario.following:
                run = project.run(payload, clock=clock.tick())
                checks.ran(run, f"{what}: then {payload['hook_event_name']}", codes=(0,))
            for problem in books.problems(project):
                checks.that(False, f"{what}: {problem}")
            counted = books.counters(project)
            for key in counted.keys() | counted_old.keys() | counted_new.keys():
                have, may = counted.get(key), (counted_old.get(key), counted_new.get(key))
                checks.that(have in may, f"{what}: {key} is {have}, neither {may[0]} nor {may[1]}")

        suite.parallel(one, walk.pairs())
        walk.done()


@test
def errors_at_every_io_call(suite, checks):
    needs_strace()
    tolerated = collections.Counter()
    for scenario in SCENARIOS:
        walk = Walk(suite, scenario, fixed=False)
        faults = [
            (name, k, error)
            for n, (name, k) in enumerate(pair for pair in walk.pairs() if pair[0] in IO)
            for error in suite.pick([ERRORS[n % len(ERRORS)]], ALL_ERRORS)
        ]

        def one(project, fault):
            name, k, error = fault
            walk.restore(project)
            run = walk.inject(project, name, f"error={error}:when={k}", None)
            what = f"{scenario.name}: {error} at {name} {k}"
            checks.ran(run, what)
            wrong = []
            books.documents(project, wrong)
            checks.that(not wrong, f"{what}: {wrong}")
            # What is derived or waits is made good by whoever comes next.
            following = project.run(event("UserPromptSubmit", session_id=scenario.elsewhere))
            checks.ran(following, f"{what}: then an event elsewhere", codes=(0,))
            recorded = scenario.recorded(project)
            put_away = told_of(project, run, following)
            if run.code == 0 and not recorded and put_away:
                tolerated[put_away] += 1
            elif run.code == 0:
                checks.that(recorded, f"{what}: exit 0, but the event is not in the books")
            elif recorded:
                tolerated["exit 1 though it was recorded"] += 1
            for payload in scenario.following:
                checks.ran(project.run(payload), f"{what}: then {payload['hook_event_name']}", codes=(0,))
            for problem in books.problems(project):
                if put_away and "the synthesis has" in problem:
                    tolerated["a result that was left out, and said"] += 1
                else:
                    checks.that(False, f"{what} (exit {run.code}): {problem}")

        suite.parallel(one, faults)
        walk.done()
    for what, count in tolerated.items():
        checks.note(f"{count} x {what}")


def told_of(project, *runs):
    """What the user has heard, or will: what another user owns is left out; an event that waited and
    cannot be played is kept in rejected/."""
    notices = project.state / "notices.json"
    said = "".join(run.out for run in runs) + (notices.read_text() if notices.exists() else "")
    if "It is left out." in said:
        return "left out, and said"
    is_kept = "could not be used" in said and any((project.state / "rejected").glob("*"))
    return "kept in rejected/, and said" if is_kept else None


class Walk:
    """One scenario's state before its event, and the system calls of a clean run."""

    def __init__(self, suite, scenario, fixed):
        self.suite = suite
        self.scenario = scenario
        self.fixed = fixed
        self.project = suite.project()
        self.tree = scenario.before(self.project, Clock() if fixed else None)
        # As it is before every fault.
        self.restore(self.project)
        self.calls = self._trace()

    def restore(self, project):
        if not (project.home / ".claude").exists() and not self.scenario.empty:
            project.with_transcripts()
        project.restore(self.tree)

    def clock(self):
        """Later than everything in the state before."""
        return Clock(300)

    def reference(self, with_event):
        """The documents before or after the event, and what is counted after the next turn."""
        self.restore(self.project)
        clock = self.clock()
        at = clock.tick()
        if with_event:
            self.project.run(self.scenario.payload, clock=at)
        documents = books.comparable(self.project)
        for payload in self.scenario.following:
            self.project.run(payload, clock=clock.tick())
        return documents, books.counters(self.project)

    def inject(self, project, name, fault, clock):
        prefix = ("strace", "-f", "-o", "/dev/null", "-e", f"trace={name}", "-e", f"inject={name}:{fault}")
        return project.run(self.scenario.payload, prefix=prefix, clock=clock)

    def pairs(self):
        """(name, k) of every call; in the reduced run all of the core and every third of the rest."""
        pairs = [(name, k) for name, count in self.calls.items() if name not in START_UP for k in range(1, count + 1)]
        rest = [pair for pair in pairs if pair[0] not in CORE]
        return pairs if self.suite.full else [pair for pair in pairs if pair[0] in CORE] + rest[::3]

    def done(self):
        self.project.remove()

    def _trace(self):
        trace = self.project.base / "trace"
        run = self.project.run(
            self.scenario.payload, prefix=("strace", "-f", "-o", str(trace)), clock=self.clock().tick() if self.fixed else None
        )
        if run.code != 0 or not self.scenario.recorded(self.project):
            raise AssertionError(f"{self.scenario.name}: a clean run gives {run}")
        lines = trace.read_text().splitlines()
        names = (re.match(r"\d+ +(\w+)\(", line) for line in lines)
        return collections.Counter(match[1] for match in names if match)
